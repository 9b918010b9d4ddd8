"""What models with a transformer encoder have in common."""

from __future__ import annotations

from collections.abc import Mapping
from typing import TYPE_CHECKING, Any, Self

from torch import Tensor, nn
from transformers import PretrainedConfig, PreTrainedModel

from letgraph.nn.encoder import build_encoder, encode

if TYPE_CHECKING:
    from letgraph.data.collate import PairBatch


class EncoderModel(PreTrainedModel):
    """A model of sentence pairs whose tokens go through ``encoder``.

    Its configuration has ``encoder_size``, ``encoder_context``, ``positions``, ``cls_vector``, ``freeze_encoder`` and
    ``encoder_config``: None, or the configuration of a pre-trained encoder.
    """

    main_input_name = "batch"
    encoder: PreTrainedModel

    def __init__(self, config: PretrainedConfig, encoder_config: Mapping[str, Any]) -> None:
        super().__init__(config)
        pooled = config.cls_vector == "pooled"
        self.encoder = build_encoder(encoder_config, pooled)
        has_pooler = getattr(self.encoder, "pooler", None) is not None
        # Not every kind of encoder comes with a pooler.
        own = pooled and not has_pooler
        self.pooler = nn.Sequential(nn.Linear(config.encoder_size, config.encoder_size), nn.Tanh()) if own else None
        if config.freeze_encoder:
            for name, parameter in self.encoder.named_parameters():
                parameter.requires_grad_(name.startswith("pooler."))

    def _init_weights(self, module: nn.Module) -> None:
        """Nothing: each module of `letgraph.nn` and the encoder have initialised themselves."""

    def train(self, mode: bool = True) -> Self:
        super().train(mode)
        if self.config.freeze_encoder:
            self.encoder.eval()  # no dropout
        return self

    def encode(self, batch: PairBatch) -> tuple[Tensor, Tensor]:
        """Contextual vectors (B, L, encoder_size) of the tokens ``[CLS] a [SEP] b [SEP]``, and c_CLS."""
        config = self.config
        own = config.encoder_config is not None and config.positions == "running" and batch.visible is None
        positions = None if own else batch.position_ids
        tokens, pooled = encode(self.encoder, batch, config.encoder_context, positions, batch.visible)
        return tokens, self.cls_vector(tokens, pooled)

    def cls_vector(self, tokens: Tensor, pooled: Tensor | None) -> Tensor:
        """c_CLS (B, encoder_size) as ``cls_vector`` has it: the token's vector, or tanh(W of it + b)."""
        if self.config.cls_vector == "token":
            return tokens[:, 0]
        if self.pooler is not None:
            return self.pooler(tokens[:, 0])
        assert pooled is not None
        return pooled
