"""The stored numbers of the authors' MXNet program: weights, inputs and activations in letgraph's terms.

They lie in ``$LETGRAPH_GOLDEN``, by default ``../shared/golden`` beside the repository. Sentences are reordered from
"all a, then all b" to letgraph's a_0, b_0, a_1, b_1, ….
"""

from __future__ import annotations

import os
from pathlib import Path

import dgl
import numpy as np
import torch
from numpy.typing import NDArray
from torch import Tensor, nn
from transformers import PretrainedConfig

from letgraph import schema
from letgraph.blocks import Neighbourhood, NodeBlocks
from letgraph.data.collate import PairBatch
from letgraph.models import LET, LETConfig
from letgraph.nn.md_attention import Kernel
from letgraph.nn.mdgat import MDGAT
from letgraph.nn.pooling import AttentivePooling

FOLDER = Path(os.environ.get("LETGRAPH_GOLDEN") or Path(__file__).parents[2] / "shared" / "golden")


def golden_files(pattern: str) -> list[Path]:
    return sorted(FOLDER.glob(pattern)) if FOLDER.is_dir() else []


class Golden:
    """One file of the program's numbers for B pairs.

    ``blocks`` and ``edges``: its padded masks as letgraph's node blocks and neighbourhoods, by `letgraph.schema`.
    """

    def __init__(self, path: Path) -> None:
        self.path = path
        with np.load(path) as stored:
            self.arrays: dict[str, NDArray] = {key: stored[key] for key in stored.files}
        self.pairs = len(self.arrays["out.logits"])
        self.counts = {
            schema.CHAR: self._sentences("sent{}_len"),
            schema.WORD: self._sentences("lattice{}_len"),
            schema.SENSE: self._sentences("sense{}_len"),
            schema.SEMEME: self._sentences("sememe{}_len"),
        }
        self.blocks = {ntype: NodeBlocks.from_counts(count.astype(np.int64)) for ntype, count in self.counts.items()}
        covers = self._sentences("lattice{}")
        senses = self._sentences("sense{}_map")
        sememes = self._sentences("sense{}")
        # A sense hears the words that are reachable from its own word.
        ahead, behind = (senses.swapaxes(1, 2) @ self._sentences("edge{}")[:, direction] for direction in range(2))
        own = np.ones((2 * self.pairs, sememes.shape[2], sememes.shape[2]))
        chars = self.blocks[schema.CHAR]
        self.edges = {
            schema.IN: self._neighbourhood(schema.IN, covers),
            schema.FORWARD: self._neighbourhood(schema.FORWARD, ahead),
            schema.BACKWARD: self._neighbourhood(schema.BACKWARD, behind),
            schema.SENSE_OF: self._neighbourhood(schema.SENSE_OF, senses),
            schema.COVERS: self._neighbourhood(schema.COVERS, covers.swapaxes(1, 2)),
            schema.SELF: Neighbourhood.between(chars, chars),
            schema.CROSS: Neighbourhood.between(chars.partners(), chars),
            schema.SEMEME_OF: self._neighbourhood(schema.SEMEME_OF, sememes),
            schema.CONTEXT: self._neighbourhood(schema.CONTEXT, own),
        }

    def _sentences(self, name: str) -> NDArray:
        """A pair of inputs ``name.format(1)`` and ``name.format(2)``, interleaved."""
        return np.stack([self.arrays[f"feed.{name.format(number)}"] for number in (1, 2)], 1).reshape(
            2 * self.pairs, *self.arrays[f"feed.{name.format(1)}"].shape[1:]
        )

    def _neighbourhood(self, etype: schema.EdgeType, mask: NDArray) -> Neighbourhood:
        """From a mask (2B, N_dst, N_src) that may be wider than the longest sentence."""
        src, dst = self.blocks[etype[0]], self.blocks[etype[2]]
        (_, rows), (_, width) = dst.shapes[0], src.shapes[0]
        inside = Neighbourhood.between(src, dst).mask
        return Neighbourhood(src, dst, torch.from_numpy(mask[:, :rows, :width] > 0).flatten() & inside)

    def activation(self, name: str) -> Tensor:
        """An output of one row a sentence, interleaved."""
        a, b = torch.from_numpy(self.arrays[f"act.{name}"]).chunk(2)
        return torch.stack([a, b], 1).flatten(0, 1)

    def nodes(self, name: str, ntype: str) -> Tensor:
        """An output of one row a node, without the padding: (nodes, D)."""
        blocks = self.blocks[ntype]
        return blocks.flatten(self.activation(name)[:, : blocks.shapes[0][1]].flatten(0, 1))

    def sememes(self) -> Tensor:
        """The vocabulary rows of the sememe nodes."""
        blocks = self.blocks[schema.SEMEME]
        ids = torch.from_numpy(self._sentences("sememe{}")).long()
        return blocks.flatten(ids[:, : blocks.shapes[0][1]].flatten())

    def sentences(self, name: str) -> Tensor:
        """A pair of inputs ``feed.name`` with {} for 1 and 2, interleaved: one row a sentence."""
        return torch.from_numpy(self._sentences(name))

    def chars(self) -> Tensor:
        """The character vectors that the encoder returned: (characters, 768)."""
        return torch.from_numpy(self.arrays["bert.char"]).flatten(0, 1)[self._char_token()]

    def _char_token(self) -> Tensor:
        """Where each character node stands in the flattened tokens."""
        selected = self._sentences("convert_mat{}")
        sentence, char, token = (torch.from_numpy(part) for part in selected.nonzero())
        assert torch.equal(char, self.blocks[schema.CHAR].column)
        return sentence // 2 * selected.shape[2] + token

    def batch(self) -> PairBatch:
        """The inputs as letgraph's batch."""
        graph = dgl.heterograph(
            {etype: neighbourhood.to_graph().edges() for etype, neighbourhood in self.edges.items()},
            {ntype: len(blocks.place) for ntype, blocks in self.blocks.items()},
        )
        graph.nodes[schema.SEMEME].data["sememe"] = self.sememes()
        chars = self.blocks[schema.CHAR]
        ids, types = (torch.from_numpy(self.arrays[f"feed.{name}"]).long() for name in ("sent", "segment"))
        place = torch.arange(ids.shape[1])
        return PairBatch(
            graph=graph,
            edges=self.edges,
            sentences=Neighbourhood.between(chars, NodeBlocks.from_counts(np.ones(2 * self.pairs, int))),
            pair={
                ntype: torch.from_numpy(np.repeat(np.arange(2 * self.pairs) // 2, count.astype(np.int64)))
                for ntype, count in self.counts.items()
            },
            boundary=torch.zeros(2, 0, dtype=torch.long),
            input_ids=ids,
            token_type_ids=types,
            position_ids=place.expand_as(ids),
            attention_mask=place < torch.from_numpy(self.arrays["feed.valid_len"]).unsqueeze(1),
            char_token=self._char_token(),
            senses=torch.zeros(len(self.blocks[schema.SENSE].place), dtype=torch.long),
        )

    def model(self, kernel: Kernel) -> LET:
        """Preset ``reference`` with the program's weights behind its stub of BERT, in evaluation mode."""
        sememes, size = self.arrays["param.let0_embedding0_weight"].shape
        config = LETConfig.from_preset(
            "reference",
            encoder_size=self.arrays["bert.cls"].shape[-1],
            encoder_layers=1,
            num_sememes=sememes,
            num_known_sememes=sememes,
            sememe_size=size,
            kernel=kernel,
        )
        model = LET(config).eval()
        model.encoder = StubEncoder(self)
        with torch.no_grad():
            self._load(model)
        return model

    def _load(self, model: LET) -> None:
        model.senses.sememes.known.copy_(self._weight("embedding0_weight"))
        self._load_dense(model.senses.sememes.project, "dense0")
        self._load_pooling(model.word_pooling, "multidimencodingsentence0")
        self._load_attention(model.senses.attention, "attentionblock0_fastdisa0")
        self._load_ffn(model.senses.ffn, "attentionblock0_fastdisa0_tmlp0")
        self._load_norm(model.senses.norm, "attentionblock0_layernorm0")
        self._load_pooling(model.senses.pooling, "attentionblock0_multidimencodingsentence0")
        for number, layer in enumerate(model.sagt.layers):
            self._load_attention(layer.sense_step.both, f"fastdisa{2 * number}")
            self._load_attention(layer.word_step, f"fastdisa{2 * number + 1}")
            self._load_ffn(layer.word_ffn, f"fastdisa{2 * number + 1}_tmlp0")
        self._load_gru(model.sagt.update_senses.gru, "gru0")
        self._load_gru(model.sagt.update_words.gru, "gru1")
        self._load_pooling(model.char_pooling, "multidimencodingsentence1")
        self._load_dense(model.char_projection, "dense1")
        self._load_attention(model.matching.attention, "bimpmblock0_fastparalleldisa0_fastdisa0")
        model.matching.compare.weight.copy_(self._weight("bimpmblock0_fastparalleldisa0_bimpm0_bimp0_weight"))
        self._load_ffn(model.matching.ffn, "bimpmblock0_fastparalleldisa0_tmlp0")
        self._load_norm(model.matching.norm, "bimpmblock0_layernorm0")
        self._load_pooling(model.sentence_pooling, "bimpmblock0_multidimencodingsentence0")
        dense = [module for module in model.classifier.modules() if isinstance(module, nn.Linear)]
        for number, layer in enumerate(dense):
            self._load_dense(layer, f"scorelayer0_dense{number}")
        # The program's classifier reads [..; |r_a - r_b|; r_a ⊙ r_b], letgraph's has the two the other way round.
        size = model.config.hidden_size
        rest, difference, product = dense[0].weight.split([dense[0].in_features - 2 * size, size, size], 1)
        dense[0].weight.copy_(torch.cat([rest, product, difference], 1))

    def _weight(self, name: str) -> Tensor:
        return torch.from_numpy(self.arrays[f"param.let0_{name}"])

    def _load_dense(self, layer: nn.Linear, name: str) -> None:
        # Layers of the program's own class TDense are stored in x out.
        weight = self._weight(f"{name}_weight")
        layer.weight.copy_(weight.t() if "tdense" in name else weight)
        if layer.bias is not None:
            layer.bias.copy_(self._weight(f"{name}_bias"))

    def _load_ffn(self, ffn: nn.Sequential, name: str) -> None:
        self._load_dense(ffn[0], f"{name}_tdense0")
        self._load_dense(ffn[-1], f"{name}_tdense1")

    def _load_norm(self, norm: nn.LayerNorm, name: str) -> None:
        norm.weight.copy_(self._weight(f"{name}_gamma"))
        norm.bias.copy_(self._weight(f"{name}_beta"))

    def _load_attention(self, attention: MDGAT, name: str) -> None:
        layers = (attention.query, attention.key, attention.value, attention.score[0], attention.score[-1])
        for number, layer in enumerate(layers):
            self._load_dense(layer, f"{name}_tdense{number}")

    def _load_pooling(self, pooling: AttentivePooling, name: str) -> None:
        layers = (pooling.value, pooling.score[0], pooling.score[-1], pooling.offset)
        for number, layer in enumerate(layers):
            self._load_dense(layer, f"{name}_tdense{number}")

    def _load_gru(self, gru: nn.GRUCell, name: str) -> None:
        """dense0 and dense1 are the reset and the update gate of [message; state], dense2 and dense3 the candidate's
        maps of the message and of the state; the program has one bias where torch's gates have two."""
        gates = [self._weight(f"{name}_dense{number}_weight").split(gru.input_size, 1) for number in range(2)]
        biases = [self._weight(f"{name}_dense{number}_bias") for number in range(4)]
        gru.weight_ih.copy_(torch.cat([*(of_input for of_input, _ in gates), self._weight(f"{name}_dense2_weight")]))
        gru.weight_hh.copy_(torch.cat([*(of_state for _, of_state in gates), self._weight(f"{name}_dense3_weight")]))
        gru.bias_ih.copy_(torch.cat(biases[:3]))
        gru.bias_hh.copy_(torch.cat([torch.zeros(2 * gru.hidden_size), biases[3]]))


class StubEncoder(nn.Module):
    """Returns what the program's encoder returned, whatever it is asked."""

    config = PretrainedConfig()

    def __init__(self, golden: Golden) -> None:
        super().__init__()
        for name, array in (("last_hidden_state", "bert.char"), ("pooler_output", "bert.cls")):
            self.register_buffer(name, torch.from_numpy(golden.arrays[array]))

    def forward(self, **_: Tensor) -> StubEncoder:
        return self
