"""The character vocabulary numbers characters and survives a file."""

from __future__ import annotations

import json
from collections import Counter

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from letgraph.errors import DataError
from letgraph.text.vocabulary import (
    CLS,
    PAD,
    SEP,
    SPECIALS,
    UNK,
    CharVocabulary,
    PieceVocabulary,
    in_gluonnlp_order,
    load_vocabulary,
    read_pieces,
)

texts = st.text(st.characters(), max_size=40)  # lone surrogates included


def codes(text: str) -> np.ndarray:
    return np.array([ord(char) for char in text], np.uint32)


def test_special_tokens_come_first():
    assert tuple(range(len(SPECIALS))) == (PAD, UNK, CLS, SEP)
    assert CharVocabulary("款存").encode(codes("存款")).tolist() == [5, 4]
    assert len(CharVocabulary("款存")) == 6


@given(texts, texts)
def test_known_characters_have_their_place_and_others_are_unknown(known, text):
    characters = list(dict.fromkeys(known))
    vocabulary = CharVocabulary(characters)

    expected = [len(SPECIALS) + characters.index(char) if char in characters else UNK for char in text]

    assert vocabulary.encode(codes(text)).tolist() == expected


def test_encoding_keeps_the_shape():
    assert CharVocabulary("ab").encode(np.full((2, 3), ord("b"), np.uint32)).tolist() == [[5] * 3] * 2
    assert CharVocabulary("").encode(np.full((2, 3), ord("b"), np.uint32)).tolist() == [[UNK] * 3] * 2


@given(texts, st.integers(1, 3))
def test_built_vocabularies_hold_the_frequent_characters_by_falling_frequency(text, min_count):
    counts = Counter(text)

    vocabulary = CharVocabulary.build(codes(text), min_count)

    expected = sorted((char for char in counts if counts[char] >= min_count), key=lambda c: (-counts[c], ord(c)))
    assert vocabulary.characters == expected


@given(st.text(st.characters(), max_size=20))
def test_a_saved_vocabulary_loads_equal(tmp_path_factory, text):
    path = tmp_path_factory.mktemp("vocabulary") / "vocabulary.json"
    vocabulary = CharVocabulary(list(dict.fromkeys(text + "\u2028\ud800😀")))

    vocabulary.save(path)

    assert CharVocabulary.load(path).characters == vocabulary.characters
    assert [file.name for file in path.parent.iterdir()] == [path.name]


@pytest.mark.parametrize(
    "content",
    [None, "", "[", '{"a": 1}', '["ab"]', '["a", "a"]', "[1]", '[["a"]]', "7"],
)
def test_a_file_that_is_no_vocabulary_is_refused_by_name(tmp_path, content):
    path = tmp_path / "vocabulary.json"
    if content is not None:
        path.write_text(content)

    with pytest.raises(DataError, match=r"vocabulary\.json"):
        CharVocabulary.load(path)


def test_bytes_that_are_not_ascii_are_refused(tmp_path):
    path = tmp_path / "vocabulary.json"
    path.write_bytes(json.dumps(["存"], ensure_ascii=False).encode("gbk"))

    with pytest.raises(DataError):
        CharVocabulary.load(path)


PIECES = ["[PAD]", "[unused1]", "[UNK]", "[CLS]", "[SEP]", "[MASK]", "!", "款", "##款", "\u2028", "存款"]


def test_a_character_has_the_id_of_the_piece_it_is():
    vocabulary = PieceVocabulary(PIECES)

    assert (len(vocabulary), vocabulary.pad, vocabulary.unk, vocabulary.cls, vocabulary.sep) == (11, 0, 2, 3, 4)
    assert vocabulary.encode(codes("款!存\u2028")).tolist() == [7, 6, 2, 9]


def test_gluonnlp_puts_its_special_tokens_first():
    ordered = in_gluonnlp_order(PIECES)

    assert ordered == ["[UNK]", "[PAD]", "[CLS]", "[SEP]", "[MASK]", "[unused1]", *PIECES[6:]]
    assert in_gluonnlp_order(ordered) == ordered


def test_saved_pieces_load_equal(tmp_path):
    PieceVocabulary(PIECES).save(tmp_path / "vocabulary.json")

    loaded = load_vocabulary(tmp_path / "vocabulary.json")

    assert isinstance(loaded, PieceVocabulary) and loaded.pieces == PIECES
    with pytest.raises(DataError, match=r"vocabulary\.json: not a vocabulary of characters"):
        CharVocabulary.load(tmp_path / "vocabulary.json")


@pytest.mark.parametrize(
    ("pieces", "problem"),
    [([*PIECES, "款"], "'款' comes twice"), (PIECES[:-1][1:], r"no \[PAD\]"), ([], r"no \[PAD\]"), ([1], "nor of")],
)
def test_pieces_that_are_no_vocabulary_are_refused(tmp_path, pieces, problem):
    path = tmp_path / "vocabulary.json"
    path.write_text(json.dumps({"pieces": pieces}))

    with pytest.raises(DataError, match=problem):
        load_vocabulary(path)


def test_only_a_line_feed_ends_a_piece(tmp_path):
    path = tmp_path / "vocab.txt"
    path.write_bytes("\n".join([*PIECES, "\x85", ""]).encode())

    assert read_pieces(path) == [*PIECES, "\x85"]
    path.write_bytes("[PAD]\n款\n".encode("gbk"))
    with pytest.raises(DataError, match=r"vocab\.txt:2: not UTF-8"):
        read_pieces(path)
    with pytest.raises(DataError, match="cannot be read"):
        read_pieces(tmp_path / "absent.txt")
