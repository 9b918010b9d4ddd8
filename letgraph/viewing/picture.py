"""A `PairView` as a picture: both sentences with their words, senses and, with a model, what it matched.

All lengths are inches and the figure has one axes of that scale, so that a text and the box around it fit each other
whatever the sentences' lengths.
"""

from __future__ import annotations

import warnings
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np

from letgraph import schema
from letgraph.errors import LetgraphError
from letgraph.output import whole_file
from letgraph.text.segment import SEGMENTERS
from letgraph.viewing.fonts import families_for, installed_families_for
from letgraph.viewing.stretches import lines
from letgraph.viewing.view import Node, PairView

if TYPE_CHECKING:
    from matplotlib.axes import Axes

COLOURS: Mapping[str, str] = dict(zip(SEGMENTERS, ("#0072b2", "#d55e00", "#009e73"), strict=True))
"""Segmenter -> colour; the three are told apart by colour-blind readers too (Okabe and Ito 2008)."""

CELL, MARGIN, CHAR_HEIGHT = 1.05, 0.45, 0.42  # a character's column, the border, the row of characters
LINE, GAP, BAR, PADDING = 0.145, 0.06, 0.045, 0.05  # a line of a sense, between boxes, a segmenter's bar, inside a box
HEAT = 0.34  # a cell of the heat map
CHAR_SIZE, WORD_SIZE, SENSE_SIZE = 17, 10, 7.5  # points
MAX_SENSES = 6
LINE_CHARS = 30  # a longer sentence is wrapped
MAX_NUMBERS = 1600  # cells of a heat map that still has a number in each; a larger one is an image
MAX_DOTS = 1 << 16  # in a row or column, of matplotlib

INK, FAINT, PAPER, BOX, WEIGHT = "#1b1f24", "#6a737d", "#ffffff", "#f3f4f6", "#c9d7ec"


@dataclass(frozen=True)
class Line:
    """A line of a sentence: its ``name`` (of the first line only), characters and words."""

    name: str
    text: str
    boxes: list[Box]

    @property
    def height(self) -> float:
        return max((box.bottom + box.height for box in self.boxes), default=0.0) + CHAR_HEIGHT


@dataclass(frozen=True)
class Box:
    """A word over its characters: columns [start, end) of its line, from ``bottom`` to ``bottom + height``."""

    start: int
    end: int
    bottom: float
    height: float
    text: str
    segmenters: tuple[str, ...]
    senses: tuple[tuple[str, float | None], ...]
    more: int


def save_picture(view: PairView, path: Path, dpi: int = 150) -> None:
    """Write a .png or .svg of a view; the file appears whole or not at all.

    Text of an SVG stays text, drawn by its viewer. Raises `LetgraphError` for another suffix, for a .png where no
    installed font has the characters, and for sentences too long to draw.
    """
    suffix = path.suffix.lower()
    if suffix not in (".png", ".svg"):
        raise LetgraphError(f"{path}: no picture format {suffix or 'without a suffix'}; .png or .svg")
    text = "".join(str(node.get("label", "")) for nodes in view.nodes.values() for node in nodes)
    families = (families_for if suffix == ".png" else installed_families_for)(text + _ASCII)
    import matplotlib
    from matplotlib.figure import Figure

    settings: Any = {
        "font.family": [*families, "sans-serif"] if suffix == ".svg" else families,
        "text.parse_math": False,
        "svg.fonttype": "none",
        "svg.hashsalt": "letgraph",
        "image.composite_image": False,
    }
    with matplotlib.rc_context(settings), warnings.catch_warnings():
        warnings.filterwarnings("ignore", message="Glyph .* missing from font")  # of an SVG, whose viewer has its own
        drawn = [line for side in "ab" for line in _lines(view, side)]
        width, height = _size(view, drawn)
        if max(width, height) * dpi >= MAX_DOTS:
            raise LetgraphError(
                f"sentences of {len(view.texts[0])} and {len(view.texts[1])} characters are too long "
                "for a picture; write .html"
            )
        figure = Figure(figsize=(width, height), facecolor=PAPER)
        axes = figure.add_axes((0, 0, 1, 1))
        axes.set(xlim=(0, width), ylim=(0, height))
        axes.axis("off")
        axes.autoscale(False)
        _draw(axes, view, drawn, width, height)
        with whole_file(path) as stream:
            metadata = {"Date": None} if suffix == ".svg" else {"Software": None}
            figure.savefig(stream, format=suffix[1:], dpi=dpi, metadata=metadata)


