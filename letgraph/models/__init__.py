"""Models: one file each, all ``forward(batch, labels=None) -> PairOutput``."""

from transformers import PreTrainedModel

from letgraph.models.bert import Bert, BertConfig
from letgraph.models.bilstm import SiameseBiLSTM, SiameseBiLSTMConfig
from letgraph.models.bimpm import BiMPM, BiMPMConfig
from letgraph.models.config import PRESETS, LETConfig
from letgraph.models.encoder_model import EncoderModel
from letgraph.models.esim import ESIM, ESIMConfig
from letgraph.models.kbert import KBert, KBertConfig
from letgraph.models.lattice_cnn import LatticeCNN, LatticeCNNConfig
from letgraph.models.let import LET
from letgraph.models.output import PairOutput
from letgraph.models.textcnn import TextCNN, TextCNNConfig

MODELS: dict[str, type[PreTrainedModel]] = {
    LETConfig.model_type: LET,
    TextCNNConfig.model_type: TextCNN,
    SiameseBiLSTMConfig.model_type: SiameseBiLSTM,
    LatticeCNNConfig.model_type: LatticeCNN,
    BiMPMConfig.model_type: BiMPM,
    ESIMConfig.model_type: ESIM,
    BertConfig.model_type: Bert,
    KBertConfig.model_type: KBert,
}
"""The registry, by ``model_type`` of the configuration."""

__all__ = ["LET", "MODELS", "PRESETS", "EncoderModel", "LETConfig", "PairOutput"]
