"""``python -m letgraph.convert``: a small file of the authors' layout becomes a checkpoint that predicts."""

from __future__ import annotations

import json
import re
import sys
from pathlib import Path

import numpy as np
import pytest

from letgraph import convert, evaluate
from letgraph.checkpoint import Checkpoint
from letgraph.errors import LetgraphError
from letgraph.matcher import Matcher, TruncationWarning
from letgraph.models import LET
from letgraph.text.vocabulary import PieceVocabulary
from tests.test_mxnet_params import file_bytes

D, BERT, WIDE, ROWS, SIZE = 8, 16, 24, 7, 5  # features of LET and BERT, of BERT's middle, rows and size of sememes
PIECES = ["[PAD]", "[unused1]", "[UNK]", "[CLS]", "[SEP]", "[MASK]", *"怎么还款花呗，"]


def tdense(name: str, inputs: int, outputs: int, bias: bool = True) -> dict[str, tuple[int, ...]]:
    return {f"{name}.weight": (inputs, outputs), **({f"{name}.bias": (outputs,)} if bias else {})}


def dense(name: str, inputs: int, outputs: int, bias: bool = True) -> dict[str, tuple[int, ...]]:
    return {f"{name}.weight": (outputs, inputs), **({f"{name}.bias": (outputs,)} if bias else {})}


def norm(name: str, size: int) -> dict[str, tuple[int, ...]]:
    return {f"{name}.gamma": (size,), f"{name}.beta": (size,)}


def attention(name: str) -> dict[str, tuple[int, ...]]:
    shapes = {}
    for part in ("q", "k", "v"):
        shapes |= tdense(f"{name}.tdense_{part}", D, D, bias=False)
    return shapes | tdense(f"{name}.tdense_s2t_1", D, D) | tdense(f"{name}.tdense_s2t_2", D, D)


def pooling(name: str, inputs: int) -> dict[str, tuple[int, ...]]:
    return {
        **tdense(f"{name}.tdense_v", inputs, D, bias=False),
        **tdense(f"{name}.tdense_s2t_1", inputs, inputs),
        **tdense(f"{name}.tdense_s2t_2_1", inputs, 1),
        **tdense(f"{name}.tdense_s2t_2_2", inputs, D),
    }


def mlp(name: str, inputs: int) -> dict[str, tuple[int, ...]]:
    return tdense(f"{name}.mlp.TDense_1", inputs, 2 * D) | tdense(f"{name}.mlp.TDense_2", 2 * D, D)


def let_shapes() -> dict[str, tuple[int, ...]]:
    shapes = {"sememe_embedding.weight": (ROWS, SIZE)} | dense("Dense_sense", SIZE, D) | pooling("encoder_char", BERT)
    shapes |= attention("transformer_sememe.FastDiSA") | mlp("transformer_sememe.FastDiSA", D)
    shapes |= norm("transformer_sememe.layer_norm", D) | pooling("transformer_sememe.encoder", D)
    matching = "transformer_char.FastParallelDiSA"
    shapes |= attention(f"{matching}.FastDiSA") | {f"{matching}.bimpm.bimp.weight": (3, D)} | mlp(matching, D + 3)
    shapes |= norm("transformer_char.layer_norm", D) | pooling("transformer_char.encoder", D)
    shapes |= dense("Dense", BERT, D, bias=False)
    for gate in ("gate_sense", "gate_lattice"):
        shapes |= dense(f"{gate}.r", 2 * D, D) | dense(f"{gate}.i", 2 * D, D)
        shapes |= dense(f"{gate}.in_", D, D) | dense(f"{gate}.hn_", D, D)
    shapes |= attention("SenseBlock_0") | attention("LatticeBlock_0") | mlp("LatticeBlock_0", D)
    shapes |= pooling("encoder_lattice", D)
    shapes |= dense("score.dense_1", BERT + 4 * D, 6) | dense("score.dense_2", 6, 4)
    return shapes | dense("score.dense_3", 4, 2, bias=False)


