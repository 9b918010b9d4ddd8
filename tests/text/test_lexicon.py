"""What users rely on from a lexicon, whatever its file format."""

from __future__ import annotations

import hashlib
import os
import pickle
from pathlib import Path

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from letgraph.errors import LetgraphError
from letgraph.text.clean import clean
from letgraph.text.lexicon import Lexicon, load_lexicon, sememe_name

REAL = Path(os.environ.get("LETGRAPH_DATA", Path(__file__).parents[2] / ".." / "shared" / "data")) / "hownet"

BANK = [
    ("银行", ["机构", "金融"]),
    ("打", ["交往", "联络"]),
    ("行", ["机构", "金融"]),
    ("打", ["击打"]),
    ("银行", ["机构", "金融"]),
]

words = st.text(st.sampled_from("银行卡aBＡ１ \t\u200b\u3000😀"), max_size=3) | st.text(max_size=4)
names = st.sampled_from(["人", "物|东西", "Thing|东西", "#7", "|", "中国"])
rows = st.lists(st.tuples(words, st.lists(names, max_size=4)), max_size=12)


def plainly(senses: list[tuple[str, list[str]]]) -> dict[str, list[list[str]]]:
    """The definition: word -> its different senses in order, each a list of different sememes in order."""
    expected: dict[str, list[list[str]]] = {}
    for word, sememes in senses:
        sense: list[str] = []
        for sememe in sememes:
            chinese = sememe.split("|")[-1] or sememe
            if chinese not in sense:
                sense.append(chinese)
        word = clean(word).text
        if word and sense and sense not in expected.setdefault(word, []):
            expected[word].append(sense)
    return {word: of_word for word, of_word in expected.items() if of_word}


def test_ids_by_hand() -> None:
    lexicon = Lexicon.from_senses(BANK, "here")
    assert lexicon.words == {"银行": 0, "打": 1, "行": 2}
    assert lexicon.sememes == ["机构", "金融", "交往", "联络", "击打"]
    assert (lexicon.num_senses, lexicon.num_sememes) == (4, 5)
    assert [list(lexicon.senses_of(word)) for word in ("银行", "打", "行", "卡")] == [[0], [1, 2], [3], []]
    assert [lexicon.sense_sememes[sense].tolist() for sense in range(4)] == [[0, 1], [2, 3], [4], [0, 1]]
    assert [lexicon.word_of_sense(sense) for sense in range(4)] == ["银行", "打", "打", "行"]
    assert lexicon.sememes_of_sense(1) == ["交往", "联络"]
    assert lexicon.source == "here"


@settings(deadline=None)
@given(rows)
def test_senses_are_those_of_the_rows(senses: list[tuple[str, list[str]]]) -> None:
    expected = plainly(senses)
    if not expected:
        with pytest.raises(LetgraphError, match="no sense"):
            Lexicon.from_senses(senses, "here")
        return
    lexicon = Lexicon.from_senses(senses, "here")
    assert list(lexicon.words) == list(expected)
    assert {
        word: [lexicon.sememes_of_sense(sense) for sense in lexicon.senses_of(word)] for word in expected
    } == expected
    assert [lexicon.word_of_sense(sense) for word in expected for sense in lexicon.senses_of(word)] == [
        word for word, of_word in expected.items() for _ in of_word
    ]
    assert lexicon.sememes == list(dict.fromkeys(name for of_word in expected.values() for s in of_word for name in s))


@settings(deadline=None)
@given(rows.filter(plainly))
def test_saving_and_loading_keeps_ids_and_hash(tmp_path_factory: pytest.TempPathFactory, senses: list) -> None:
    lexicon = Lexicon.from_senses(senses, "here")
    path = tmp_path_factory.mktemp("lexicon") / "lexicon.tsv"
    lexicon.save(path)
    loaded = load_lexicon(path)
    assert loaded == lexicon
    assert loaded.hash == lexicon.hash == hashlib.sha256(path.read_bytes()).hexdigest()
    assert (loaded.words, loaded.sense_offsets, loaded.sememes) == (
        lexicon.words,
        lexicon.sense_offsets,
        lexicon.sememes,
    )
    assert loaded.sense_sememes.values.tolist() == lexicon.sense_sememes.values.tolist()
    assert loaded.sense_sememes.offsets.tolist() == lexicon.sense_sememes.offsets.tolist()
    assert loaded.notes == ()
    assert [file.name for file in path.parent.iterdir()] == ["lexicon.tsv"]


