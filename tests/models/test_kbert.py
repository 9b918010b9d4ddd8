"""K-BERT: what a batch holds, who meets whom, and that a trained one is saved and scored with its lexicon."""

from __future__ import annotations

import json
from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest
import torch
from hypothesis import given, settings
from hypothesis import strategies as st
from tokenizers.implementations import BertWordPieceTokenizer
from transformers import AutoModel
from transformers import BertConfig as EncoderConfig

import letgraph
from letgraph.arguments import parse_settings
from letgraph.checkpoint import Checkpoint
from letgraph.data.collate import Collator, PairBatch
from letgraph.errors import LetgraphError
from letgraph.matcher import Matcher
from letgraph.models.kbert import KBertConfig
from letgraph.preparation import Preparation
from letgraph.ragged import Ragged
from letgraph.run import train
from letgraph.text.lexicon import Lexicon, load_lexicon
from letgraph.text.tokens import Template, Tokens
from letgraph.text.triples import Triples
from letgraph.text.vocabulary import CharVocabulary, Vocabulary
from tests.helpers import (
    SENSE_SEMEMES,
    TINY_ENCODER,
    VOCABULARY,
    Sentence,
    batch_for,
    random_pairs,
    tiny_model,
    to_table,
)
from tests.tiny import CHARACTERS

UNK, CLS, SEP = 1, 2, 3
存, 款, 利, 率 = range(4, 8)
NAMES = ["利", "存款", "率", "银", "利率银"]
# Sense 0 has sememes 0 and 1, sense 1 has sememe 2; 包含 is [UNK] [UNK].
PAIR = [Sentence("存款利", ((0, 2), (2, 3)), ((0,), ())), Sentence("利率", ((0, 1), (1, 2)), ((), (1,)))]


def collate(pairs: list[Sentence], vocabulary: Vocabulary = VOCABULARY, **options: int) -> PairBatch:
    triples = Triples.of(SENSE_SEMEMES, NAMES, vocabulary)
    collator = Collator(vocabulary, senses=False, positions="running", triples=triples, **{"max_triples": 2, **options})
    return collator(to_table(pairs))


def test_a_pair():
    batch = collate(PAIR)

    first, second, third = [UNK, UNK, 利], [UNK, UNK, 存, 款], [UNK, UNK, 率]
    assert batch.input_ids.tolist() == [[CLS, 存, 款, *first, *second, 利, SEP, 利, 率, *third, SEP]]
    assert batch.position_ids.tolist() == [[0, 1, 2, 3, 4, 5, 3, 4, 5, 6, 3, 4, 5, 6, 7, 8, 9, 7]]
    assert batch.token_type_ids.tolist() == [[0] * 12 + [1] * 6]
    assert batch.char_token.tolist() == [1, 2, 10, 12, 13]
    trunk = {0, 1, 2, 10, 11, 12, 13, 17}
    sees = [trunk] * 18
    sees[1] = sees[2] = trunk | {3, 4, 5, 6, 7, 8, 9}
    sees[3:6] = [{1, 2, 3, 4, 5}] * 3
    sees[6:10] = [{1, 2, 6, 7, 8, 9}] * 4
    sees[13] = trunk | {14, 15, 16}
    sees[14:17] = [{13, 14, 15, 16}] * 3
    assert batch.visible is not None and batch.visible.shape == (1, 18, 18)
    assert [set(row.nonzero().flatten().tolist()) for row in batch.visible[0]] == sees


def test_the_trunk_is_cut_and_branches_come_on_top():
    cut = collate(PAIR, max_tokens=7)
    shorter = collate([Sentence("存款", ((0, 2),), ((0,),)), PAIR[1]])

    assert int(cut.attention_mask.sum()) == 17
    for name in ("input_ids", "position_ids", "token_type_ids", "visible"):
        assert torch.equal(getattr(cut, name), getattr(shorter, name))


