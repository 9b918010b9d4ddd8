"""Whatever a tokenizer does to a text, every character has exactly one token, and the right one."""

from __future__ import annotations

import os
from pathlib import Path

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from tokenizers import Tokenizer, decoders, models, normalizers, pre_tokenizers, processors
from transformers import BertTokenizer

from letgraph.errors import DataError
from letgraph.ragged import Ragged
from letgraph.text.tokenizer import TokenizerVocabulary
from letgraph.text.vocabulary import load_vocabulary
from tests.tiny import PIECES

DATA = Path(os.environ.get("LETGRAPH_DATA") or Path(__file__).parents[3] / "shared" / "data")
REAL = DATA / "vocab" / "bert-base-chinese.txt"


def word_pieces(pieces: list[str]) -> TokenizerVocabulary:
    tokenizer = BertTokenizer(vocab={piece: number for number, piece in enumerate(pieces)})
    return TokenizerVocabulary(tokenizer.backend_tokenizer, pieces.index("[PAD]"), pieces.index("[UNK]"))


def sentence_pieces() -> TokenizerVocabulary:
    """Of the kind of XLM-RoBERTa: compatibility characters taken apart, blanks as ▁, two tokens between a and b."""
    scores = [("<s>", 0.0), ("<pad>", 0.0), ("</s>", 0.0), ("<unk>", 0.0), ("▁", -3.0), ("花呗", -2.0), ("还款", -2.0)]
    scores += [(char, -5.0) for char in "花呗怎么还款wifi12()株é"] + [("wifi", -3.0)]
    tokenizer = Tokenizer(models.Unigram([*dict(scores).items()], unk_id=3))
    tokenizer.normalizer = normalizers.NFKC()
    tokenizer.pre_tokenizer = pre_tokenizers.Metaspace()
    tokenizer.post_processor = processors.TemplateProcessing(
        single="<s> $A </s>", pair="<s> $A </s> </s> $B </s>", special_tokens=[("<s>", 0), ("</s>", 2)]
    )
    return TokenizerVocabulary(tokenizer, 1, 3)


def byte_pieces() -> TokenizerVocabulary:
    """Of the kind of GPT-2 and RoBERTa: a character is as many tokens as it has bytes."""
    alphabet = sorted(pre_tokenizers.ByteLevel.alphabet())
    ids = {token: number for number, token in enumerate(["<s>", "<pad>", "</s>", *alphabet])}
    tokenizer = Tokenizer(models.BPE(ids, []))
    tokenizer.pre_tokenizer = pre_tokenizers.ByteLevel(add_prefix_space=False)
    tokenizer.decoder = decoders.ByteLevel()
    tokenizer.post_processor = processors.RobertaProcessing(("</s>", 2), ("<s>", 0), trim_offsets=False)
    return TokenizerVocabulary(tokenizer, 1, None)


KINDS = {"word pieces": word_pieces(PIECES), "sentence pieces": sentence_pieces(), "bytes": byte_pieces()}
every = pytest.mark.parametrize("vocabulary", KINDS.values(), ids=KINDS)
texts = st.text(
    st.one_of(
        st.sampled_from("花呗怎么还款wifi12 \u3000\u0301é㈱①😀\u200d👨龘İﬁ\u0345"),
        st.characters(exclude_categories=("Cs",)),
    ),
    min_size=1,
    max_size=12,
)


def ragged(sentences: list[str]) -> Ragged:
    return Ragged.from_lists([[ord(char) for char in sentence] for sentence in sentences], np.uint32)


def by_hand(vocabulary: TokenizerVocabulary, sentence: str) -> tuple[list[int], list[int]]:
    """Token ids, and for each character the last token that covers it, else that of the character before, else 0."""
    encoding = vocabulary.tokenizer.encode(sentence, add_special_tokens=False)
    of_char: list[int] = []
    for place in range(len(sentence)):
        covering = [number for number, (start, end) in enumerate(encoding.offsets) if start <= place < end]
        of_char.append(max([*covering, *of_char[-1:], 0]))
    return encoding.ids or [vocabulary.unk], of_char


@every
@given(st.lists(texts, min_size=1, max_size=4))
def test_every_character_has_one_token(vocabulary, sentences):
    tokens = vocabulary.tokens(ragged(sentences))

    assert len(tokens.ids) == len(tokens.of_char) == len(sentences)
    for number, sentence in enumerate(sentences):
        ids, of_char = by_hand(vocabulary, sentence)
        assert tokens.ids[number].tolist() == ids
        assert tokens.of_char[number].tolist() == of_char
        assert len(of_char) == len(sentence) and max(of_char) < len(ids)


