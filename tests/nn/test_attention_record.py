"""Recorded attention: α is what the layers used, edge by edge."""

from __future__ import annotations

import pytest
import torch

from letgraph import schema
from letgraph.nn.attention_record import record_attention
from letgraph.nn.mdgat import MDGAT
from letgraph.nn.pooling import AttentivePooling
from tests.helpers import batch_for, random_pairs, tiny_let

PRESETS = ["paper", "reference"]


def run(preset: str, **settings):
    """A model's batch, records, and what its attention layers returned, in the order of their calls."""
    model = tiny_let(preset, **settings)
    batch = batch_for(model, random_pairs(3))
    outputs = []
    for module in model.modules():
        if isinstance(module, AttentivePooling):
            module.register_forward_hook(lambda module, inputs, output: outputs.append(output))
        if isinstance(module, MDGAT):
            module.activation.register_forward_hook(lambda module, inputs, output: outputs.append(output))
    with torch.no_grad(), record_attention(model) as records:
        logits = model(batch).logits
    return model, batch, records, outputs, logits


@pytest.mark.parametrize("settings", [{}, {"senses": False}])
@pytest.mark.parametrize("preset", PRESETS)
def test_weights_times_values_are_the_layers_output(preset, settings):
    _, _, records, outputs, _ = run(preset, **settings)
    assert len(records) == len(outputs) > 5
    for record, output in zip(records, outputs, strict=True):
        sources, destinations = record.neighbourhood.edges
        summed = torch.zeros(len(record.neighbourhood.dst.place), *record.v.shape[1:])
        summed.index_add_(0, destinations, record.weights() * record.v[sources])
        torch.testing.assert_close(summed.flatten(1), output, rtol=1e-4, atol=1e-5)


@pytest.mark.parametrize("preset", PRESETS)
def test_every_edge_type_that_a_model_attends_over_is_recorded(preset):
    model, batch, records, _, _ = run(preset)
    wanted = {schema.IN, schema.FORWARD, schema.BACKWARD, schema.SENSE_OF, schema.COVERS, schema.SELF, schema.CROSS}
    if model.config.needs_sememe_nodes:
        wanted |= {schema.SEMEME_OF, schema.CONTEXT}
    recorded = {etype for etype, edges in batch.edges.items() for r in records if r.neighbourhood is edges}
    assert recorded == wanted
    steps = [r for r in records if r.neighbourhood is batch.edges[schema.SENSE_OF]]
    assert [r.module for r in steps] == [f"sagt.layers.{layer}.word_step" for layer in range(model.config.num_layers)]


def test_weights_of_a_destination_sum_to_one_even_where_scores_are_extreme():
    _, _, records, _, _ = run("paper")
    record = next(r for r in records if r.q is not None)
    extreme = type(record)(record.module, record.neighbourhood, record.q, record.k, record.f * 1e4, record.v, None)
    _, destinations = record.neighbourhood.edges
    for weights in (record.weights(), extreme.weights()):
        total = torch.zeros(len(record.neighbourhood.dst.place), *weights.shape[1:])
        total.index_add_(0, destinations, weights)
        torch.testing.assert_close(total[destinations.unique()], torch.ones_like(total[destinations.unique()]))


def test_recording_changes_no_score_and_leaves_nothing_behind():
    model, batch, records, _, logits = run("paper")
    recorded = len(records)
    with torch.no_grad():
        assert torch.equal(model(batch).logits, logits)
    assert len(records) == recorded
    assert not any("attend" in vars(module) for module in model.modules())
