"""The training loop: `transformers.Trainer` with RMSProp, batches by length, and states that survive a kill."""

from __future__ import annotations

import os
import shutil
import sys
import time
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import numpy as np
import torch
from numpy.typing import NDArray
from torch import Tensor, nn
from torch.utils.data import Dataset, Sampler
from tqdm import tqdm
from transformers import Trainer, TrainerCallback, TrainerControl, TrainerState, TrainingArguments
from transformers.trainer import TRAINER_STATE_NAME

from letgraph.data.collate import Collator, PairBatch, interleave
from letgraph.data.store import PreparedPairs
from letgraph.processes import ALONE, Processes
from letgraph.scoring import pair_lengths

CHUNK = 50
"""Batches are cut from chunks of this many, sorted by length: short pairs share a batch, the order stays random."""


class RowNumbers(Dataset):
    """Row i of the split is i: a whole batch is built at once from the row numbers, by `PairCollator`."""

    def __init__(self, size: int) -> None:
        self.size = size

    def __len__(self) -> int:
        return self.size

    def __getitem__(self, row: int) -> int:
        return row


class PairCollator:
    """Row numbers of prepared pairs -> the keyword arguments of a model's ``forward``."""

    def __init__(self, collator: Collator, pairs: PreparedPairs) -> None:
        self.collator, self.pairs = collator, pairs

    def __call__(self, rows: list[int]) -> dict[str, PairBatch]:
        index = np.array(rows)
        labels = None if self.pairs.labels is None else self.pairs.labels[index]
        table = self.pairs.sentences.take(interleave(self.pairs.a[index], self.pairs.b[index]))
        return {"batch": self.collator(table, labels)}


class LengthSampler(Sampler[int]):
    """All rows in random order, in which each run of ``batch_size`` has about equal lengths.

    The order follows from the seed and the epoch alone, so that a resumed run sees what the first run would have.
    """

    def __init__(self, lengths: NDArray[np.integer], batch_size: int, seed: int) -> None:
        self.lengths, self.batch_size, self.seed, self.epoch = lengths, batch_size, seed, 0

    def set_epoch(self, epoch: int) -> None:
        self.epoch = epoch

    def __len__(self) -> int:
        return len(self.lengths)

    def __iter__(self) -> Iterator[int]:
        random = np.random.default_rng((self.seed, self.epoch))
        order = random.permutation(len(self.lengths))
        size = CHUNK * self.batch_size
        chunks = [order[start : start + size] for start in range(0, len(order), size)]
        ordered = np.concatenate([chunk[np.argsort(self.lengths[chunk], kind="stable")] for chunk in chunks])
        whole = len(ordered) // self.batch_size * self.batch_size
        batches = ordered[:whole].reshape(-1, self.batch_size)
        random.shuffle(batches)
        return iter(np.concatenate([batches.reshape(-1), ordered[whole:]]).tolist())


