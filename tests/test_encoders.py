"""Pre-trained encoders: what is opened and refused, and models that are trained on them."""

from __future__ import annotations

import json
import shutil
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import torch
from safetensors.torch import load_file
from transformers import AutoModel, BertConfig, ElectraConfig, ElectraModel, XLMRobertaConfig, XLMRobertaModel

from letgraph.arguments import parse_settings
from letgraph.checkpoint import Checkpoint
from letgraph.encoders import open_encoder
from letgraph.errors import LetgraphError
from letgraph.matcher import Matcher
from letgraph.nn.encoder import build_encoder, encode, new_encoder
from letgraph.ragged import Ragged
from letgraph.run import train
from tests.helpers import VOCABULARY, batch_for, random_pairs, tiny_let, tiny_model
from tests.tiny import PIECES, demo_pieces, save_tiny_encoder

DEMO = ["--dataset", "demo", "--segmenter", "jieba", "--limit", "64", "--batch-size", "16", "--workers", "1"]
PAIRS = [("花呗怎么还款", "如何还花呗"), ("wifi 12号", "银行卡丢了👨"), ("怎" * 200, "么" * 90)]


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return save_tiny_encoder(tmp_path_factory.mktemp("encoders") / "bert", demo_pieces())


@pytest.fixture(scope="module")
def cache(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return tmp_path_factory.mktemp("cache")


def chars(*sentences: str) -> Ragged:
    return Ragged.from_lists([[ord(char) for char in sentence] for sentence in sentences], np.uint32)


def test_an_opened_encoder_has_the_weights_and_sizes_of_its_files(folder):
    encoder = open_encoder(str(folder))
    model = build_encoder(encoder.settings["encoder_config"], pooler=True)

    assert encoder.load_into(model) == []
    assert (encoder.settings["encoder_size"], encoder.settings["max_positions"]) == (16, 512)
    for name, weights in load_file(folder / "model.safetensors").items():
        assert torch.equal(model.state_dict()[name], weights), name


def test_a_pooler_that_was_not_trained_is_new_and_named(folder, tmp_path):
    model = AutoModel.from_pretrained(folder, add_pooling_layer=False)
    copy = tmp_path / "without"
    shutil.copytree(folder, copy)
    model.save_pretrained(copy)

    lacking = open_encoder(str(copy)).load_into(new_encoder(model.config, pooler=True))

    assert lacking == ["pooler.dense.weight", "pooler.dense.bias"]


def _without(name: str):
    return lambda copy: (copy / name).unlink()


def _other_config(**values: Any):
    def change(copy: Path) -> None:
        config = json.loads((copy / "config.json").read_text())
        (copy / "config.json").write_text(json.dumps(config | values))

    return change


def _pickled(copy: Path) -> None:
    torch.save(load_file(copy / "model.safetensors"), copy / "pytorch_model.bin")
    (copy / "model.safetensors").unlink()


@pytest.mark.parametrize(
    ("damage", "message"),
    [
        (_without("config.json"), "its model cannot be loaded"),
        (_without("model.safetensors"), "its model cannot be loaded .*safetensors"),
        (_pickled, "its weights are pickled .* convert them to safetensors"),
        (_other_config(vocab_size=7), "cannot be loaded"),
        (_other_config(hidden_size=8), "cannot be loaded"),  # of another width than its weights
        (_other_config(model_type="nonsense"), "cannot be loaded"),
        (_other_config(is_decoder=True), "is no encoder"),
        (lambda copy: [path.unlink() for path in copy.glob("*token*")], "it has no tokenizer"),
    ],
)
def test_what_is_no_encoder_is_refused_in_one_line(folder, tmp_path, damage, message):
    copy = tmp_path / "copy"
    shutil.copytree(folder, copy)
    damage(copy)

    with pytest.raises(LetgraphError, match=message) as error:
        open_encoder(str(copy))
    assert str(copy) in str(error.value) and "\n" not in str(error.value)


def test_a_name_that_cannot_be_had_is_told_without_asking_when_offline(monkeypatch):
    monkeypatch.setattr("huggingface_hub.constants.HF_HUB_OFFLINE", True)
    with pytest.raises(LetgraphError, match=r"encoder some/where: there is no such folder, and the hub does not give"):
        open_encoder("some/where")
    with pytest.raises(LetgraphError, match="no such folder, and no name on the hub"):
        open_encoder("./nowhere/at/all")


def test_a_tokenizer_without_offsets_is_refused(folder, monkeypatch):
    class Slow:
        is_fast = False

    monkeypatch.setattr("letgraph.encoders.AutoTokenizer.from_pretrained", lambda *_, **__: Slow())
    with pytest.raises(LetgraphError, match="Slow does not tell where its tokens lie in the text"):
        open_encoder(str(folder))


def test_a_tokenizer_with_more_tokens_than_the_weights_have_is_refused(folder, tmp_path):
    copy = save_tiny_encoder(tmp_path / "small", vocab_size=len(PIECES) - 3)
    with pytest.raises(LetgraphError, match=r"its tokenizer has .* tokens and its weights have vectors for"):
        open_encoder(str(copy))


def test_a_vocabulary_without_chinese_is_refused(tmp_path):
    encoder = open_encoder(str(save_tiny_encoder(tmp_path)))

    encoder.check_chinese(chars("花呗怎么还款龘", "wifi"))
    with pytest.raises(LetgraphError, match=r"60% of the corpus's tokens are \[UNK\]"):
        encoder.check_chinese(chars("龘龘龘花呗"))


@torch.no_grad()
@pytest.mark.parametrize(
    ("config", "kind"),
    [
        (XLMRobertaConfig, XLMRobertaModel),
        (ElectraConfig, ElectraModel),
    ],
)
def test_encoders_of_other_kinds_see_what_they_see_in_transformers(config, kind):
    """RoBERTa counts positions from behind the padding's number and has one token type; ELECTRA has no pooler."""
    sizes = {"hidden_size": 8, "num_hidden_layers": 1, "num_attention_heads": 2, "intermediate_size": 16}
    types = 1 if kind is XLMRobertaModel else 2
    model = new_encoder(
        config(vocab_size=len(VOCABULARY), type_vocab_size=types, pad_token_id=VOCABULARY.pad, **sizes), pooler=False
    ).eval()
    batch = batch_for(tiny_model("bert"), random_pairs(0))

    tokens, pooled = encode(model, batch)

    segments = {"token_type_ids": batch.token_type_ids} if types > 1 else {}
    expected = model(input_ids=batch.input_ids, attention_mask=batch.attention_mask, **segments).last_hidden_state
    there = batch.attention_mask
    torch.testing.assert_close(tokens[there], expected[there])
    assert isinstance(model, kind) and pooled is None
    explicit, _ = encode(model, batch, positions=batch.position_ids)
    torch.testing.assert_close(explicit[there], expected[there])


def test_a_pooled_vector_is_there_even_where_the_encoder_has_no_pooler():
    electra = ElectraConfig(vocab_size=len(VOCABULARY), hidden_size=8, num_hidden_layers=1, num_attention_heads=2)
    model = tiny_model("bert", encoder_config=electra.to_dict())
    batch = batch_for(model, random_pairs(0))

    tokens, cls = model.encode(batch)

    dense = model.pooler[0]
    torch.testing.assert_close(cls, torch.tanh(tokens[:, 0] @ dense.weight.T + dense.bias))


def run(output: Path, cache: Path, encoder: Path, *arguments: str) -> dict[str, Any]:
    common = [*DEMO, "--encoder", str(encoder), "--output-dir", str(output), "--cache-dir", str(cache)]
    return train(parse_settings([*common, *arguments]))


@pytest.mark.parametrize("model", [["--model", "let", "--set", "hidden_size=16"], ["--model", "bert"]])
def test_a_trained_model_needs_its_encoder_no_more(folder, cache, tmp_path, model):
    encoder = tmp_path / "encoder"
    shutil.copytree(folder, encoder)
    metrics = run(tmp_path / "out", cache, encoder, *model, "--epochs", "1")
    shutil.rmtree(encoder)

    scores = Matcher.from_pretrained(tmp_path / "out", "cpu").predict(PAIRS[:2])

    assert metrics["dev"]["n"] == 64 and np.isfinite(scores).all()
    before, after = load_file(folder / "model.safetensors"), load_file(tmp_path / "out/last/model.safetensors")
    name = "embeddings.word_embeddings.weight"
    assert not torch.equal(after[f"encoder.{name}"], before[name])
    torch.testing.assert_close(after[f"encoder.{name}"], before[name], rtol=0, atol=0.05)  # fine-tuned, not new


def test_a_frozen_encoder_stays_as_it_is(folder, cache, tmp_path):
    run(tmp_path / "out", cache, folder, "--model", "bert", "--freeze-encoder", "--max-steps", "3")

    before, after = load_file(folder / "model.safetensors"), load_file(tmp_path / "out/last/model.safetensors")
    changed = {name for name in before if not torch.equal(after[f"encoder.{name}"], before[name])}
    assert changed == {"pooler.dense.weight", "pooler.dense.bias"}
    model = Checkpoint.load(tmp_path / "out").model.train()
    assert not any(module.training for module in model.encoder.modules()) and model.dropout.training


def test_layers_that_are_computed_twice_give_the_same_weights(folder, cache, tmp_path):
    for name, options in (("once", []), ("twice", ["--gradient-checkpointing"])):
        run(tmp_path / name, cache, folder, "--model", "bert", "--max-steps", "2", "--seed", "3", *options)

    once, twice = (load_file(tmp_path / name / "last/model.safetensors") for name in ("once", "twice"))
    for name, weights in once.items():
        torch.testing.assert_close(twice[name], weights, rtol=0, atol=1e-6)


def test_bfloat16_is_for_products_and_the_weights_stay_float32(folder, cache, tmp_path):
    metrics = run(tmp_path / "out", cache, folder, "--model", "let", "--bf16", "--max-steps", "2")

    assert np.isfinite(metrics["dev"]["loss"])
    weights = load_file(tmp_path / "out/last/model.safetensors").values()
    assert {weight.dtype for weight in weights if weight.is_floating_point()} == {torch.float32}


def test_long_pairs_are_cut_to_the_encoder_and_this_is_told(folder, cache, tmp_path):
    run(tmp_path / "out", cache, folder, "--model", "let", "--max-tokens", "40", "--max-steps", "1")
    matcher = Matcher.from_pretrained(tmp_path / "out", "cpu")

    with pytest.warns(UserWarning, match=r"pairs too long for the encoder: 253 characters"):
        long = matcher.predict(PAIRS[2:])

    # 40 tokens less three special ones, shared: 19 of the longer sentence, 18 of the other.
    assert long == matcher.predict([("怎" * 19, "么" * 18)])


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (["--model", "bert"], "--model bert needs a pre-trained encoder"),
        (["--model", "textcnn", "--encoder", "x"], "--model textcnn has no transformer encoder"),
        (["--freeze-encoder"], "--freeze-encoder is for the pre-trained encoder"),
        (["--encoder", "x", "--set", "encoder_size=8"], "the pre-trained encoder of --encoder decides this"),
        (["--set", "encoder_config=3"], "use --encoder"),
        (["--model", "textcnn", "--gradient-checkpointing"], "has no transformer encoder for --gradient-checkpointing"),
        (["--accumulate", "3"], "--batch-size 32 cannot be cut into 3 equal parts"),
        (["--encoder-rate", "0"], "--encoder-rate 0: it has to be above 0"),
        (["--max-tokens", "4"], "--max-tokens 4: it has to be 5 or more"),
    ],
)
def test_settings_of_encoders_that_do_not_fit_are_refused(arguments, message):
    with pytest.raises(LetgraphError, match=message):
        parse_settings(["--dataset", "demo", *arguments])


def test_let_on_an_encoder_reads_pairs_as_the_encoder_was_trained():
    config = parse_settings(["--dataset", "demo", "--encoder", "x"]).model.model_config(
        {"encoder_config": BertConfig().to_dict(), "encoder_size": 768, "max_positions": 512}
    )
    assert (config.encoder_context, config.positions, config.encoder_size) == ("pair", "running", 768)
    assert (tiny_let().config.encoder_context, tiny_let().config.positions) == ("sentence", "restart")