_ASCII = "".join(map(chr, range(33, 127))) + "…·→"


def _lines(view: PairView, side: str) -> list[Line]:
    """A sentence in lines that break no word."""
    text = view.texts["ab".index(side)]
    words = [
        (row, node)
        for row, node in enumerate(view.nodes[schema.WORD])
        if node["sentence"] == side and "boundary" not in node
    ]
    words.sort(key=lambda item: (item[1]["span_end"] - item[1]["span_start"], item[1]["span_start"]))
    senses = view.senses_of_words()
    found: list[Line] = []
    for start, end in lines([(node["span_start"], node["span_end"]) for _, node in words], len(text), LINE_CHARS):
        inside = [(node, senses.get(row, [])) for row, node in words if start <= node["span_start"] < end]
        name = "" if found else side
        found.append(Line(name, text[start:end], _boxes(inside, start, end, max(len(view.segmenters), 1))))
    return found


def _boxes(
    words: Sequence[tuple[Node, Sequence[tuple[Node, Sequence[float]]]]], first: int, last: int, bars: int
) -> list[Box]:
    """Words with their senses as boxes on a skyline: each as low as the boxes below it let it lie."""
    skyline = [0.0] * (last - first)
    boxes = []
    for node, senses in words:
        start, end = node["span_start"] - first, node["span_end"] - first
        of_word = [
            (f"{sense['number']} {sense['label']}", weights[-1] if weights else None) for sense, weights in senses
        ]
        shown = tuple(of_word if len(of_word) <= MAX_SENSES else of_word[: MAX_SENSES - 1])
        more = len(of_word) - len(shown)
        height = 0.24 + LINE * (len(shown) + bool(more)) + BAR * bars + 2 * PADDING
        bottom = max(skyline[start:end])
        skyline[start:end] = [bottom + height + GAP] * (end - start)
        names = tuple(node.get("segmenters", "").split())
        boxes.append(Box(start, end, bottom, height, node["text"], names, shown, more))
    return boxes


def _size(view: PairView, drawn: Sequence[Line]) -> tuple[float, float]:
    a, b = map(len, view.texts)
    width = max(len(line.text) for line in drawn) * CELL
    height = 0.5 + sum(line.height + 0.3 for line in drawn)
    if schema.CROSS in view.attention:
        if not _is_image(view):
            width = max(width, (a + b) * HEAT + 1.2)
        height += max(a, b) * _heat_cell(view, width) + 0.9
    return max(width + 2 * MARGIN, 5.0), height


def _is_image(view: PairView) -> bool:
    return len(view.texts[0]) * len(view.texts[1]) > MAX_NUMBERS


def _heat_cell(view: PairView, width: float) -> float:
    """Both maps of an image are as wide as the sentences."""
    return min(HEAT, (width - 1.2) / sum(map(len, view.texts))) if _is_image(view) else HEAT


def _draw(axes: Axes, view: PairView, drawn: Sequence[Line], width: float, height: float) -> None:
    y = height - 0.32
    _legend(axes, view, y)
    y -= 0.18
    for line in drawn:
        y -= line.height
        middle = y + CHAR_HEIGHT / 2
        axes.text(MARGIN - 0.2, middle, line.name, size=WORD_SIZE + 2, color=FAINT, ha="center", va="center")
        for place, char in enumerate(line.text):
            x = MARGIN + (place + 0.5) * CELL
            axes.text(x, middle, char, size=CHAR_SIZE, color=INK, ha="center", va="center")
        for box in line.boxes:
            _box(axes, box, y + CHAR_HEIGHT)
        y -= 0.3
    if schema.CROSS in view.attention:
        _heat_maps(axes, view, y, _heat_cell(view, width - 2 * MARGIN))


def _legend(axes: Axes, view: PairView, y: float) -> None:
    x = MARGIN
    for name in view.segmenters:
        _rectangle(axes, x, y - BAR, 0.22, 2 * BAR, COLOURS.get(name, FAINT))
        axes.text(x + 0.28, y, name, size=WORD_SIZE, color=INK, va="center")
        x += 0.28 + 0.095 * len(name) + 0.15
    if view.probability is not None:
        axes.text(x + 0.1, y, f"match: {view.probability:.3f}", size=WORD_SIZE + 1, color=INK, va="center")


