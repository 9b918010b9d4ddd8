"""``python -m letgraph.visualize``: the suffix says what is written."""

from __future__ import annotations

import json
import sys
from pathlib import Path

import networkx as nx
import pytest

from letgraph import visualize as entry
from letgraph.checkpoint import Checkpoint
from letgraph.errors import LetgraphError
from letgraph.models import LETConfig
from letgraph.preparation import Preparation
from letgraph.text.lexicon import load_lexicon
from letgraph.text.vocabulary import CharVocabulary

SUFFIXES = [".svg", ".html", ".graphml", ".gexf", ".dot", ".json"]


@pytest.fixture
def run(monkeypatch):
    def run(*options: str | Path) -> None:
        texts = ["--text-a", "花呗怎么还款", "--text-b", "怎么还花呗"]
        monkeypatch.setattr(sys, "argv", ["visualize", *texts, *map(str, options)])
        entry.main()

    return run


@pytest.mark.parametrize("suffix", SUFFIXES)
def test_every_format_is_written_without_a_model(run, tmp_path, suffix):
    run("--segmenter", "jieba", "--output", tmp_path / f"pair{suffix}")
    assert "怎么" in (tmp_path / f"pair{suffix}").read_text(encoding="utf-8")
    assert [path.name for path in tmp_path.iterdir()] == [f"pair{suffix}"]


@pytest.mark.parametrize("suffix", [".svg", ".html"])
def test_a_model_adds_its_probability(run, checkpoint, tmp_path, suffix):
    run("--checkpoint", checkpoint, "--output", tmp_path / f"pair{suffix}")
    text = (tmp_path / f"pair{suffix}").read_text(encoding="utf-8")
    assert ("match: 0." if suffix == ".svg" else '"probability":0.') in text


def test_graphs_carry_vectors_on_request(run, checkpoint, tmp_path):
    run("--checkpoint", checkpoint, "--vectors", "--output", tmp_path / "pair.graphml")
    graph = nx.read_graphml(tmp_path / "pair.graphml")
    assert any("alpha_2" in data and "weight_2" in data for _, _, data in graph.edges(data=True))


def test_the_models_lexicon_adds_english_names(run, tmp_path):
    lexicon = tmp_path / "senses.tsv"
    lexicon.write_text("怎么\task|疑问 manner|方式\n", encoding="utf-8")
    run("--segmenter", "jieba", "--hownet", lexicon, "--output", tmp_path / "pair.json")
    nodes = json.loads((tmp_path / "pair.json").read_text(encoding="utf-8"))["nodes"]
    assert {node["sememes_english"] for node in nodes if node["type"] == "sense"} == {"ask manner"}


@pytest.mark.parametrize(
    ("options", "message"),
    [
        (["--output", "pair.jpg"], "its suffix says what to write; one of .png, .svg, .html, .graphml"),
        (["--output", "pair.svg", "--vectors"], "--vectors is about graph files"),
        (["--output", "pair.json", "--vectors"], "--vectors are those of a model; give --checkpoint"),
        (["--output", "pair.json", "--segmenter", "jeiba"], "did you mean 'jieba'"),
        (["--output", "pair.json", "--checkpoint", "nowhere"], "nowhere/config.json: cannot be read"),
        (["--output", "nowhere/pair.json", "--segmenter", "jieba"], "nowhere/pair.json cannot be written"),
    ],
)
def test_what_cannot_be_done_is_said(run, tmp_path, monkeypatch, options, message):
    monkeypatch.chdir(tmp_path)
    with pytest.raises(LetgraphError, match=message):
        run(*options)
    assert list(tmp_path.iterdir()) == []


def test_a_lexicon_is_compared_with_the_models_as_the_model_reads_text(run, tmp_path):
    """Preset reference keeps full-width forms, in its lexicon too."""
    path = tmp_path / "senses.tsv"
    path.write_text("ＶＩＳＡ\t卡片\n花呗\t借贷\n", encoding="utf-8")
    preparation = Preparation.current(("jieba",), "reference")
    lexicon = load_lexicon(path, width=preparation.width)
    config = LETConfig.from_preset("reference", hidden_size=16, encoder_size=16, encoder_intermediate_size=32)
    checkpoint = Checkpoint.create(config, CharVocabulary("还"), lexicon, None, preparation)
    checkpoint.save(tmp_path / "model")

    run("--checkpoint", tmp_path / "model", "--hownet", path, "--output", tmp_path / "pair.json")

    assert "花呗" in (tmp_path / "pair.json").read_text(encoding="utf-8")
    with pytest.raises(LetgraphError, match="was trained with lexicon"):
        run("--checkpoint", tmp_path / "model", "--hownet", "demo", "--output", tmp_path / "pair.json")
