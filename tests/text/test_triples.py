"""HowNet as triples: which sememes a word has, and the tokens of a branch."""

from __future__ import annotations

import numpy as np
from hypothesis import given
from hypothesis import strategies as st

from letgraph.ragged import Ragged
from letgraph.text.triples import Triples
from letgraph.text.vocabulary import CharVocabulary

NAMES = ["钱", "场所", "行"]
SENSE_SEMEMES = Ragged.from_lists([[1, 0], [1], [2, 1, 0]], np.int32)
VOCABULARY = CharVocabulary("包含钱场所")  # 行 is unknown
PREDICATE, MONEY, PLACE, UNKNOWN = [4, 5], [6], [7, 8], [1]


def rows(ragged: Ragged) -> list[list[int]]:
    return [ragged[row].tolist() for row in range(len(ragged))]


def test_a_branch_is_the_predicate_and_the_name_of_the_sememe():
    triples = Triples.of(SENSE_SEMEMES, NAMES, VOCABULARY)

    assert rows(triples.branches) == [PREDICATE + MONEY, PREDICATE + PLACE, PREDICATE + UNKNOWN]
    assert triples.longest == 4
    assert rows(Triples.of(SENSE_SEMEMES, NAMES, VOCABULARY, predicate=False).branches) == [MONEY, PLACE, UNKNOWN]


@given(st.lists(st.lists(st.integers(0, 2), max_size=3), max_size=4), st.integers(1, 3))
def test_a_word_has_the_first_distinct_sememes_of_its_senses(senses, most):
    triples = Triples.of(SENSE_SEMEMES, NAMES, VOCABULARY)

    found = triples.of_words(Ragged.from_lists(senses, np.int32), most)

    sememes = [[sememe for sense in of_word for sememe in SENSE_SEMEMES[sense].tolist()] for of_word in senses]
    assert rows(found) == [list(dict.fromkeys(of_word))[:most] for of_word in sememes]
