"""The cleaning policy: what becomes of every kind of character, and that nothing disappears unexplained."""

from __future__ import annotations

import re
import unicodedata

import pytest
from hypothesis import given
from hypothesis import strategies as st

from letgraph.text.clean import REMOVED, REPLACED, clean, truncate, truncation_warning

FAMILY = "\U0001f468\u200d\U0001f469\u200d\U0001f467"
EVERY_CHARACTER = [chr(code) for code in (*range(0x30000), *range(0xE0000, 0xE1000), *range(0x10FF00, 0x110000))]

# Mostly the characters that the policy is about, so that runs of them meet.
characters = st.one_of(
    st.sampled_from(
        " \t\n\u3000\u00a0\u2028\u0085\x1f\x00\x08\u200b\u200d\ufeff\u00ad\ufe0f\u180b\ue000\ud800\udfffＡｚ！AÉİΣ我"
    ),
    st.integers(0, 0x10FFFF).map(chr),
)
texts = st.lists(characters, max_size=20).map("".join)


def fate(char: str) -> str:
    """The policy for one character by itself, straight from the Unicode data."""
    if char.isspace():
        return " "
    if unicodedata.category(char) in ("Cc", "Cf") or "VARIATION SELECTOR" in unicodedata.name(char, ""):
        return ""
    if unicodedata.category(char) == "Cs":
        return "\ufffd"
    if 0xFF01 <= ord(char) <= 0xFF5E:
        char = unicodedata.normalize("NFKC", char)
    return char.lower() if len(char.lower()) == 1 else char


@pytest.mark.parametrize(
    ("raw", "text", "changes"),
    [
        ("怎么还款", "怎么还款", {}),
        ("", "", {}),
        ("我 想还款", "我 想还款", {}),
        ("  我\t\n想\u3000\u3000还款\xa0", "我 想 还款", {"blank-dropped": 5, "blank": 2}),
        ("我 \u200b 想", "我 想", {"format": 1, "blank-dropped": 1}),
        (" \u3000 ", "", {"blank-dropped": 3}),
        ("ＡＢＣ１２３，？", "abc123,?", {"full-width": 8, "upper-case": 3}),
        ("￥１００。", "￥100。", {"full-width": 3}),
        ("iPhone", "iphone", {"upper-case": 1}),
        ("ΟΔΟΣ", "οδοσ", {"upper-case": 4}),
        ("İstanbul Straße", "İstanbul straße", {"upper-case": 1}),
        ("还\u200d款\x08\ufeff\u00ad\u202e", "还款", {"format": 4, "control": 1}),
        (FAMILY, "\U0001f468\U0001f469\U0001f467", {"format": 2}),
        ("\U0001f44d\U0001f3fd", "\U0001f44d\U0001f3fd", {}),
        ("\u2764\ufe0f", "\u2764", {"variation-selector": 1}),
        ("\u845b\U000e0100", "\u845b", {"variation-selector": 1}),
        ("\ue123\U00100000", "\ue123\U00100000", {}),
        ("\ud83d我", "\ufffd我", {"surrogate": 1}),
        ("e\u0301\u2460\ufb01", "e\u0301\u2460\ufb01", {}),
    ],
)
def test_each_kind_of_character(raw: str, text: str, changes: dict[str, int]) -> None:
    cleaned = clean(raw)
    assert cleaned.text == text
    assert cleaned.changes == changes


def test_blanks_can_be_dropped() -> None:
    cleaned = clean(" 我 想\u3000Ａ ", blanks="drop")
    assert cleaned == ("我想a", (1, 3, 5), {"blank-dropped": 4, "full-width": 1, "upper-case": 1})


def test_full_width_forms_can_be_kept() -> None:
    assert clean("ＡＢ，\u3000！a ", blanks="drop", width="keep") == (
        "ａｂ，！a",
        (0, 1, 2, 4, 5),
        {"upper-case": 2, "blank-dropped": 2},
    )


def test_the_surviving_blank_is_the_first_of_its_run() -> None:
    assert clean("还\u200b \t款").origin == (0, 2, 4)


def test_every_unicode_character_meets_its_fate() -> None:
    mapped = [clean(f"我{char}我").text[1:-1] for char in EVERY_CHARACTER]
    assert mapped == [fate(char) for char in EVERY_CHARACTER]


@given(texts)
def test_the_text_is_what_the_policy_says(raw: str) -> None:
    replaced = "".join(map(fate, raw))
    assert clean(raw).text == re.sub(" +", " ", replaced).strip(" ")
    assert clean(raw, blanks="drop").text == replaced.replace(" ", "")


@given(texts, st.sampled_from(["collapse", "drop"]), st.sampled_from(["narrow", "keep"]))
def test_cleaning_twice_changes_nothing_more(raw: str, blanks: str, width: str) -> None:
    once = clean(raw, blanks=blanks, width=width).text  # type: ignore[arg-type]
    assert clean(once, blanks=blanks, width=width) == (once, tuple(range(len(once))), {})  # type: ignore[arg-type]


@given(texts, st.sampled_from(["collapse", "drop"]))
def test_every_character_is_accounted_for(raw: str, blanks: str) -> None:
    text, origin, changes = clean(raw, blanks=blanks)  # type: ignore[arg-type]
    assert list(origin) == sorted(set(origin))
    assert text == "".join(fate(raw[place]) for place in origin)
    gone = set(range(len(raw))) - set(origin)
    assert all(fate(raw[place]) in ("", " ") for place in gone)
    assert sum(changes.get(kind, 0) for kind in REMOVED) == len(gone)
    altered = sum(raw[place] != char for place, char in zip(origin, text, strict=True))
    both = sum("Ａ" <= raw[place] <= "Ｚ" for place in origin)
    assert sum(changes.get(kind, 0) for kind in REPLACED) == altered + both
    assert set(changes) <= {*REMOVED, *REPLACED}
    assert all(changes.values())


def test_long_texts_are_cleaned_like_short_ones() -> None:
    cleaned = clean("还Ｋ" * 5000)
    assert cleaned == ("还k" * 5000, tuple(range(10000)), {"full-width": 5000, "upper-case": 5000})


@given(texts, st.integers(1, 6))
def test_what_is_beyond_the_limit_is_cut_off_and_counted(raw: str, limit: int) -> None:
    whole = clean(raw)
    text, origin, changes = truncate(whole, limit)
    assert text == whole.text[:limit].strip(" ")
    assert origin == whole.origin[: len(text)]
    assert sum(changes.get(kind, 0) for kind in REMOVED) == len(raw) - len(text)
    assert (truncation_warning(changes, limit) is None) == (len(whole.text) <= limit)
    assert clean(text) == (text, tuple(range(len(text))), {})
