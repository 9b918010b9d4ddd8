"""Convert a parameter file of the LET authors' MXNet program into a checkpoint:

    python -m letgraph.convert --params FILE.params --output-dir OUT --vocab vocab.txt --hownet sense_dict.json

Needs no MXNet. Says which parameters of the file have no place in the model and which of the model the file does not
set, and writes nothing where that is more than an encoder that is left out as a whole. Without --vocab or --hownet only
the model is written, which `LET.from_pretrained` takes; letgraph.predict and letgraph.evaluate need both.
"""

from __future__ import annotations

import argparse
import sys
from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any

from letgraph.errors import DataError, LetgraphError, run_cli

if TYPE_CHECKING:
    from letgraph.reference_weights import ReferenceWeights
    from letgraph.text.lexicon import Lexicon

SEGMENTERS = {"jieba": "jieba==0.39", "pkuseg": "pkuseg==0.0.22", "thulac": "thulac==0.2.1"}
"""What the authors name in their README; words of other versions differ now and then, and loading says so."""


def parser() -> argparse.ArgumentParser:
    parser = argparse.ArgumentParser(
        prog="python -m letgraph.convert",
        description=__doc__,
        formatter_class=argparse.RawDescriptionHelpFormatter,
        allow_abbrev=False,
    )
    parser.add_argument("--params", required=True, type=Path, metavar="FILE.params", help="of MXNet's save_parameters")
    parser.add_argument("--output-dir", required=True, type=Path, metavar="OUT", help="an empty or a new folder")
    parser.add_argument(
        "--vocab", type=Path, metavar="FILE", help="BERT's vocab.txt (its special tokens go where gluonnlp has them)"
    )
    parser.add_argument("--hownet", metavar="PATH", help="sense lexicon, such as the authors' sense_dict.json")
    parser.add_argument(
        "--sememe-vectors",
        type=Path,
        metavar="PATH",
        help="the authors' sememe_vec.txt: their program numbers sememes by its rows; a .json lexicon has the numbers",
    )
    parser.add_argument(
        "--encoder-config", type=Path, metavar="JSON", help="BertConfig of the encoder, for its number of heads"
    )
    return parser


def main() -> None:
    options = parser().parse_args()
    if options.output_dir.exists() and not (options.output_dir.is_dir() and not any(options.output_dir.iterdir())):
        raise LetgraphError(f"{options.output_dir} is not an empty folder; name another --output-dir")
    # Imported here, so that --help does not wait for it.
    import torch
    from transformers.utils import logging

    from letgraph.checkpoint import Checkpoint, save_model
    from letgraph.inputs import named_lexicon
    from letgraph.preparation import TEXT_PRESETS, Preparation
    from letgraph.reference_weights import build_model, read_reference_weights
    from letgraph.text.vocabulary import PieceVocabulary

    logging.disable_progress_bar()
    weights = read_reference_weights(options.params, _encoder_config(options.encoder_config))
    _report(options.params, weights)
    config = weights.config
    preparation = Preparation(tuple(SEGMENTERS), versions=SEGMENTERS, **TEXT_PRESETS["reference"])
    vocabulary = None
    if options.vocab is not None:
        vocabulary = PieceVocabulary(_pieces(options.vocab, config.vocab_size, weights.lacks_encoder))
        config.pad_token_id = vocabulary.pad
        preparation.check_positions(config.max_positions, config.positions)
    lexicon = named_lexicon(options.hownet, options.sememe_vectors, preparation.width)
    if lexicon is not None:
        config.num_senses, config.num_links = lexicon.num_senses, len(lexicon.sense_sememes.values)
        config.lexicon_hash = lexicon.hash
        rows = torch.tensor(_sememe_rows(lexicon, options.sememe_vectors, config.num_sememes))
    model = build_model(weights)
    if lexicon is not None:
        model.senses.load_lexicon(
            torch.from_numpy(lexicon.sense_sememes.offsets), torch.from_numpy(lexicon.sense_sememes.values)
        )
        model.senses.sememes.row.copy_(rows)
    if vocabulary is not None and lexicon is not None:
        Checkpoint(model, vocabulary, lexicon, preparation).save(options.output_dir)
        print(f"the checkpoint is in {options.output_dir}")
        return
    save_model(model, options.output_dir)
    print(f"the model is in {options.output_dir}")
    given = {"--vocab vocab.txt": vocabulary, "--hownet PATH": lexicon}
    absent = " and ".join(flag for flag, value in given.items() if value is None)
    print(f"warning: without {absent} it is no checkpoint for letgraph.predict and letgraph.evaluate", file=sys.stderr)