def test_another_order_or_another_sememe_is_another_lexicon() -> None:
    lexicon = Lexicon.from_senses(BANK, "here")
    assert lexicon == Lexicon.from_senses(list(BANK), "elsewhere")
    assert lexicon != Lexicon.from_senses(BANK[::-1], "here")
    assert lexicon != Lexicon.from_senses([*BANK, ("卡", ["用具"])], "here")
    assert lexicon != "here"
    assert len({lexicon, Lexicon.from_senses(BANK, "elsewhere")}) == 1


def test_a_lexicon_travels_to_worker_processes() -> None:
    lexicon = Lexicon.from_senses(BANK, "here")
    assert pickle.loads(pickle.dumps(lexicon)) == lexicon


def test_a_word_is_found_as_it_stands_in_cleaned_text() -> None:
    lexicon = Lexicon.from_senses([("ＡＴＭ机", ["机器"]), ("atm机", ["设备"])], "here")
    [word] = lexicon.words
    assert word == clean("ＡＴＭ机").text
    assert [lexicon.sememes_of_sense(sense) for sense in lexicon.senses_of(word)] == [["机器"], ["设备"]]


def test_nothing_is_left_out_silently() -> None:
    rows = [("", ["人"]), ("卡", ["用具"]), ("空", []), ("卡", ["用具", "用具"]), ("ＡＴＭ", ["机器"])]
    notes = "\n".join(Lexicon.from_senses(rows, "here").notes)
    assert "2 row(s) without a word or without sememes skipped (the first is row 1)" in notes
    assert "1 repeated sense(s)" in notes
    assert "1 word(s) cleaned" in notes and "'ＡＴＭ' is 'atm'" in notes


def test_sememes_are_named_by_their_chinese_part() -> None:
    assert [sememe_name(raw) for raw in ("FuncWord|功能词", "功能词", "#12", "only|")] == [
        "功能词",
        "功能词",
        "#12",
        "only|",
    ]


def test_a_sememe_name_that_the_tsv_cannot_hold_is_refused() -> None:
    with pytest.raises(LetgraphError, match="'两 个' has white space"):
        Lexicon.from_senses([("卡", ["两 个"])], "here")


def test_the_demo_excerpt_comes_with_the_package() -> None:
    lexicon = load_lexicon("demo")
    assert lexicon.source == "demo"
    assert lexicon.num_senses > len(lexicon.words) > 0, "a demo of senses needs words with more than one"


@pytest.mark.parametrize("name", ["nowhere.tsv", "nowhere", "dmeo"])
def test_an_unknown_name_is_answered_with_the_known_ones(name: str) -> None:
    with pytest.raises(LetgraphError, match=r"no such lexicon; name one of: demo, .*\.tsv.*\.json.*OpenHowNet"):
        load_lexicon(name)


def test_an_unknown_form_is_refused(tmp_path: Path) -> None:
    (tmp_path / "senses.xml").touch()
    with pytest.raises(LetgraphError, match="not a known form"):
        load_lexicon(tmp_path / "senses.xml")


@pytest.mark.skipif(not REAL.is_dir(), reason=f"no HowNet files in {REAL}")
def test_all_of_hownet(tmp_path: Path) -> None:
    path = REAL / "lancopku_word_sememes.tsv"
    lexicon = load_lexicon(path)
    rows = [line.split("\t") for line in path.read_text("utf-8").split("\n")[:-1]]
    expected = plainly([(word, sememes.split()) for word, sememes in rows])
    assert {word: [lexicon.sememes_of_sense(s) for s in lexicon.senses_of(word)] for word in lexicon.words} == expected
    assert "(the first is row 1)" in lexicon.notes[0]
    lexicon.save(tmp_path / "lexicon.tsv")
    assert load_lexicon(tmp_path / "lexicon.tsv") == lexicon


def test_english_names_are_kept_beside_the_chinese_ones_and_change_no_identity():
    bilingual = Lexicon.from_senses([("怎么", ["ask|疑问", "manner|方式"]), ("还", ["还"])], "x")
    chinese = Lexicon.from_senses([("怎么", ["疑问", "方式"]), ("还", ["还"])], "x")
    assert bilingual.english == {"疑问": "ask", "方式": "manner"}
    assert chinese.english == {} and chinese == bilingual
