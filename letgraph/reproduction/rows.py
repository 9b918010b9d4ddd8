"""The paper's tables: their rows, what the paper reports of each, and which rows it compares.

A new row is one entry of a table here. Source: LET (AAAI 2021), Table 1, Table 2 and section "Analysis".
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any, Literal


@dataclass(frozen=True)
class Figure:
    """Accuracy and F1 on the test split in percent, mean of five seeds. ``source``: "stated" stands in the paper's
    text, "recalled" is written down from memory of its table and has not been compared with it again."""

    accuracy: float
    f1: float | None = None
    source: Literal["stated", "recalled"] = "recalled"


@dataclass(frozen=True)
class Row:
    """``settings`` in which the row's runs differ from the defaults of `letgraph.settings`; ``paper`` by corpus;
    ``encoder``: the folder of pre-trained weights that it needs, named as on the Hugging Face hub."""

    name: str
    title: str
    settings: Mapping[str, Any]
    paper: Mapping[str, Figure] = field(default_factory=dict)
    encoder: str | None = None


@dataclass(frozen=True)
class Claim:
    """Row ``better`` beats row ``worse``; ``paper`` is what the paper says of it."""

    better: str
    worse: str
    paper: str


@dataclass(frozen=True)
class TableRows:
    """``varies``: the settings that tell the rows apart; all others are the same in all rows. ``datasets`` are the
    paper's. ``needs``: a setting that all rows share, and whose value is for who runs the table to choose."""

    name: str
    title: str
    varies: tuple[str, ...]
    rows: tuple[Row, ...]
    claims: tuple[Claim, ...]
    datasets: tuple[str, ...]
    notes: tuple[str, ...] = ()
    needs: str | None = None

    def row(self, name: str) -> Row:
        return next(row for row in self.rows if row.name == name)


def _baseline(name: str, title: str, bq: tuple[float, float], lcqmc: tuple[float, float]) -> Row:
    return Row(name, title, {"model": name}, {"bq": Figure(*bq), "lcqmc": Figure(*lcqmc)})


def _with_encoder(name: str, title: str, model: str, encoder: str, paper: Mapping[str, Figure]) -> Row:
    return Row(name, title, {"model": model, "encoder": encoder}, paper, encoder)


TABLE1 = TableRows(
    "table1",
    "Table 1: models",
    ("model", "encoder"),
    (
        _baseline("textcnn", "Text-CNN", (68.52, 69.17), (72.80, 75.70)),
        _baseline("bilstm", "BiLSTM", (73.51, 72.68), (76.10, 78.90)),
        _baseline("lattice_cnn", "Lattice-CNN", (78.20, 78.30), (82.14, 82.41)),
        _baseline("bimpm", "BiMPM", (81.85, 81.73), (83.30, 84.90)),
        _baseline("esim", "ESIM", (81.93, 81.87), (82.58, 84.49)),
        _baseline("let", "LET", (83.22, 83.03), (84.81, 86.08)),
        _with_encoder(
            *("bert", "BERT", "bert", "bert-base-chinese"),
            {"bq": Figure(84.50, 84.00), "lcqmc": Figure(85.73, 86.86)},
        ),
        _with_encoder(
            *("bert_wwm", "BERT-wwm", "bert", "chinese-bert-wwm"),
            {"bq": Figure(84.89, 84.29), "lcqmc": Figure(86.80, 87.78)},
        ),
        _with_encoder(
            *("bert_wwm_ext", "BERT-wwm-ext", "bert", "chinese-bert-wwm-ext"),
            {"bq": Figure(84.71, 83.94), "lcqmc": Figure(86.68, 87.71)},
        ),
        _with_encoder(
            *("ernie", "ERNIE", "bert", "ernie-1.0-base-zh"),
            {"bq": Figure(84.67, 84.20), "lcqmc": Figure(87.04, 88.06)},
        ),
        _with_encoder(
            *("kbert", "K-BERT", "kbert", "bert-base-chinese"),
            {"lcqmc": Figure(86.9, source="stated")},
        ),
        _with_encoder(
            *("let_bert", "LET-BERT", "let", "bert-base-chinese"),
            {"bq": Figure(85.30, 84.98), "lcqmc": Figure(88.38, 88.85)},
        ),
    ),
    (
        *(
            Claim("let", name, "LET outperforms all baselines without BERT")
            for name in ("textcnn", "bilstm", "lattice_cnn", "bimpm", "esim")
        ),
        Claim("let_bert", "bert", "+0.8 points on BQ, +2.65 on LCQMC"),
        *(Claim("let_bert", name, "LET-BERT is better") for name in ("bert_wwm", "bert_wwm_ext", "ernie")),
        Claim("let_bert", "kbert", "+1.48 points on LCQMC"),
    ),
    ("bq", "lcqmc"),
)

