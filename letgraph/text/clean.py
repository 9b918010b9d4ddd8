"""What happens to every character of a raw sentence before it becomes a node: the cleaning policy."""

from __future__ import annotations

import unicodedata
from collections.abc import Mapping
from typing import Literal, NamedTuple

Blanks = Literal["collapse", "drop"]
Width = Literal["narrow", "keep"]

REMOVED = ("control", "format", "variation-selector", "blank-dropped", "truncated")
REPLACED = ("blank", "full-width", "upper-case", "surrogate")
DEFAULT_MAX_CHARACTERS = 254
"""What is kept of a sentence: with two of them, ``[CLS] a [SEP] b [SEP]`` fits the 512 positions of an encoder."""


class Cleaned(NamedTuple):
    """A cleaned sentence and how it came about.

    ``text[k]`` stems from ``input[origin[k]]``; ``origin`` is strictly increasing. ``changes`` counts the input's
    characters by kind (`REMOVED`, `REPLACED`; kinds that did not occur are absent), so the counts under `REMOVED`
    sum to ``len(input) - len(text)``. A full-width capital is counted as both ``full-width`` and ``upper-case``.
    """

    text: str
    origin: tuple[int, ...]
    changes: Mapping[str, int]


def clean(text: str, *, blanks: Blanks = "collapse", width: Width = "narrow") -> Cleaned:
    """Clean one sentence; idempotent, never fails, and every character that survives is one character node.

    ==============================================================  ==============================================
    input                                                           output
    ==============================================================  ==============================================
    run of white space (``str.isspace``: tab, newline, U+3000 …)    one U+0020; none at the ends or with ``"drop"``
    full-width forms U+FF01-U+FF5E                                  ASCII U+0021-U+007E, or kept with ``"keep"``
    capitals of any script                                          lower case, where that is one character
    other control characters (Cc)                                   removed
    format characters (Cf: zero-width, bidi marks, BOM, tags …)     removed
    variation selectors                                             removed
    surrogates                                                      U+FFFD
    everything else, private use and unassigned included            kept; no NFC or NFKC
    ==============================================================  ==============================================

    Without joiners and selectors each emoji of a sequence is a character of its own, a skin tone too.
    """
    replacements = _REPLACEMENTS[width]
    mapped = text.translate(replacements)
    if " " in mapped and (blanks == "drop" or "  " in mapped or mapped[0] == " " or mapped[-1] == " "):
        return _rebuild(text, replacements, drop_blanks=blanks == "drop")
    if mapped == text:
        return Cleaned(text, _first_integers(len(text)), {})
    if len(mapped) != len(text):
        return _rebuild(text, replacements, drop_blanks=False)
    changes: dict[str, int] = {}
    for before, after in zip(text, mapped, strict=True):
        if before != after:
            for kind in _kinds(before, width):
                changes[kind] = changes.get(kind, 0) + 1
    return Cleaned(mapped, _first_integers(len(text)), changes)


def truncate(cleaned: Cleaned, max_characters: int = DEFAULT_MAX_CHARACTERS) -> Cleaned:
    """The first ``max_characters`` characters, without a blank at the end; the others are counted as ``truncated``."""
    text, origin, changes = cleaned
    if len(text) <= max_characters:
        return cleaned
    kept = text[:max_characters].rstrip(" ")
    return Cleaned(kept, origin[: len(kept)], {**changes, "truncated": len(text) - len(kept)})


def truncation_warning(changes: Mapping[str, int], max_characters: int) -> str | None:
    """What a user should be told when sentences, or pairs (counted as ``pair-truncated``), were too long."""
    alone, in_pairs = changes.get("truncated", 0), changes.get("pair-truncated", 0)
    parts = [f"sentences of more than {max_characters:,} characters: {alone:,} characters at their ends were cut off"]
    parts += [f"pairs too long for the encoder: {in_pairs:,} characters at the ends of sentences were cut off"]
    return "; ".join(part for part, count in zip(parts, (alone, in_pairs), strict=True) if count) or None


class _Replacements(dict[int, int | None]):
    """Code point -> what replaces it (None: removed), for `str.translate`; worked out when first met."""

    def __init__(self, width: Width) -> None:
        self.width = width

    def __missing__(self, code: int) -> int | None:
        self[code] = replacement = _replacement(chr(code), self.width)
        return replacement


_REPLACEMENTS: Mapping[Width, _Replacements] = {"narrow": _Replacements("narrow"), "keep": _Replacements("keep")}
_INTEGERS = tuple(range(1024))


def _first_integers(number: int) -> tuple[int, ...]:
    return _INTEGERS[:number] if number <= len(_INTEGERS) else tuple(range(number))


def _replacement(char: str, width: Width) -> int | None:
    kinds = _kinds(char, width)
    if not kinds:
        return ord(char)
    if kinds[0] in REMOVED:
        return None
    if char.isspace():
        return 0x20
    if kinds == ("surrogate",):
        return 0xFFFD
    return ord(_narrow(char, width).lower())


def _kinds(char: str, width: Width) -> tuple[str, ...]:
    """What the policy does to a character wherever it stands; nothing: it is kept as it is."""
    if char.isspace():
        return () if char == " " else ("blank",)
    category = unicodedata.category(char)
    if category in _BY_CATEGORY:
        return (_BY_CATEGORY[category],)
    if _is_variation_selector(char):
        return ("variation-selector",)
    narrow = _narrow(char, width)
    lower = narrow.lower()
    full_width = ("full-width",) if narrow != char else ()
    return (*full_width, "upper-case") if len(lower) == 1 and lower != narrow else full_width


_BY_CATEGORY = {"Cc": "control", "Cf": "format", "Cs": "surrogate"}


def _narrow(char: str, width: Width) -> str:
    return chr(ord(char) - 0xFEE0) if width == "narrow" and "\uff01" <= char <= "\uff5e" else char


def _is_variation_selector(char: str) -> bool:
    """Unicode property Variation_Selector, which unicodedata lacks (the first range is Mongolian)."""
    return "\u180b" <= char <= "\u180f" or "\ufe00" <= char <= "\ufe0f" or "\U000e0100" <= char <= "\U000e01ef"


def _rebuild(text: str, replacements: _Replacements, *, drop_blanks: bool) -> Cleaned:
    """`clean` character by character, for a text that gets shorter."""
    kept: list[str] = []
    origin: list[int] = []
    changes: dict[str, int] = {}

    def count(kind: str) -> None:
        changes[kind] = changes.get(kind, 0) + 1

    pending = -1  # The first blank of a run, which survives only when something follows it.
    for place, char in enumerate(text):
        replacement = replacements[ord(char)]
        if replacement == 0x20:
            if drop_blanks or not kept or pending >= 0:
                count("blank-dropped")
            else:
                pending = place
            continue
        kinds = _kinds(char, replacements.width) if replacement != ord(char) else ()
        for kind in kinds:
            count(kind)
        if replacement is None:
            continue
        if pending >= 0:
            if text[pending] != " ":
                count("blank")
            kept.append(" ")
            origin.append(pending)
            pending = -1
        kept.append(chr(replacement))
        origin.append(place)
    if pending >= 0:
        count("blank-dropped")
    return Cleaned("".join(kept), tuple(origin), changes)
