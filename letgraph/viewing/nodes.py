"""The nodes of one pair as `letgraph.viewing.view.PairView` describes them, from the columns of a batch's graph."""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping, Sequence
from typing import Any

from letgraph import schema
from letgraph.text.lattice import Span
from letgraph.text.lexicon import Lexicon

Node = dict[str, Any]
WordSpans = Mapping[str, tuple[frozenset[Span], frozenset[Span]]]
"""Segmenter -> the spans of its words in sentence a and in sentence b."""


def char_nodes(columns: Mapping[str, list[int]]) -> tuple[list[Node], tuple[str, str]]:
    texts = ["", ""]
    nodes: list[Node] = []
    for code, side in zip(columns["code"], columns["sentence"], strict=True):
        node: Node = {"type": schema.CHAR, "sentence": "ab"[side]}
        if code < 0:  # [CLS] or [SEP] in the place of a character, which a begin or an end word covers
            edge = "end" if any(n["sentence"] == "ab"[side] for n in nodes) else "begin"
            node |= {"name": f"{'ab'[side]}:[{edge}]", "label": f"[{edge}]", "boundary": edge}
        else:
            place = len(texts[side])
            node |= {"name": f"{'ab'[side]}:{chr(code)}[{place}]", "label": chr(code), "text": chr(code)}
            node |= {"span_start": place, "span_end": place + 1}
            texts[side] += chr(code)
        nodes.append(node)
    return nodes, (texts[0], texts[1])


def word_nodes(columns: Mapping[str, list[int]], texts: Sequence[str], shifted: bool, words: WordSpans) -> list[Node]:
    nodes: list[Node] = []
    last = len(columns["sentence"]) - 1
    sides = columns["sentence"]
    for row, (start, end, side) in enumerate(zip(columns["start"], columns["end"], sides, strict=True)):
        node: Node = {"type": schema.WORD, "sentence": "ab"[side]}
        opens, closes = row == 0 or sides[row - 1] != side, row == last or sides[row + 1] != side
        if opens or closes:
            edge = "begin" if opens else "end"
            place = 0 if opens else len(texts[side])
            node |= {"name": f"{'ab'[side]}:{edge}", "label": edge, "boundary": edge}
            node |= {"span_start": place, "span_end": place}
        else:
            start, end = start - shifted, end - shifted
            text = texts[side][start:end]
            node |= {"name": f"{'ab'[side]}:{text}[{start}:{end}]", "label": text, "text": text}
            node |= {"span_start": start, "span_end": end}
            if found := [name for name, spans in words.items() if (start, end) in spans[side]]:
                node["segmenters"] = " ".join(found)
        nodes.append(node)
    return nodes


def sense_nodes(
    ids: Sequence[int], word_of: Mapping[int, int], words: list[Node], lexicon: Lexicon | None
) -> list[Node]:
    nodes: list[Node] = []
    counts: Counter[int] = Counter()
    for row, sense in enumerate(ids):
        word = words[word_of[row]]
        counts[word_of[row]] += 1
        number = counts[word_of[row]]
        node: Node = {"type": schema.SENSE, "name": f"{word['name']}#{number}", "label": f"#{number}"}
        node |= {key: word[key] for key in ("sentence", "text", "span_start", "span_end")}
        node |= {"number": number, "sense_id": sense}
        if lexicon is not None:
            names = lexicon.sememes_of_sense(sense)
            node["sememes"] = node["label"] = " ".join(names)
            if any(name in lexicon.english for name in names):
                node["sememes_english"] = " ".join(lexicon.english.get(name, "-") for name in names)
        nodes.append(node)
    return nodes


def sememe_nodes(columns: Mapping[str, list[int]], of_senses: set[int], lexicon: Lexicon | None) -> list[Node]:
    """``of_senses``: the nodes that some sense has. Where one is not, it is the dummy, number 0, and the lexicon's
    sememes are counted from 1."""
    nodes: list[Node] = []
    counts: Counter[int] = Counter()
    dummies = int(len(of_senses) < len(columns["sememe"]))
    for row, (number, side) in enumerate(zip(columns["sememe"], columns["sentence"], strict=True)):
        sememe = number - dummies
        name = lexicon.sememes[sememe] if lexicon else f"#{sememe}"
        text = name if row in of_senses else "dummy"
        node: Node = {"type": schema.SEMEME, "name": f"{'ab'[side]}:sememe {counts[side]} {text}", "label": text}
        node |= {"sentence": "ab"[side], "text": text, "sememe_id": sememe}
        if lexicon is not None and text in lexicon.english:
            node["english"] = lexicon.english[text]
        counts[side] += 1
        nodes.append(node)
    return nodes
