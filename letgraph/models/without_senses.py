"""What the package asks of any model's configuration, answered for models that read no senses."""

from __future__ import annotations

from typing import Any


class WithoutSenses:
    """Beside `transformers.PretrainedConfig`: no sense, no lexicon, and sentences of any length.

    NOTE: not a subclass of it, because that would turn these defaults into arguments and reset what a model has set.
    """

    senses = False
    needs_lexicon = False
    lexicon_hash: str | None = None
    max_positions: int | None = None
    positions = "restart"
    num_dummies = 0
    needs_sememe_nodes = False

    @property
    def graph_options(self) -> dict[str, Any]:
        """What a `letgraph.data.collate.Collator` must build for this model."""
        return {"senses": False, "edges": False}
