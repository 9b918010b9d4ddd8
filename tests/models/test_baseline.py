"""What models that encode each sentence alone share: how they compare the two vectors."""

from __future__ import annotations

import pytest
import torch

from letgraph.errors import LetgraphError
from tests.helpers import batch_for, random_pairs, tiny_model

SIAMESE = ("textcnn", "bilstm")


@pytest.mark.parametrize("kind", SIAMESE)
@pytest.mark.parametrize("compared", ["enhanced", "concatenation"])
def test_a_pair_is_scored_from_the_vectors_of_its_sentences(kind, compared):
    model = tiny_model(kind, compared=compared)
    batch = batch_for(model, random_pairs(0, pairs=3))
    with torch.no_grad():
        encoded = model.encode(batch)
        for pair, score in enumerate(model.score(batch)):
            u, v = encoded[2 * pair], encoded[2 * pair + 1]
            parts = [u, v] if compared == "concatenation" else [u, v, (u - v).abs(), u * v]
            first, second = (layer for layer in model.classifier if isinstance(layer, torch.nn.Linear))
            hidden = (first.weight @ torch.cat(parts) + first.bias).clamp(min=0)
            torch.testing.assert_close(score, (second.weight @ hidden + second.bias)[0], rtol=1e-5, atol=1e-6)


@pytest.mark.parametrize("kind", SIAMESE)
def test_an_unknown_comparison_is_refused_with_those_there_are(kind):
    with pytest.raises(LetgraphError, match="compared='product': choose one of enhanced, concatenation"):
        tiny_model(kind, compared="product")
