"""Preset ``reference`` computes what the authors' MXNet program computed, block by block and as a whole."""

from __future__ import annotations

import numpy as np
import pytest
import torch
from torch import Tensor

from letgraph import schema
from letgraph.blocks import Neighbourhood, NodeBlocks
from letgraph.models import LET
from tests.golden import FOLDER, Golden, golden_files

FILES = golden_files("let_reference*.npz")
if not FILES:
    pytest.skip(
        f"no let_reference*.npz in {FOLDER}; set LETGRAPH_GOLDEN to the folder of the reference numbers",
        allow_module_level=True,
    )


@pytest.fixture(scope="module", params=FILES, ids=lambda path: path.stem)
def golden(request: pytest.FixtureRequest) -> Golden:
    return Golden(request.param)


# The program's attention is clipped, which the kernel "definition" is not; "auto" is one of these two.
@pytest.fixture(scope="module", params=["blocks", "edges", "scatter"])
def model(request: pytest.FixtureRequest, golden: Golden) -> LET:
    return golden.model(request.param)


@pytest.fixture(autouse=True)
def _no_gradients():
    with torch.no_grad():
        yield


def agree(ours: Tensor, theirs: Tensor) -> None:
    assert len(ours) > 0
    torch.testing.assert_close(ours, theirs, rtol=0, atol=1e-5)


def test_word_pooling(golden: Golden, model: LET) -> None:
    words = model.word_pooling(golden.edges[schema.IN], golden.chars())
    agree(words, golden.nodes("encoder_char.1.call0", schema.WORD))


def test_sense_embedding(golden: Golden, model: LET) -> None:
    context, sense_of = golden.edges[schema.CONTEXT], golden.edges[schema.SEMEME_OF]
    senses = model.senses.from_graph(golden.sememes(), context, sense_of)
    agree(senses, golden.nodes("transformer_sememe.1.call0", schema.SENSE))


def test_sememes_in_their_context(golden: Golden, model: LET) -> None:
    embedded = model.senses.sememes(golden.sememes())
    message = model.senses.attention(golden.edges[schema.CONTEXT], embedded, embedded)
    contextual = model.senses.norm(embedded + model.senses.ffn(message))
    agree(contextual, golden.nodes("transformer_sememe.2.call0", schema.SEMEME))


def states(golden: Golden, layer: int) -> tuple[Tensor, Tensor]:
    """The program's words and senses before a SaGT layer."""
    words, senses = "encoder_char.1.call0", "transformer_sememe.1.call0"
    if layer:
        words, senses = f"gate_lattice.0.call{layer - 1}", f"gate_sense.0.call{layer - 1}"
    return golden.nodes(words, schema.WORD), golden.nodes(senses, schema.SENSE)


@pytest.mark.parametrize("layer", [0, 1])
def test_sense_step(golden: Golden, model: LET, layer: int) -> None:
    words, senses = states(golden, layer)
    message = model.sagt.layers[layer].sense_step(golden.edges, senses, words)
    agree(message, golden.nodes(f"SenseBlock_{layer}.0.call0", schema.SENSE))


@pytest.mark.parametrize("layer", [0, 1])
def test_sense_update(golden: Golden, model: LET, layer: int) -> None:
    senses = states(golden, layer)[1]
    message = golden.nodes(f"SenseBlock_{layer}.0.call0", schema.SENSE)
    agree(model.sagt.update_senses(senses, message), golden.nodes(f"gate_sense.0.call{layer}", schema.SENSE))


@pytest.mark.parametrize("layer", [0, 1])
def test_word_step(golden: Golden, model: LET, layer: int) -> None:
    words = states(golden, layer)[0]
    senses = golden.nodes(f"gate_sense.0.call{layer}", schema.SENSE)
    step = model.sagt.layers[layer]
    query = step.word_ffn(step.word_step(golden.edges[schema.SENSE_OF], words, senses))
    agree(query, golden.nodes(f"LatticeBlock_{layer}.0.call0", schema.WORD))


@pytest.mark.parametrize("layer", [0, 1])
def test_word_update(golden: Golden, model: LET, layer: int) -> None:
    words = states(golden, layer)[0]
    message = golden.nodes(f"LatticeBlock_{layer}.0.call0", schema.WORD)
    agree(model.sagt.update_words(words, message), golden.nodes(f"gate_lattice.0.call{layer}", schema.WORD))


def test_sagt(golden: Golden, model: LET) -> None:
    last = len(model.sagt.layers) - 1
    agree(model.sagt(golden.edges, *states(golden, 0)), golden.nodes(f"gate_lattice.0.call{last}", schema.WORD))


def context(golden: Golden) -> Tensor:
    """The program's words pooled back into characters."""
    return golden.nodes("encoder_lattice.1.call0", schema.CHAR)


def test_character_pooling(golden: Golden, model: LET) -> None:
    words = golden.nodes(f"gate_lattice.0.call{len(model.sagt.layers) - 1}", schema.WORD)
    agree(model.char_pooling(golden.edges[schema.COVERS], words), context(golden))


def test_matching_and_sentence_pooling(golden: Golden, model: LET) -> None:
    y = model.char_norm(model.char_projection(golden.chars()) + context(golden))
    y = model.matching(golden.edges[schema.SELF], golden.edges[schema.CROSS], y)
    sentences = Neighbourhood.between(
        golden.blocks[schema.CHAR], NodeBlocks.from_counts(np.ones(2 * golden.pairs, int))
    )
    agree(model.sentence_pooling(sentences, y), golden.activation("transformer_char.0.call0"))


def test_classifier(golden: Golden, model: LET) -> None:
    r = golden.activation("transformer_char.0.call0")
    r_a, r_b = r[0::2], r[1::2]
    cls = torch.from_numpy(golden.arrays["bert.cls"])
    logits = model.classifier(torch.cat([cls, r_a, r_b, r_a * r_b, (r_a - r_b).abs()], -1))
    agree(logits, torch.from_numpy(golden.arrays["act.score.0.call0"]))


def test_whole_model(golden: Golden, model: LET) -> None:
    seen = []
    hook = model.classifier.register_forward_hook(lambda module, inputs, output: seen.append(output))
    odds = model(golden.batch()).logits
    hook.remove()
    logits = torch.from_numpy(golden.arrays["out.logits"])
    agree(seen[0], logits)
    agree(odds, logits[:, 1] - logits[:, 0])
