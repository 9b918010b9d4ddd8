"""A `PairView` as a web page: one file without a reference to anything outside it."""

from __future__ import annotations

import base64
import hashlib
import json
from collections.abc import Mapping, Sequence
from importlib import resources
from typing import Any

import numpy as np

from letgraph import schema
from letgraph.text.lattice import Span, forward_reach
from letgraph.viewing.nodes import Node
from letgraph.viewing.stretches import stretches
from letgraph.viewing.view import PairView


def page(views: Mapping[str, PairView], *, ask: bool = False) -> bytes:
    """The page of one pair seen with different segmenters, the first of ``views`` shown first, names as in the switch.

    ``ask``: with a form that asks its own server for other pairs (`letgraph.serve`).
    """
    files = {name: _asset(name) for name in ("page.html", "view.css", "view.js")}
    style, script = files["view.css"], files["view.js"]
    policy = (
        f"default-src 'none'; img-src data:; style-src '{_digest(style)}'; script-src '{_digest(script)}'; "
        f"connect-src '{'self' if ask else 'none'}'; base-uri 'none'; form-action 'none'"
    )
    data = json.dumps({"ask": ask, "views": page_data(views)}, ensure_ascii=False, separators=(",", ":"))
    # Inside <script> only "<" can begin something that ends it.
    parts = {"@csp@": policy, "@style@": style, "@script@": script, "@data@": data.replace("<", "\\u003c")}
    text = files["page.html"]
    for mark, content in parts.items():
        before, after = text.split(mark, 1)
        text = before + content + after
    return text.encode("utf-8", "replace")


def _asset(name: str) -> str:
    return resources.files("letgraph.viewing").joinpath("web", name).read_text(encoding="utf-8")


def _digest(content: str) -> str:
    return "sha256-" + base64.b64encode(hashlib.sha256(content.encode()).digest()).decode()


def page_data(views: Mapping[str, PairView]) -> list[dict[str, Any]]:
    """What the page's script draws, as JSON values.

    For every view: ``name``, ``texts``, their ``stretches`` that no word crosses (a sentence may be wrapped between
    them), ``segmenters``, ``probability`` or None, ``warning`` or None; ``words`` with their ``side`` (0 for
    a), span, ``ahead`` and ``behind`` (numbers of the words that they reach) and ``senses`` with a weight for each
    layer; with a model ``cross`` ([a reads b, b reads a], each [reader][read], in hundredths of a percent) and
    ``matched`` pairs [place in a, place in b].
    """
    return [{"name": name, **_view_data(view)} for name, view in views.items()]


def _view_data(view: PairView) -> dict[str, Any]:
    senses = view.senses_of_words()
    words: list[dict[str, Any]] = []
    of_sides: list[list[Span]] = []
    for side, letter in enumerate("ab"):
        rows = [row for row, node in enumerate(view.nodes[schema.WORD]) if node["sentence"] == letter]
        nodes = [view.nodes[schema.WORD][row] for row in rows]
        spans = [(node["span_start"], node["span_end"]) for node in nodes]
        masks = forward_reach(spans)
        of_sides.append(stretches(spans, len(view.texts[side])))
        first = len(words) - 1  # the begin word is not drawn, the next one is
        inner = range(1, len(nodes) - 1)
        for i in inner:
            node = nodes[i]
            words.append(
                {
                    "side": side,
                    "start": node["span_start"],
                    "end": node["span_end"],
                    "text": node["text"],
                    "segmenters": node.get("segmenters", "").split(),
                    "ahead": [first + j for j in inner if j != i and masks[i] >> j & 1],
                    "behind": [first + j for j in inner if j != i and masks[j] >> i & 1],
                    "senses": [_sense(*sense) for sense in senses.get(rows[i], [])],
                }
            )
    data: dict[str, Any] = {
        "texts": list(view.texts),
        "stretches": of_sides,
        "segmenters": list(view.segmenters),
        "probability": view.probability,
        "warning": view.warning,
        "words": words,
    }
    if schema.CROSS in view.attention:
        data |= _cross(view)
    return data


def _sense(node: Node, weights: Sequence[float]) -> dict[str, Any]:
    entry = {"number": node["number"], "sememes": node["label"], "english": node.get("sememes_english", "")}
    return entry | {"weights": [round(weight, 4) for weight in weights]}


def _cross(view: PairView) -> dict[str, Any]:
    lengths = [len(text) for text in view.texts]
    cross = [np.zeros((lengths[side], lengths[1 - side])) for side in range(2)]
    matched = []
    for reader, read, weight, mark in view.readings():
        side = "ab".index(reader["sentence"])
        cross[side][reader["span_start"], read["span_start"]] = weight
        if mark and side == 0:
            matched.append([reader["span_start"], read["span_start"]])
    return {"cross": [(10_000 * table).round().astype(int).tolist() for table in cross], "matched": matched}
