"""One training run, from settings to a folder that holds the best model, its scores and its history.

OUT/config.json, model.safetensors, vocabulary.json, lexicon.tsv, preparation.json   the model of the best dev accuracy
OUT/last/                                                                            the model after the last step
OUT/metrics.json    metrics of the best model on every split, speed and memory
OUT/scores/         what the best model gives every pair of dev and test, see `letgraph.scores`
OUT/settings.json   the settings of the run
OUT/logs/           TensorBoard
OUT/states/         what an interrupted run goes on from; removed at the end
"""

from __future__ import annotations

import gc
import json
import shutil
import sys
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
import torch
from torch import nn
from tqdm import tqdm
from transformers import ProgressCallback, TrainingArguments, set_seed
from transformers.trainer_callback import PrinterCallback
from transformers.utils import logging

from letgraph.checkpoint import Checkpoint
from letgraph.data.corpora import open_corpus
from letgraph.data.store import PreparedPairs
from letgraph.data.workers import peak_memory, restart_peak_memory
from letgraph.embeddings import start_from_vectors
from letgraph.encoders import PretrainedEncoder, open_encoder
from letgraph.errors import LetgraphError
from letgraph.inputs import Knowledge, open_knowledge, open_split
from letgraph.models import EncoderModel
from letgraph.output import whole_file
from letgraph.preparation import Preparation
from letgraph.processes import Processes, open_processes
from letgraph.report import TRAIN, print_scores, score_splits
from letgraph.run_folder import claim
from letgraph.scores import scores_path
from letgraph.scoring import binary_metrics, one_class_warning, score_pairs
from letgraph.settings import ENCODER_MAX_TOKENS, Settings
from letgraph.text.segment import load_segmenter, resolve
from letgraph.text.vocabulary import CharVocabulary
from letgraph.training import PairTrainer, Progress, TensorBoardLog, last_state

DEV, TEST = "dev", "test"


@dataclass(frozen=True)
class Inputs:
    splits: dict[str, PreparedPairs]
    knowledge: Knowledge | None
    preparation: Preparation
    encoder: PretrainedEncoder | None


def train(settings: Settings) -> dict[str, Any]:
    """Carry out a run and return what it writes to ``metrics.json``.

    Where torchrun has started several processes for the run, all but the first return nothing.

    Raises `LetgraphError` before anything is written where settings, data or output folder do not allow the run.
    """
    with open_processes() as processes:
        return _train(settings, processes)


def _train(settings: Settings, processes: Processes) -> dict[str, Any]:
    logging.disable_progress_bar()  # of writing and reading weights: this run has bars of its own
    folder = claim(settings, processes)
    finished = folder / "metrics.json"
    if finished.is_file():
        metrics = json.loads(finished.read_text(encoding="utf-8"))
        if all(scores_path(folder, name).is_file() for name in (DEV, TEST) if name in metrics):
            print(f"{folder} holds a finished run already:")
            print_scores(metrics)
            return metrics
        return _score_again(settings, folder, metrics) if processes.first else {}
    processes.wait()  # nothing is written before all have seen what was there
    with processes.first_ahead():
        inputs = _open_inputs(settings)
    load_segmenter.cache_clear()  # their models take 2 GB, and training needs none
    set_seed(settings.training.seed)
    checkpoint = _new_model(settings, inputs)
    if processes.first:
        folder.mkdir(parents=True, exist_ok=True)
        _write_json(folder / "settings.json", settings.to_dict())
    speed = _fit(settings, inputs, checkpoint, folder, processes)
    if not processes.first:
        return {}
    checkpoint.save(folder / "last")
    best = Checkpoint.load(folder) if DEV in inputs.splits else checkpoint
    if DEV not in inputs.splits:
        checkpoint.save(folder)
    metrics = score_splits(best, inputs.splits, list(inputs.splits), settings.training.eval_batch_size, folder)
    # A run that was taken up after its last step has trained elsewhere: its speed and memory are not known here.
    peak = None if speed is None else peak_memory() / 2**20
    metrics |= {"train_pairs_per_second": speed, "peak_rss_mb": peak}
    _write_json(finished, metrics)
    shutil.rmtree(folder / "states", ignore_errors=True)
    print_scores(metrics)
    print(f"the model is in {folder}")
    return metrics


