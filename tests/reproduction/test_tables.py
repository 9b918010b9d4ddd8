"""Which runs belong to which row, what a row says of them, and the files of a table."""

from __future__ import annotations

import csv
from pathlib import Path

import pytest

from letgraph.errors import LetgraphError
from letgraph.reproduction.rendering import write_table
from letgraph.reproduction.results import find_results
from letgraph.reproduction.rows import ABLATIONS, TABLES
from letgraph.reproduction.tables import Family, build_sections, sort_out
from tests.reproduction.made import finished_run

BQ = ("--dataset", "bq")
LET_ROWS = {"table1": "let", "table2": "lattice-senses", "gru": "gru", "layers": "layers-2"}


def sections(folder: Path, table: str):
    return build_sections(TABLES[table], find_results(folder))


def placed(folder: Path, *arguments: str) -> dict[str, str]:
    """The row of each table that a run belongs to."""
    finished_run(folder, *arguments)
    (result,) = find_results(folder)
    found = {name: sort_out(table, result) for name, table in TABLES.items()}
    return {name: place[1].name for name, place in found.items() if place}


@pytest.mark.parametrize(
    ("arguments", "rows"),
    [
        ([], LET_ROWS | {"attention": "md-gat"}),
        (["--set", "attention=scalar"], LET_ROWS | {"attention": "gat"}),  # a section of their own but in the last
        (["--model", "esim"], {"table1": "esim"}),
        (["--segmenter", "jieba", "--no-senses"], {"table2": "jieba-no-senses"}),
        (["--no-gru"], {"gru": "no-gru"}),
        (["--layers", "1"], {"layers": "layers-1"}),
        (["--layers", "7"], {}),
        (["--layers", "1", "--no-gru"], {}),
        (["--model", "bert", "--encoder", "x/e"], {"encoder": "bert"}),
        (["--encoder", "x/e", "--no-senses"], {"table2": "lattice-no-senses", "encoder": "let-no-senses"}),
        (["--config", "bq-ernie"], {"table1": "ernie", "encoder": "bert"}),
    ],
)
def test_a_run_is_in_the_tables_that_its_settings_say(tmp_path: Path, arguments: list[str], rows: dict) -> None:
    assert placed(tmp_path / "run", *BQ, *arguments) == rows


def test_rows_claims_and_settings_agree() -> None:
    for table in TABLES.values():
        names = [row.name for row in table.rows]
        assert len(set(names)) == len(names) == len({str(dict(row.settings)) for row in table.rows})
        assert {claim.better for claim in table.claims} | {claim.worse for claim in table.claims} <= set(names)
        assert all(set(row.settings) <= set(table.varies) for row in table.rows)
    assert set(ABLATIONS) == {name for table in TABLES.values() for name in table.varies} - {"model", "encoder", "set"}


def test_mean_and_deviation_over_seeds_worked_by_hand(tmp_path: Path) -> None:
    for seed, right in ((1, 8), (2, 6)):
        finished_run(tmp_path / f"let{seed}", *BQ, f"--seed={seed}", right=right)
    finished_run(tmp_path / "esim", *BQ, "--model=esim", "--seed=1", right=5)

    (section,) = sections(tmp_path, "table1").values()

    summaries = {row.name: summary for row, summary in zip(section.table.rows, section.summaries, strict=True)}
    let, esim = summaries["let"], summaries["esim"]
    assert (let.split, let.seeds) == ("dev", (1, 2))
    assert let.mean == {"accuracy": pytest.approx(70), "f1": pytest.approx(35)}
    assert let.deviation["accuracy"] == pytest.approx(200**0.5)  # of 80 and 60, with n - 1
    assert (esim.mean["accuracy"], esim.deviation["accuracy"]) == (pytest.approx(50), None)
    assert summaries["bimpm"] is None
    ((claim, comparison),) = section.comparisons
    assert (claim.better, claim.worse, comparison.seeds) == ("let", "esim", (1,))


def test_settings_that_no_table_varies_make_a_section_of_their_own(tmp_path: Path) -> None:
    finished_run(tmp_path / "a", *BQ)
    finished_run(tmp_path / "b", *BQ, "--limit=300", "--epochs=2")
    finished_run(tmp_path / "c", *BQ, "--model=esim", "--limit=300", "--epochs=2", "--batch-size=64")
    finished_run(tmp_path / "d", *BQ, "--limit=300", "--epochs=2", "--no-gru", "--hownet=demo")

    families = sections(tmp_path, "table1")

    small = Family("bq", (("epochs", "2"), ("limit", "300")))
    assert set(families) == {Family("bq"), small}
    assert small.title == "bq, epochs=2, first 300 pairs"
    assert sum(map(bool, families[small].summaries)) == 2
    assert sum(map(bool, sections(tmp_path, "gru")[small].summaries)) == 2