_ABLATION = "The paper's ablations are of LET-BERT on LCQMC's test split; its figures stand beside LCQMC alone."
_SEGMENTERS = ("jieba", "pkuseg", "thulac", "lattice")


def _segmentation(segmenter: str, senses: bool) -> Row:
    settings: dict[str, Any] = {"model": "let"}
    if segmenter != "lattice":
        settings["segmenter"] = segmenter
    if not senses:
        settings["senses"] = False
    paper = {"lcqmc": Figure(88.38, 88.85)} if senses and segmenter == "lattice" else {}
    name = f"{segmenter}-{'' if senses else 'no-'}senses"
    return Row(name, f"{segmenter}, {'with' if senses else 'without'} senses", settings, paper)


TABLE2 = TableRows(
    "table2",
    "Table 2: segmentation and senses",
    ("model", "segmenter", "senses"),
    tuple(_segmentation(segmenter, senses) for segmenter in _SEGMENTERS for senses in (True, False)),
    (
        *(Claim("lattice-senses", f"{name}-senses", "better, p < 0.05") for name in _SEGMENTERS[:3]),
        Claim("lattice-senses", "lattice-no-senses", "+0.7 points ACC and +0.45 F1, p < 0.05"),
        *(Claim(f"{name}-senses", f"{name}-no-senses", "") for name in _SEGMENTERS[:3]),
    ),
    ("lcqmc",),
    (_ABLATION,),
)

GRU = TableRows(
    "gru",
    "GRU in SaGT",
    ("model", "gru"),
    (
        Row("gru", "with GRU", {"model": "let"}, {"lcqmc": Figure(88.38, 88.85)}),
        Row("no-gru", "without GRU", {"model": "let", "gru": False}, {"lcqmc": Figure(87.82, source="stated")}),
    ),
    (Claim("gru", "no-gru", "88.38 against 87.82 ACC"),),
    ("lcqmc",),
    (_ABLATION,),
)

LAYERS = TableRows(
    "layers",
    "Layers of SaGT",
    ("model", "layers"),
    tuple(
        Row(f"layers-{n}", f"{n} layer{'s' if n > 1 else ''}", {"model": "let"} | ({} if n == 2 else {"layers": n}))
        for n in (1, 2, 3, 4)
    ),
    tuple(Claim("layers-2", f"layers-{n}", "2 layers are best") for n in (1, 3, 4)),
    ("lcqmc",),
    (_ABLATION,),
)

ATTENTION = TableRows(
    "attention",
    "Attention in SaGT",
    ("model", "set"),
    (
        Row("md-gat", "MD-GAT", {"model": "let"}),
        Row("gat", "GAT, scalar attention", {"model": "let", "set": ["attention=scalar"]}),
    ),
    (Claim("md-gat", "gat", "argued for, not measured"),),
    ("lcqmc",),
)

ENCODER = TableRows(
    "encoder",
    "What a graph adds to an encoder",
    ("model", "senses"),
    (
        Row("bert", "the encoder alone", {"model": "bert"}),
        Row("kbert", "K-BERT", {"model": "kbert"}),
        Row("let-no-senses", "LET-BERT without senses", {"model": "let", "senses": False}),
        Row("let", "LET-BERT", {"model": "let"}),
    ),
    (
        Claim("let", "bert", "+0.8 points on BQ, +2.65 on LCQMC, for BERT"),
        Claim("let", "kbert", "+1.48 points on LCQMC, for BERT"),
        Claim("let", "let-no-senses", "+0.7 points on LCQMC, for BERT"),
        Claim("let-no-senses", "bert", ""),
    ),
    ("bq", "lcqmc"),
    needs="encoder",
)

TABLES = {table.name: table for table in (TABLE1, TABLE2, GRU, LAYERS, ATTENTION, ENCODER)}
"""By the name that the command line has for them."""

ABLATIONS = ("segmenter", "senses", "gru", "layers")
"""What the tables vary in LET; a run in which one of them is not the default belongs to no other table."""