def _score_again(settings: Settings, folder: Path, metrics: dict[str, Any]) -> dict[str, Any]:
    """Scores of a finished run that has none, as runs of earlier versions have not."""
    print(f"{folder} holds a finished run without scores/; its model scores once more:")
    splits = _open_inputs(settings).splits
    wanted = [name for name in (DEV, TEST) if name in metrics]
    metrics |= score_splits(Checkpoint.load(folder), splits, wanted, settings.training.eval_batch_size, folder)
    _write_json(folder / "metrics.json", metrics)
    print_scores(metrics)
    return metrics


def _open_inputs(settings: Settings) -> Inputs:
    data = settings.data
    assert data.dataset is not None
    data_dir = Path(data.data_dir) if data.data_dir else None
    encoder = open_encoder(settings.model.encoder) if settings.model.encoder else None
    max_tokens = data.max_tokens or (ENCODER_MAX_TOKENS if encoder else None)
    preparation = Preparation.current(resolve(data.segmenter), settings.model.preset, max_tokens)
    corpus = open_corpus(data.dataset, data_dir, data.format)
    if TRAIN not in corpus.splits:
        raise LetgraphError(f"corpus {corpus.name} has no training split; it has {', '.join(corpus.splits)}")
    knowledge = None
    if settings.needs_lexicon:
        vectors = Path(data.sememe_vectors) if data.sememe_vectors else None
        knowledge = open_knowledge(data.dataset, data_dir, data.hownet, vectors, preparation.width)
    splits = {
        name: open_split(
            corpus,
            name,
            preparation.segmenters,
            knowledge.lexicon if knowledge else None,
            limit=data.limit,
            skip_bad_rows=data.skip_bad_rows,
            labelled=True if name in (TRAIN, DEV) else None,
            cache_dir=Path(data.cache_dir) if data.cache_dir else None,
            workers=data.workers,
            vocabulary=encoder.vocabulary if encoder else None,
            **preparation.text_options,
        )
        for name in corpus.splits
    }
    if DEV not in splits:
        print("warning: no dev split, so the last model is kept as the best", file=sys.stderr)
    if encoder:
        encoder.check_chinese(splits[TRAIN].sentences.chars)
    return Inputs(splits, knowledge, preparation, encoder)


def _new_model(settings: Settings, inputs: Inputs) -> Checkpoint:
    train, encoder = inputs.splits[TRAIN], inputs.encoder
    vocabulary = encoder.vocabulary if encoder else CharVocabulary.build(train.sentences.chars.values)
    knowledge = inputs.knowledge
    checkpoint = Checkpoint.create(
        settings.model.model_config(encoder.settings if encoder else None),
        vocabulary,
        knowledge.lexicon if knowledge else None,
        knowledge.vectors if knowledge else None,
        inputs.preparation,
    )
    model, config = checkpoint.model, checkpoint.model.config
    unit = "tokens" if encoder else "characters"
    print(f"{settings.model.title}: {_count(model):,} parameters, {len(vocabulary):,} {unit}")
    if encoder:
        assert isinstance(model, EncoderModel)
        new = encoder.load_into(model.encoder)
        print(f"  {_count(model.encoder):,} of them in the encoder" + (f", new: {', '.join(new)}" if new else ""))
    if settings.model.embeddings:
        path = Path(settings.model.embeddings)
        start_from_vectors(model, vocabulary, train.sentences, path)
    if knowledge and config.senses:
        print(f"  {config.num_known_sememes:,} of {config.num_sememes:,} sememes have a pre-trained vector")
    return checkpoint


