"""Preset ``reference`` gives every number that the authors' program gave, from its weights, inputs and texts."""

from __future__ import annotations

import json
import os
import sys
from collections import defaultdict
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import torch
from torch import Tensor, nn

from letgraph import convert, schema
from letgraph.data.collate import Collator
from letgraph.models import LET
from letgraph.nn.mdgat import MDGAT
from letgraph.nn.pooling import AttentivePooling
from letgraph.text import features
from letgraph.text.clean import clean
from letgraph.text.lattice import adjacency, build_lattice, forward_reach
from letgraph.text.lexicon import load_lexicon
from letgraph.text.vocabulary import CharacterTable, PieceVocabulary, in_gluonnlp_order, read_pieces
from tests.golden import FOLDER, Golden, StubEncoder

if not FOLDER.is_dir():
    pytest.skip(f"no folder {FOLDER} with the program's numbers; name it in LETGRAPH_GOLDEN", allow_module_level=True)

DATA = Path(os.environ.get("LETGRAPH_DATA") or Path(__file__).parents[2] / "shared" / "data")
SAMPLE = FOLDER / "LCQMC_sample20"
needs_sample = pytest.mark.skipif(not SAMPLE.with_suffix(".json").exists(), reason=f"no {SAMPLE}.json")
STUBBED = sorted(FOLDER.glob("let_reference*.npz"))
WHOLE = sorted(FOLDER.glob("let_bert_reference*.npz"))


def test_there_are_files_to_compare_with():
    assert STUBBED and WHOLE


@pytest.fixture(autouse=True)
def _no_gradients():
    with torch.no_grad():
        yield


@pytest.fixture(scope="module", params=[*STUBBED, *WHOLE], ids=lambda path: path.stem)
def golden(request: pytest.FixtureRequest) -> Golden:
    return Golden(request.param)


@pytest.fixture(scope="module")
def stubbed(golden: Golden) -> bool:
    return any(name.startswith("param.") for name in golden.arrays)


def run_convert(monkeypatch: pytest.MonkeyPatch, *arguments: object) -> None:
    with monkeypatch.context() as patch:
        patch.setattr(sys, "argv", ["convert", *map(str, arguments)])
        convert.main()


@pytest.fixture(scope="module")
def converted(golden: Golden, stubbed: bool, tmp_path_factory: pytest.TempPathFactory) -> LET:
    """The file's weights by `letgraph.convert` and ``from_pretrained``; the encoder stubbed where they have none."""
    folder = tmp_path_factory.mktemp("converted") / "model"
    with pytest.MonkeyPatch.context() as monkeypatch:
        run_convert(monkeypatch, "--params", golden.path.with_suffix(".params"), "--output-dir", folder)
    model = LET.from_pretrained(folder).eval()
    if stubbed:
        model.encoder = StubEncoder(golden)
    return model


# --- from weights and inputs to every stored number


def record(model: LET, golden: Golden) -> dict[str, Tensor]:
    """One forward pass, and what came by, under the names and in the layout of `theirs`."""
    calls: dict[nn.Module, list[tuple[tuple[Any, ...], Any]]] = defaultdict(list)
    hooks = [
        module.register_forward_hook(lambda module, inputs, output: calls[module].append((inputs, output)))
        for module in model.modules()
    ]
    result = model(golden.batch()).logits
    for hook in hooks:
        hook.remove()

    def output(module: nn.Module, call: int = 0) -> Tensor:
        return calls[module][call][1]

    seen = {
        "encoder_char.0.call0": pool_sentences(model.word_pooling, calls, golden, schema.CHAR),
        "encoder_char.1.call0": output(model.word_pooling),
        "transformer_sememe.0.call0": pool_sentences(model.senses.pooling, calls, golden, schema.SEMEME),
        "transformer_sememe.1.call0": output(model.senses.pooling),
        "transformer_sememe.2.call0": output(model.senses.norm),
        "encoder_lattice.0.call0": pool_sentences(model.char_pooling, calls, golden, schema.WORD),
        "encoder_lattice.1.call0": output(model.char_pooling),
        "transformer_char.0.call0": output(model.sentence_pooling),
        "score.0.call0": output(model.classifier),
    }
    for number, layer in enumerate(model.sagt.layers):
        _, senses, words = calls[layer.sense_step][0][0]
        seen[f"SenseBlock_{number}.0.call0"] = output(layer.sense_step)
        seen[f"SenseBlock_{number}.1.call0"] = weights(
            layer.sense_step.both, golden, (schema.FORWARD, schema.BACKWARD), senses, words
        )
        seen[f"gate_sense.0.call{number}"] = output(model.sagt.update_senses, number)
        _, words, senses = calls[layer.word_step][0][0]
        seen[f"LatticeBlock_{number}.0.call0"] = output(layer.word_ffn)
        seen[f"LatticeBlock_{number}.1.call0"] = weights(layer.word_step, golden, (schema.SENSE_OF,), words, senses)
        seen[f"gate_lattice.0.call{number}"] = output(model.sagt.update_words, number)
    logits = seen["score.0.call0"]
    torch.testing.assert_close(result, logits[:, 1] - logits[:, 0])
    return seen


