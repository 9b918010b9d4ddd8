"""``python -m letgraph.reproduce``: what it plans, trains, keeps and builds again, on the demo corpus."""

from __future__ import annotations

import sys
from pathlib import Path

import pytest

from letgraph import reproduce as entry
from letgraph.errors import LetgraphError
from tests.reproduction.made import finished_run

TINY = ["--limit", "48", "--max-steps", "2", "--batch-size", "16", "--workers", "1"]


@pytest.fixture
def run(monkeypatch, capsys):
    def run(*arguments: str) -> str:
        monkeypatch.setattr(sys, "argv", ["reproduce", *map(str, arguments)])
        entry.main()
        return capsys.readouterr().out

    return run


def test_a_table_is_trained_once_kept_and_built_again(run, tmp_path: Path) -> None:
    folder, results = tmp_path / "runs", tmp_path / "results"
    command = ["table1", "--dataset", "demo", "--models", "textcnn", "bilstm", *TINY, "--output-dir", str(folder)]
    command += ["--cache-dir", str(tmp_path / "cache"), "--seeds"]

    first = run(*command, "1")

    names = [f"demo-{model}-limit48-max_steps2-batch_size16-seed1" for model in ("bilstm", "textcnn")]
    assert sorted(path.name for path in folder.iterdir() if path.is_dir()) == names
    assert all((folder / name / "scores/test.txt").is_file() for name in names)
    table = (folder / "table1.md").read_text(encoding="utf-8")
    assert table.count("| 1 | test |") == 2 and "ACC new" in table
    assert "not run: needs --encoder-dir with bert-base-chinese" in table
    assert first.count("the model is in") == 2

    before = {path: path.stat().st_mtime_ns for path in folder.rglob("model.safetensors")}
    assert "the model is in" not in run(*command, "1")
    assert {path: path.stat().st_mtime_ns for path in folder.rglob("model.safetensors")} == before

    listed = run(*command, "1", "2", "--dry-run")
    assert "2 of 4 runs to do" in listed and "encoder-dir" not in listed and listed.count("finished in") == 2
    assert listed.count("pairs/s of this row on this corpus") == 2

    run("keep", folder, "--results", results)
    run("tables", "--results", results)
    assert (results / "table1.csv").read_text() == (folder / "table1.csv").read_text()


def plan(run, folder: Path, *arguments: str) -> str:
    return run(arguments[0], "--dataset", "demo", "--output-dir", folder, "--dry-run", *arguments[1:])


def test_runs_are_listed_seed_by_seed_and_nothing_is_written(run, tmp_path: Path) -> None:
    listed = plan(run, tmp_path / "runs", "gru", "--seeds", "1", "2", "--limit", "100")

    assert [line.partition(":")[0] for line in listed.splitlines()[:4]] == [
        "demo-let-limit100-seed1",
        "demo-let-limit100-no-gru-seed1",
        "demo-let-limit100-seed2",
        "demo-let-limit100-no-gru-seed2",
    ]
    assert listed.count("nothing to estimate its time from") == 4
    assert not (tmp_path / "runs").exists()


def test_a_row_may_be_a_named_setting_of_the_model(run, tmp_path: Path) -> None:
    listed = plan(run, tmp_path / "runs", "attention", "--seeds", "1")

    names = [line.partition(":")[0] for line in listed.splitlines()]
    assert names[:2] == ["demo-let-seed1", "demo-let-attention=scalar-seed1"]


def test_the_estimate_is_pairs_by_speed(run, tmp_path: Path) -> None:
    """100 pairs, 3 epochs at 25 pairs/s: 12 s; without senses, of which no run is there, the model's speed serves."""
    finished_run(tmp_path / "byhand", "--dataset", "demo", "--limit=100", "--seed=7", speed=25.0)

    listed = plan(
        run, tmp_path, "table2", "--seeds", "7", "8", "--limit", "100", "--models", "lattice-senses", "jieba-senses"
    )

    lines = listed.splitlines()
    assert "demo-let-limit100-seed7: finished in" in listed and "byhand" in listed
    assert [line.partition(": ")[2] for line in lines if "jieba" in line] == [
        "about 12 s (25 pairs/s of this model on this corpus)"
    ] * 2
    assert "demo-let-limit100-seed8: about 12 s (25 pairs/s of this row on this corpus)" in listed
    assert lines[-1] == "3 of 4 runs to do: about 36 s of training"


@pytest.mark.parametrize("speed", [None, float("nan"), 0.0])
def test_a_run_without_a_speed_serves_no_estimate(run, tmp_path: Path, speed: float | None) -> None:
    finished_run(tmp_path / "byhand", "--dataset", "demo", "--limit=100", "--seed=7", speed=speed)

    listed = plan(run, tmp_path, "gru", "--seeds", "8", "--limit", "100")

    assert listed.count("nothing to estimate its time from") == 2


