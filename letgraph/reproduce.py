"""The paper's tables, reproduced: ``python -m letgraph.reproduce table1 --dataset bq --seeds 1 2 --output-dir DIR``.

Trains what is missing in DIR, seed by seed, and writes DIR/table1.md, .tex, .csv and -tests.csv after every run. Killed
and started again, it goes on. `keep` copies what tables need of finished runs to where it can be kept for good, and
`tables` builds all tables from there.
"""

from __future__ import annotations

import argparse
from pathlib import Path

from letgraph.errors import LetgraphError, run_cli

KEPT = Path("docs/results")


def parser() -> argparse.ArgumentParser:
    parser = argparse.ArgumentParser(prog="python -m letgraph.reproduce", description=__doc__, allow_abbrev=False)
    commands = parser.add_subparsers(dest="command", required=True, metavar="COMMAND")
    for name, what in (
        ("table1", "LET, LET-BERT and their baselines"),
        ("table2", "segmentation and senses"),
        ("gru", "with and without GRU"),
        ("layers", "1 to 4 layers of SaGT"),
        ("attention", "MD-GAT against scalar attention in SaGT"),
        ("encoder", "an encoder (--encoder PATH_OR_NAME) alone, K-BERT, LET-BERT without and with senses"),
    ):
        table = commands.add_parser(
            name,
            help=what,
            description=f"{what}. Options that are not listed go to every run of letgraph.train, such as --data-dir.",
            allow_abbrev=False,
        )
        table.add_argument("--dataset", nargs="+", help="corpora (default: the paper's for this table)")
        table.add_argument(
            "--models", nargs="+", metavar="ROW", help="only these rows, such as esim let, or jieba-senses"
        )
        table.add_argument(
            "--seeds", nargs="+", type=int, default=[1, 2, 3, 4, 5], metavar="SEED", help="default: 1 to 5"
        )
        table.add_argument("--limit", type=int, metavar="N", help="only the first N pairs of each split")
        table.add_argument(
            "--output-dir", type=Path, default=Path("runs/reproduce"), metavar="DIR", help="of runs and tables"
        )
        table.add_argument(
            "--encoder-dir",
            type=Path,
            metavar="DIR",
            help="holds the folders of pre-trained weights: bert-base-chinese, …",
        )
        table.add_argument(
            "--dry-run", action="store_true", help="list the runs and what they may take, and do nothing"
        )
    keep = commands.add_parser("keep", help="copy what tables need of finished runs", allow_abbrev=False)
    keep.add_argument("runs", nargs="+", type=Path, metavar="FOLDER", help="a finished run, or a folder of some")
    tables = commands.add_parser("tables", help="build all tables from kept runs", allow_abbrev=False)
    for command in (keep, tables):
        command.add_argument("--results", type=Path, default=KEPT, metavar="DIR", help=f"default: {KEPT}")
    return parser


def main() -> None:
    options, further = parser().parse_known_args()
    # Imported here, because the processes that prepare data import this module too and need none of it.
    from letgraph.reproduction import commands

    if options.command in ("keep", "tables") and further:
        raise LetgraphError(f"{options.command}: no option {further[0]}")
    if options.command == "keep":
        commands.keep_runs(options.runs, options.results)
    elif options.command == "tables":
        commands.rebuild(options.results)
    else:
        commands.reproduce(options, further)


if __name__ == "__main__":
    run_cli(main)
