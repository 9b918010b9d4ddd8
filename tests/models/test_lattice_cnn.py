"""Lattice-CNN adds the single characters to the lattice, and its pooling is a setting."""

from __future__ import annotations

import pytest
import torch

from letgraph.errors import LetgraphError
from letgraph.models.lattice_cnn import LatticeCNNConfig
from tests.helpers import Sentence, batch_for, random_pairs, tiny_model

OTHER = Sentence("利率", ((0, 2),), ((),))


@torch.no_grad()
def logit(model, sentence):
    return model(batch_for(model, [sentence, OTHER])).logits


def test_single_characters_belong_to_every_lattice():
    model = tiny_model("lattice_cnn")
    bare = Sentence("存款利率", ((0, 2), (2, 4)), ((),) * 2)
    full = Sentence("存款利率", ((0, 1), (0, 2), (1, 2), (2, 3), (2, 4), (3, 4)), ((),) * 6)

    assert torch.equal(logit(model, bare), logit(model, full))
    assert not torch.equal(logit(model, bare), logit(model, Sentence("存款利率", ((0, 4),), ((),))))


def test_a_word_is_embedded_by_the_characters_that_it_covers():
    model = tiny_model("lattice_cnn")
    sentences = random_pairs(0, pairs=2)
    batch = batch_for(model, sentences)

    with torch.no_grad():
        x, words = model._words(batch)
        ids = batch.input_ids.flatten()[batch.char_token].split([len(s.text) for s in sentences])
        for row in range(len(x)):
            start, end, sentence = (int(part[row]) for part in (words.start, words.end, words.sentence))
            covered = ids[sentence][start:end]
            assert torch.equal(x[row], model.words(covered, torch.zeros_like(covered), 1)[0])


def test_each_pooling_gives_another_score_and_an_unknown_one_is_refused():
    sentence = random_pairs(0, min_length=6)[0]
    scores = [logit(tiny_model("lattice_cnn", pooling=pooling), sentence).item() for pooling in ("max", "ave", "gated")]

    assert len(set(scores)) == 3
    with pytest.raises(LetgraphError, match="choose one of max, ave, gated"):
        LatticeCNNConfig(pooling="sum")
