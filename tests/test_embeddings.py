"""Which rows of a model start from a file's vectors: characters, words of the training split, and nothing else."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest
import torch

from letgraph.embeddings import start_from_vectors
from letgraph.errors import LetgraphError
from letgraph.text.vocabulary import PieceVocabulary
from tests.helpers import VOCABULARY, Sentence, tiny_model, to_table

TRAIN = to_table(
    [
        Sentence("存款利率", ((0, 2), (2, 4), (2, 3), (3, 4)), ((),) * 4),
        Sentence("存款行", ((0, 2), (1, 3)), ((),) * 2),  # 行 is unknown, so 款行 is no word to be looked up
    ]
)


def write(path: Path, words: list[str], size: int = 8) -> dict[str, list[float]]:
    vectors = {word: [float(i + 1)] * size for i, word in enumerate(words)}
    lines = [f"{len(words)} {size}", *(f"{word} {' '.join(map(str, vector))}" for word, vector in vectors.items())]
    path.write_text("\n".join(lines) + "\n", encoding="utf-8")
    return vectors


@pytest.mark.parametrize("kind", ["textcnn", "bilstm", "esim", "let"])
def test_characters_start_from_the_file_and_others_stay(tmp_path: Path, kind: str, capsys) -> None:
    vectors = write(tmp_path / "vectors.txt", ["利", "存款", "存", "钱"])
    model, before = tiny_model(kind), tiny_model(kind).get_input_embeddings().weight

    start_from_vectors(model, VOCABULARY, TRAIN, tmp_path / "vectors.txt")

    table = model.get_input_embeddings().weight
    changed = (table != before).any(1).nonzero().squeeze(1).tolist()
    assert changed == [4, 6]  # 存 and 利, see `VOCABULARY`
    assert table[4].tolist() == vectors["存"] and table[6].tolist() == vectors["利"]
    assert table.requires_grad
    assert f"embeddings {tmp_path / 'vectors.txt'}: 2 of 5 characters start" in capsys.readouterr().out


@pytest.mark.parametrize("kind", ["lattice_cnn", "bimpm"])
def test_words_of_the_training_split_do_too(tmp_path: Path, kind: str, capsys) -> None:
    vectors = write(tmp_path / "vectors.txt", ["利", "存款", "款行", "率利"])
    model, before = tiny_model(kind), tiny_model(kind).get_input_embeddings().weight

    start_from_vectors(model, VOCABULARY, TRAIN, tmp_path / "vectors.txt")

    table = model.get_input_embeddings().weight
    row = int(model.words.rows(torch.tensor([4, 5]), torch.tensor([0, 0]), 1))
    assert (table != before).any(1).nonzero().squeeze(1).tolist() == [6, row]
    assert table[row].tolist() == vectors["存款"]
    assert "1 of 5 characters, 1 of 2 words of the training split in 1 rows" in capsys.readouterr().out


def test_of_words_in_one_row_the_most_frequent_gives_its_vector(tmp_path: Path) -> None:
    vectors = write(tmp_path / "vectors.txt", ["利率", "存款"])
    model = tiny_model("bimpm", word_buckets=1)

    start_from_vectors(model, VOCABULARY, TRAIN, tmp_path / "vectors.txt")

    assert model.words.table.weight[-1].tolist() == vectors["存款"]


@pytest.mark.parametrize(("kind", "setting"), [("let", "encoder_size=5"), ("esim", "embedding_size=5")])
def test_vectors_of_another_size_are_refused_with_the_mend(tmp_path: Path, kind: str, setting: str) -> None:
    write(tmp_path / "vectors.txt", ["利"], size=5)

    with pytest.raises(LetgraphError, match=f"have 5 values, the model's characters 8; train with --set {setting}"):
        start_from_vectors(tiny_model(kind), VOCABULARY, TRAIN, tmp_path / "vectors.txt")


def test_a_vocabulary_of_word_pieces_is_refused(tmp_path: Path) -> None:
    pieces = PieceVocabulary(["[PAD]", "[UNK]", "[CLS]", "[SEP]", "利"])

    with pytest.raises(LetgraphError, match="a pre-trained encoder has its own"):
        start_from_vectors(tiny_model("let"), pieces, TRAIN, tmp_path / "vectors.txt")


def test_nothing_of_the_file_leaves_the_model_as_it_was(tmp_path: Path) -> None:
    write(tmp_path / "vectors.txt", ["钱"])
    model = tiny_model("bimpm")

    start_from_vectors(model, VOCABULARY, TRAIN, tmp_path / "vectors.txt")

    np.testing.assert_array_equal(
        model.words.table.weight.detach().numpy(), tiny_model("bimpm").words.table.weight.detach().numpy()
    )