class PairTrainer(Trainer):
    """Trains a model of pairs.

    ``score_dev()`` returns the metrics of the dev split; it is called at every evaluation. ``on_best()`` is called
    when their accuracy is higher than ever before. ``encoder_rate``: by what the learning rate of ``model.encoder`` is
    multiplied. A step's loss is the mean over its pairs, into however many parts its batch is cut.
    """

    def __init__(
        self,
        model: nn.Module,
        arguments: TrainingArguments,
        collator: Collator,
        pairs: PreparedPairs,
        score_dev: Callable[[], dict[str, Any]] | None,
        on_best: Callable[[], None],
        callbacks: list[TrainerCallback],
        processes: Processes = ALONE,
        encoder_rate: float = 1.0,
    ) -> None:
        assert arguments.output_dir is not None
        self.root = Path(arguments.output_dir)
        self.lengths = pair_lengths(pairs, collator)
        self.score_dev, self.on_best = score_dev, on_best
        self.processes, self.encoder_rate = processes, encoder_rate
        self._run_dir = self.root
        super().__init__(
            model,
            arguments,
            PairCollator(collator, pairs),
            train_dataset=RowNumbers(len(pairs)),
            eval_dataset=RowNumbers(0),  # asked for by Trainer's checks; `evaluate` reads its split itself
            callbacks=callbacks,
        )
        self.model_accepts_loss_kwargs = True  # `compute_loss` weighs the parts of a step itself

    def _get_train_sampler(self, *_: Any) -> Sampler[int]:
        return LengthSampler(self.lengths, self.step_size, self.args.seed)

    @property
    def step_size(self) -> int:
        """Pairs of a step."""
        return self.args.per_device_train_batch_size * self.args.gradient_accumulation_steps

    def create_optimizer(self, model: nn.Module | None = None) -> torch.optim.Optimizer:
        """RMSProp (decay rate 0.9, eps 1e-6) with the weight decay of the arguments on all but biases and norms, and a
        learning rate of its own for the encoder."""
        if self.optimizer is None:
            assert self.model is not None
            decayed = set(self.get_decay_parameter_names(self.model))
            groups: dict[tuple[float, float], list[nn.Parameter]] = {}
            for name, parameter in self.model.named_parameters():
                if parameter.requires_grad:
                    rate = self.encoder_rate if name.startswith("encoder.") else 1.0
                    decay = self.args.weight_decay if name in decayed else 0.0
                    groups.setdefault((rate, decay), []).append(parameter)
            rate = self.args.learning_rate
            parts = [{"params": p, "lr": rate * part, "weight_decay": decay} for (part, decay), p in groups.items()]
            self.optimizer = torch.optim.RMSprop(parts, lr=rate, alpha=0.9, eps=1e-6, foreach=True)
        return self.optimizer

    def _get_num_items_in_batch(self, batch_samples: list[Any], device: torch.device) -> int:
        """Pairs of a step, over all its parts."""
        return sum(len(inputs["batch"]) for inputs in batch_samples)

    def compute_loss(
        self,
        model: nn.Module,
        inputs: dict[str, Any],
        return_outputs: bool = False,
        num_items_in_batch: Tensor | int | None = None,
    ) -> Any:
        output = model(**inputs)
        loss = output.loss
        if num_items_in_batch is not None:
            loss = loss * (len(inputs["batch"]) / num_items_in_batch)
        return (loss, output) if return_outputs else loss

    def evaluate(self, *_: Any, **__: Any) -> dict[str, float]:
        assert self.score_dev is not None
        metrics = {f"eval_{name}": value for name, value in self.score_dev().items() if value is not None}
        if metrics["eval_accuracy"] > (self.state.best_metric or -1.0):
            self.state.best_metric = metrics["eval_accuracy"]
            self.state.best_global_step = self.state.global_step
            self.on_best()
        self.log(metrics)
        self.control = self.callback_handler.on_evaluate(self.args, self.state, self.control, metrics)
        return metrics

    def floating_point_ops(self, inputs: Any) -> int:
        """Not estimated: the transformers formula is for token sequences."""
        return 0

    def _get_output_dir(self, trial: Any) -> str:
        return str(self._run_dir)

    def _save_checkpoint(self, model: nn.Module, trial: Any) -> None:
        """A state appears under its name only when it is whole; then older ones go."""
        root = self.root
        name = f"checkpoint-{self.state.global_step}"
        self._run_dir = root / "unfinished"
        if self.processes.first:
            shutil.rmtree(self._run_dir, ignore_errors=True)
        self.processes.wait()
        super()._save_checkpoint(model, trial)
        self.processes.wait()
        # The best model is `on_best`'s to keep; Trainer would look for it in a state that is removed with the next.
        self.state.best_model_checkpoint = None
        if self.processes.first:
            self._keep(self._run_dir / name, name)
        self._run_dir = root

    def _keep(self, whole: Path, name: str) -> None:
        self.state.save_to_json(str(whole / TRAINER_STATE_NAME))
        if not (self.root / name).exists():
            os.replace(whole, self.root / name)
        shutil.rmtree(whole.parent, ignore_errors=True)
        for old in self.root.glob("checkpoint-*"):
            if old.name != name:
                shutil.rmtree(old, ignore_errors=True)