@pytest.mark.skipif(not REAL.exists(), reason=f"no {REAL} ($LETGRAPH_DATA)")
@given(st.lists(texts, min_size=1, max_size=4))
def test_every_character_has_one_token_of_a_real_vocabulary(sentences):
    vocabulary = real_vocabulary()
    tokens = vocabulary.tokens(ragged(sentences))

    for number, sentence in enumerate(sentences):
        assert (tokens.ids[number].tolist(), tokens.of_char[number].tolist()) == by_hand(vocabulary, sentence)


def real_vocabulary(cache: list[TokenizerVocabulary] = []) -> TokenizerVocabulary:  # noqa: B006
    if not cache:
        cache.append(word_pieces(REAL.read_text(encoding="utf-8").rstrip("\n").split("\n")))
    return cache[0]


@pytest.mark.parametrize(
    ("sentence", "pieces", "of_char"),
    [
        ("还款", ["还", "款"], [0, 1]),
        ("wifi还", ["wifi", "还"], [0, 0, 0, 0, 1]),  # a Latin word serves each of its letters
        ("款123", ["款", "12", "##3"], [0, 1, 1, 2]),
        ("还 款", ["还", "款"], [0, 0, 1]),  # a blank has none of its own
        (" 款", ["款"], [0, 0]),
        ("龘款", ["[UNK]", "款"], [0, 1]),
        ("e\u0301款", ["e", "款"], [0, 0, 1]),  # a stripped accent goes with its letter
        ("👨\u200d👩", ["[UNK]"], [0, 0, 0]),  # an emoji of several code points
        ("\u0301", ["[UNK]"], [0]),  # nothing is left, and yet there is a token
    ],
)
def test_pieces_and_characters_by_hand(sentence, pieces, of_char):
    tokens = KINDS["word pieces"].tokens(ragged([sentence]))

    assert [PIECES[token] for token in tokens.ids[0]] == pieces
    assert tokens.of_char[0].tolist() == of_char


def test_the_tokenizer_says_what_stands_around_a_pair():
    cls, sep = PIECES.index("[CLS]"), PIECES.index("[SEP]")

    bert, xlm = KINDS["word pieces"].template, KINDS["sentence pieces"].template
    assert (bert.prefix, bert.middle, bert.suffix, len(bert)) == ((cls,), (sep,), (sep,), 3)
    assert (xlm.prefix, xlm.middle, xlm.suffix, len(xlm)) == ((0,), (2, 2), (2,), 4)


def test_a_tokenizer_without_special_tokens_is_refused():
    tokenizer = Tokenizer(models.WordPiece({"[UNK]": 0, "款": 1}, unk_token="[UNK]"))
    with pytest.raises(ValueError, match="no special tokens"):
        TokenizerVocabulary(tokenizer, 0, 0)


@every
def test_a_saved_tokenizer_makes_the_same_tokens(vocabulary, tmp_path):
    vocabulary.save(tmp_path / "vocabulary.json")

    loaded = load_vocabulary(tmp_path / "vocabulary.json")

    chars = ragged(["花呗怎么还款", "wifi 12é", "👨"])
    assert loaded.tokens(chars).ids.values.tolist() == vocabulary.tokens(chars).ids.values.tolist()
    assert (loaded.template, loaded.pad, loaded.unk) == (vocabulary.template, vocabulary.pad, vocabulary.unk)
    assert len(loaded) == len(vocabulary)


@pytest.mark.parametrize(
    "content", ['{"tokenizer": {}}', '{"tokenizer": 3, "pad": 0, "unk": 1}', '{"tokenizer": {}, "pad": 0, "unk": 1}']
)
def test_a_file_that_holds_no_tokenizer_is_refused(tmp_path, content):
    path = tmp_path / "vocabulary.json"
    path.write_text(content)
    with pytest.raises(DataError, match=r"vocabulary\.json.*not a vocabulary"):
        load_vocabulary(path)


@every
@given(st.lists(texts, min_size=1, max_size=4), st.data())
def test_what_is_left_of_tokens_has_characters_and_the_other_way_round(vocabulary, sentences, data):
    tokens = vocabulary.tokens(ragged(sentences))
    kept = [data.draw(st.integers(1, len(ids))) for ids in tokens.ids]

    head = tokens.head(np.array(kept))

    for number, count in enumerate(kept):
        ids, of_char = tokens.ids[number].tolist(), tokens.of_char[number].tolist()
        assert head.ids[number].tolist() == ids[:count]
        whole = [token for token in of_char if token < count]
        # At least the first character stays, though its token may be one of several, of which the last is cut off.
        assert head.of_char[number].tolist() == (whole or [count - 1])