@pytest.mark.parametrize(
    ("arguments", "problem"),
    [
        (["table1", "--models", "esmi"], "table1 has no row 'esmi'; did you mean esim?"),
        (["table1", "--models", "let", "--seed", "3"], "--seed: give --seeds"),
        (["table1", "--models", "let", "--config", "x.yaml"], "--config: rows on pre-trained weights have recipes"),
        (["table1", "--models", "bert"], "BERT: not run: needs --encoder-dir with bert-base-chinese"),
        (["table1", "--models", "let", "--segmenter", "jieba"], "segmenter jieba contradicts row 'LET' of table1"),
        (["table2", "--models", "lattice-senses", "--no-senses"], "senses False contradicts row"),
        (["table2", "--models", "thulac-senses", "--segmenter", "jieba"], "segmenter jieba contradicts row"),
        (["attention", "--models", "gat", "--set", "dropout=0.1"], "set dropout=0.1 contradicts row"),
        (["table1", "--models", "esim", "--no-senses"], "contradict"),
    ],
)
def test_what_contradicts_the_table_is_refused(run, tmp_path: Path, arguments: list[str], problem: str) -> None:
    with pytest.raises(LetgraphError, match=problem.replace("?", r"\?")):
        plan(run, tmp_path, *arguments)


def test_a_corpus_that_is_not_there_is_told_before_anything_is_trained(run, tmp_path: Path) -> None:
    with pytest.raises(LetgraphError, match="corpus bq: no files"):
        run("gru", "--dataset", "bq", "--data-dir", tmp_path, "--output-dir", tmp_path / "runs")
    assert not (tmp_path / "runs").exists()


def test_the_encoder_table_trains_all_rows_by_the_recipes_and_compares_them(run, tmp_path: Path) -> None:
    (tmp_path / "bq").mkdir()
    (tmp_path / "bq/train.tsv").write_text("怎么还款\t如何还款\t1\n", encoding="utf-8")
    options = ["encoder", "--dataset", "bq", "--encoder", str(tmp_path / "bert-base-chinese"), "--seeds", "1"]

    listed = run(*options, "--data-dir", tmp_path, "--output-dir", tmp_path / "runs", "--dry-run")

    assert [line.partition(":")[0] for line in listed.splitlines()[:-1]] == [
        f"bq-{model}-bert-base-chinese-seed1" for model in ("bert", "kbert", "let-no-senses", "let")
    ]


def test_a_lexicon_goes_to_the_rows_that_read_one(run, tmp_path: Path) -> None:
    listed = plan(run, tmp_path, "table1", "--models", "esim", "let", "--hownet", "demo", "--seeds", "1", "--limit=9")

    names = [line.partition(":")[0] for line in listed.splitlines()]
    assert names[:2] == ["demo-esim-limit9-seed1", "demo-let-limit9-hownetdemo-seed1"]
    listed = plan(run, tmp_path, "table2", "--models", "jieba-no-senses", "--hownet=demo", "--limit", "9")
    assert "demo-let-limit9-jieba-no-senses-seed1" in listed


def test_a_run_that_fails_does_not_stop_the_others(run, tmp_path: Path, monkeypatch) -> None:
    trained = []

    def train(settings):
        trained.append(settings.model.model)
        if settings.model.model == "textcnn":
            raise OSError(28, "no space left")

    monkeypatch.setattr("letgraph.reproduction.plan.train", train)
    with pytest.raises(LetgraphError, match=r"1 of 2 runs failed; first demo-textcnn-seed1: OSError: .*no space left"):
        run("table1", "--dataset", "demo", "--models", "textcnn", "bilstm", "--seeds", "1", "--output-dir", tmp_path)
    assert trained == ["textcnn", "bilstm"]


def test_a_clash_is_told_before_anything_is_trained(run, tmp_path: Path) -> None:
    finished_run(tmp_path / "one", "--dataset", "demo", "--hownet=small.tsv", "--seed=1")

    with pytest.raises(LetgraphError, match="they differ in hownet"):
        plan(run, tmp_path, "gru", "--models", "gru", "--seeds", "1", "--hownet", "large.tsv")


def test_a_folder_of_several_corpora_has_one_table_of_all(run, tmp_path: Path) -> None:
    for corpus in ("demo", "bq"):
        for model in ("textcnn", "bilstm"):
            finished_run(tmp_path / f"{corpus}{model}", "--dataset", corpus, f"--model={model}", "--seed=1", right=8)

    run("table1", "--dataset", "demo", "--models", "textcnn", "--seeds", "1", "--output-dir", tmp_path)

    heads = [line for line in (tmp_path / "table1.md").read_text("utf-8").splitlines() if line.startswith("## ")]
    assert heads == ["## demo", "## bq"]


def test_a_table_whose_runs_are_gone_goes_too(run, tmp_path: Path) -> None:
    finished_run(tmp_path / "runs/a", "--dataset", "bq")
    stale = tmp_path / "gru.md"
    stale.write_text("old", encoding="utf-8")

    assert f"removed: {stale}" in run("tables", "--results", tmp_path)
    assert not stale.exists()


def test_nothing_to_keep_and_nothing_kept_is_told(run, tmp_path: Path) -> None:
    with pytest.raises(LetgraphError, match="holds no finished run"):
        run("keep", tmp_path)
    with pytest.raises(LetgraphError, match="holds no kept run"):
        run("tables", "--results", tmp_path)
    with pytest.raises(LetgraphError, match="tables: no option --dataset"):
        run("tables", "--dataset", "bq")
