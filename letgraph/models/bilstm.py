"""BiLSTM: the Siamese recurrent baseline."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from torch import Tensor

from letgraph.models.baseline import Siamese, SiameseConfig, character_ids, sentences
from letgraph.nn.embedding import embedding
from letgraph.nn.sequences import BiLSTM

if TYPE_CHECKING:
    from letgraph.data.collate import PairBatch


class SiameseBiLSTMConfig(SiameseConfig):
    """Configuration of `SiameseBiLSTM`: one layer, ``hidden_size`` a direction (128), ``dropout`` 0.2 as in LET;
    ``compared`` as in `letgraph.models.baseline.SiameseConfig`."""

    model_type = "bilstm"

    def __init__(self, dropout: float = 0.2, **kwargs: Any) -> None:
        super().__init__(dropout=dropout, **kwargs)


class SiameseBiLSTM(Siamese):
    r"""A sentence of T characters is the last states of an LSTM in either direction:

    .. math:: u = [\overrightarrow{h}_T; \overleftarrow{h}_1]

    Source: Mueller and Thyagarajan 2016, which compares the states of two LSTMs with shared weights, by
    exp(-|u - v|_1). Here in both directions, and compared by the trained classifier of `Siamese`.
    """

    config_class = SiameseBiLSTMConfig
    base_model_prefix = "bilstm"

    def __init__(self, config: SiameseBiLSTMConfig) -> None:
        super().__init__(config, 2 * config.hidden_size)
        self.characters = embedding(config.vocab_size, config.embedding_size)
        self.encoder = BiLSTM(config.embedding_size, config.hidden_size)
        self.post_init()

    def encode(self, batch: PairBatch) -> Tensor:
        sequences = sentences(batch)
        chars = sequences.pad(self.dropout(self.characters(character_ids(batch))))
        return self.encoder(chars, sequences.lengths)[1]
