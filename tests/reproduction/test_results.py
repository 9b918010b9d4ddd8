"""What is read of a run, kept of it and read again; names of runs; and what is refused."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from letgraph.arguments import parse_settings
from letgraph.errors import DataError, LetgraphError
from letgraph.reproduction.results import differences, find_results, identity, keep, portable, read_result, run_name
from tests.reproduction.made import LABELS, finished_run


def settings(*arguments: str) -> dict:
    return portable(parse_settings([*arguments]).to_dict())


@pytest.mark.parametrize(
    ("arguments", "name"),
    [
        (["--dataset", "bq", "--seed=1"], "bq-let-seed1"),
        (["--dataset", "bq", "--batch-size=64", "--seed=1"], "bq-let-seed1"),
        (["--dataset", "bq", "--model=esim", "--limit=30000", "--seed=2"], "bq-esim-limit30000-seed2"),
        (["--dataset", "bq", "--set", "dropout=0.2", "perspectives=7", "--seed=1"], "bq-let-perspectives=7-seed1"),
        (["--dataset", "lcqmc", "--no-senses", "--no-gru", "--layers=1"], "lcqmc-let-no-senses-no-gru-layers1-seed42"),
        (["--dataset", "lcqmc", "--segmenter=jieba", "--set", "dropout=0.1"], "lcqmc-let-jieba-dropout=0.1-seed42"),
        (
            ["--dataset", "/a/shop", "--embeddings=/b/c.txt", "--preset=reference"],
            "shop-let-reference-embeddingsc.txt-seed42",
        ),
    ],
)
def test_a_name_says_what_is_special_about_a_run(arguments: list[str], name: str) -> None:
    assert run_name(settings(*arguments)) == name


def test_a_folder_that_is_called_like_a_corpus_is_not_that_corpus(tmp_path: Path) -> None:
    assert run_name(settings("--dataset", str(tmp_path / "bq"))).startswith("._bq-let")


def test_where_files_lie_makes_no_difference_and_what_is_in_them_does() -> None:
    here = settings("--dataset", "bq", "--hownet", "/a/how.tsv", "--output-dir", "/a/run", "--data-dir", "/a")
    there = settings("--dataset", "bq", "--hownet", "/b/how.tsv", "--cache-dir", "/b", "--workers", "3")
    other = settings("--dataset", "bq", "--hownet", "/a/other.tsv")
    assert here == there and "/a" not in json.dumps(here)
    assert identity(here) != identity(other)


def test_the_order_of_named_settings_makes_no_difference() -> None:
    here = settings("--dataset", "bq", "--set", "dropout=0.1", "perspectives=7")
    there = settings("--dataset", "bq", "--set", "perspectives=7", "dropout=0.1")
    assert identity(here) == identity(there)


def test_a_run_is_kept_over_itself_and_never_over_another(tmp_path: Path) -> None:
    first = read_result(finished_run(tmp_path / "first", "--dataset", "bq", right=9))
    other = read_result(finished_run(tmp_path / "other", "--dataset", "bq", right=4))
    unscored = read_result(finished_run(tmp_path / "unscored", "--dataset", "bq", right=9, with_scores=False))
    (place,) = keep([first], tmp_path / "kept")

    keep([unscored], tmp_path / "kept")

    assert read_result(place).outcomes["dev"].correct.sum() == 9
    for results in ([other], [first, first]):
        with pytest.raises(LetgraphError, match="have the same settings; move one of them away"):
            keep(results, tmp_path / "kept")
    assert read_result(place).metrics["dev"]["accuracy"] == 0.9


def test_metrics_without_the_number_of_pairs_are_refused(tmp_path: Path) -> None:
    folder = finished_run(tmp_path / "run", "--dataset", "bq")
    (folder / "metrics.json").write_text('{"dev": {}}', encoding="utf-8")
    with pytest.raises(DataError, match=r"metrics\.json.*no 'n' of a split"):
        read_result(folder)


def test_a_setting_that_an_earlier_version_had_not_counts_as_not_set() -> None:
    now = settings("--dataset", "bq", "--seed=1")
    earlier = {name: value for name, value in now.items() if name != "embeddings"}
    assert identity(earlier) == identity(now)
    assert differences(now) == {}
    assert identity(settings("--dataset", "bq", "--seed=2")) != identity(now)


@pytest.mark.parametrize("pairs", [10, 8, 3])
def test_what_is_kept_is_small_and_reads_as_the_run_itself(tmp_path: Path, pairs: int) -> None:
    correct = [number % 3 != 0 for number in range(pairs)]
    run = read_result(
        finished_run(
            tmp_path / "run", "--dataset", "bq", "--output-dir", "/x/run", labels=LABELS[:pairs], correct=correct
        )
    )

    (place,) = keep([run], tmp_path / "kept")

    assert place == tmp_path / "kept/bq-let-seed42"
    assert {path.name for path in place.iterdir()} == {"settings.json", "metrics.json", "correct.json"}
    kept = read_result(place)
    assert (kept.settings, kept.metrics) == (run.settings, run.metrics)
    assert kept.outcomes["dev"].correct.tolist() == run.outcomes["dev"].correct.tolist() == correct
    assert kept.outcomes["dev"].labels == run.outcomes["dev"].labels
    assert "/x" not in (place / "settings.json").read_text(encoding="utf-8")
    (again,) = keep([kept], tmp_path / "again")
    for path in place.iterdir():
        assert path.read_bytes() == (again / path.name).read_bytes()


def test_a_run_without_scores_is_kept_without_outcomes(tmp_path: Path) -> None:
    run = read_result(finished_run(tmp_path / "run", "--dataset", "bq", with_scores=False))

    (place,) = keep([run], tmp_path)

    assert read_result(place).outcomes == run.outcomes == {}


def test_finished_runs_are_found_and_unfinished_ones_are_not(tmp_path: Path) -> None:
    one = finished_run(tmp_path / "one", "--dataset", "bq")
    (tmp_path / "two").mkdir()
    (tmp_path / "two/settings.json").write_text("{}")
    assert [result.folder for result in find_results(tmp_path)] == [one]
    assert [result.folder for result in find_results(one)] == [one]
    assert find_results(tmp_path / "nowhere") == []


def test_damage_is_named(tmp_path: Path) -> None:
    run = finished_run(tmp_path / "run", "--dataset", "bq")
    with pytest.raises(LetgraphError, match="holds no finished run"):
        read_result(tmp_path)
    (place,) = keep([read_result(run)], tmp_path)
    (place / "correct.json").write_text('{"dev": {"n": 100, "labels": "x", "correct": "ff"}}')
    with pytest.raises(DataError, match=r"correct\.json: not what keep writes \(8 bits for 100 pairs\)"):
        read_result(place)
    (run / "scores/dev.txt").write_text("1\t0.5\n")
    with pytest.raises(DataError, match=r"dev\.txt: 1 scores of 10 pairs"):
        read_result(run)
    (run / "settings.json").write_text("{}")
    with pytest.raises(DataError, match=r"settings\.json: no settings of a run"):
        read_result(run)


def test_a_recipe_is_the_default_of_its_row() -> None:
    """What a recipe says is no difference; what was changed in it is."""
    assert differences(settings("--config", "bq-ernie")) == {"encoder": "ernie-1.0-base-zh"}
    own = settings("--config", "lcqmc-let-bert", "--encoder", "here/bert-base-chinese", "--epochs", "2")
    assert differences(own) == {"epochs": 2.0, "encoder": "bert-base-chinese"}
