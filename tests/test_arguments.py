"""Settings come from the command line and from YAML, and nonsense is refused with the way out."""

from __future__ import annotations

import pytest

from letgraph.arguments import parse_settings, recipes
from letgraph.errors import DataError, LetgraphError
from letgraph.models import MODELS, PRESETS, EncoderModel


def parse(*arguments):
    return parse_settings(["--dataset", "demo", *arguments])


def refusal(capsys, *arguments):
    """What argparse says in its one line."""
    with pytest.raises(SystemExit) as stop:
        parse(*arguments)
    assert stop.value.code == 2
    out, error = capsys.readouterr()
    assert out == ""
    assert error.count("\n") == 1
    return error


def test_defaults_are_those_of_the_paper():
    settings = parse_settings(["--dataset", "lcqmc"])
    training = settings.training

    assert (training.epochs, training.batch_size, training.learning_rate) == (6, 32, 5e-4)
    assert (training.warmup, training.weight_decay) == (0.1, 1e-6)
    assert parse_settings(["--dataset", "bq"]).training.batch_size == 64
    rates = [parse_settings(["--dataset", "bq", "--model", name]).training.learning_rate for name in ("bimpm", "esim")]
    assert rates == [5e-4, 1e-3]
    config = settings.model.model_config()
    assert (config.senses, config.gru, config.num_layers, config.dropout) == (True, True, 2, 0.2)
    assert all(getattr(config, name) != value for name, value in PRESETS["reference"].items())


def test_flags_reach_the_model():
    config = parse("--no-senses", "--no-gru", "--layers", "3", "--preset", "reference").model.model_config()

    assert (config.senses, config.gru, config.num_layers) == (False, False, 3)
    assert all(getattr(config, name) == value for name, value in PRESETS["reference"].items())


def test_set_takes_any_setting_of_the_model_in_its_type():
    config = parse("--set", "pooling=centred", "dropout=0.1", "hidden_size=64", "clip=null", "sememe_ffn=true")
    config = config.model.model_config()

    assert (config.pooling, config.dropout, config.hidden_size) == ("centred", 0.1, 64)
    assert config.clip is None and config.sememe_ffn is True


@pytest.mark.parametrize("name", sorted(PRESETS["reference"]))
def test_each_difference_of_the_presets_can_be_set_alone(name):
    value = PRESETS["reference"][name]

    assert getattr(parse("--set", f"{name}={value}").model.model_config(), name) == value


@pytest.mark.parametrize(
    ("item", "message"),
    [
        ("pooling", "--set pooling: write NAME=VALUE"),
        ("poolin=ffn", "no setting 'poolin'; did you mean pooling?"),
        ("senses=false", "use --no-senses"),
        ("gru=false", "use --no-gru"),
        ("num_layers=3", "use --layers"),
        ("pooling=centered", "pooling='centered': choose one of ffn, centred"),
    ],
)
def test_a_wrong_set_says_what_is_right(item, message):
    with pytest.raises(LetgraphError) as error:
        parse("--set", item)

    assert message in str(error.value)


@pytest.mark.parametrize(
    ("option", "nearest"),
    [
        ("--batchsize", "--batch-size"),
        ("--learning-rates", "--learning-rate"),
        ("--no-sense", "--no-senses"),
        ("--epoch=3", "--epochs"),
        ("--segmentor", "--segmenter"),
    ],
)
def test_an_unknown_option_is_refused_with_the_nearest_right_name(capsys, option, nearest):
    error = refusal(capsys, option, "1")

    assert error == f"error: no option {option.partition('=')[0]}; did you mean {nearest}?\n"


def test_a_beginning_of_an_option_is_not_taken_for_it(capsys):
    assert "--learning" in refusal(capsys, "--learning", "1")


@pytest.mark.parametrize(
    "arguments", [("--layers", "two"), ("--epochs", "x"), ("--resume", "always"), ("--limit", "1.5"), ("--seed",)]
)
def test_a_value_of_the_wrong_kind_names_its_option(capsys, arguments):
    assert arguments[0] in refusal(capsys, *arguments)


@pytest.mark.parametrize(
    ("arguments", "named"),
    [
        (("--no-senses", "--hownet", "x.tsv"), ("--no-senses", "--hownet")),
        (("--no-senses", "--sememe-vectors", "x.txt"), ("--no-senses", "--sememe-vectors")),
        (("--layers", "0"), ("--layers 0",)),
        (("--batch-size", "0"), ("--batch-size 0",)),
        (("--eval-batch-size", "-1"), ("--eval-batch-size -1",)),
        (("--save-steps", "0"), ("--save-steps 0",)),
        (("--eval-steps", "0"), ("--eval-steps 0",)),
        (("--epochs", "0"), ("--epochs",)),
        (("--learning-rate", "0"), ("--learning-rate",)),
        (("--warmup", "1"), ("--warmup 1",)),
        (("--max-steps", "0"), ("--max-steps 0",)),
        (("--preset", "papr"), ("'papr'", "did you mean paper?")),
        (("--model", "esin"), ("'esin'", "did you mean esim?", "lattice_cnn")),
        (("--model", "esim", "--no-senses"), ("--model esim", "--no-senses")),
        (("--model", "esim", "--no-gru"), ("--model esim", "--no-gru")),
        (("--model", "esim", "--layers", "2"), ("--model esim", "--layers")),
        (("--model", "esim", "--preset", "paper"), ("--model esim", "--preset")),
        (("--model", "esim", "--hownet", "demo"), ("--model esim", "--hownet")),
        (("--model", "esim", "--sememe-vectors", "x.txt"), ("--model esim", "--sememe-vectors")),
    ],
)
def test_contradictions_and_senseless_values_are_refused_by_name(arguments, named):
    with pytest.raises(LetgraphError) as error:
        parse(*arguments)

    assert all(part in str(error.value) for part in named)