def _count(module: nn.Module) -> int:
    return sum(parameter.numel() for parameter in module.parameters())


def _fit(
    settings: Settings, inputs: Inputs, checkpoint: Checkpoint, folder: Path, processes: Processes
) -> float | None:
    training = settings.training
    states = folder / "states"
    splits, model, collator = inputs.splits, checkpoint.model, checkpoint.collator
    batch_size = training.batch_size
    assert batch_size is not None and training.epochs is not None and training.learning_rate is not None
    steps = -(-len(splits[TRAIN]) // batch_size)
    total = training.max_steps if training.max_steps > 0 else int(np.ceil(training.epochs * steps))
    arguments = TrainingArguments(
        output_dir=str(states),
        per_device_train_batch_size=batch_size // training.accumulate,
        gradient_accumulation_steps=training.accumulate,
        bf16=training.bf16,
        use_cpu=not torch.cuda.is_available(),
        num_train_epochs=training.epochs,
        max_steps=training.max_steps,
        learning_rate=training.learning_rate,
        lr_scheduler_type="linear",
        warmup_steps=round(training.warmup * total),
        weight_decay=training.weight_decay,
        max_grad_norm=training.max_grad_norm,
        seed=training.seed,
        eval_strategy=("steps" if training.eval_steps else "epoch") if DEV in splits else "no",
        eval_steps=training.eval_steps,
        save_strategy="steps",
        save_steps=training.save_steps,
        logging_steps=training.logging_steps,
        report_to="none",
        dataloader_pin_memory=torch.cuda.is_available(),
        remove_unused_columns=False,
        disable_tqdm=True,
        accelerator_config={"split_batches": processes.count > 1},  # so batch_size is that of all processes
        ddp_broadcast_buffers=False,
    )

    def score_dev() -> dict[str, Any]:
        share = processes.share(len(splits[DEV]))
        scores = score_pairs(model, collator, splits[DEV].select(share), training.eval_batch_size)
        scores = processes.merge(scores, share)
        if (warning := one_class_warning(scores)) and processes.first:
            tqdm.write(f"warning: {warning}", file=sys.stderr)
        labels = splits[DEV].labels
        assert labels is not None
        return binary_metrics(labels, scores)

    if training.gradient_checkpointing:
        assert isinstance(model, EncoderModel)
        encoder: Any = model.encoder  # the second is the method's name in earlier releases of transformers 5
        enable = getattr(encoder, "activation_checkpointing_enable", None) or encoder.gradient_checkpointing_enable
        enable({"use_reentrant": False})
    encoder_rate = training.encoder_rate if settings.model.encoder else 1.0
    progress = Progress(batch_size, len(splits[TRAIN]), processes.first)
    trainer = PairTrainer(
        model,
        arguments,
        collator,
        splits[TRAIN],
        score_dev if DEV in splits else None,
        lambda: checkpoint.save(folder) if processes.first else None,
        [progress, TensorBoardLog(folder / "logs")] if processes.first else [progress],
        processes,
        encoder_rate,
    )
    for callback in (ProgressCallback, PrinterCallback):
        trainer.remove_callback(callback)
    gc.collect()
    restart_peak_memory()  # that of this run, not of what was done before it in the process
    gc.freeze()  # the lexicon is a million objects, which the collector need not visit in every round
    state = last_state(states)
    if state is not None:
        print(f"going on from {state}")
    if not processes.first:
        torch.manual_seed(training.seed + processes.rank)  # else all would drop the same entries
    trainer.train(resume_from_checkpoint=None if state is None else str(state))
    if DEV in splits and trainer.state.best_global_step is None:
        trainer.evaluate()
    gc.unfreeze()  # a next run in this process must not keep what belonged to this one
    return progress.pairs_per_second


def _write_json(path: Path, value: Any) -> None:
    with whole_file(path) as stream:
        stream.write(json.dumps(value, ensure_ascii=False, indent=1).encode())
