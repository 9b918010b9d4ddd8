"""SaGT: the semantic-aware graph transformer, which lets words and senses inform each other."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any, Literal

import torch
from torch import Tensor, nn

from letgraph import schema
from letgraph.blocks import Neighbourhood
from letgraph.nn.feed_forward import feed_forward
from letgraph.nn.md_attention import Kernel
from letgraph.nn.mdgat import MDGAT, Attention

Directions = Literal["separate", "heads"]
Edges = Mapping[schema.EdgeType, Neighbourhood]


class Update(nn.Module):
    """A node's state from its old state and a message: GRU(h, m), or without GRU LayerNorm(h + W m)."""

    def __init__(self, message_features: int, features: int, gru: bool) -> None:
        super().__init__()
        self.gru = nn.GRUCell(message_features, features) if gru else None
        self.project = None if gru else nn.Linear(message_features, features)
        self.norm = None if gru else nn.LayerNorm(features)

    def forward(self, state: Tensor, message: Tensor) -> Tensor:
        if self.gru is not None:
            return self.gru(message, state)
        assert self.project is not None and self.norm is not None
        return self.norm(state + self.project(message))


class SenseStep(nn.Module):
    """What a sense hears from the words before and behind its own word.

    ``separate``: m = [MD-GAT_fw(g, words forward); MD-GAT_bw(g, words backward)], (S, 2 features); each direction has
    parameters of its own. ``heads``: one MD-GAT whose first half of heads looks forward and whose second half looks
    backward, (S, features).
    """

    def __init__(self, features: int, directions: Directions, **attention: Any) -> None:
        """``attention``: further arguments of `MDGAT`."""
        super().__init__()
        if directions == "separate":
            self.forwards = MDGAT(features, features, **attention)
            self.backwards = MDGAT(features, features, **attention)
        else:
            self.both = MDGAT(features, features, 2, **attention)
        self.directions = directions

    def forward(self, edges: Edges, senses: Tensor, words: Tensor) -> Tensor:
        fw, bw = edges[schema.FORWARD], edges[schema.BACKWARD]
        if self.directions == "separate":
            return torch.cat([self.forwards(fw, senses, words), self.backwards(bw, senses, words)], -1)
        projected = self.both.project(senses, words)
        ahead, behind = zip(*(part.split(1, dim=1) for part in projected), strict=True)
        return torch.cat([self.both.attend(fw, *ahead), self.both.attend(bw, *behind)], -1)


class SaGTLayer(nn.Module):
    r"""One round of messages, senses first:

    .. math::
        m_{ik} &= [\text{MD-GAT}_{fw}(g_{ik}, \{h_j : j \in N^+_{fw}(i)\});
                   \text{MD-GAT}_{bw}(g_{ik}, \{h_j : j \in N^+_{bw}(i)\})] \\
        g_{ik} &\leftarrow \text{GRU}(g_{ik}, m_{ik}) \\
        q_i &= \text{MD-GAT}(h_i, \{g_{ik} : k\}) \\
        h_i &\leftarrow \text{GRU}'(h_i, q_i)

    Without senses the first two steps fall away and q_i is multi-dimensional self-attention over the words that are
    reachable from i in either direction, i included. With ``attention="scalar"`` all features of a message share their
    weights (vanilla GAT), in both steps.

    Source: LET (AAAI 2021), section "Semantic-aware graph transformer".
    """

    def __init__(
        self,
        features: int,
        *,
        senses: bool = True,
        directions: Directions = "separate",
        word_ffn: bool = False,
        activation: str = "none",
        clip: float | None = None,
        attention: Attention = "multi-dimensional",
        kernel: Kernel = "auto",
    ) -> None:
        super().__init__()
        options: dict[str, Any] = {"activation": activation, "clip": clip, "attention": attention, "kernel": kernel}
        self.sense_step = SenseStep(features, directions, **options) if senses else None
        self.word_step = MDGAT(features, features, **options)
        self.word_ffn = feed_forward(features, 2 * features, features) if word_ffn else None

    def forward(
        self,
        edges: Edges,
        words: Tensor,
        senses: Tensor | None,
        update_words: nn.Module,
        update_senses: nn.Module | None,
        dropout: Callable[[Tensor, str], Tensor],
    ) -> tuple[Tensor, Tensor | None]:
        if self.sense_step is not None:
            assert senses is not None and update_senses is not None
            message = self.sense_step(edges, dropout(senses, schema.SENSE), dropout(words, schema.WORD))
            senses = update_senses(senses, message)
            query = self.word_step(edges[schema.SENSE_OF], dropout(words, schema.WORD), dropout(senses, schema.SENSE))
        else:
            dropped = dropout(words, schema.WORD)
            query = self.word_step(edges[schema.REACH], dropped, dropped)
        if self.word_ffn is not None:
            query = self.word_ffn(query)
        return update_words(words, query), senses


class SaGT(nn.Module):
    """L layers of `SaGTLayer`. Their attention is their own; the update cells are shared by all layers.

    ``forward(edges, words (W, D), senses (S, D) or None) -> words (W, D)``
    """

    def __init__(
        self,
        features: int,
        num_layers: int = 2,
        *,
        senses: bool = True,
        gru: bool = True,
        directions: Directions = "separate",
        word_ffn: bool = False,
        activation: str = "none",
        clip: float | None = None,
        attention: Attention = "multi-dimensional",
        kernel: Kernel = "auto",
    ) -> None:
        super().__init__()
        self.layers = nn.ModuleList(
            SaGTLayer(
                features,
                senses=senses,
                directions=directions,
                word_ffn=word_ffn,
                activation=activation,
                clip=clip,
                attention=attention,
                kernel=kernel,
            )
            for _ in range(num_layers)
        )
        message = 2 * features if directions == "separate" else features
        self.update_words = Update(features, features, gru)
        self.update_senses = Update(message, features, gru) if senses else None

    def forward(
        self,
        edges: Edges,
        words: Tensor,
        senses: Tensor | None = None,
        dropout: Callable[[Tensor, str], Tensor] = lambda x, ntype: x,
    ) -> Tensor:
        for layer in self.layers:
            words, senses = layer(edges, words, senses, self.update_words, self.update_senses, dropout)
        return words
