"""The contexts of a word are the paths through it, and the convolution is a dense layer over each, pooled."""

from __future__ import annotations

import pytest
import torch
from hypothesis import given, settings

from letgraph.nn.lattice_convolution import LatticeConvolution, LatticeWords
from tests.helpers import pair_lists


def lattice(*sentences):
    """Spans of each sentence."""
    rows = [(start, end, number) for number, spans in enumerate(sentences) for start, end in spans]
    return LatticeWords(*torch.tensor(sorted(rows, key=lambda row: (row[2], row[0], row[1]))).unbind(1))


#   0  信 1 用 2 卡 3 款 4
#   a 信  b 信用  c 信用卡  d 用  e 卡  f 卡款  g 款
HAND_DRAWN = [(0, 1), (0, 2), (0, 3), (1, 2), (2, 3), (2, 4), (3, 4)]
NAMES = "abcdefg"


def named(contexts):
    return sorted("".join(NAMES[word] if word >= 0 else "-" for word in path) for path in contexts.tolist())


def test_pairs_of_a_hand_drawn_lattice_are_the_word_and_each_that_follows():
    assert named(lattice(HAND_DRAWN).contexts(0, 1)) == ["ad", "be", "bf", "cg", "de", "df", "eg", "f-", "g-"]


def test_triples_of_a_hand_drawn_lattice_have_the_word_in_the_middle():
    assert named(lattice(HAND_DRAWN).contexts(1, 1)) == sorted(
        ["-ad", "-be", "-bf", "-cg", "ade", "adf", "beg", "deg", "bf-", "df-", "cg-", "eg-"]
    )


def test_every_word_alone_is_its_context_of_width_one():
    assert lattice(HAND_DRAWN).contexts(0, 0).tolist() == [[word] for word in range(7)]


def test_paths_of_five_go_on_through_the_padding():
    chain = lattice([(0, 1), (1, 2)])

    assert chain.contexts(2, 2).tolist() == [[-1, -1, 0, 1, -1], [-1, 0, 1, -1, -1]]


@settings(max_examples=30)
@given(pair_lists())
def test_contexts_are_all_paths_and_stay_in_their_sentence(sentences):
    words = lattice(*(sentence.words for sentence in sentences))
    nodes = list(zip(words.start.tolist(), words.end.tolist(), words.sentence.tolist(), strict=True))

    expected = []
    for v, (start, end, sentence) in enumerate(nodes):
        before = [u for u, node in enumerate(nodes) if node[1:] == (start, sentence)] or [-1]
        after = [w for w, node in enumerate(nodes) if (node[0], node[2]) == (end, sentence)] or [-1]
        expected += [[u, v, w] for u in before for w in after]
    contexts = words.contexts(1, 1).tolist()
    assert sorted(contexts) == sorted(expected)
    assert [path[1] for path in contexts] == sorted(path[1] for path in contexts)


def test_single_characters_join_the_words_once_and_empty_spans_leave():
    spans = [(0, 0, 0), (0, 1, 0), (0, 2, 0), (3, 3, 0), (0, 0, 1), (0, 1, 1), (1, 1, 1)]

    words = LatticeWords.with_characters(*torch.tensor(spans).unbind(1), lengths=torch.tensor([3, 1]))

    found = list(zip(words.sentence.tolist(), words.start.tolist(), words.end.tolist(), strict=True))
    assert found == [(0, 0, 1), (0, 0, 2), (0, 1, 2), (0, 2, 3), (1, 0, 1)]


@pytest.mark.parametrize("pooling", ["max", "ave", "gated"])
@pytest.mark.parametrize("width", [1, 2, 3])
def test_every_word_is_its_pooled_contexts(pooling, width):
    torch.manual_seed(0)
    words = lattice(HAND_DRAWN, [(0, 1), (0, 2), (1, 2)])
    x = torch.randn(len(words.start), 4)
    layer = LatticeConvolution(4, 5, width, pooling)
    torch.nn.init.normal_(layer.bias)
    contexts = words.contexts(layer.before, layer.after)

    out = layer(x, contexts)

    dense = layer.weight.reshape(width * 4, 5)  # one matrix for the words put end to end
    for word in range(len(x)):
        paths = [path for path in contexts.tolist() if path[layer.before] == word]
        ends = [torch.cat([x[u] if u >= 0 else torch.zeros(4) for u in path]) for path in paths]
        z = torch.stack([vector @ dense + layer.bias for vector in ends])
        if pooling == "max":
            expected = z.amax(0)
        elif pooling == "ave" or width == 1:
            expected = z.mean(0)
        else:
            expected = (torch.softmax(z @ layer.gate.weight[0], 0).unsqueeze(1) * z).sum(0)
        torch.testing.assert_close(out[word], expected, rtol=1e-5, atol=1e-6)
