"""letgraph: short Chinese text matching with linguistic knowledge enhanced graph transformers."""

import os

# DGL asks for a backend, prints, and writes ~/.dgl/config.json at import unless this is set.
os.environ.setdefault("DGLBACKEND", "pytorch")

__version__ = "0.1.0"
