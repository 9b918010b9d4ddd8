"""Pairs that are too long are cut as the authors' program cuts them, one character after another."""

from __future__ import annotations

import numpy as np
from hypothesis import given
from hypothesis import strategies as st

from letgraph.data.collate import Collator
from letgraph.data.cut import cut_characters, cut_pairs, kept_tokens
from letgraph.ragged import Ragged
from letgraph.text.features import SentenceTable
from letgraph.text.tokens import Tokens
from tests.helpers import ALPHABET, Sentence, pair_lists, to_table
from tests.text.test_tokenizer import word_pieces


def by_hand(a: int, b: int, max_tokens: int) -> tuple[int, int]:
    """The rule itself: drop the last character of the longer one, of b where they are equally long."""
    while a + b + 3 > max_tokens:
        if a > b:
            a -= 1
        else:
            b -= 1
    return a, b


@given(st.lists(st.tuples(st.integers(1, 40), st.integers(1, 40)), max_size=5), st.integers(5, 60))
def test_tokens_are_dropped_from_the_longer_sentence(pairs, max_tokens):
    lengths = np.array(pairs, np.int64).reshape(-1)

    kept = kept_tokens(lengths, max_tokens - 3)

    assert kept.reshape(-1, 2).tolist() == [list(by_hand(a, b, max_tokens)) for a, b in pairs]
    assert (kept > 0).all()


def test_a_pair_of_128_tokens_is_whole_and_one_of_129_is_not():
    assert kept_tokens(np.array([100, 25, 100, 26, 63, 63, 200, 254]), 128 - 3).tolist() == [
        *(100, 25),
        *(99, 26),
        *(63, 62),
        *(63, 62),
    ]


def cut_of_characters(table: SentenceTable, max_tokens: int) -> SentenceTable:
    cut, tokens = cut_pairs(table, Tokens.one_each(table.chars), max_tokens - 3)
    assert tokens.ids.values.tolist() == cut.chars.values.tolist()
    assert [row.tolist() for row in tokens.of_char] == [list(range(len(row))) for row in cut.chars]
    return cut


def cut_by_hand(sentence: Sentence, length: int) -> Sentence:
    kept = [number for number, (_, end) in enumerate(sentence.words) if end <= length]
    return Sentence(
        sentence.text[:length],
        tuple(sentence.words[number] for number in kept),
        tuple(sentence.senses[number] for number in kept),
    )


@given(pair_lists(), st.integers(5, 15))
def test_a_cut_pair_has_what_lies_inside_of_it(sentences, max_tokens):
    lengths = [len(sentence.text) for sentence in sentences]
    kept = [n for a, b in zip(lengths[0::2], lengths[1::2], strict=True) for n in by_hand(a, b, max_tokens)]
    expected = to_table([cut_by_hand(sentence, length) for sentence, length in zip(sentences, kept, strict=True)])

    cut = cut_of_characters(to_table(sentences), max_tokens)

    for (name, ours), (_, theirs) in zip(cut.columns(), expected.columns(), strict=True):
        assert [row.tolist() for row in ours] == [row.tolist() for row in theirs], name


def test_characters_that_are_cut_off_are_counted_in_pairs():
    lengths = Ragged.from_lists([[0] * 10, [0] * 4, [0] * 6], np.uint32)

    assert cut_characters(lengths, np.array([0, 1, 0]), np.array([1, 2, 2]), 13) == 4 + 0 + 6
    assert cut_characters(lengths, np.array([0]), np.array([0]), None) == 0


def test_a_word_that_is_broken_is_gone_and_the_end_may_be_out_of_reach():
    sentence = Sentence("存款利率", ((0, 2), (2, 4)), ((0,), (1, 2)))

    table = cut_of_characters(to_table([sentence, sentence]), 3 + 6)

    assert table.text(0) == "存款利"
    assert list(zip(table.word_start[0].tolist(), table.word_end[0].tolist(), strict=True)) == [(0, 0), (0, 2), (3, 3)]
    assert table.senses[0].tolist() == [0]
    reach = set(zip(table.reach_from[0].tolist(), table.reach_to[0].tolist(), strict=True))
    assert reach == {(0, 0), (1, 1), (2, 2), (0, 1)}


PIECES = word_pieces(["[PAD]", "[UNK]", "[CLS]", "[SEP]", *ALPHABET[:-1], "wifi", "12", "##3"])


@given(
    st.lists(
        st.lists(st.sampled_from([*ALPHABET, "wifi", "123", " "]), min_size=1, max_size=6), min_size=2, max_size=2
    ),
    st.integers(5, 12),
)
def test_a_pair_is_cut_in_tokens_and_characters_and_words_follow(parts, max_tokens):
    texts = ["".join(part) for part in parts]
    words = [tuple((i, j) for i in range(len(text)) for j in (i + 1, i + 2) if j <= len(text)) for text in texts]
    sentences = [
        Sentence(text, spans, tuple((i % 6,) for i, _ in spans)) for text, spans in zip(texts, words, strict=True)
    ]
    collator = Collator(PIECES, max_tokens=max_tokens)
    whole = PIECES.tokens(to_table(sentences).chars)

    batch = collator(to_table(sentences))

    kept = by_hand(*whole.ids.lengths.tolist(), max_tokens)
    tokens = [[2, *whole.ids[0][: kept[0]], 3, *whole.ids[1][: kept[1]], 3]]
    assert batch.input_ids.tolist() == tokens and len(tokens[0]) <= max_tokens
    # A character is there with its token, the first of a sentence in any case; a word with all of its characters.
    lengths = [max(1, sum(token < n for token in whole.of_char[k])) for k, n in enumerate(kept)]
    nodes = batch.graph.nodes
    assert nodes["char"].data["code"].tolist() == [
        ord(char) for text, length in zip(texts, lengths, strict=True) for char in text[:length]
    ]
    inside = [[span for span in spans if span[1] <= length] for spans, length in zip(words, lengths, strict=True)]
    assert batch.graph.num_nodes("word") == sum(map(len, inside)) + 4  # a begin and an end each
    assert nodes["sense"].data["sense"].tolist() == [i % 6 for spans in inside for i, _ in spans]
    assert len(batch.char_token) == sum(lengths)
