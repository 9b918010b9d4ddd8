"""letgraph: short Chinese text matching with linguistic knowledge enhanced graph transformers."""

from __future__ import annotations

import os
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from letgraph.matcher import Matcher

# DGL asks for a backend, prints, and writes ~/.dgl/config.json at import unless this is set.
os.environ.setdefault("DGLBACKEND", "pytorch")

__version__ = "0.1.0"

__all__ = ["Matcher", "__version__"]


def __getattr__(name: str) -> Any:
    # Imported when it is asked for: torch and DGL take seconds, and preparing data needs neither.
    if name == "Matcher":
        from letgraph.matcher import Matcher

        return Matcher
    raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