def bert_shapes() -> dict[str, tuple[int, ...]]:
    cell = "bert.encoder.transformer_cells.0"
    shapes = {"bert.encoder.position_weight": (128, BERT)} | norm("bert.encoder.layer_norm", BERT)
    for part in ("query", "key", "value"):
        shapes |= dense(f"{cell}.attention_cell.proj_{part}", BERT, BERT)
    shapes |= dense(f"{cell}.proj", BERT, BERT) | norm(f"{cell}.layer_norm", BERT)
    shapes |= dense(f"{cell}.ffn.ffn_1", BERT, WIDE) | dense(f"{cell}.ffn.ffn_2", WIDE, BERT)
    shapes |= norm(f"{cell}.ffn.layer_norm", BERT)
    shapes |= {"bert.word_embed.0.weight": (len(PIECES), BERT), "bert.token_type_embed.0.weight": (2, BERT)}
    return shapes | dense("bert.pooler", BERT, BERT)


def arrays(**changes: tuple[int, ...] | None) -> dict[str, np.ndarray]:
    """Random weights; ``changes``: other shapes, or None for a parameter that is not there."""
    shapes = {**let_shapes(), **bert_shapes(), **changes}
    random = np.random.default_rng(0)
    return {
        name: random.normal(size=shape).astype(np.float32) * 0.3 for name, shape in shapes.items() if shape is not None
    }


class Inputs:
    def __init__(self, folder: Path) -> None:
        self.params, self.vocab, self.hownet = folder / "let.params", folder / "vocab.txt", folder / "sense_dict.json"
        self.out = folder / "out"
        self.vocab.write_text("\n".join(PIECES) + "\n", encoding="utf-8")
        senses = {"还款": {"1": [3, 1]}, "花呗": {"2": [6], "3": [3]}, "，": {"4": [2]}}
        self.hownet.write_text(json.dumps(senses), encoding="utf-8")
        self.write(arrays())

    def write(self, arrays: dict[str, np.ndarray]) -> None:
        self.params.write_bytes(file_bytes(arrays))


@pytest.fixture
def inputs(tmp_path: Path) -> Inputs:
    return Inputs(tmp_path)


@pytest.fixture
def run(inputs, monkeypatch, capsys):
    def run(*options: object, output: Path | None = None) -> tuple[str, str]:
        required = ["--params", inputs.params, "--output-dir", output or inputs.out]
        monkeypatch.setattr(sys, "argv", ["convert", *map(str, [*required, *options])])
        convert.main()
        return capsys.readouterr()

    return run


@pytest.fixture
def refused(run, inputs):
    def refused(*options: object) -> str:
        with pytest.raises(LetgraphError) as caught:
            run(*options)
        assert not inputs.out.exists()
        assert "\n" not in str(caught.value)
        return str(caught.value)

    return refused


def test_a_whole_file_becomes_a_checkpoint_that_predicts(inputs, run, tmp_path, monkeypatch, capsys):
    out, err = run("--vocab", inputs.vocab, "--hownet", inputs.hownet)

    total = len(arrays())
    assert f"{total} of {total} parameters have their place" in out and "tensors of the model are set" in out
    assert err == ""
    checkpoint = Checkpoint.load(inputs.out)
    preparation = checkpoint.preparation
    assert (preparation.blanks, preparation.width, preparation.max_tokens) == ("drop", "keep", 128)
    assert preparation.versions["jieba"] == "jieba==0.39"
    assert isinstance(checkpoint.vocabulary, PieceVocabulary)
    assert checkpoint.vocabulary.pieces[:5] == ["[UNK]", "[PAD]", "[CLS]", "[SEP]", "[MASK]"]
    # All three segmenters may not be installed where tests run.
    settings = json.loads((inputs.out / "preparation.json").read_text(encoding="utf-8"))
    settings |= {"segmenters": ["jieba"], "versions": {}}
    (inputs.out / "preparation.json").write_text(json.dumps(settings), encoding="utf-8")
    rows = [("花呗怎么还款", "怎么 还花呗，", 1), ("还款", "花呗", 0), ("还" * 200, "款" * 20, 0)]
    corpus = tmp_path / "dev.tsv"
    corpus.write_text("".join(f"{a}\t{b}\t{label}\n" for a, b, label in rows), encoding="utf-8")
    arguments = ["--checkpoint", inputs.out, "--dataset", corpus, "--split", corpus.stem, "--cache-dir", tmp_path / "c"]
    monkeypatch.setattr(sys, "argv", ["evaluate", *map(str, arguments), "--workers", "1", "--device", "cpu"])
    evaluate.main()
    captured = capsys.readouterr()
    assert "95 characters at the ends of sentences were cut off" in captured.err
    metrics = json.loads(captured.out.splitlines()[-1])
    matcher = Matcher.from_pretrained(inputs.out, "cpu")
    with pytest.warns(TruncationWarning, match="pairs too long for the encoder: 95 characters"):
        scores = matcher.predict([(a, b) for a, b, _ in rows])
    assert ((scores > 0) & (scores < 1)).all()
    assert metrics["accuracy"] == np.mean((scores > 0.5) == [label for *_, label in rows])
    assert matcher.cleaning["pair-truncated"] == 220 - 125