def test_two_runs_of_one_row_and_seed_are_refused(tmp_path: Path) -> None:
    finished_run(tmp_path / "a", *BQ)
    finished_run(tmp_path / "b", *BQ, "--hownet=demo")

    with pytest.raises(
        LetgraphError, match=r"a and .*b are both 'LET' of table1 on bq, seed 42 \(they differ in hownet"
    ):
        sections(tmp_path, "table1")


def test_seeds_that_read_different_lexicons_are_no_row(tmp_path: Path) -> None:
    finished_run(tmp_path / "a", *BQ, "--seed=1", "--hownet=small.tsv")
    finished_run(tmp_path / "b", *BQ, "--seed=2", "--hownet=large.tsv")

    with pytest.raises(LetgraphError, match=r"are seeds of 'LET' of table1 on bq \(they differ in hownet\)"):
        sections(tmp_path, "table1")


def test_corpora_of_one_name_are_no_section(tmp_path: Path) -> None:
    finished_run(tmp_path / "a", "--dataset", str(tmp_path / "x/shop"), "--seed=1")
    finished_run(tmp_path / "b", "--dataset", str(tmp_path / "y/shop"), "--model=esim", "--seed=1")

    with pytest.raises(LetgraphError, match="are of two corpora called shop"):
        sections(tmp_path, "table1")


def test_tests_have_a_head_where_nothing_is_compared(tmp_path: Path) -> None:
    finished_run(tmp_path / "a", *BQ)

    paths = write_table(tmp_path / "out", list(sections(tmp_path, "table1").values()), {})

    assert paths[3].read_text(encoding="utf-8").startswith("table,section,better,worse,split,n,")
    assert list(csv.DictReader(paths[3].open(encoding="utf-8"))) == []


def test_the_files_of_a_table(tmp_path: Path) -> None:
    for seed, right in ((1, 8), (2, 6)):
        finished_run(tmp_path / f"let{seed}", *BQ, f"--seed={seed}", right=right, speed=100.0 * seed)
        finished_run(tmp_path / f"esim{seed}", *BQ, "--model=esim", f"--seed={seed}", right=right - seed)

    paths = write_table(tmp_path / "out", list(sections(tmp_path, "table1").values()), {"bert": "not run: a_reason"})

    assert [path.name for path in paths] == ["table1.md", "table1.tex", "table1.csv", "table1-tests.csv"]
    markdown, tex = (path.read_text(encoding="utf-8") for path in paths[:2])
    assert "| LET | 70.00 ± 14.14 | 35.00 ± 7.07 | 2 | dev | 83.22 / 83.03 (r) | 150 / – / – |" in markdown
    assert "| BERT | not run: a_reason |  | 0 |  | 84.50 / 84.00 (r) |  |" in markdown
    assert "| BiMPM | not run |  | 0 |  | 81.85 / 81.73 (r) |  |" in markdown
    # 80 against 70 and 60 against 40: 15 points, t = 3 with one degree of freedom, p = 1 - 2 atan(3) / pi
    assert "| LET − ESIM | +15.00 | +7.50 | 2 | dev | 0.2048 | 1: 1.0000, 2: 0.5000 |" in markdown
    assert r"LET & 70.00 $\pm$ 14.14 & 35.00 $\pm$ 7.07 & 2 & dev & 83.22 / 83.03 (r) & 150 / -- / -- \\" in tex
    assert r"not run: a\_reason" in tex
    rows, tests = (list(csv.DictReader(path.open(encoding="utf-8"))) for path in paths[2:])
    let = next(row for row in rows if row["row"] == "let")
    assert (let["n"], let["seeds"], let["split"], let["paper_accuracy"]) == ("2", "1 2", "dev", "83.22")
    assert float(let["accuracy_mean"]) == pytest.approx(70) and let["accuracy_not_in_train_mean"] == ""
    assert float(let["train_pairs_per_second"]) == 150 and let["peak_rss_mb"] == ""
    assert [(row["seed"], float(row["mcnemar_p"])) for row in tests] == [
        ("1", pytest.approx(1.0)),
        ("2", pytest.approx(0.5)),
    ]
