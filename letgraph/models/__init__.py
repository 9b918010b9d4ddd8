"""Models: one file each, all ``forward(batch, labels=None) -> PairOutput``."""

from letgraph.models.config import PRESETS, LETConfig
from letgraph.models.let import LET, PairOutput

MODELS = {LETConfig.model_type: LET}
"""The registry, by ``model_type`` of the configuration."""

__all__ = ["LET", "MODELS", "PRESETS", "LETConfig", "PairOutput"]