@pytest.mark.parametrize("name", recipes())
def test_a_recipe_of_the_package_is_named_and_overridden(name):
    corpus, _, encoder = name.partition("-")

    settings = parse_settings(["--config", name, "--epochs", "1"])

    assert settings.data.dataset == corpus and settings.data.max_tokens == 128
    assert settings.model.model == ("let" if encoder == "let-bert" else "bert")
    assert settings.model.encoder and settings.training.epochs == 1
    assert settings.training.batch_size == (64 if corpus == "bq" else 32)


def test_there_are_recipes_for_the_bert_rows_of_both_corpora():
    rows = ("bert", "bert-wwm", "bert-wwm-ext", "ernie", "let-bert")
    assert recipes() == [f"{corpus}-{row}" for corpus in ("bq", "lcqmc") for row in rows]


def test_a_corpus_has_to_be_named():
    with pytest.raises(LetgraphError, match="--dataset demo"):
        parse_settings([])


@pytest.mark.parametrize("name", sorted(name for name, kind in MODELS.items() if not issubclass(kind, EncoderModel)))
def test_a_baseline_is_chosen_by_name_and_set_by_its_own_settings(name):
    settings = parse("--model", name, "--set", "hidden_size=16", "dropout=0.3")
    config = settings.model.model_config()

    assert (config.model_type, config.hidden_size, config.dropout) == (name, 16, 0.3)
    assert not settings.needs_lexicon and not config.senses
    assert settings.to_dict()["model"] == name
    assert not {"senses", "gru", "layers", "preset", "hownet"} & settings.to_dict().keys()
    with pytest.raises(LetgraphError, match="has no setting 'sememe_heads'"):
        parse("--model", name, "--set", "sememe_heads=2")


def test_a_pooling_of_lattice_cnn_that_does_not_exist_is_refused():
    with pytest.raises(LetgraphError, match="pooling='mean': choose one of max, ave, gated"):
        parse("--model", "lattice_cnn", "--set", "pooling=mean")


def write(tmp_path, text):
    path = tmp_path / "run.yaml"
    path.write_text(text, encoding="utf-8")
    return str(path)


def test_the_command_line_overrides_the_file_which_overrides_defaults(tmp_path):
    path = write(
        tmp_path,
        "dataset: bq\nlearning-rate: 1e-4\nepochs: 3\nmax_steps: -1\nlimit: null\n"
        "senses: false\nset: [pooling=centred, dropout=0.1]\n",
    )

    settings = parse_settings(["--config", path, "--epochs", "2"])

    assert (settings.data.dataset, settings.training.epochs, settings.training.learning_rate) == ("bq", 2, 1e-4)
    assert (settings.training.batch_size, settings.data.limit, settings.training.max_steps) == (64, None, -1)
    config = settings.model.model_config()
    assert (config.senses, config.pooling, config.dropout) == (False, "centred", 0.1)
    assert parse_settings(["--config", path, "--senses", "true"]).model.senses is True


def test_an_empty_file_changes_nothing(tmp_path):
    assert parse("--config", write(tmp_path, "")) == parse()


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("learning_rat: 1", "no setting 'learning_rat'; remove it; did you mean learning_rate?"),
        ("- 1\n- 2", "not a mapping"),
        ("a: 1\nb: [", "not YAML"),
        ("just words", "not a mapping"),
    ],
)
def test_a_file_of_no_settings_is_refused_by_name(tmp_path, text, message):
    path = write(tmp_path, text)

    with pytest.raises(DataError) as error:
        parse("--config", path)

    assert str(error.value).startswith(path)
    assert message in str(error.value)


@pytest.mark.parametrize(
    ("text", "option"), [("layers: 2.5", "layers"), ("resume: always", "resume"), ("limit: many", "limit")]
)
def test_a_value_of_the_wrong_kind_in_a_file_is_refused_too(tmp_path, capsys, text, option):
    assert option in refusal(capsys, "--config", write(tmp_path, text))


def test_a_missing_file_is_named(tmp_path):
    with pytest.raises(DataError, match=r"none\.yaml: no such file"):
        parse("--config", str(tmp_path / "none.yaml"))


def test_all_settings_have_one_flat_name():
    values = parse("--layers", "3").to_dict()

    assert values["layers"] == 3 and values["dataset"] == "demo" and values["seed"] == 42


def test_of_a_setting_named_twice_the_last_counts_and_the_order_of_names_does_not():
    settings = parse("--set", "perspectives=7", "dropout=0.3", "dropout=0.1")

    assert settings.model.model_config().dropout == 0.1
    assert settings.model.set == parse("--set", "dropout=0.1", "perspectives=7").model.set


def test_help_groups_the_options_and_shows_defaults(capsys):
    with pytest.raises(SystemExit) as stop:
        parse_settings(["--help"])

    text = " ".join(capsys.readouterr().out.split())
    assert stop.value.code == 0
    assert all(f"{group}: " in text or f"{group} " in text for group in ("data", "model", "training"))
    assert "(default: 1e-06)" in text and "--batch-size" in text and "--batch_size" not in text