@pytest.mark.parametrize(("most", "branches"), [(7, 0), (10, 0), (11, 1), (14, 1), (15, 2), (17, 2), (18, 3), (99, 3)])
def test_branches_that_go_beyond_the_largest_tree_are_left_out_from_the_first_on(most, branches):
    """The trunk of the first pair has 8 tokens, its branches 3, 4 and 3; the second pair has room enough."""
    batch = collate([*PAIR, PAIR[1], PAIR[1]], max_tree=most)

    sizes = [0, 3, 7, 10]
    assert int(batch.attention_mask[0].sum()) == 8 + sizes[branches]
    assert int(batch.attention_mask[1].sum()) == 7 + min(2, max(0, (most - 7) // 3)) * 3
    whole = collate(PAIR)
    assert batch.input_ids[0, : 3 + sizes[min(branches, 2)]].tolist() == (
        whole.input_ids[0, : 3 + sizes[min(branches, 2)]].tolist()
    )


def test_what_is_left_of_a_word_has_no_triples():
    assert collate(PAIR, max_tokens=5).input_ids.tolist() == [[CLS, 存, SEP, 利, SEP]]


class OneToken(Vocabulary):
    """Any sentence is one token, which stands for all its characters."""

    template = Template((CLS,), (SEP,), (SEP,))

    def tokens(self, chars: Ragged) -> Tokens:
        ids = Ragged(np.full(len(chars), 9), np.arange(len(chars) + 1))
        return Tokens(ids, Ragged(np.zeros(len(chars.values), np.int64), chars.offsets))


def test_a_token_of_two_words_belongs_to_both():
    pair = [Sentence("存款利", ((0, 2), (2, 3)), ((1,), (4,))), Sentence("利", ((0, 1),), ((),))]

    batch = collate(pair, OneToken())

    assert batch.input_ids.tolist() == [[CLS, 9, 9, 9, SEP, 9, SEP]]  # the word, two branches
    assert batch.position_ids.tolist() == [[0, 1, 2, 2, 2, 3, 4]]
    assert batch.visible is not None
    assert batch.visible[0, 1].all()
    assert batch.visible[0, 2].tolist() == [False, True, True, False, False, False, False]


@settings(max_examples=20)
@given(st.integers(0, 1000), st.integers(1, 3))
def test_batches_by_length_count_the_branches(seed, max_triples):
    """A sentence's length is what its characters and branches add to a pair, all of which fits here."""
    sentences = random_pairs(seed, pairs=3)
    collator = Collator(
        VOCABULARY,
        senses=False,
        triples=Triples.of(SENSE_SEMEMES, NAMES, VOCABULARY),
        max_triples=max_triples,
    )
    table = to_table(sentences)

    lengths = collator.lengths(table)

    specials = len(VOCABULARY.template)
    assert (lengths[0::2] + lengths[1::2] + specials).tolist() == collator(table).attention_mask.sum(1).tolist()


def test_no_batch_of_another_model_has_a_tree():
    assert batch_for(tiny_model("bert"), PAIR).visible is None
    assert batch_for(tiny_model("let"), PAIR).visible is None


@settings(max_examples=8)
@given(st.integers(0, 1000))
def test_without_triples_it_is_bert(seed):
    kbert, bert = tiny_model("kbert", seed=seed), tiny_model("bert")
    bert.load_state_dict(kbert.state_dict())
    pairs = random_pairs(seed, min_length=1)
    bare = [Sentence(s.text, s.words, ((),) * len(s.words)) for s in pairs]
    none = tiny_model("kbert", seed=seed, max_triples=0)

    with torch.no_grad():
        expected = bert(batch_for(bert, pairs)).logits
        torch.testing.assert_close(kbert(batch_for(kbert, bare)).logits, expected, rtol=0, atol=1e-6)
        torch.testing.assert_close(none(batch_for(none, pairs)).logits, expected, rtol=0, atol=1e-6)


@pytest.mark.parametrize("layers", [1, 2])
def test_triples_reach_the_score_by_way_of_their_words(layers):
    """[CLS] sees words, and words in the layer before have seen their branches."""
    model = tiny_model("kbert", encoder_config={**TINY_ENCODER, "num_hidden_layers": layers, "initializer_range": 0.5})
    bare = [Sentence(s.text, s.words, ((),) * len(s.words)) for s in PAIR]

    with torch.no_grad():
        scores = [model(batch_for(model, sentences)).logits.item() for sentences in (PAIR, bare)]

    assert (abs(scores[0] - scores[1]) > 1e-3) == (layers == 2)


def test_in_one_layer_a_branch_reaches_its_word_and_itself_only():
    model = tiny_model("kbert")  # of one layer
    batch = collate(PAIR)
    other = batch.input_ids.clone()
    other[0, 3:6] = 率  # the first triple of 存款

    with torch.no_grad():
        change = (model.encode(batch)[0] - model.encode(replace(batch, input_ids=other))[0]).abs().amax(-1)[0]

    assert set((change > 1e-6).nonzero().flatten().tolist()) == {1, 2, 3, 4, 5}


def tiny_checkpoint(max_positions: int = 64, max_tokens: int = 40, lexicon: Lexicon | None = None) -> Checkpoint:
    vocabulary = CharVocabulary([*CHARACTERS, *"包含"])
    encoder = {**TINY_ENCODER, "vocab_size": len(vocabulary), "max_position_embeddings": max_positions}
    torch.manual_seed(0)
    checkpoint = Checkpoint.create(
        KBertConfig(encoder_config=encoder, encoder_size=8, max_positions=max_positions),
        vocabulary,
        lexicon or load_lexicon("demo"),
        None,
        Preparation.current(("jieba",), max_tokens=max_tokens),
    )
    checkpoint.model.eval()
    return checkpoint


def test_a_checkpoint_comes_back_with_its_lexicon_and_scores_the_same(tmp_path):
    before = tiny_checkpoint()
    before.save(tmp_path)
    after = Checkpoint.load(tmp_path)

    assert after.lexicon == before.lexicon and after.model.config.lexicon_hash == load_lexicon("demo").hash
    pairs = [("花呗怎么还款", "怎么还花呗"), ("我的银行卡丢了", "银行卡怎么办理"), ("还款", "银行卡还款" * 8)]
    with pytest.warns(UserWarning, match="cut"):
        scores = Matcher(before, "cpu").predict(pairs)
    with pytest.warns(UserWarning, match="cut"):
        np.testing.assert_allclose(Matcher.from_pretrained(tmp_path, "cpu").predict(pairs), scores, rtol=1e-6)
    other = Lexicon.from_senses([("还款", ["还", "钱"])], "other.tsv")
    with pytest.raises(LetgraphError, match=r"other\.tsv"):
        Checkpoint.load(tmp_path, lexicon=other)
    (tmp_path / "lexicon.tsv").unlink()
    with pytest.raises(LetgraphError, match=r"lexicon\.tsv: no such file"):
        Checkpoint.load(tmp_path)


def test_soft_positions_have_to_fit_the_encoder():
    lexicon = Lexicon.from_senses([("还款", ["偿还债务", "钱"])], "own.tsv")
    # The longest pair: [CLS] and 17 characters at 0 … 18 with a [SEP] between, 包含偿还债务 at 19 … 24; the last [SEP].
    with pytest.raises(LetgraphError, match=r"max_positions 24: .* 6 of a triple .* 25 or more"):
        tiny_checkpoint(24, 20, lexicon)
    checkpoint = tiny_checkpoint(25, 20, lexicon)
    assert 0 < Matcher(checkpoint, "cpu").predict([("还款" * 4, "款" + "还款" * 4)])[0] < 1


@pytest.mark.parametrize("kind", [{"relative_attention": True, "model_type": "deberta-v2"}, {"model_type": "xlnet"}])
def test_an_encoder_that_counts_positions_itself_is_refused(kind):
    sizes = {"hidden_size": 8, "num_attention_heads": 2, "num_hidden_layers": 1, "vocab_size": 9, "d_model": 8}
    encoder = {**sizes, "n_head": 2, "n_layer": 1, "intermediate_size": 8, **kind}
    with pytest.raises(LetgraphError, match=rf"{kind['model_type']} counts them itself"):
        tiny_model("kbert", encoder_config=encoder)


def test_a_negative_number_of_triples_is_refused():
    with pytest.raises(LetgraphError, match="max_triples=-1"):
        KBertConfig(max_triples=-1)


@pytest.fixture
def encoder(tmp_path: Path) -> Path:
    """A tiny random BERT that knows the characters of the demo corpus."""
    folder = tmp_path / "encoder"
    text = (Path(letgraph.__file__).parent / "demo/train.tsv").read_text(encoding="utf-8")
    pieces = ["[PAD]", "[UNK]", "[CLS]", "[SEP]", "[MASK]", *sorted(set("".join(text.lower().split())))]
    config = EncoderConfig(**{**TINY_ENCODER, "vocab_size": len(pieces), "max_position_embeddings": 160})
    AutoModel.from_config(config).save_pretrained(folder)
    BertWordPieceTokenizer({piece: number for number, piece in enumerate(pieces)}).save(str(folder / "tokenizer.json"))
    tokens = {"pad_token": "[PAD]", "unk_token": "[UNK]", "tokenizer_class": "PreTrainedTokenizerFast"}
    (folder / "tokenizer_config.json").write_text(json.dumps(tokens), encoding="ascii")
    return folder


def test_a_run_on_the_demo_corpus(tmp_path, encoder):
    data = ["--dataset", "demo", "--segmenter", "jieba", "--limit", "64", "--workers", "1", "--hownet", "demo"]
    model = ["--model", "kbert", "--encoder", str(encoder), "--set", "max_triples=1", "predicate=false"]
    folder = tmp_path / "run"
    places = ["--output-dir", str(folder), "--cache-dir", str(tmp_path / "cache")]

    metrics = train(parse_settings([*data, *model, *places, "--max-steps", "2", "--batch-size", "16"]))

    assert metrics["test"]["n"] == 64 and 0 < metrics["test"]["loss"] < 2
    checkpoint = Checkpoint.load(folder)
    config = checkpoint.model.config
    assert (config.model_type, config.max_triples, config.predicate) == ("kbert", 1, False)
    assert checkpoint.lexicon == load_lexicon("demo")
    written = json.loads((folder / "settings.json").read_text(encoding="utf-8"))
    assert written["hownet"] == "demo" and "gru" not in written


@pytest.mark.parametrize("flag", [["--no-senses"], ["--no-gru"], ["--layers", "2"], ["--preset", "paper"]])
def test_settings_of_let_alone_are_refused(flag):
    with pytest.raises(LetgraphError, match=f"--model kbert and {flag[0]} contradict"):
        parse_settings(["--dataset", "demo", "--model", "kbert", "--encoder", "any", *flag])