def test_values_are_kept_and_find_their_sememes(inputs, run):
    run("--vocab", inputs.vocab, "--hownet", inputs.hownet)

    checkpoint, written = Checkpoint.load(inputs.out), arrays()
    embedding = checkpoint.model.senses.sememes
    assert np.array_equal(embedding.known.detach().numpy(), written["sememe_embedding.weight"])
    # Sememe 0 is the dummy; the lexicon's have the rows that its names count.
    assert checkpoint.lexicon is not None and checkpoint.lexicon.sememes == ["#3", "#1", "#6", "#2"]
    assert embedding.row.tolist() == [0, 3, 1, 6, 2, 4, 5]
    weight = checkpoint.model.encoder.embeddings.word_embeddings.weight.detach().numpy()
    assert np.array_equal(weight, written["bert.word_embed.0.weight"])


def test_sememes_by_name_need_the_vector_file(inputs, run, refused, tmp_path):
    words, vectors = tmp_path / "words.tsv", tmp_path / "sememe_vec.txt"
    words.write_text("还款\t偿 钱\n", encoding="utf-8")
    rows = [f"{name} 1 2" for name in ("钱", "物", "人", "偿", "事", "地")]
    vectors.write_text("\n".join(["6 2", *rows]) + "\n", encoding="utf-8")

    assert "--sememe-vectors" in refused("--hownet", words)
    run("--hownet", words, "--sememe-vectors", vectors)

    assert LET.from_pretrained(inputs.out).senses.sememes.row.tolist() == [0, 4, 1, 2, 3, 5, 6]


@pytest.mark.parametrize("given", ["nothing", "vocab", "hownet"])
def test_without_vocabulary_or_lexicon_only_the_model_is_written_and_that_is_said(inputs, run, given):
    options = {"nothing": [], "vocab": ["--vocab", inputs.vocab], "hownet": ["--hownet", inputs.hownet]}[given]

    _, err = run(*options)

    assert ("--vocab" in err, "--hownet" in err) == (given != "vocab", given != "hownet")
    assert sorted(path.name for path in inputs.out.iterdir()) == ["config.json", "model.safetensors"]
    assert LET.from_pretrained(inputs.out).config.vocab_size == len(PIECES)
    with pytest.raises(LetgraphError, match=r"letgraph\.convert with --vocab and --hownet"):
        Checkpoint.load(inputs.out)


def test_a_file_without_its_encoder_is_converted_with_a_warning(inputs, run):
    inputs.write({name: array for name, array in arrays().items() if not name.startswith("bert.")})

    out, err = run()

    assert "encoder are unset" in err and "are set" not in out
    assert LET.from_pretrained(inputs.out).config.encoder_size == BERT


def test_heads_of_pre_training_are_unused_and_said(inputs, run):
    inputs.write(arrays(**{"bert.decoder.3.bias": (9,), "bert.classifier.weight": (2, BERT)}))

    out, _ = run()

    total = len(arrays())
    assert f"{total} of {total + 2} parameters" in out
    assert "unused by LET: bert.decoder.3.bias, bert.classifier.weight" in out