def pool_sentences(pooling: AttentivePooling, calls: Any, golden: Golden, ntype: str) -> Tensor:
    """The pool of all nodes of a sentence, by a plain softmax: the program computes it and drops it."""
    scores, values = pooling.project(calls[pooling][0][0][1])
    counts = golden.counts[ntype].astype(int).tolist()
    parts = zip(scores.split(counts), values.split(counts), strict=True)
    return torch.stack([(score.softmax(0) * value).sum(0) for score, value in parts])


def weights(
    attention: MDGAT, golden: Golden, etypes: tuple[schema.EdgeType, ...], destinations: Tensor, sources: Tensor
) -> Tensor:
    """exp(s_ij) of every edge, as (sentences, heads, destinations, sources) with zeros elsewhere."""
    q, k, _, _ = attention.project(destinations, sources)
    dst, src = golden.counts[etypes[0][2]].astype(int), golden.counts[etypes[0][0]].astype(int)
    matrix = q.new_zeros(len(dst), len(etypes), dst.max(), src.max())
    for head, etype in enumerate(etypes):
        j, i = golden.edges[etype].edges
        score = (q[i, head] * k[j, head]).sum(-1) / q.shape[-1] ** 0.5
        sentence = torch.from_numpy(np.repeat(np.arange(len(dst)), dst))[i]
        row, column = golden.blocks[etype[2]].column[i], golden.blocks[etype[0]].column[j]
        matrix[sentence, head, row, column] = score.clamp(max=10).exp()
    return matrix


def theirs(golden: Golden, name: str) -> Tensor:
    """A stored number in the layout of `record`: nodes without padding, sentences interleaved, or pairs."""
    block = name.partition(".")[0].rstrip("_0123456789")
    output = name.split(".")[1]
    if block == "score":
        return torch.from_numpy(golden.arrays[f"act.{name}"])
    if block in ("SenseBlock", "LatticeBlock") and output == "1":
        dst, src = (schema.SENSE, schema.WORD) if block == "SenseBlock" else (schema.WORD, schema.SENSE)
        stored = golden.activation(name)
        rows, columns = int(golden.counts[dst].max()), int(golden.counts[src].max())
        assert not stored[:, :, rows:].any() and not stored[..., columns:].any()
        return stored[:, :, :rows, :columns]
    nodes = {
        ("encoder_char", "1"): schema.WORD,
        ("transformer_sememe", "1"): schema.SENSE,
        ("transformer_sememe", "2"): schema.SEMEME,
        ("SenseBlock", "0"): schema.SENSE,
        ("LatticeBlock", "0"): schema.WORD,
        ("gate_sense", "0"): schema.SENSE,
        ("gate_lattice", "0"): schema.WORD,
        ("encoder_lattice", "1"): schema.CHAR,
    }
    ntype = nodes.get((block, output))
    return golden.activation(name) if ntype is None else golden.nodes(name, ntype)


def compare(model: LET, golden: Golden, agree: Callable[[str, Tensor, Tensor], None]) -> None:
    seen = record(model, golden)
    stored = [name.removeprefix("act.") for name in golden.arrays if name.startswith("act.")]
    assert set(seen) == set(stored)
    for name in stored:
        agree(name, seen[name], theirs(golden, name))
    agree("logits", seen["score.0.call0"], torch.from_numpy(golden.arrays["out.logits"]))


