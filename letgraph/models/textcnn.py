"""Text-CNN: the Siamese convolutional baseline."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import torch
from torch import Tensor, nn

from letgraph.models.baseline import Siamese, SiameseConfig, character_ids, sentences
from letgraph.nn.embedding import embedding

if TYPE_CHECKING:
    from letgraph.data.collate import PairBatch


class TextCNNConfig(SiameseConfig):
    """Configuration of `TextCNN`.

    ``widths`` of the kernels, in characters; ``filters`` for each width (100) and ``dropout`` (0.5) are Kim's; the
    widths are 1 to 5 in place of his 3, 4, 5 words, since a character is less than a word.
    ``compared`` as in `letgraph.models.baseline.SiameseConfig`.
    """

    model_type = "textcnn"

    def __init__(
        self, widths: tuple[int, ...] = (1, 2, 3, 4, 5), filters: int = 100, dropout: float = 0.5, **kwargs: Any
    ) -> None:
        self.widths, self.filters = widths, filters
        super().__init__(dropout=dropout, **kwargs)


class TextCNN(Siamese):
    r"""A sentence x_1 … x_T is, for every filter w of every width n, its largest response:

    .. math:: u_w = \max_t \operatorname{relu}(w \cdot [x_t; \dots; x_{t+n-1}] + b)

    over the windows inside the sentence; one that is shorter than n is filled up with zeros to one window.

    Source: Kim 2014, here one network for both sentences.
    """

    config_class = TextCNNConfig
    base_model_prefix = "textcnn"

    def __init__(self, config: TextCNNConfig) -> None:
        super().__init__(config, len(config.widths) * config.filters)
        self.characters = embedding(config.vocab_size, config.embedding_size)
        self.convolutions = nn.ModuleList(
            nn.Conv1d(config.embedding_size, config.filters, width) for width in config.widths
        )
        self.post_init()

    def encode(self, batch: PairBatch) -> Tensor:
        sequences = sentences(batch)
        chars = sequences.pad(self.characters(character_ids(batch))).transpose(1, 2)  # (2B, D, T)
        columns = torch.arange(chars.shape[-1], device=chars.device)
        responses = []
        for width, convolution in zip(self.config.widths, self.convolutions, strict=True):
            inside = columns <= (sequences.lengths - width).clamp(min=0).unsqueeze(1)
            response = convolution(nn.functional.pad(chars, (0, width - 1)))
            responses.append(response.masked_fill(~inside.unsqueeze(1), -torch.inf).amax(-1).relu())
        return torch.cat(responses, -1)
