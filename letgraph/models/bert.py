"""A pre-trained encoder alone: the paper's rows BERT, BERT-wwm, BERT-wwm-ext and ERNIE."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from torch import Tensor, nn
from transformers import PretrainedConfig

from letgraph.errors import LetgraphError
from letgraph.models.encoder_model import EncoderModel
from letgraph.models.output import PairOutput, pair_output
from letgraph.models.without_senses import WithoutSenses
from letgraph.nn.dropout import Dropout

if TYPE_CHECKING:
    from letgraph.data.collate import PairBatch


class BertConfig(WithoutSenses, PretrainedConfig):
    """Configuration of `Bert`.

    ``encoder_config``: configuration of the encoder; ``encoder_size`` of its vectors, ``max_positions`` of its tokens;
    ``freeze_encoder``: it is not trained, and has no dropout; ``dropout`` before the classifier.
    """

    model_type = "bert"

    encoder_context = "pair"
    positions = "running"
    cls_vector = "pooled"

    def __init__(
        self,
        encoder_config: dict[str, Any] | None = None,
        encoder_size: int = 768,
        max_positions: int = 512,
        vocab_size: int = 0,
        freeze_encoder: bool = False,
        dropout: float = 0.1,
        **kwargs: Any,
    ) -> None:
        self.encoder_config, self.encoder_size, self.max_positions = encoder_config, encoder_size, max_positions
        self.vocab_size, self.freeze_encoder, self.dropout = vocab_size, freeze_encoder, dropout
        super().__init__(**kwargs)

    @property
    def graph_options(self) -> dict[str, Any]:
        return {**super().graph_options, "positions": self.positions}


class Bert(EncoderModel):
    r"""Any encoder of `transformers` over ``[CLS] a [SEP] b [SEP]``, and a linear classifier:

    .. math::
        logit = w^\top \tanh(W c_{CLS} + b) + b'

    Source: Devlin et al. 2019, section 4.1 (one logit in place of two).
    """

    config_class: type[BertConfig] = BertConfig
    base_model_prefix = "bert"

    def __init__(self, config: BertConfig) -> None:
        if config.encoder_config is None:
            raise LetgraphError(f"model {config.model_type} needs a pre-trained encoder: give --encoder PATH_OR_NAME")
        super().__init__(config, config.encoder_config)
        self.dropout = Dropout(config.dropout)
        self.classifier = nn.Linear(config.encoder_size, 1)
        self.post_init()

    def forward(self, batch: PairBatch, labels: Tensor | None = None) -> PairOutput:
        """Score the pairs of a `PairBatch`; ``labels`` (B,) of 0 and 1, else those of the batch, give the loss."""
        odds = self.classifier(self.dropout(self.encode(batch)[1])).squeeze(-1)
        return pair_output(odds, batch.labels if labels is None else labels)
