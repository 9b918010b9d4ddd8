"""Lattice-CNN: convolution over the word lattice."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING, Any, get_args

import torch
from torch import Tensor, nn

from letgraph import schema
from letgraph.errors import require_choice
from letgraph.models.baseline import Baseline, BaselineConfig, character_ids, sentence_of_character
from letgraph.nn.embedding import WordEmbedding
from letgraph.nn.feed_forward import feed_forward
from letgraph.nn.lattice_convolution import ContextPooling, LatticeConvolution, LatticeWords, group_max, neighbours

if TYPE_CHECKING:
    from letgraph.data.collate import PairBatch


class LatticeCNNConfig(BaselineConfig):
    """Configuration of `LatticeCNN`.

    As in the authors' program for document-based question answering: ``filters`` 256, 512 and 256 for the widths 1, 2
    and 3, ``num_layers`` 2, ``hidden_size`` 1024 of the classifier, ``dropout`` 0.5, ``pooling`` "gated" (else "max" or
    "ave"). Not as there: ``embedding_size`` of words is 128 and trained from scratch (300, word2vec), and no feature
    says whether the other sentence has the word too. ``word_buckets``: rows for words of more than one character, see
    `letgraph.nn.embedding.WordEmbedding`.
    """

    model_type = "lattice_cnn"

    def __init__(
        self,
        filters: tuple[int, ...] = (256, 512, 256),
        num_layers: int = 2,
        pooling: ContextPooling = "gated",
        word_buckets: int = 32768,
        hidden_size: int = 1024,
        dropout: float = 0.5,
        **kwargs: Any,
    ) -> None:
        require_choice("pooling", pooling, get_args(ContextPooling))
        self.filters, self.num_layers, self.pooling, self.word_buckets = filters, num_layers, pooling, word_buckets
        super().__init__(hidden_size=hidden_size, dropout=dropout, **kwargs)


class LatticeCNN(Baseline):
    r"""The words of the lattice and all single characters, convolved along the paths through them:

    .. math::
        x^1 &= \operatorname{relu}([C_1(x); C_2(x); C_3(x)]), \qquad
        x^{l+1} = \operatorname{relu}(x^l + [C_1(x^l); C_2(x^l); C_3(x^l)]) \\
        u &= \max_w x^L_w, \qquad logit = W_2 \operatorname{relu}(W_1 (u \odot v) + b_1) + b_2

    C_n is `LatticeConvolution` of width n. Source: Lai et al. 2019; where σ stands, and what joins two layers, is taken
    from the authors' program.
    """

    config_class = LatticeCNNConfig
    base_model_prefix = "lattice_cnn"

    def __init__(self, config: LatticeCNNConfig) -> None:
        super().__init__(config)
        size = sum(config.filters)
        self.words = WordEmbedding(config.vocab_size, config.word_buckets, config.embedding_size)
        self.layers = nn.ModuleList(
            Kernels(size if layer else config.embedding_size, config.filters, config.pooling)
            for layer in range(config.num_layers)
        )
        self.classifier = feed_forward(size, config.hidden_size, 1, config.dropout)
        self.post_init()

    def score(self, batch: PairBatch) -> Tensor:
        x, words = self._words(batch)
        contexts = [words.contexts(*neighbours(width)) for width in range(1, len(self.config.filters) + 1)]
        for number, kernels in enumerate(self.layers):
            out = kernels(x, contexts)
            x = (x + out if number else out).relu()
        encoded = group_max(x, words.sentence, 2 * len(batch))
        return self.classifier(self.dropout(encoded[0::2] * encoded[1::2])).squeeze(-1)

    def _words(self, batch: PairBatch) -> tuple[Tensor, LatticeWords]:
        """The words of all lattices and their vectors (W, embedding_size)."""
        ids, data = character_ids(batch), batch.graph.nodes[schema.WORD].data
        start, end, side = (data[name].to(ids.device) for name in ("start", "end", "sentence"))
        lengths = torch.bincount(sentence_of_character(batch), minlength=2 * len(batch))
        words = LatticeWords.with_characters(start, end, 2 * batch.pair[schema.WORD] + side, lengths)
        covers = words.end - words.start
        word = torch.repeat_interleave(covers)
        first = (lengths.cumsum(0) - lengths)[words.sentence] + words.start
        place = torch.arange(len(word), device=word.device) - (covers.cumsum(0) - covers)[word]
        return self.words(ids[first[word] + place], word, len(covers)), words


class Kernels(nn.Module):
    """[C_1(x); C_2(x); …], of as many filters each as ``filters`` says.

    ``forward(x (W, in), contexts of width 1, 2, …) -> (W, sum of filters)``
    """

    def __init__(self, in_features: int, filters: Sequence[int], pooling: ContextPooling) -> None:
        super().__init__()
        self.kernels = nn.ModuleList(
            LatticeConvolution(in_features, out_features, width, pooling)
            for width, out_features in enumerate(filters, 1)
        )

    def forward(self, x: Tensor, contexts: Sequence[Tensor]) -> Tensor:
        return torch.cat([kernel(x, paths) for kernel, paths in zip(self.kernels, contexts, strict=True)], -1)