def _box(axes: Axes, box: Box, ground: float) -> None:
    x, y = MARGIN + box.start * CELL + GAP / 2, ground + box.bottom
    width = (box.end - box.start) * CELL - GAP
    _rectangle(axes, x, y, width, box.height, BOX)
    for number, name in enumerate(box.segmenters):
        _rectangle(axes, x, y + number * BAR, width, BAR * 0.8, COLOURS.get(name, FAINT))
    top = y + box.height - PADDING
    centre = x + width / 2
    axes.text(centre, top - 0.1, _fit(box.text, width, WORD_SIZE), size=WORD_SIZE, color=INK, ha="center", va="center")
    for number, (text, weight) in enumerate(box.senses):
        line = top - 0.22 - LINE * (number + 0.5)
        share = "" if weight is None else f"{100 * weight:.0f}"
        if weight is not None:
            _rectangle(axes, x, line - LINE * 0.45, width * weight, LINE * 0.9, WEIGHT)
            axes.text(x + width - 0.03, line, share, size=SENSE_SIZE, color=FAINT, ha="right", va="center")
        room = width - 0.08 - (0.17 if share else 0)
        text = _fit(text, room, SENSE_SIZE)
        axes.text(x + 0.04, line, text, size=SENSE_SIZE, color=INK, ha="left", va="center")
    if box.more:
        line = top - 0.22 - LINE * (len(box.senses) + 0.5)
        axes.text(x + 0.04, line, f"and {box.more} more", size=SENSE_SIZE, color=FAINT, ha="left", va="center")


def _heat_maps(axes: Axes, view: PairView, y: float, cell: float) -> None:
    """Left: what each character of a (a row) takes from those of b (columns); right: the other way."""
    from matplotlib import colormaps

    blues = colormaps["Blues"]
    origin = {"a": MARGIN + 0.3, "b": MARGIN + 0.3 + len(view.texts[1]) * cell + 0.8}
    top = y - 0.55
    size = WORD_SIZE * min(cell / HEAT * 1.6, 1)
    greatest = 1.0
    if image := _is_image(view):
        greatest = max(weight for _, _, weight, _ in view.readings())
    for side, other in ("ab", "ba"):
        x = origin[side]
        rows, columns = (view.texts["ab".index(s)] for s in (side, other))
        title = f"{side} reads {other}" + (f"; darkest: {100 * greatest:.0f} %" if image else "")
        axes.text(x, top + 0.48, title, size=WORD_SIZE, color=FAINT, va="center")
        for place, char in enumerate(rows):
            middle = top - (place + 0.5) * cell
            axes.text(x - size / 65, middle, char, size=size, color=INK, ha="center", va="center")
        for place, char in enumerate(columns):
            middle = x + (place + 0.5) * cell
            axes.text(middle, top + size / 62, char, size=size, color=INK, ha="center", va="center")
        if image:
            table = np.zeros((len(rows), len(columns)))
            for reader, read, weight, _ in view.readings():
                if reader["sentence"] == side:
                    table[reader["span_start"], read["span_start"]] = weight
            extent = (x, x + len(columns) * cell, top - len(rows) * cell, top)
            axes.imshow(table, blues, aspect="auto", interpolation="nearest", extent=extent, vmin=0, vmax=greatest)
    for reader, read, weight, mark in view.readings():
        x = origin[reader["sentence"]] + read["span_start"] * cell
        line = top - (reader["span_start"] + 1) * cell
        if image:
            if mark:
                _rectangle(axes, x, line, cell, cell, "none", INK)
            continue
        _rectangle(axes, x, line, cell * 0.94, cell * 0.94, blues(weight), INK if mark else None)
        axes.text(
            x + cell * 0.47,
            line + cell * 0.47,
            f"{100 * weight:.0f}",
            size=SENSE_SIZE,
            color=PAPER if weight > 0.55 else INK,
            ha="center",
            va="center",
        )


def _rectangle(
    axes: Axes, x: float, y: float, width: float, height: float, colour: Any, edge: str | None = None
) -> None:
    from matplotlib.patches import Rectangle

    axes.add_patch(Rectangle((x, y), width, height, facecolor=colour, edgecolor=edge or "none", linewidth=1.1))


def _fit(text: str, width: float, size: float) -> str:
    """As much of a text as has room in ``width``, an ellipsis for what has not."""
    room = width * 72 / size
    if sum(map(_em, text)) <= room:
        return text
    kept = ""
    for char in text:
        if sum(map(_em, kept)) + _em(char) > room - 1:
            break
        kept += char
    return kept.rstrip() + "…"


def _em(char: str) -> float:
    """About the width of a character in units of the font size."""
    return 0.32 if char == " " else 0.6 if ord(char) < 0x2E80 else 1.0
