"""Score a labelled split with a trained model: ``python -m letgraph.evaluate --checkpoint OUT --dataset lcqmc``.

The last line of stdout is the metrics as JSON. Where the corpus has a training split, they tell the accuracy on the
pairs that are not in it, too.
"""

from __future__ import annotations

import argparse
import json
import sys
from contextlib import ExitStack
from pathlib import Path

from letgraph.commands import add_model_options, open_matcher
from letgraph.errors import LetgraphError, run_cli


def parser() -> argparse.ArgumentParser:
    parser = argparse.ArgumentParser(prog="python -m letgraph.evaluate", description=__doc__, allow_abbrev=False)
    add_model_options(parser)
    data = parser.add_argument_group("data")
    data.add_argument("--dataset", required=True, help="demo, bq, lcqmc, afqmc, a file, a folder, or hf:NAME[:CONFIG]")
    data.add_argument("--split", default="dev", help="which split (default: dev)")
    data.add_argument("--data-dir", type=Path, help="folder of the named corpora (default: $LETGRAPH_DATA, then data/)")
    data.add_argument("--format", help="of the file, such as tsv:a,b,label, where sniffing gets it wrong")
    data.add_argument("--limit", type=int, metavar="N", help="only the first N pairs")
    data.add_argument("--skip-bad-rows", action="store_true", help="count and skip them instead of stopping")
    data.add_argument("--cache-dir", type=Path, help="default: $LETGRAPH_CACHE, then ~/.cache/letgraph/prepared")
    data.add_argument(
        "--workers", type=int, metavar="N", help="processes that prepare data (default: one a core, up to 8)"
    )
    data.add_argument(
        "--output", type=Path, metavar="FILE", help="write every pair in order, a TAB b TAB label TAB probability"
    )
    return parser


def main() -> None:
    options = parser().parse_args()
    # Imported here, because the processes that prepare data import this module too and need none of it.
    from tqdm import tqdm

    from letgraph.data.corpora import open_corpus
    from letgraph.inputs import load_split, prepare_split
    from letgraph.output import probability_cell, tsv_row, whole_file
    from letgraph.overlap import cleaned_pairs, metrics_of_new, not_in_train
    from letgraph.scoring import binary_metrics, format_metrics, one_class_warning, score_pairs

    corpus = open_corpus(options.dataset, options.data_dir, options.format)
    split = load_split(corpus, options.split, limit=options.limit, skip_bad_rows=options.skip_bad_rows, labelled=True)
    checkpoint = open_matcher(options).checkpoint
    preparation = checkpoint.preparation
    with ExitStack() as stack:
        output = stack.enter_context(whole_file(options.output)) if options.output else None
        pairs = prepare_split(
            split,
            preparation.segmenters,
            checkpoint.lexicon,
            cache_dir=options.cache_dir,
            workers=options.workers,
            vocabulary=checkpoint.vocabulary,
            **preparation.text_options,
        )
        with tqdm(total=len(pairs), desc=f"scoring {split.split}", unit="pair", leave=False, disable=None) as bar:
            scores = score_pairs(checkpoint.model, checkpoint.collator, pairs, options.batch_size, bar.update)
        assert split.labels is not None and pairs.labels is not None
        if output is not None:
            rows = zip(split.a, split.b, split.labels, scores, strict=True)
            output.writelines(tsv_row(a, b, str(label), probability_cell(score)) for a, b, label, score in rows)
    metrics = binary_metrics(pairs.labels, scores)
    if options.split != "train" and "train" in corpus.splits:
        try:
            train = corpus.load("train", skip_bad_rows=True, labelled=False)
        except LetgraphError as error:
            print(f"warning: which pairs are in train is not told: {error}", file=sys.stderr)
        else:
            clean = preparation.clean
            seen = ((clean(a).text, clean(b).text) for a, b in zip(train.a, train.b, strict=True))
            metrics |= metrics_of_new(pairs.labels, scores, not_in_train(cleaned_pairs(pairs), seen))
    if warning := one_class_warning(scores):
        print(f"warning: {split.split}: {warning}", file=sys.stderr)
    if options.output:
        print(f"{len(scores):,} scored pairs written to {options.output}")
    print(f"{split.corpus} {split.split}: {format_metrics(metrics)}")
    print(json.dumps(metrics))


if __name__ == "__main__":
    run_cli(main)
