"""Sentence trees: hard order, soft positions and visibility, by hand and against a plain slow formula."""

from __future__ import annotations

import numpy as np
from hypothesis import given
from hypothesis import strategies as st

from letgraph.data.injection import TokenRows, inject
from letgraph.ragged import Ragged

PAD = 0


def rows_of(sequences: list[list[int]]) -> TokenRows:
    """Token sequences padded to the longest; types tell the tokens after the first of each sequence from it."""
    width = max(map(len, sequences))
    ids, valid = np.full((len(sequences), width), PAD), np.zeros((len(sequences), width), bool)
    for row, sequence in enumerate(sequences):
        ids[row, : len(sequence)], valid[row, : len(sequence)] = sequence, True
    columns = np.tile(np.arange(width), (len(sequences), 1)) * valid
    return TokenRows(ids, np.minimum(columns, 1), columns, valid, np.flatnonzero(valid))


def test_a_sentence_with_two_triples():
    """[CLS] 银 行 还 款 [SEP]: 银行 with the triples 包含-场所 and 包含-钱, 还款 without one.

    hard order  0     1  2  3  4  5  6  7  8  9  10 11 12
                [CLS] 银 行 包 含 场 所 包 含 钱 还 款 [SEP]
    soft        0     1  2  3  4  5  6  3  4  5  3  4  5
    """
    cls, sep, 银, 行, 还, 款, 包, 含, 场, 所, 钱 = range(101, 112)
    trunk = rows_of([[cls, 银, 行, 还, 款, sep]])
    branches = Ragged.from_lists([[包, 含, 场, 所], [包, 含, 钱]], np.int64)

    tree = inject(trunk, np.array([1, 1]), np.array([2, 2]), branches, PAD)

    assert tree.ids.tolist() == [[cls, 银, 行, 包, 含, 场, 所, 包, 含, 钱, 还, 款, sep]]
    assert tree.positions.tolist() == [[0, 1, 2, 3, 4, 5, 6, 3, 4, 5, 3, 4, 5]]
    assert tree.char_token.tolist() == [0, 1, 2, 10, 11, 12]
    assert tree.visible is not None
    assert tree.visible[0].astype(int).tolist() == [
        [1, 1, 1, 0, 0, 0, 0, 0, 0, 0, 1, 1, 1],  # [CLS]: the trunk
        [1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1],  # 银: the trunk and both its branches
        [1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1],  # 行
        [0, 1, 1, 1, 1, 1, 1, 0, 0, 0, 0, 0, 0],  # 包: its branch and its word
        [0, 1, 1, 1, 1, 1, 1, 0, 0, 0, 0, 0, 0],  # 含
        [0, 1, 1, 1, 1, 1, 1, 0, 0, 0, 0, 0, 0],  # 场
        [0, 1, 1, 1, 1, 1, 1, 0, 0, 0, 0, 0, 0],  # 所
        [0, 1, 1, 0, 0, 0, 0, 1, 1, 1, 0, 0, 0],  # 包: the other branch does not see the first
        [0, 1, 1, 0, 0, 0, 0, 1, 1, 1, 0, 0, 0],  # 含
        [0, 1, 1, 0, 0, 0, 0, 1, 1, 1, 0, 0, 0],  # 钱
        [1, 1, 1, 0, 0, 0, 0, 0, 0, 0, 1, 1, 1],  # 还: the trunk
        [1, 1, 1, 0, 0, 0, 0, 0, 0, 0, 1, 1, 1],  # 款
        [1, 1, 1, 0, 0, 0, 0, 0, 0, 0, 1, 1, 1],  # [SEP]
    ]


def test_padding_sees_the_trunk_and_is_seen_by_nobody():
    tree = inject(rows_of([[7, 8], [7]]), np.array([1]), np.array([1]), Ragged.from_lists([[5]], np.int64), PAD)

    assert tree.ids.tolist() == [[7, 8, 5], [7, PAD, PAD]]
    assert tree.valid.tolist() == [[True, True, True], [True, False, False]]
    assert tree.visible is not None
    assert tree.visible[1].astype(int).tolist() == [[1, 0, 0], [1, 0, 0], [1, 0, 0]]


@st.composite
def trees(draw: st.DrawFn) -> tuple[list[list[int]], list[list[tuple[int, int, list[list[int]]]]]]:
    """Token sequences, and of each its words: first and last token, and branches; words may share tokens."""
    sequences, words = [], []
    for _ in range(draw(st.integers(1, 3))):
        length = draw(st.integers(1, 6))
        sequences.append(draw(st.lists(st.integers(1, 9), min_size=length, max_size=length)))
        spans = st.tuples(st.integers(0, length - 1), st.integers(0, length - 1)).map(sorted)
        chosen = sorted(draw(st.lists(spans, max_size=3)), key=lambda span: (span[1], span[0]))
        branches = st.lists(st.lists(st.integers(10, 19), min_size=1, max_size=3), max_size=2)
        words.append([(first, last, draw(branches)) for first, last in chosen])
    return sequences, words


@given(trees())
def test_trees_are_those_of_the_plain_definition(tree):
    sequences, words = tree
    trunk = rows_of(sequences)
    width = trunk.ids.shape[1]
    flat = [(row, *word, ids) for row, of_row in enumerate(words) for *word, branches in of_row for ids in branches]
    first, last = (np.array([row * width + span[i] for row, *span, _ in flat], np.int64) for i in (0, 1))

    joined = inject(trunk, first, last, Ragged.from_lists([ids for *_, ids in flat], np.int64), PAD)

    for row, (sequence, of_row) in enumerate(zip(sequences, words, strict=True)):
        tokens = plain_tree(sequence, of_row)
        length = len(tokens)
        assert joined.valid[row].tolist() == [True] * length + [False] * (joined.valid.shape[1] - length)
        assert joined.ids[row, :length].tolist() == [token[0] for token in tokens]
        assert joined.positions[row, :length].tolist() == [token[1] for token in tokens]
        assert joined.types[row, :length].tolist() == [min(token[1] - token[2], 1) for token in tokens]
        assert joined.visible is not None
        expected = [[sees(one, other, of_row) for other in tokens] for one in tokens]
        assert joined.visible[row, :length, :length].tolist() == expected
        assert not joined.visible[row, :, length:].any() and joined.visible[row, length:, 0].all()
    # The characters of these sequences are the tokens themselves.
    assert joined.ids.reshape(-1)[joined.char_token].tolist() == [token for sequence in sequences for token in sequence]


def plain_tree(sequence, words):
    """Tokens as (id, soft position, how far inside its branch from 1 or 0, number of its trunk token or branch)."""
    tokens = []
    for number, token in enumerate(sequence):
        tokens.append((token, number, 0, ("trunk", number)))
        branch = 0
        for first, last, branches in words:
            for ids in branches:
                if last == number:
                    tokens += [
                        (token, number + step, step, ("branch", branch, first, last))
                        for step, token in enumerate(ids, 1)
                    ]
                branch += 1
    return tokens


def sees(one, other, words):
    one, other = one[3], other[3]
    if one[0] == other[0]:
        return one[0] == "trunk" or one == other
    branch, trunk = (one, other) if one[0] == "branch" else (other, one)
    return branch[2] <= trunk[1] <= branch[3]
