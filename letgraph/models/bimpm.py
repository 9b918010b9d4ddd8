"""BiMPM: bilateral multi-perspective matching."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import torch
from torch import Tensor, nn
from torch.nn.utils.rnn import pack_padded_sequence

from letgraph.models.baseline import Baseline, BaselineConfig, character_ids, sentence_of_character
from letgraph.nn.embedding import WordEmbedding, embedding
from letgraph.nn.feed_forward import feed_forward
from letgraph.nn.matching import MultiPerspectiveCosine
from letgraph.nn.sequences import BiLSTM, Sequences, partners

if TYPE_CHECKING:
    from letgraph.data.collate import PairBatch


class BiMPMConfig(BaselineConfig):
    """Configuration of `BiMPM`.

    As in the source: ``perspectives`` 20, ``character_size`` 20 of the characters that a word is composed of,
    ``composed_size`` 50 of what they compose, ``dropout`` 0.1. Not as there: ``hidden_size`` of context and aggregation
    is 128 a direction (100), and ``embedding_size`` of words 128, trained (300, GloVe, fixed). ``word_buckets``: rows
    for words of more than one character, see `letgraph.nn.embedding.WordEmbedding`.
    """

    model_type = "bimpm"

    def __init__(
        self,
        perspectives: int = 20,
        character_size: int = 20,
        composed_size: int = 50,
        word_buckets: int = 32768,
        dropout: float = 0.1,
        **kwargs: Any,
    ) -> None:
        self.perspectives, self.word_buckets = perspectives, word_buckets
        self.character_size, self.composed_size = character_size, composed_size
        super().__init__(dropout=dropout, **kwargs)

    @property
    def graph_options(self) -> dict[str, Any]:
        return {**super().graph_options, "word_path": True}


class BiMPM(Baseline):
    r"""Every word p_i of one sentence against the words q_j of the other, in both directions of reading and both ways:

    .. math::
        p_i &= [e(word_i); \text{LSTM}(characters_i)], \qquad
        \overrightarrow{h}^p_i, \overleftarrow{h}^p_i = \text{BiLSTM}(p)_i \\
        m_i &= \text{four strategies forward and backward} \in R^{8 l} \\
        logit &= \text{FFN}([\text{BiLSTM}'(m^p)_{last}; \text{BiLSTM}'(m^q)_{last}])

    The strategies are those of `Strategies`, with W_1 … W_8 in all and the same ones for p against q and q against p.
    The words of a sentence are the path of fewest words through its lattice (`letgraph.text.lattice.fewest_words`).

    Source: Wang, Hamza and Florian 2017, section 3.
    """

    config_class = BiMPMConfig
    base_model_prefix = "bimpm"

    def __init__(self, config: BiMPMConfig) -> None:
        super().__init__(config)
        hidden = config.hidden_size
        self.words = WordEmbedding(config.vocab_size, config.word_buckets, config.embedding_size)
        self.characters = embedding(config.vocab_size, config.character_size)
        self.composition = nn.LSTM(config.character_size, config.composed_size, batch_first=True)
        self.context = BiLSTM(config.embedding_size + config.composed_size, hidden)
        self.forwards = Strategies(hidden, config.perspectives)
        self.backwards = Strategies(hidden, config.perspectives)
        self.aggregation = BiLSTM(8 * config.perspectives, hidden)
        self.classifier = feed_forward(4 * hidden, 2 * hidden, 1, config.dropout)
        self.post_init()

    def score(self, batch: PairBatch) -> Tensor:
        words, sentence = self._words(batch)
        sequences = Sequences.from_groups(sentence, 2 * len(batch))
        mask, lengths = sequences.mask, sequences.lengths
        states, last = self.context(sequences.pad(self.dropout(words)), lengths)
        states, last = self.dropout(states), self.dropout(last)
        halves = zip(states.chunk(2, -1), last.chunk(2, -1), (self.forwards, self.backwards), strict=True)
        matched = [strategies(h, partners(h), partners(mask), partners(final)) for h, final, strategies in halves]
        _, aggregated = self.aggregation(self.dropout(torch.cat(matched, -1)), lengths)
        return self.classifier(self.dropout(aggregated.unflatten(0, (-1, 2)).flatten(1))).squeeze(-1)

    def _words(self, batch: PairBatch) -> tuple[Tensor, Tensor]:
        """The words of all sentences (W, embedding_size + composed_size), and the sentence of each (W,)."""
        assert batch.word_of_char is not None
        ids, word = character_ids(batch), batch.word_of_char
        count = int(word[-1]) + 1 if len(word) else 0
        sequences = Sequences.from_groups(word, count)
        spelt = sequences.pad(self.characters(ids))
        packed = pack_padded_sequence(spelt, sequences.lengths.cpu(), batch_first=True, enforce_sorted=False)
        _, (composed, _) = self.composition(packed)
        first = sequences.lengths.cumsum(0) - sequences.lengths
        return torch.cat([self.words(ids, word, count), composed[0]], -1), sentence_of_character(batch)[first]


class Strategies(nn.Module):
    r"""The four matching strategies of one direction: h_i against o_1 … o_T, by m(x, y; W) =
    (cos(W_k ⊙ x, W_k ⊙ y))_k.

    .. math::
        full_i &= m(h_i, o_{last}; W^1) \\
        maxpooling_i &= \max_j m(h_i, o_j; W^2) \\
        attentive_i &= m(h_i, \textstyle\sum_j \alpha_{ij} o_j / \sum_j \alpha_{ij}; W^3), \quad
            \alpha_{ij} = \cos(h_i, o_j) \\
        maxattentive_i &= m(h_i, o_{\arg\max_j \alpha_{ij}}; W^4)

    o_last is the state of the last step in reading order: of the last word forward, of the first word backward.

    Shapes: ``forward(h (G, S, H), others (G, T, H), mask (G, T), last (G, H)) -> (G, S, 4 l)``; mask is True where
    there is an o_j.
    """

    def __init__(self, features: int, perspectives: int) -> None:
        super().__init__()
        self.full, self.max_pooling, self.attentive, self.max_attentive = (
            MultiPerspectiveCosine(features, perspectives) for _ in range(4)
        )

    def forward(self, h: Tensor, others: Tensor, mask: Tensor, last: Tensor) -> Tensor:
        away = ~mask.unsqueeze(1)
        alpha = nn.functional.normalize(h, dim=-1) @ nn.functional.normalize(others, dim=-1).transpose(1, 2)
        # NOTE: a cosine sees no length, so of the division by the sum only the sign is left.
        alpha = alpha.masked_fill(away, 0)
        mean = (alpha @ others) * alpha.sum(-1, keepdim=True).sign()
        nearest = alpha.masked_fill(away, -torch.inf).argmax(-1)
        chosen = others.gather(1, nearest.unsqueeze(2).expand(-1, -1, others.shape[2]))
        largest = self.max_pooling.pairwise(h, others).masked_fill(away.unsqueeze(-1), -torch.inf).amax(2)
        return torch.cat(
            [self.full(h, last.unsqueeze(1)), largest, self.attentive(h, mean), self.max_attentive(h, chosen)], -1
        )
