"""What a training run leaves behind, and what it refuses before it begins."""

from __future__ import annotations

import json
import math
import shutil
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import letgraph
from letgraph.arguments import parse_settings
from letgraph.checkpoint import Checkpoint
from letgraph.errors import DataError, LetgraphError
from letgraph.matcher import Matcher
from letgraph.run import train
from letgraph.scores import read_scores

TINY = ["--set", "hidden_size=16", "encoder_size=16", "encoder_layers=1", "encoder_intermediate_size=32"]
DEMO = ["--dataset", "demo", "--segmenter", "jieba", "--limit", "64", "--batch-size", "16", "--workers", "1"]
DEMO_FOLDER = Path(letgraph.__file__).parent / "demo"
SCORES = {"n", "accuracy", "f1", "precision", "recall", "auc", "loss"}
NEW = {"n_not_in_train", "accuracy_not_in_train"}


@pytest.fixture(scope="module")
def cache(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return tmp_path_factory.mktemp("cache")


def run(folder: Path, cache: Path, *arguments: str) -> dict[str, Any]:
    return train(parse_settings([*arguments, "--output-dir", str(folder), "--cache-dir", str(cache), *TINY]))


@pytest.fixture(scope="module")
def finished(tmp_path_factory: pytest.TempPathFactory, cache: Path) -> Path:
    folder = tmp_path_factory.mktemp("runs") / "demo"
    run(folder, cache, *DEMO, "--epochs", "2", "--logging-steps", "2")
    return folder


def test_a_run_leaves_model_scores_settings_and_logs(finished: Path) -> None:
    metrics = json.loads((finished / "metrics.json").read_text(encoding="utf-8"))
    assert set(metrics) == {"train", "dev", "test", "train_pairs_per_second", "predict_pairs_per_second", "peak_rss_mb"}
    for split in ("train", "dev", "test"):
        assert set(metrics[split]) == SCORES | (NEW if split != "train" else set())
        assert metrics[split]["n"] == 64
    assert (
        metrics["train_pairs_per_second"] > 0 and metrics["predict_pairs_per_second"] > 0 and metrics["peak_rss_mb"] > 0
    )
    assert json.loads((finished / "settings.json").read_text(encoding="utf-8"))["epochs"] == 2
    assert list((finished / "logs").glob("events.*"))
    assert not (finished / "states").exists()
    assert sorted(path.name for path in (finished / "scores").iterdir()) == ["dev.txt", "test.txt"]
    for folder in (finished, finished / "last"):
        checkpoint = Checkpoint.load(folder)
        assert checkpoint.lexicon is not None and checkpoint.preparation.segmenters == ("jieba",)


def test_the_same_seed_gives_the_same_weights_and_another_seed_others(
    finished: Path, cache: Path, tmp_path: Path
) -> None:
    run(tmp_path / "again", cache, *DEMO, "--epochs", "2", "--logging-steps", "2")
    run(tmp_path / "other", cache, *DEMO, "--epochs", "2", "--logging-steps", "2", "--seed", "7")
    weights = [(path / "last/model.safetensors").read_bytes() for path in (finished, tmp_path / "again")]
    assert weights[0] == weights[1]
    assert weights[0] != (tmp_path / "other/last/model.safetensors").read_bytes()


def test_a_folder_in_use_is_not_overwritten(finished: Path, cache: Path, tmp_path: Path) -> None:
    with pytest.raises(LetgraphError, match="--resume auto"):
        run(finished, cache, *DEMO, "--epochs", "2", "--logging-steps", "2")
    (tmp_path / "notes.txt").write_text("mine")
    with pytest.raises(LetgraphError, match="is not empty"):
        run(tmp_path, cache, *DEMO)


def test_preset_reference_prepares_text_as_the_authors_do(cache: Path, tmp_path: Path) -> None:
    arguments = ["--dataset", "demo", "--segmenter", "jieba", "--limit", "16", "--workers", "1", "--max-steps", "1"]
    run(tmp_path / "run", cache, *arguments, "--preset", "reference")
    checkpoint = Checkpoint.load(tmp_path / "run")
    preparation, collator = checkpoint.preparation, checkpoint.collator
    assert (preparation.blanks, preparation.width, preparation.max_tokens) == ("drop", "keep", 128)
    assert (collator.positions, collator.dummy_sememe, collator.max_tokens) == ("running", True, 128)


def test_without_senses_no_lexicon_is_asked_for_or_kept(cache: Path, tmp_path: Path) -> None:
    (tmp_path / "data").mkdir()
    rows = [f"第{i}张卡怎么开通\t第{i + i % 2}张卡如何开通\t{1 - i % 2}" for i in range(12)]
    (tmp_path / "data/train.tsv").write_text("\n".join(rows), encoding="utf-8")
    folder = tmp_path / "run"
    metrics = run(
        folder, cache, "--dataset", str(tmp_path / "data"), "--segmenter", "jieba", "--no-senses", "--max-steps", "2"
    )
    assert set(metrics) == {"train", "train_pairs_per_second", "predict_pairs_per_second", "peak_rss_mb"}
    assert not (folder / "lexicon.tsv").exists()
    assert not Checkpoint.load(folder).model.config.senses


def test_the_scores_kept_are_those_of_the_best_model_in_the_order_of_the_split(finished: Path) -> None:
    rows = [line.split("\t") for line in (DEMO_FOLDER / "dev.tsv").read_text(encoding="utf-8").splitlines()[:64]]
    expected = Matcher.from_pretrained(finished, "cpu").predict([(a, b) for a, b, _ in rows])

    kept = read_scores(finished, "dev")

    assert kept.labels.tolist() == [int(label) for *_, label in rows]
    np.testing.assert_allclose(kept.probabilities, expected, rtol=1e-5)
    metrics = json.loads((finished / "metrics.json").read_text(encoding="utf-8"))
    assert kept.correct.mean() == metrics["dev"]["accuracy"]


def test_a_finished_run_without_scores_gets_them_and_is_not_trained_again(
    finished: Path, cache: Path, tmp_path: Path
) -> None:
    folder = tmp_path / "run"
    shutil.copytree(finished, folder)
    shutil.rmtree(folder / "scores")
    weights = (folder / "model.safetensors").stat().st_mtime_ns

    metrics = run(folder, cache, *DEMO, "--epochs", "2", "--logging-steps", "2", "--resume", "auto")

    before = json.loads((finished / "metrics.json").read_text(encoding="utf-8"))
    assert json.loads((folder / "metrics.json").read_text(encoding="utf-8")) == metrics
    assert metrics.keys() == before.keys() and metrics["train"] == before["train"]
    for split in ("dev", "test"):
        # Senses are embedded in other company, so the last digits may differ.
        assert metrics[split] == pytest.approx(before[split], rel=1e-4)
        ours, theirs = read_scores(folder, split), read_scores(finished, split)
        np.testing.assert_allclose(ours.probabilities, theirs.probabilities, rtol=1e-4)
    assert (folder / "model.safetensors").stat().st_mtime_ns == weights


def test_a_run_stopped_while_it_was_scored_is_only_scored_and_claims_no_speed(
    finished: Path, cache: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    arguments = [*DEMO, "--epochs", "2", "--logging-steps", "2"]

    def stop(*_: Any) -> None:
        raise KeyboardInterrupt

    with monkeypatch.context() as patch, pytest.raises(KeyboardInterrupt):
        patch.setattr("letgraph.run.score_splits", stop)
        run(tmp_path / "run", cache, *arguments)
    metrics = run(tmp_path / "run", cache, *arguments, "--resume", "auto")

    assert (tmp_path / "run" / "model.safetensors").read_bytes() == (finished / "model.safetensors").read_bytes()
    assert metrics["dev"] == json.loads((finished / "metrics.json").read_text(encoding="utf-8"))["dev"]
    assert metrics["train_pairs_per_second"] is None and metrics["peak_rss_mb"] is None
    assert metrics["predict_pairs_per_second"] > 0


def test_a_baseline_leaves_a_model_that_can_be_loaded_and_no_lexicon(cache: Path, tmp_path: Path) -> None:
    folder = tmp_path / "run"
    arguments = [*DEMO, "--model", "esim", "--set", "embedding_size=16", "hidden_size=16", "--max-steps", "2"]
    metrics = train(parse_settings([*arguments, "--output-dir", str(folder), "--cache-dir", str(cache)]))
    assert metrics["test"]["n"] == 64
    assert not (folder / "lexicon.tsv").exists()
    checkpoint = Checkpoint.load(folder)
    assert checkpoint.model.config.model_type == "esim" and checkpoint.lexicon is None
    again = train(
        parse_settings([*arguments, "--output-dir", str(folder), "--cache-dir", str(cache), "--resume", "auto"])
    )
    assert again == metrics


def test_a_model_that_predicts_one_class_is_called_out(
    cache: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    run(tmp_path / "run", cache, *DEMO, "--max-steps", "1", "--learning-rate", "1e-12")
    assert "predicted" in capsys.readouterr().err


@pytest.mark.parametrize(
    ("row", "problem"),
    [("一行没有标签", "column"), ("甲\t乙\t2", "label"), ("甲\t \t1", "empty"), ("甲\t\udcff\t1", "UTF-8")],
)
def test_a_bad_row_is_named_and_nothing_is_written(row: str, problem: str, cache: Path, tmp_path: Path) -> None:
    path = tmp_path / "train.tsv"
    good = "怎么开卡\t如何办卡\t1\n" * 3
    path.write_bytes((good + row + "\n").encode("utf-8", "surrogateescape"))
    arguments = ["--dataset", str(path), "--segmenter", "jieba", "--no-senses", "--max-steps", "1"]
    with pytest.raises(DataError, match=problem) as error:
        run(tmp_path / "run", cache, *arguments)
    assert str(error.value).startswith(f"{path}:4:")
    assert not (tmp_path / "run").exists()

    metrics = run(tmp_path / "run", cache, *arguments, "--skip-bad-rows")
    assert metrics["train"]["n"] == 3 and math.isfinite(metrics["train"]["loss"])


def test_a_run_of_a_version_with_fewer_settings_can_be_gone_on_with(
    finished: Path, cache: Path, tmp_path: Path
) -> None:
    folder = tmp_path / "run"
    shutil.copytree(finished, folder)
    settings = json.loads((folder / "settings.json").read_text(encoding="utf-8"))
    del settings["encoder_rate"], settings["freeze_encoder"]
    (folder / "settings.json").write_text(json.dumps(settings), encoding="utf-8")
    again = [*DEMO, "--epochs", "2", "--logging-steps", "2", "--resume", "auto"]

    assert run(folder, cache, *again) == json.loads((finished / "metrics.json").read_text(encoding="utf-8"))
    with pytest.raises(LetgraphError, match=r"begun with encoder_rate = 0\.1, not 0\.2"):
        run(folder, cache, *again, "--encoder-rate", "0.2")
