"""Where the time of one training step of LET goes, and how far that is from its matrix products alone.

    python benchmarks/training_step.py [--dataset lcqmc] [--batch-size 32] [--quick] [--json FILE] [--plot FILE.png]

Steps are those of `letgraph.train`: batches by length from the split, RMSProp, clipped gradients, preset `paper`. First
whole steps are timed, phase by phase; then the parts of the model one by one, forward and backward, on one batch of
median size. `matrix products alone` is the number of floating-point operations of that batch's matrix products over the
rate that torch reaches here with matrices of the same kind (2,048 x 128 by 128 x 384, measured in the same run).
"""

from __future__ import annotations

import argparse
import statistics
import time
from collections.abc import Callable, Sequence
from typing import Any

import numpy as np
import torch
from harness import Candidate, Row, add_options, as_dict, figure, measure, print_table, write_json
from torch import Tensor, nn
from torch.utils.flop_counter import FlopCounterMode

from letgraph.checkpoint import Checkpoint
from letgraph.data.collate import PairBatch
from letgraph.data.corpora import open_corpus
from letgraph.errors import run_cli
from letgraph.inputs import open_knowledge, open_split
from letgraph.models import LET, LETConfig
from letgraph.preparation import Preparation
from letgraph.scoring import pair_lengths
from letgraph.text.segment import resolve
from letgraph.text.vocabulary import CharVocabulary
from letgraph.training import LengthSampler, PairCollator

