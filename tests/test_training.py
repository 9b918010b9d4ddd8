"""The parts of the training loop: the order of rows, batches from rows, kept states, what is decayed."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
import pytest
import torch
from hypothesis import given, settings
from hypothesis import strategies as st
from transformers import TrainingArguments

from letgraph.data.collate import Collator
from letgraph.text.features import SentenceTable
from letgraph.training import CHUNK, LengthSampler, PairCollator, PairTrainer, RowNumbers, last_state
from tests.helpers import VOCABULARY, random_pairs, tiny_let, tiny_model, to_table


@dataclass
class Pairs:
    """What the training loop reads of a `PreparedPairs`."""

    sentences: SentenceTable
    a: np.ndarray
    b: np.ndarray
    labels: np.ndarray

    def __len__(self) -> int:
        return len(self.a)


def order(lengths, batch_size=4, seed=0, epoch=0):
    sampler = LengthSampler(np.array(lengths), batch_size, seed)
    sampler.set_epoch(epoch)
    return list(sampler)


lengths = st.lists(st.integers(2, 100), min_size=1, max_size=300)


@settings(max_examples=30)
@given(lengths, st.integers(1, 5), st.integers(0, 9), st.integers(0, 3))
def test_every_row_comes_once_in_an_epoch(lengths, batch_size, seed, epoch):
    rows = order(lengths, batch_size, seed, epoch)

    assert sorted(rows) == list(range(len(lengths)))
    assert len(LengthSampler(np.array(lengths), batch_size, seed)) == len(lengths)


@settings(max_examples=30)
@given(lengths, st.integers(0, 9), st.integers(0, 3))
def test_the_order_follows_from_seed_and_epoch_alone(lengths, seed, epoch):
    sampler = LengthSampler(np.array(lengths), 4, seed)
    list(sampler)  # what was read before does not matter
    sampler.set_epoch(epoch)

    assert list(sampler) == list(sampler) == order(lengths, seed=seed, epoch=epoch)


def test_epochs_and_seeds_have_orders_of_their_own():
    lengths = np.arange(100) % 17
    orders = {tuple(order(lengths, seed=seed, epoch=epoch)) for seed in (0, 1) for epoch in (0, 1, 2)}

    assert len(orders) == 6


def test_the_rows_of_a_batch_have_about_equal_lengths():
    random = np.random.default_rng(0)
    lengths = random.integers(4, 60, 3 * CHUNK * 8)

    batches = lengths[np.array(order(lengths, 8))].reshape(-1, 8)

    # Sorted chunks of 400 rows of 56 lengths: neighbours differ by little. A random batch spreads over about 45.
    assert np.ptp(batches, axis=1).mean() < 3
    # The batches themselves come in random order, not from short to long.
    means = batches.mean(1)
    assert abs(np.corrcoef(means, np.arange(len(means)))[0, 1]) < 0.3


def test_the_order_of_a_dataset_of_one_length_is_random():
    rows = order([10] * 400, 4)

    assert np.mean(np.abs(np.diff(rows)) == 1) < 0.1


def test_a_batch_is_built_from_row_numbers():
    sentences = random_pairs(0, pairs=3)
    table = to_table(sentences)
    # A split lists each distinct sentence once; here sentence 0 occurs in two pairs.
    a, b = np.array([0, 2, 0], np.int32), np.array([1, 3, 5], np.int32)
    pairs = Pairs(table, a, b, np.array([1, 0, 1], np.int8))
    collator = Collator(VOCABULARY)
    rows = RowNumbers(3)

    batch = PairCollator(collator, pairs)([rows[2], rows[0]])["batch"]

    expected = collator(to_table([sentences[i] for i in (0, 5, 0, 1)]), [1, 1])
    assert torch.equal(batch.input_ids, expected.input_ids)
    assert torch.equal(batch.labels, expected.labels)
    assert batch.graph.num_nodes("word") == expected.graph.num_nodes("word")
    assert len(rows) == 3


def test_the_newest_state_is_that_of_most_steps(tmp_path):
    assert last_state(tmp_path) is None
    assert last_state(tmp_path / "nowhere") is None
    for name in ("checkpoint-9", "checkpoint-100", "unfinished", "other"):
        (tmp_path / name).mkdir()

    assert last_state(tmp_path) == tmp_path / "checkpoint-100"


@pytest.mark.parametrize("preset", ["paper", "reference"])
def test_biases_and_layer_norms_are_not_decayed(tmp_path, preset):
    model = tiny_let(preset)
    table = to_table(random_pairs(0, pairs=2))
    pairs = Pairs(table, np.array([0, 2]), np.array([1, 3]), np.array([0, 1]))
    arguments = TrainingArguments(str(tmp_path), weight_decay=0.25, learning_rate=0.125, use_cpu=True, report_to=[])
    trainer = PairTrainer(model, arguments, Collator(VOCABULARY), pairs, None, lambda: None, [])

    optimizer = trainer.create_optimizer()

    assert isinstance(optimizer, torch.optim.RMSprop)
    name_of = {id(parameter): name for name, parameter in model.named_parameters()}
    decayed = {name_of[id(p)] for group in optimizer.param_groups if group["weight_decay"] for p in group["params"]}
    free = {name_of[id(p)] for group in optimizer.param_groups if not group["weight_decay"] for p in group["params"]}
    norms = {f"{name}.weight" for name, module in model.named_modules() if isinstance(module, torch.nn.LayerNorm)}
    assert free == norms | {name for name in name_of.values() if "bias" in name.rpartition(".")[2]}
    assert decayed | free == set(name_of.values()) and not decayed & free
    assert {group["weight_decay"] for group in optimizer.param_groups} == {0.25, 0.0}
    assert all((group["lr"], group["alpha"], group["eps"]) == (0.125, 0.9, 1e-6) for group in optimizer.param_groups)


def trainer_of(model, folder, sentences, labels, accumulate=1, encoder_rate=1.0, batch_size=8):
    pairs = Pairs(to_table(sentences), np.arange(0, len(sentences), 2), np.arange(1, len(sentences), 2), labels)
    arguments = TrainingArguments(
        str(folder),
        per_device_train_batch_size=batch_size // accumulate,
        gradient_accumulation_steps=accumulate,
        num_train_epochs=1,
        learning_rate=1e-3,
        weight_decay=0.01,
        save_strategy="no",
        use_cpu=True,
        report_to=[],
        remove_unused_columns=False,
        disable_tqdm=True,
    )
    collator = Collator(VOCABULARY, **model.config.graph_options)
    return PairTrainer(model, arguments, collator, pairs, None, lambda: None, [], encoder_rate=encoder_rate)


def test_a_batch_in_parts_makes_the_same_step(tmp_path):
    """Twenty pairs, so that the last step has four: one part of four, or two parts of two."""
    sentences, labels = random_pairs(0, pairs=20), np.arange(20) % 3 % 2
    weights = []
    for accumulate in (1, 2, 4):
        model = tiny_model("bert", dropout=0.0)
        trainer_of(model, tmp_path, sentences, labels, accumulate).train()
        weights.append(model.state_dict())

    for parts in weights[1:]:
        for name, expected in weights[0].items():
            torch.testing.assert_close(parts[name], expected, rtol=0, atol=2e-5, msg=name)
    assert not torch.equal(weights[0]["classifier.weight"], tiny_model("bert").state_dict()["classifier.weight"])


def test_parts_of_unequal_size_count_by_their_pairs(tmp_path):
    sentences, labels = random_pairs(0, pairs=6), np.array([0, 1, 0, 1, 1, 1])
    weights = []
    for accumulate in (1, 2):  # one part of six, or one of four and one of two
        model = tiny_model("bert", dropout=0.0)
        trainer_of(model, tmp_path, sentences, labels, accumulate).train()
        weights.append(model.state_dict())

    for name, expected in weights[0].items():
        torch.testing.assert_close(weights[1][name], expected, rtol=0, atol=2e-5, msg=name)


def test_the_encoder_has_a_learning_rate_of_its_own(tmp_path):
    model = tiny_model("bert")
    trainer = trainer_of(model, tmp_path, random_pairs(0, pairs=2), np.array([0, 1]), encoder_rate=0.1)

    groups = trainer.create_optimizer().param_groups

    rate = {id(parameter): group["lr"] for group in groups for parameter in group["params"]}
    for name, parameter in model.named_parameters():
        assert rate[id(parameter)] == pytest.approx(1e-4 if name.startswith("encoder.") else 1e-3), name
    norms = {f"{name}.weight" for name, module in model.named_modules() if isinstance(module, torch.nn.LayerNorm)}
    decayed = {id(p) for group in groups if group["weight_decay"] for p in group["params"]}
    for name, parameter in model.named_parameters():
        assert (id(parameter) in decayed) == (name not in norms and not name.endswith("bias")), name
