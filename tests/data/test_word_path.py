"""The words of a sentence are the path of fewest words, and have the senses they have in the lattice."""

from __future__ import annotations

from hypothesis import given

from letgraph.data.word_path import WordPath
from letgraph.text.lattice import fewest_words
from tests.helpers import Sentence, pair_lists, to_table


@given(pair_lists())
def test_words_and_senses_of_the_path(pairs):
    table = to_table(pairs)

    path = WordPath.through(table)

    words = [(row, *span) for row, s in enumerate(pairs) for span in fewest_words(len(s.text), s.words)]
    senses = [dict(zip(s.words, s.senses, strict=True)) for s in pairs]
    assert list(zip(path.sentence.tolist(), path.start.tolist(), path.end.tolist(), strict=True)) == words
    found = path.senses(table)
    # A character that fills a gap is no word of the lattice.
    expected = [list(senses[row].get((start, end), ())) for row, start, end in words]
    assert [found[word].tolist() for word in range(len(words))] == expected
    lengths = [end - start for _, start, end in words]
    assert path.of_char.tolist() == [word for word, length in enumerate(lengths) for _ in range(length)]


def test_a_gap_has_no_senses():
    table = to_table([Sentence("存款利", ((0, 2), (1, 3)), ((0,), (1,)))])

    path = WordPath.through(table)

    assert list(zip(path.start.tolist(), path.end.tolist(), strict=True)) == [(0, 2), (2, 3)]
    assert [path.senses(table)[word].tolist() for word in range(2)] == [[0], []]
