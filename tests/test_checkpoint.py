"""A checkpoint comes back as it was saved; one that is damaged or foreign is an error in one line."""

from __future__ import annotations

import json
import shutil
from pathlib import Path

import numpy as np
import pytest
import torch

from letgraph.checkpoint import Checkpoint
from letgraph.errors import LetgraphError
from letgraph.matcher import Matcher
from letgraph.models import MODELS, PRESETS, EncoderModel, LETConfig
from letgraph.preparation import Preparation
from letgraph.text.lexicon import Lexicon, load_lexicon
from letgraph.text.sememes import SememeVectors
from letgraph.text.vocabulary import CharVocabulary
from tests.tiny import CHARACTERS, tiny_checkpoint

FILES = ["config.json", "model.safetensors", "vocabulary.json", "lexicon.tsv", "preparation.json"]
PAIRS = [("花呗怎么还款", "怎么还花呗"), ("我的银行卡丢了", "银行卡怎么办理")]


@pytest.fixture(scope="module")
def saved(tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("saved")
    tiny_checkpoint().save(folder)
    return folder


@pytest.fixture
def copy(saved: Path, tmp_path: Path) -> Path:
    return Path(shutil.copytree(saved, tmp_path / "copy"))


def refused(folder: Path, **options: object) -> str:
    with pytest.raises(LetgraphError) as caught:
        Checkpoint.load(folder, **options)  # type: ignore[arg-type]
    message = str(caught.value)
    assert "\n" not in message
    return message


def edit(path: Path, **values: object) -> None:
    path.write_text(json.dumps({**json.loads(path.read_text(encoding="utf-8")), **values}), encoding="utf-8")


@pytest.mark.parametrize("settings", [{}, {"senses": False}, {"sememe_context": "sentence"}, PRESETS["reference"]])
def test_what_is_saved_comes_back(tmp_path, settings):
    before = tiny_checkpoint(**settings)
    before.save(tmp_path / "new" / "folder")

    after = Checkpoint.load(tmp_path / "new" / "folder")

    assert after.preparation == before.preparation
    assert after.vocabulary.characters == before.vocabulary.characters
    assert after.lexicon == before.lexicon
    assert not after.model.training
    weights = after.model.state_dict()
    assert weights.keys() == before.model.state_dict().keys()
    assert all(torch.equal(value, weights[name]) for name, value in before.model.state_dict().items())
    # Not to the last bit: that depends on where the weights lie in memory.
    np.testing.assert_allclose(Matcher(before, "cpu").predict(PAIRS), Matcher(after, "cpu").predict(PAIRS), rtol=1e-6)


@pytest.mark.parametrize("kind", sorted(name for name, kind in MODELS.items() if not issubclass(kind, EncoderModel)))
def test_a_baseline_comes_back_without_a_lexicon_and_takes_sentences_of_any_length(tmp_path, kind):
    config = MODELS[kind].config_class(hidden_size=8, embedding_size=8)
    vocabulary, preparation = CharVocabulary(list(CHARACTERS)), Preparation.current(("jieba",))
    before = Checkpoint.create(config, vocabulary, None, None, preparation)
    before.save(tmp_path)

    after = Checkpoint.load(tmp_path)

    assert {path.name for path in tmp_path.iterdir()} == {*FILES} - {"lexicon.tsv"}
    assert after.model.config.to_json_string() == before.model.config.to_json_string()
    pairs = [*PAIRS, ("款" * 254, "还" * 100)]
    np.testing.assert_allclose(Matcher(before, "cpu").predict(pairs), Matcher(after, "cpu").predict(pairs), rtol=1e-6)
    assert "without senses" in refused(tmp_path, lexicon=load_lexicon("demo"))


def test_saving_again_replaces_and_leaves_nothing_else(saved, copy):
    tiny_checkpoint(seed=1).save(copy)

    assert sorted(path.name for path in copy.iterdir()) == sorted(FILES)
    assert (copy / "model.safetensors").read_bytes() != (saved / "model.safetensors").read_bytes()


def test_whoever_may_read_one_file_may_read_all(saved):
    assert len({(saved / name).stat().st_mode for name in FILES}) == 1


@pytest.mark.parametrize("name", FILES)
def test_a_truncated_file_is_told(copy, name):
    content = (copy / name).read_bytes()
    # One byte less may be nothing but the last line end.
    for length in (0, 1, 7, 100, len(content) // 2, len(content) - 2):
        (copy / name).write_bytes(content[: min(length, len(content) - 2)])
        assert name in refused(copy)


@pytest.mark.parametrize("name", FILES)
def test_a_missing_file_is_told(copy, name):
    (copy / name).unlink()

    assert f"{copy / name}: " in refused(copy)


@pytest.mark.parametrize("name", FILES)
def test_bytes_of_another_kind_are_told(copy, name):
    (copy / name).write_bytes(b"\x80\x02}q\x00X\xff\xfe" * 50)

    assert name in refused(copy)


def test_no_folder_or_a_file_in_its_place(tmp_path, saved):
    assert "config.json" in refused(tmp_path / "nowhere")
    assert "config.json" in refused(saved / "config.json")


def test_a_model_of_transformers_is_foreign(tmp_path):
    from transformers import BertConfig, BertModel, RobertaConfig, RobertaModel

    sizes = {"hidden_size": 8, "num_hidden_layers": 1, "num_attention_heads": 1, "intermediate_size": 8}
    RobertaModel(RobertaConfig(vocab_size=5, **sizes)).save_pretrained(tmp_path / "roberta")
    BertModel(BertConfig(vocab_size=5, **sizes)).save_pretrained(tmp_path / "bert")  # a name that we have too

    assert "'roberta' is not one of ours (let, " in refused(tmp_path / "roberta")
    assert "preparation.json: cannot be read" in refused(tmp_path / "bert")


@pytest.mark.parametrize("kind", [None, ["let"], {"let": 1}, 3])
def test_a_model_type_that_is_no_name(copy, kind):
    edit(copy / "config.json", model_type=kind)

    assert "is not one of ours" in refused(copy)


@pytest.mark.parametrize(
    "values",
    [
        {"hidden_size": 32},
        {"num_layers": 3},
        {"encoder_layers": 2},
        {"senses": False},
        {"hidden_size": "wide"},
        {"classifier_sizes": None},
        {"encoder_heads": 0},
    ],
)
def test_a_configuration_that_does_not_fit_the_weights(copy, values):
    edit(copy / "config.json", **values)

    assert "model.safetensors" in refused(copy)


@pytest.mark.parametrize(
    "values",
    [
        {"segmenters": "jieba"},
        {"segmenters": []},
        {"segmenters": [1]},
        {"versions": ["jieba"]},
        {"blanks": "keep"},
        {"max_characters": 0},
        {"max_characters": "many"},
        {"stemmer": "none"},
    ],
)
def test_a_preparation_that_makes_no_sense(copy, values):
    edit(copy / "preparation.json", **values)

    assert "preparation.json: not what we write" in refused(copy)


def test_another_vocabulary_is_told(copy):
    (copy / "vocabulary.json").write_text('["a", "b"]')

    assert "not the vocabulary the model was trained with" in refused(copy)


def test_a_lexicon_that_was_changed_is_told(copy):
    lines = (copy / "lexicon.tsv").read_text(encoding="utf-8").splitlines(keepends=True)
    (copy / "lexicon.tsv").write_text("".join(lines[1:]), encoding="utf-8")

    assert "not the lexicon the model was trained with" in refused(copy)


def test_another_lexicon_is_an_error_that_says_so(saved):
    other = Lexicon.from_senses([("还款", ["还", "钱"])], "other.tsv")

    message = refused(saved, lexicon=other)

    assert other.hash[:12] in message and "other.tsv" in message
    assert load_lexicon("demo").hash[:12] in message
    assert Checkpoint.load(saved, load_lexicon("demo")).lexicon == load_lexicon("demo")


def test_a_model_without_senses_has_no_lexicon_to_compare(tmp_path):
    tiny_checkpoint(senses=False).save(tmp_path)

    assert not (tmp_path / "lexicon.tsv").exists()
    assert "without senses" in refused(tmp_path, lexicon=load_lexicon("demo"))


def test_another_version_of_a_segmenter_is_a_warning(copy, capsys):
    edit(copy / "preparation.json", versions={"jieba": "jieba==0.1"})

    Checkpoint.load(copy).preparation.check_versions()

    assert "the model was trained with jieba==0.1" in capsys.readouterr().err
    Preparation.current(("jieba",)).check_versions()
    assert capsys.readouterr().err == ""


def test_an_encoder_has_to_have_a_position_for_every_character_of_a_sentence():
    with pytest.raises(LetgraphError, match=r"max_positions 255: .* 256 or more"):
        tiny_checkpoint(max_positions=255)
    scores = Matcher(tiny_checkpoint(max_positions=256), "cpu").predict([("款" * 254, "还" * 254)])
    assert 0 < scores[0] < 1


def test_a_limit_of_length_that_was_raised_beyond_the_encoder_is_told(copy):
    edit(copy / "preparation.json", max_characters=1000)

    assert "max_positions 512" in refused(copy)


def test_running_positions_need_one_for_every_token_of_a_pair():
    with pytest.raises(LetgraphError, match=r"max_positions 510: .* 511 or more"):
        tiny_checkpoint(max_positions=510, positions="running")
    assert tiny_checkpoint(max_positions=511, positions="running")


def test_a_pre_trained_vector_is_its_own_sememes_with_and_without_a_dummy():
    lexicon = Lexicon.from_senses([("还款", ["还", "钱"])], "own.tsv")
    vectors = SememeVectors(["钱", "人"], np.eye(2, dtype=np.float32))
    for settings in ({}, PRESETS["reference"]):
        config = LETConfig(hidden_size=8, encoder_size=8, encoder_layers=1, **settings)
        checkpoint = Checkpoint.create(
            config, CharVocabulary("还"), lexicon, vectors, Preparation.current(("jieba",), "reference")
        )
        sememes = checkpoint.model.senses.sememes
        money = config.num_dummies + lexicon.sememes.index("钱")
        assert (config.num_sememes, config.num_known_sememes) == (2 + config.num_dummies, 1)
        assert torch.equal(sememes.known, torch.tensor([[1.0, 0.0]]))
        assert sememes.row.tolist().index(0) == money
        assert checkpoint.collator.dummy_sememe == (config.num_dummies == 1)
        assert checkpoint.collator.max_tokens == 128


@pytest.mark.parametrize("wrong", [{"width": "wide"}, {"max_tokens": 4}, {"max_tokens": "128"}, {"blanks": None}])
def test_a_preparation_that_is_none_of_ours_is_told(copy, wrong):
    edit(copy / "preparation.json", **wrong)

    assert next(iter(wrong)) in refused(copy)
