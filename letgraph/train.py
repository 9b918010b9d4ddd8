"""Train LET or a baseline: ``python -m letgraph.train --dataset lcqmc --output-dir OUT``."""

from __future__ import annotations

from letgraph.errors import run_cli


def main() -> None:
    # Imported here, because the processes that prepare data import this module too and need none of it.
    from letgraph.arguments import parse_settings
    from letgraph.run import train

    train(parse_settings())


if __name__ == "__main__":
    run_cli(main)
