"""What the baselines share: they read characters (some words too), no senses, and score pairs as LET does."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, Literal, get_args

import torch
from torch import Tensor, nn
from transformers import PretrainedConfig, PreTrainedModel

from letgraph.errors import require_choice
from letgraph.models.output import PairOutput, pair_output
from letgraph.models.without_senses import WithoutSenses
from letgraph.nn.dropout import Dropout
from letgraph.nn.feed_forward import feed_forward
from letgraph.nn.sequences import Sequences

if TYPE_CHECKING:
    from letgraph.data.collate import PairBatch


Compared = Literal["enhanced", "concatenation"]


class BaselineConfig(WithoutSenses, PretrainedConfig):
    """Settings that all baselines have.

    ``vocab_size`` characters; ``embedding_size`` of their vectors, which are trained from scratch, as LET's are;
    ``hidden_size`` of the encoder and of the classifier's hidden layer; ``dropout``.
    """

    def __init__(
        self,
        vocab_size: int = 4,
        embedding_size: int = 128,
        hidden_size: int = 128,
        dropout: float = 0.2,
        **kwargs: Any,
    ) -> None:
        self.vocab_size, self.embedding_size = vocab_size, embedding_size
        self.hidden_size, self.dropout = hidden_size, dropout
        super().__init__(**kwargs)


class Baseline(PreTrainedModel):
    """A model of sentence pairs: a subclass gives `score`."""

    main_input_name = "batch"

    def __init__(self, config: BaselineConfig) -> None:
        super().__init__(config)
        self.dropout = Dropout(config.dropout)

    def _init_weights(self, module: nn.Module) -> None:
        """Nothing: each module has initialised itself."""

    def get_input_embeddings(self) -> nn.Module:
        """The table whose first ``vocab_size`` rows are the characters'."""
        words: Any = getattr(self, "words", None)
        table: Any = self.characters if words is None else words.table
        return table

    def forward(self, batch: PairBatch, labels: Tensor | None = None) -> PairOutput:
        """Score the pairs of a `PairBatch`; ``labels`` (B,) of 0 and 1, else those of the batch, give the loss."""
        return pair_output(self.score(batch), batch.labels if labels is None else labels)

    def score(self, batch: PairBatch) -> Tensor:
        """Log-odds (B,) that a pair matches."""
        raise NotImplementedError


class SiameseConfig(BaselineConfig):
    """Settings of models that encode each sentence alone.

    ``compared``: "enhanced", or "concatenation" to leave the difference and the product of the sentences out.
    """

    def __init__(self, compared: Compared = "enhanced", **kwargs: Any) -> None:
        require_choice("compared", compared, get_args(Compared))
        self.compared = compared
        super().__init__(**kwargs)


class Siamese(Baseline):
    r"""One encoder for both sentences, then

    .. math::
        logit = W_2 \operatorname{relu}(W_1 [u; v; |u - v|; u \odot v] + b_1) + b_2

    A subclass gives `encode`, the vectors of the sentences, of size ``encoded_size``.
    Source of the matching: Mou et al. 2016 (concatenation, difference, product).
    """

    def __init__(self, config: SiameseConfig, encoded_size: int) -> None:
        super().__init__(config)
        self.parts = 4 if config.compared == "enhanced" else 2
        self.classifier = feed_forward(self.parts * encoded_size, config.hidden_size, 1, config.dropout)

    def encode(self, batch: PairBatch) -> Tensor:
        """Vectors (2B, encoded_size) of the sentences; 2p and 2p + 1 are a pair."""
        raise NotImplementedError

    def score(self, batch: PairBatch) -> Tensor:
        encoded = self.encode(batch)
        u, v = encoded[0::2], encoded[1::2]
        compared = torch.cat([u, v, (u - v).abs(), u * v][: self.parts], -1)
        return self.classifier(self.dropout(compared)).squeeze(-1)


def character_ids(batch: PairBatch) -> Tensor:
    """Ids (characters,) of the vocabulary, sentence by sentence."""
    return batch.input_ids.flatten().index_select(0, batch.char_token)


def sentence_of_character(batch: PairBatch) -> Tensor:
    """The sentence (characters,) of every character: 2p for a of pair p, 2p + 1 for b."""
    width = batch.input_ids.shape[1]
    second = batch.token_type_ids.flatten().index_select(0, batch.char_token)
    return batch.char_token.div(width, rounding_mode="floor") * 2 + second


def sentences(batch: PairBatch) -> Sequences:
    """The characters of the batch as 2B sequences."""
    return Sequences.from_groups(sentence_of_character(batch), 2 * len(batch))