def last_state(folder: Path) -> Path | None:
    """The newest state that `PairTrainer` has kept."""
    states = {int(path.name.removeprefix("checkpoint-")): path for path in folder.glob("checkpoint-*")}
    return states[max(states)] if states else None


class Progress(TrainerCallback):
    """A progress bar over steps with loss, speed and time left; a line for every evaluation.

    ``pairs_per_second``: the speed of training so far in this process, without evaluation and saving; None before the
    first step.
    """

    def __init__(self, batch_size: int, size: int, progress: bool = True) -> None:
        self.batch_size, self.size, self.shown = batch_size, size, progress
        self.bar: tqdm | None = None
        self.seconds, self.pairs = 0.0, 0
        self.loss: float | None = None
        self._since: float | None = None

    @property
    def pairs_per_second(self) -> float | None:
        return self.pairs / self.seconds if self.seconds else None

    def on_train_begin(self, args: TrainingArguments, state: TrainerState, control: TrainerControl, **_: Any) -> None:
        interval = 1.0 if sys.stderr.isatty() else 60.0  # a log wants a line now and then, not a moving bar
        self.bar = tqdm(
            total=state.max_steps,
            initial=state.global_step,
            unit="step",
            disable=not self.shown,
            mininterval=interval,
            maxinterval=interval,
        )
        self._since = time.perf_counter()

    def on_step_end(self, args: TrainingArguments, state: TrainerState, control: TrainerControl, **_: Any) -> None:
        assert self.bar is not None and self._since is not None
        now = time.perf_counter()
        steps = -(-self.size // self.batch_size)
        last = state.global_step % steps == 0
        self.seconds += now - self._since
        self.pairs += self.size - (steps - 1) * self.batch_size if last else self.batch_size
        self._since = now
        self.bar.update()
        self.bar.set_postfix_str(f"{self._loss_text}{self._speed_text}", refresh=False)

    @property
    def _loss_text(self) -> str:
        return "loss not logged yet" if self.loss is None else f"loss {self.loss:.4f}"

    @property
    def _speed_text(self) -> str:
        return "" if self.pairs_per_second is None else f", {self.pairs_per_second:.0f} pairs/s"

    def on_log(self, args: Any, state: Any, control: Any, logs: dict[str, float] | None = None, **_: Any) -> None:
        self.loss = (logs or {}).get("loss", self.loss)

    def on_evaluate(
        self,
        args: TrainingArguments,
        state: TrainerState,
        control: TrainerControl,
        metrics: dict[str, float] | None = None,
        **_: Any,
    ) -> None:
        assert metrics is not None
        best = " (best so far)" if state.best_global_step == state.global_step else ""
        tqdm.write(
            f"epoch {state.epoch:.2f}, step {state.global_step}: {self._loss_text}, dev accuracy "
            f"{metrics['eval_accuracy']:.4f}, f1 {metrics['eval_f1']:.4f}, dev loss {metrics['eval_loss']:.4f}{best}"
            f"{self._speed_text}"
        )
        # The dev score is part of the state, so that a resumed run knows its best.
        control.should_save = True

    def on_save(self, *_: Any, **__: Any) -> None:
        self._since = time.perf_counter()

    def on_train_end(self, *_: Any, **__: Any) -> None:
        if self.bar is not None:
            self.bar.close()


class TensorBoardLog(TrainerCallback):
    """Writes everything that is logged to TensorBoard files in ``folder``."""

    def __init__(self, folder: Path) -> None:
        from torch.utils.tensorboard import SummaryWriter

        self.writer = SummaryWriter(str(folder))

    def on_log(
        self, args: Any, state: TrainerState, control: Any, logs: dict[str, Any] | None = None, **_: Any
    ) -> None:
        for name, value in (logs or {}).items():
            if isinstance(value, (int, float, Tensor)):
                tag = f"dev/{name.removeprefix('eval_')}" if name.startswith("eval_") else f"train/{name}"
                self.writer.add_scalar(tag, value, state.global_step)

    def on_train_end(self, *_: Any, **__: Any) -> None:
        self.writer.close()
