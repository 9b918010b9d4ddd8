"""Fonts that have the characters of a text, so that no picture shows boxes in their place."""

from __future__ import annotations

from collections.abc import Iterable

from letgraph.errors import LetgraphError, MissingDependency

PREFERRED = (
    "Noto Sans CJK SC",
    "Noto Sans SC",
    "Source Han Sans SC",
    "Source Han Sans CN",
    "PingFang SC",
    "Microsoft YaHei",
    "WenQuanYi Zen Hei",
    "WenQuanYi Micro Hei",
    "SimHei",
    "Noto Sans CJK JP",
)
"""Families with Chinese, best first; any other font that has the characters serves too."""

_LATIN = "DejaVu Sans"  # comes with matplotlib
_MEND = "install one, for example `apt-get install fonts-noto-cjk`, or write .svg or .html, which their viewer draws"


def families_for(text: str) -> list[str]:
    """Font families that together have every character of ``text``, in the order in which matplotlib should ask them.

    Raises `LetgraphError` with the characters that no installed font has.
    """
    found, missing = _families(text)
    if missing:
        names = ", ".join(f"{char} (U+{ord(char):04X})" for char in sorted(missing)[:5])
        more = f" and {len(missing) - 5} more" if len(missing) > 5 else ""
        raise LetgraphError(f"no installed font has {names}{more}; {_MEND}")
    return found


def installed_families_for(text: str) -> list[str]:
    """As `families_for`, and without an error what there is."""
    return _families(text)[0]


def _families(text: str) -> tuple[list[str], set[str]]:
    try:
        from matplotlib import font_manager
    except ImportError:
        raise MissingDependency("pictures need matplotlib; run `pip install 'letgraph[viz]'`") from None

    manager = font_manager.fontManager
    known = {entry.fname for entry in manager.ttflist}
    for path in font_manager.findSystemFonts():  # matplotlib's own list is a cache, which a new font is not in
        if path not in known:
            try:
                manager.addfont(path)
            except (RuntimeError, OSError):  # no font that matplotlib can draw
                continue
    wanted = {char for char in text if not char.isspace()}
    found: list[str] = []
    for entry in sorted(manager.ttflist, key=lambda entry: (*_rank(entry.name), entry.fname)):
        if not wanted:
            break
        if entry.style == "normal" and entry.weight in (400, "normal", "regular") and entry.name not in found:
            has = _characters(entry.fname, wanted)
            if has:
                found.append(entry.name)
                wanted -= has
    return found, wanted


def _rank(name: str) -> tuple[int, str]:
    if name == _LATIN:
        return -1, name
    return (PREFERRED.index(name) if name in PREFERRED else len(PREFERRED)), name


def _characters(path: str, wanted: Iterable[str]) -> set[str]:
    from matplotlib.font_manager import get_font

    try:
        codes = get_font(path).get_charmap()
    except (RuntimeError, OSError):
        return set()
    return {char for char in wanted if ord(char) in codes}