def _encoder_config(path: Path | None) -> dict[str, Any]:
    if path is None:
        return {}
    from letgraph.checkpoint import read_json

    mend = "give the config.json of a BERT"
    fields = read_json(path, mend)
    sizes = ("num_hidden_layers", "intermediate_size", "max_position_embeddings", "vocab_size", "num_attention_heads")
    for name in sizes:
        if name in fields and not (type(fields[name]) is int and 0 < fields[name] < 10**6):
            raise DataError(path, None, f"{name} is {fields[name]!r}, not a size", mend)
    return fields


def _report(path: Path, weights: ReferenceWeights) -> None:
    """Print what was placed. Raises `LetgraphError` where a parameter is left over or unset."""
    placed = weights.arrays - len(weights.unused) - len(weights.unplaced)
    print(f"{path}: {placed:,} of {weights.arrays:,} parameters have their place in LET")
    if weights.unused:
        print(f"  unused by LET: {_names(weights.unused)}")
    encoder = [name for name in weights.unset if name.startswith("encoder.")] if weights.lacks_encoder else []
    unset = [name for name in weights.unset if name not in encoder]
    if weights.unplaced or unset:
        problems = [
            f"{len(names):,} {what}: {_names(names)}"
            for what, names in (("parameters without a place", weights.unplaced), ("of the model unset", unset))
            if names
        ]
        raise DataError(path, None, "; ".join(problems), "give the whole file of a LET of the authors' program")
    if encoder:
        print(
            f"warning: it has no encoder (bert.…): the {len(encoder):,} tensors of the model's encoder are unset "
            "and have random values, with which scores mean nothing",
            file=sys.stderr,
        )
    else:
        print(f"  all {len(weights.tensors):,} tensors of the model are set")


def _names(names: Sequence[str], most: int = 8) -> str:
    shown = ", ".join(names[:most])
    return shown if len(names) <= most else f"{shown}, … ({len(names):,} in all)"


def _pieces(path: Path, size: int, lacks_encoder: bool) -> list[str]:
    """The vocabulary's pieces in gluonnlp's order, if they are one for each of the encoder's ``size`` rows."""
    from letgraph.text.vocabulary import PieceVocabulary, in_gluonnlp_order, read_pieces

    if lacks_encoder:
        raise LetgraphError("--vocab is the encoder's, and the parameter file has no encoder; leave it out")
    pieces = in_gluonnlp_order(read_pieces(path))
    if len(pieces) != size:
        problem = f"{len(pieces):,} pieces, and the encoder has {size:,}"
        raise DataError(path, None, problem, "give the vocab.txt of the BERT that the model was made from")
    try:
        PieceVocabulary(pieces)
    except ValueError as error:
        raise DataError(path, None, str(error), "give the vocab.txt of the BERT that the model was made from") from None
    return pieces


def _sememe_rows(lexicon: Lexicon, sememe_vectors: Path | None, count: int) -> list[int]:
    """Sememe id -> row of the program's embedding: sememe 0 is its dummy, row 0; then the lexicon's sememes, then the
    rows that none of them has. The program numbers sememes by the lines of its vector file, from 1."""
    from letgraph.text.lexicon import sememe_name
    from letgraph.text.sememes import read_sememe_vectors

    if sememe_vectors is not None:
        names = read_sememe_vectors(sememe_vectors).names
        if len(names) != count - 1:
            problem = f"{len(names):,} sememes, and the model has {count - 1:,}"
            raise DataError(sememe_vectors, None, problem, "give the sememe_vec.txt that the model was made from")
        row_of = {sememe_name(name): row for row, name in enumerate(names, 1)}
    else:
        row_of = {f"#{row}": row for row in range(1, count)}
    absent = [name for name in lexicon.sememes if name not in row_of]
    if absent:
        raise LetgraphError(
            f"{lexicon.source}: {len(absent):,} of its {lexicon.num_sememes:,} sememes, such as {absent[0]!r}, are not "
            f"of the model's {count - 1:,}; give the authors' sense_dict.json, or --sememe-vectors with another lexicon"
        )
    rows = [0, *(row_of[name] for name in lexicon.sememes)]
    return rows + sorted(set(range(count)) - set(rows))


if __name__ == "__main__":
    run_cli(main)