def close(name: str, ours: Tensor, stored: Tensor) -> None:
    assert len(stored)
    torch.testing.assert_close(ours, stored, rtol=0, atol=1e-4, msg=lambda text: f"{name}: {text}")


def relatively_close(name: str, ours: Tensor, stored: Tensor) -> None:
    error = torch.linalg.vector_norm(ours - stored) / torch.linalg.vector_norm(stored)
    assert error < 1e-6, f"{name}: relative error {error:.2g}"


def test_every_stored_number_in_float32(golden, converted):
    compare(converted, golden, close)


def test_every_stored_number_in_float64(golden, converted):
    try:
        compare(converted.double(), golden, relatively_close)
    finally:
        converted.float()


@pytest.mark.parametrize("golden", WHOLE, indirect=True, ids=lambda path: path.stem)
def test_encoder(golden, converted):
    batch = golden.batch()
    encoded = converted.encoder(
        input_ids=batch.input_ids,
        token_type_ids=batch.token_type_ids,
        position_ids=batch.position_ids,
        attention_mask=batch.attention_mask,
    )
    close("bert.cls", encoded.pooler_output, torch.from_numpy(golden.arrays["bert.cls"]))
    valid = batch.attention_mask
    close("bert.char", encoded.last_hidden_state[valid], torch.from_numpy(golden.arrays["bert.char"])[valid])


@pytest.mark.parametrize("golden", STUBBED, indirect=True, ids=lambda path: path.stem)
def test_names_of_the_params_file_and_of_the_npz_file_give_the_same_weights(golden, converted):
    mapped = golden.model("auto").state_dict()
    state = converted.state_dict()
    assert state.keys() == mapped.keys()
    assert all(torch.equal(value, mapped[name]) for name, value in state.items())


# --- from texts to inputs


def sample() -> list[dict[str, Any]]:
    return [json.loads(line) for line in SAMPLE.with_suffix(".json").read_text(encoding="utf-8").splitlines()]


def sample_sentences() -> list[dict[str, Any]]:
    return [pair[f"sentence{number}"] for pair in sample() for number in range(2)]


def words_of(sentence: dict[str, Any]) -> list[tuple[int, int]]:
    """Their words as ours: they count characters from 1, the begin word <s> being character 0, and give the last."""
    length = len(sentence["sentence"])
    spans = [(start - 1, end) for word, start, end in sentence["word_list"] if word not in ("<s>", "</s>")]
    return [{"<s>": (0, 0), "</s>": (length, length)}.get(word) or spans.pop(0) for word, _, _ in sentence["word_list"]]


def is_characters_only(pair: dict[str, Any]) -> bool:
    """Whether every piece is one character, so that their spans count characters."""
    return len(pair["sent"]) == 3 + sum(len(pair[f"sentence{number}"]["sentence"]) for number in range(2))


@needs_sample
def test_cleaning_leaves_the_text_that_their_preprocessing_left():
    rows = [line.split("\t")[1:] for line in SAMPLE.with_suffix(".txt").read_text(encoding="utf-8").splitlines()]
    raw = [text for row in rows for text in row]

    assert [clean(text, blanks="drop", width="keep").text for text in raw] == [
        sentence["sentence"] for sentence in sample_sentences()
    ]


@needs_sample
def test_adjacency_of_their_words_is_theirs():
    compared = 0
    for pair in sample():
        for number in range(2):
            sentence = pair[f"sentence{number}"]
            # Words count pieces; where a piece is more than a character, only the numbers of pieces matter.
            length = int(pair["second_len" if number else "first_len"]) - 2
            theirs = [
                {"<s>": (0, 0), "</s>": (length, length)}.get(word) or (start - 1, end)
                for word, start, end in sentence["word_list"]
            ]
            lattice = build_lattice(length, [span for span in theirs if span[0] < span[1]])
            assert sorted(theirs) == sorted(lattice)
            ours = {(lattice[u], lattice[v]) for u, v in adjacency(lattice)}
            assert ours == {(theirs[u], theirs[v]) for u, v in sentence["edge"]}
            compared += 1
    assert compared == 2 * len(sample())