def test_the_number_of_heads_is_taken_from_the_configuration(inputs, run, tmp_path):
    config = tmp_path / "bert.json"
    config.write_text(json.dumps({"num_attention_heads": 4, "hidden_size": BERT, "hidden_act": "gelu"}))

    run("--encoder-config", config)

    assert LET.from_pretrained(inputs.out).config.encoder_heads == 4


@pytest.mark.parametrize(
    ("content", "problem"),
    [
        ("{", "not JSON"),
        ("[]", "not a JSON object"),
        ('{"num_attention_heads": "4"}', "num_attention_heads is '4'"),
        ('{"num_attention_heads": 3}', "16 features cannot be split over 3"),
        ('{"num_hidden_layers": 12}', "num_hidden_layers 1, .* says 12"),
        ('{"hidden_act": "relu"}', "hidden_act gelu, .* says relu"),
        (None, "cannot be read"),
    ],
)
def test_a_configuration_of_another_encoder_is_told(refused, tmp_path, content, problem):
    config = tmp_path / "bert.json"
    if content is not None:
        config.write_text(content)

    assert re.search(problem, refused("--encoder-config", config))


@pytest.mark.parametrize(
    ("changes", "problem"),
    [
        ({"mystery.weight": (2, 2)}, "1 parameters without a place: mystery.weight"),
        ({"Dense.weight": None}, "1 of the model unset: char_projection.weight"),
        ({"bert.pooler.bias": None}, "unset: encoder.pooler.dense.bias"),
        ({"gate_sense.hn_.weight": None}, "1 of the model unset: sagt.update_senses.gru.weight_hh"),
        ({"sememe_embedding.weight": None}, "not a LET of the authors' program: it has no sememe_embedding.weight"),
        ({"sememe_embedding.weight": (7,)}, "has the shape"),
        ({"Dense_sense.weight": (9, SIZE)}, "shape"),
        ({"Dense.weight": (D, BERT, 1)}, "char_projection.weight would have the shape"),
        ({"gate_sense.r.weight": (D,)}, "do not fit: gate_sense.r.weight"),
        ({"score.dense_1.weight": (6, 3)}, "do not fit: score.dense_1.weight"),
        ({"SenseBlock_77.tdense_q.weight": (D, D)}, "unset"),
        ({"SenseBlock_999999.tdense_q.weight": (D, D)}, "cannot be 1000000 layers"),
        ({"transformer_char.FastParallelDiSA.bimpm.bimp.weight": (10**5, 1)}, "would have the shape"),
    ],
)
def test_parameters_that_are_missing_foreign_or_misshapen_are_told(inputs, refused, changes, problem):
    inputs.write(arrays(**changes))

    assert re.search(problem, refused())


def test_weights_that_are_no_numbers_with_a_point_are_told(inputs, refused):
    inputs.write({**arrays(), "Dense.weight": np.zeros((D, BERT), np.int64)})

    assert "Dense.weight has numbers of type int64" in refused()


def test_another_vocabulary_is_told(inputs, refused):
    inputs.vocab.write_text("\n".join(PIECES[:-1]), encoding="utf-8")
    assert f"{inputs.vocab}: {len(PIECES) - 1} pieces, and the encoder has {len(PIECES)}" in refused(
        "--vocab", inputs.vocab
    )
    inputs.vocab.write_text("\n".join([*PIECES[:-1], "款"]), encoding="utf-8")
    assert "'款' comes twice" in refused("--vocab", inputs.vocab)
    inputs.write({name: array for name, array in arrays().items() if not name.startswith("bert.")})
    assert "no encoder" in refused("--vocab", inputs.vocab)


def test_a_sememe_beyond_the_model_is_told(inputs, refused):
    inputs.hownet.write_text(json.dumps({"还款": {"1": [ROWS]}}), encoding="utf-8")

    assert f"'#{ROWS}'" in refused("--hownet", inputs.hownet)


def test_a_folder_that_holds_something_is_left_alone(inputs, run, tmp_path):
    before = sorted(tmp_path.iterdir())

    with pytest.raises(LetgraphError, match="not an empty folder"):
        run(output=tmp_path)

    assert sorted(tmp_path.iterdir()) == before
