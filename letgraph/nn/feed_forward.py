"""The two-layer feed-forward network that attention scores, messages and the matching layer share."""

from __future__ import annotations

from torch import nn

from letgraph.nn.dropout import Dropout


def feed_forward(in_features: int, hidden: int, out_features: int, dropout: float = 0.0) -> nn.Sequential:
    """W_2 dropout(relu(W_1 x + b_1)) + b_2."""
    return nn.Sequential(nn.Linear(in_features, hidden), nn.ReLU(), Dropout(dropout), nn.Linear(hidden, out_features))