def test_reachability_of_their_words_is_theirs(golden):
    starts, ends = golden.sentences("pos{}_s"), golden.sentences("pos{}_e")
    edges = golden.sentences("edge{}")
    for g, count in enumerate(golden.counts[schema.WORD].astype(int)):
        length = int(golden.counts[schema.CHAR][g]) - 2
        positions = list(zip(starts[g, :count].int().tolist(), ends[g, :count].int().tolist(), strict=True))
        outer = {(0, 0): (0, 0), (length + 1, length + 1): (length, length)}
        spans = [outer.get((start, end)) or (start - 1, end) for start, end in positions]
        lattice = build_lattice(length, [span for span in spans if span[0] < span[1]])
        place = [lattice.index(span) for span in spans]
        masks = forward_reach(lattice)
        forward = torch.tensor([[float(masks[u] >> v & 1) for v in place] for u in place])
        assert torch.equal(edges[g, 0, :count, :count], forward)
        assert torch.equal(edges[g, 1, :count, :count], forward.t())


@needs_sample
@pytest.mark.skipif(not (DATA / "vocab").is_dir(), reason=f"no vocab/ in {DATA} ($LETGRAPH_DATA)")
def test_token_ids_of_chinese_characters_are_theirs():
    vocabulary = PieceVocabulary(in_gluonnlp_order(read_pieces(DATA / "vocab" / "bert-base-chinese.txt")))
    compared = 0
    for pair in filter(is_characters_only, sample()):
        a, b = (
            vocabulary.encode(np.array([ord(char) for char in pair[f"sentence{number}"]["sentence"]], np.uint32))
            for number in range(2)
        )
        ids = [vocabulary.cls, *a.tolist(), vocabulary.sep, *b.tolist(), vocabulary.sep]
        assert ids == [int(token) for token in pair["sent"]]
        compared += 1
    assert compared > len(sample()) // 2


class SampleVocabulary(CharacterTable):
    """The sample's token ids, modulo the size of a small encoder's vocabulary as in the stored inputs."""

    pad, unk, cls, sep = 0, 0, 2, 3

    def __init__(self, pairs: list[dict[str, Any]], size: int) -> None:
        ids: dict[str, int] = {}
        for pair in pairs:
            a, b = (pair[f"sentence{number}"]["sentence"] for number in range(2))
            tokens = [int(token) % size for token in pair["sent"]]
            ids.update(zip(a, tokens[1:], strict=False))
            ids.update(zip(b, tokens[len(a) + 2 :], strict=False))
        super().__init__(list(ids), list(ids.values()))


@needs_sample
@pytest.mark.skipif(not (DATA / "hownet" / "sense_dict.json").exists(), reason=f"no hownet in {DATA} ($LETGRAPH_DATA)")
@pytest.mark.parametrize("golden", WHOLE, indirect=True, ids=lambda path: path.stem)
def test_from_texts_and_their_words_to_their_logits(golden, tmp_path, monkeypatch):
    hownet = DATA / "hownet" / "sense_dict.json"
    params = golden.path.with_suffix(".params")
    run_convert(monkeypatch, "--params", params, "--output-dir", tmp_path / "model", "--hownet", hownet)
    model = LET.from_pretrained(tmp_path / "model").eval()
    stored = golden.arrays["feed.sent"]
    known = {
        tuple(int(token) % model.config.vocab_size for token in pair["sent"]): pair
        for pair in filter(is_characters_only, sample())
    }
    pairs = [
        known.get(tuple(row[: int(length)].astype(int)))
        for row, length in zip(stored, golden.arrays["feed.valid_len"], strict=True)
    ]
    if None in pairs:
        pytest.skip("these pairs are not those of the sample")
    spans = {
        pair[f"sentence{number}"]["sentence"]: sorted(
            span for span in words_of(pair[f"sentence{number}"]) if span[0] < span[1]
        )
        for pair in pairs
        for number in range(2)
    }
    monkeypatch.setattr(features, "spans", lambda sentence, segmenters: spans[sentence])
    lexicon = load_lexicon(hownet, width="keep")
    table = features.featurise([p[f"sentence{number}"]["sentence"] for p in pairs for number in range(2)], [], lexicon)
    collator = Collator(
        SampleVocabulary(pairs, model.config.vocab_size),
        sense_sememes=lexicon.sense_sememes,
        max_tokens=128,
        **model.config.graph_options,
    )

    logits = torch.from_numpy(golden.arrays["out.logits"])
    torch.testing.assert_close(model(collator(table)).logits, logits[:, 1] - logits[:, 0], rtol=0, atol=1e-5)
