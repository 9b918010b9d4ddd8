"""ESIM: the enhanced sequential inference model."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import torch
from torch import Tensor, nn

from letgraph.models.baseline import Baseline, BaselineConfig, character_ids, sentences
from letgraph.nn.embedding import embedding
from letgraph.nn.sequences import BiLSTM, partners

if TYPE_CHECKING:
    from letgraph.data.collate import PairBatch


class ESIMConfig(BaselineConfig):
    """Configuration of `ESIM`.

    As in the source, ``hidden_size`` of all layers (a direction) is that of the embedding, here 128 in place of 300.
    Not as there: ``dropout`` is 0.2 (0.5), because vectors of this size that are trained from scratch underfit with
    more (docs/results.md).
    """

    model_type = "esim"

    def __init__(self, dropout: float = 0.2, **kwargs: Any) -> None:
        super().__init__(dropout=dropout, **kwargs)


class ESIM(Baseline):
    r"""Every character of one sentence beside what it aligns with in the other:

    .. math::
        \bar a &= \text{BiLSTM}(a), \qquad \bar b = \text{BiLSTM}(b), \qquad e_{ij} = \bar a_i^\top \bar b_j \\
        \tilde a_i &= \sum_j \operatorname{softmax}_j(e_{ij})\, \bar b_j, \qquad
        \tilde b_j = \sum_i \operatorname{softmax}_i(e_{ij})\, \bar a_i \\
        m_a &= [\bar a; \tilde a; \bar a - \tilde a; \bar a \odot \tilde a], \qquad
        v_a = \text{BiLSTM}'(\operatorname{relu}(W m_a + c)) \\
        logit &= W_2 \tanh(W_1 [v_{a,ave}; v_{a,max}; v_{b,ave}; v_{b,max}] + b_1) + b_2

    Source: Chen et al. 2017, the sequential model, on characters.
    """

    config_class = ESIMConfig
    base_model_prefix = "esim"

    def __init__(self, config: ESIMConfig) -> None:
        super().__init__(config)
        hidden = config.hidden_size
        self.characters = embedding(config.vocab_size, config.embedding_size)
        self.encoder = BiLSTM(config.embedding_size, hidden)
        self.projection = nn.Linear(8 * hidden, hidden)
        self.composition = BiLSTM(hidden, hidden)
        self.hidden = nn.Linear(8 * hidden, hidden)
        self.output = nn.Linear(hidden, 1)
        self.post_init()

    def score(self, batch: PairBatch) -> Tensor:
        sequences = sentences(batch)
        mask, lengths = sequences.mask, sequences.lengths
        encoded, _ = self.encoder(sequences.pad(self.dropout(self.characters(character_ids(batch)))), lengths)
        enhanced = enhance(encoded, soft_align(encoded, partners(encoded), partners(mask)))
        composed, _ = self.composition(self.dropout(self.projection(enhanced).relu()), lengths)
        average = composed.sum(1) / lengths.unsqueeze(1)  # padding is 0
        largest = composed.masked_fill(~mask.unsqueeze(2), -torch.inf).amax(1)
        pooled = torch.cat([average, largest], -1).unflatten(0, (-1, 2)).flatten(1)
        return self.output(self.dropout(self.hidden(self.dropout(pooled)).tanh())).squeeze(-1)


def soft_align(x: Tensor, y: Tensor, mask: Tensor) -> Tensor:
    """For every x_i the mean of the y_j, weighted by softmax over j of x_i · y_j.

    Shapes: x (G, S, D), y (G, T, D), mask (G, T), True where there is a y_j -> (G, S, D).
    """
    scores = (x @ y.transpose(1, 2)).masked_fill(~mask.unsqueeze(1), -torch.inf)
    return scores.softmax(-1) @ y


def enhance(x: Tensor, aligned: Tensor) -> Tensor:
    """[x; x̃; x - x̃; x ⊙ x̃], (..., D) -> (..., 4 D)."""
    return torch.cat([x, aligned, x - aligned, x * aligned], -1)