PHASES = ("data", "forward", "backward", "optimiser")
PARTS = {
    "character encoder": "encoder",
    "word pooling": "word_pooling",
    "SaGT": "sagt",
    "fusion: words into characters": "char_pooling",
    "matching": "matching",
    "sentence pooling": "sentence_pooling",
    "classifier": "classifier",
}
"""The parts of the model that are modules of its own; sense embedding is not and is added below."""


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    add_options(parser)
    parser.add_argument("--split", default="dev")
    parser.add_argument("--batch-size", type=int, default=32)
    parser.add_argument("--steps", type=int, help="whole steps to time")
    options = parser.parse_args()
    torch.set_num_threads(options.threads)
    steps = options.steps or (10 if options.quick else 60)

    knowledge = open_knowledge(options.dataset, options.data_dir, options.hownet, None)
    segmenters = resolve("lattice")
    corpus = open_corpus(options.dataset, options.data_dir)
    pairs = open_split(corpus, options.split, segmenters, knowledge.lexicon)
    vocabulary = CharVocabulary.build(pairs.sentences.chars.values)
    torch.manual_seed(0)
    checkpoint = Checkpoint.create(
        LETConfig(), vocabulary, knowledge.lexicon, knowledge.vectors, Preparation.current(segmenters)
    )
    model = checkpoint.model.train()
    collate = PairCollator(checkpoint.collator, pairs)
    order = np.array(list(LengthSampler(pair_lengths(pairs, checkpoint.collator), options.batch_size, seed=0)))
    whole = order[: len(order) // options.batch_size * options.batch_size].reshape(-1, options.batch_size)
    batches = [whole[number % len(whole)].tolist() for number in range(steps)]

    phases = time_steps(model, collate, batches)
    total = sum(phases.values())
    one = collate(median_batch(collate, batches))["batch"]
    with FlopCounterMode(display=False) as counter:
        model(one).loss.backward()
    rate = product_rate()
    operations = counter.get_total_flops()
    floor = operations / rate
    about = f"{options.batch_size} pairs a step, {options.threads} thread(s), medians of {steps} steps"
    print(f"\n{options.dataset}, {about}; ms")
    for name, seconds in phases.items():
        print(f"{name:<34}{seconds * 1e3:>9.1f}{seconds / total:>8.0%}")
    print(f"{'a step':<34}{total * 1e3:>9.1f}{options.batch_size / total:>8.0f} pairs/s")
    print(
        f"{'matrix products alone':<34}{floor * 1e3:>9.1f}{options.batch_size / floor:>8.0f} pairs/s   "
        f"({operations / 1e9:.1f} GFLOP at {rate / 1e9:.0f} GFLOP/s)"
    )
    rows = measure(parts(model, one), seconds=2.0 if options.quick else 20.0)
    print_table("the parts of the model, on a batch of median size; ms", rows)

    place = {"batch_size": options.batch_size, "threads": options.threads}
    results = [{"candidate": name, **place, "ms": seconds * 1e3} for name, seconds in phases.items()]
    results.append({"candidate": "step", **place, "ms": total * 1e3, "pairs_per_second": options.batch_size / total})
    results.append({"candidate": "projections", **place, "ms": floor * 1e3, "gflop": operations / 1e9})
    results += [as_dict(row, **place) for row in rows]
    write_json(options.json, results, dataset=options.dataset)
    figure(options.plot, lambda canvas: draw(canvas, rows))


def time_steps(model: LET, collate: PairCollator, batches: Sequence[list[int]]) -> dict[str, float]:
    """Median seconds of every phase."""
    optimizer = torch.optim.RMSprop(model.parameters(), lr=5e-4, alpha=0.9, eps=1e-6, foreach=True)
    seconds: dict[str, list[float]] = {phase: [] for phase in PHASES}
    for number, rows in enumerate([*batches[:3], *batches]):
        marks = [time.perf_counter()]
        batch = collate(rows)["batch"]
        marks.append(time.perf_counter())
        loss = model(batch).loss
        marks.append(time.perf_counter())
        loss.backward()
        marks.append(time.perf_counter())
        nn.utils.clip_grad_norm_(model.parameters(), 5.0)
        optimizer.step()
        optimizer.zero_grad()
        marks.append(time.perf_counter())
        if number >= 3:
            for phase, start, end in zip(PHASES, marks[:-1], marks[1:], strict=True):
                seconds[phase].append(end - start)
    return {phase: statistics.median(times) for phase, times in seconds.items()}


def median_batch(collate: PairCollator, batches: Sequence[list[int]]) -> list[int]:
    """The batch with the median number of senses."""
    senses = [len(collate(rows)["batch"].senses) for rows in batches]
    return batches[int(np.argsort(senses)[len(senses) // 2])]


def product_rate() -> float:
    """Floating-point operations a second of torch's matrix product: the median of 30 after a warm-up."""
    a, b = torch.randn(2048, 128), torch.randn(128, 384)
    times = []
    for _ in range(40):
        start = time.perf_counter()
        a @ b
        times.append(time.perf_counter() - start)
    return 2 * a.shape[0] * a.shape[1] * b.shape[1] / statistics.median(times[10:])


def parts(model: LET, batch: PairBatch) -> list[Candidate]:
    """Each part of the model on the inputs that it gets in a forward pass."""
    seen: dict[str, tuple[nn.Module, tuple[Any, ...], dict[str, Any]]] = {}

    def remember(name: str) -> Callable[..., None]:
        def hook(module: nn.Module, args: tuple[Any, ...], kwargs: dict[str, Any]) -> None:
            seen[name] = (module, tuple(map(_leaf, args)), {key: _leaf(value) for key, value in kwargs.items()})

        return hook

    hooks = [
        getattr(model, attribute).register_forward_pre_hook(remember(name), with_kwargs=True)
        for name, attribute in PARTS.items()
    ]
    model(batch)
    for hook in hooks:
        hook.remove()
    found = []
    for name, (module, args, kwargs) in seen.items():
        inputs = [x for x in (*args, *kwargs.values()) if isinstance(x, Tensor) and x.requires_grad]
        found.append(
            Candidate(
                name,
                lambda module=module, args=args, kwargs=kwargs: [_tensor(module(*args, **kwargs))],
                [*inputs, *(p for p in module.parameters() if p.requires_grad)],
                compared=False,
            )
        )
    senses = model.senses
    embedding = Candidate(
        "sense embedding",
        lambda: [senses.from_lexicon(batch.senses)],
        [p for p in senses.parameters() if p.requires_grad],
        compared=False,
    )
    return [*found[:2], embedding, *found[2:]]


def _leaf(value: Any) -> Any:
    return value.detach().requires_grad_() if isinstance(value, Tensor) and value.is_floating_point() else value


def _tensor(output: Any) -> Tensor:
    return output if isinstance(output, Tensor) else output.last_hidden_state


def draw(canvas: Any, rows: Sequence[Row]) -> None:
    axes = canvas.add_subplot()
    names = [row.candidate for row in rows]
    forward = np.array([row.forward_ms for row in rows])
    backward = np.array([row.forward_backward_ms for row in rows]) - forward
    axes.barh(names, forward, label="forward")
    axes.barh(names, backward, left=forward, label="backward")
    axes.invert_yaxis()
    axes.set(xlabel="ms", title="One training step of LET by part")
    axes.legend()


if __name__ == "__main__":
    run_cli(main)
