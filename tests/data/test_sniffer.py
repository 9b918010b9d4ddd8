"""The layout of a file is found from its first lines, and what could be read in two ways is said."""

from __future__ import annotations

import io

import pytest

from letgraph.data.formats import Format, read_pairs, sniff
from letgraph.errors import DataError, LetgraphError


def stream(content: str) -> io.BytesIO:
    return io.BytesIO(content.encode("utf-8"))


BANK = ("怎么修琴", "钢琴如何修", 1)
LAYOUTS = {
    "a b label": ("怎么修琴\t钢琴如何修\t1\n怎么修琴\t怎么卖琴\t0\n", "tsv:a,b,label", BANK),
    "label first": ("1\t怎么修琴\t钢琴如何修\n0\t怎么修琴\t怎么卖琴\n", "tsv:label,a,b", BANK),
    "label between": ("怎么修琴\t1\t钢琴如何修\n怎么修琴\t0\t怎么卖琴\n", "tsv:a,label,b", BANK),
    "one line": ("怎么修琴\t钢琴如何修\t1", "tsv:a,b,label", BANK),
    "one line, label first": ("1\t怎么修琴\t钢琴如何修", "tsv:label,a,b", BANK),
    "unlabelled": ("怎么修琴\t钢琴如何修\n怎么修琴\t怎么卖琴\n", "tsv:a,b", (*BANK[:2], None)),
    "unlabelled line": ("怎么修琴,钢琴如何修", "csv:a,b", (*BANK[:2], None)),
    "header": ("text_a\ttext_b\tlabel\n怎么修琴\t钢琴如何修\t1\n", "tsv:a=text_a,b=text_b,label=label", BANK),
    "header in another order": ("gold\tq2\tq1\n1\t钢琴如何修\t怎么修琴\n", "tsv:a=q1,b=q2,label=gold", BANK),
    "header of two": (
        "sentence1\tsentence2\n怎么修琴\t钢琴如何修\n",
        "tsv:a=sentence1,b=sentence2",
        (*BANK[:2], None),
    ),
    "header behind a byte order mark": (
        "\ufeffSentence 1,Sentence 2,Label\r\n怎么修琴,钢琴如何修,1\r\n",
        "csv:a=Sentence 1,b=Sentence 2,label=Label",
        BANK,
    ),
    "quora": (
        "id,qid1,qid2,question1,question2,is_duplicate\n0,1,2,怎么修琴,钢琴如何修,1\n",
        "csv:a=question1,b=question2,label=is_duplicate",
        BANK,
    ),
    "mrpc": (
        "Quality\t#1 ID\t#2 ID\t#1 String\t#2 String\n1\t70\t71\t怎么修琴\t钢琴如何修\n",
        "tsv:a=#1 String,b=#2 String,label=Quality",
        BANK,
    ),
    "header with unknown sentences": ("上句\t下句\tlabel\n怎么修琴\t钢琴如何修\t1\n", "tsv+header:a,b,label", BANK),
    "header with unknown label": (
        "sentence1,sentence2,关系\n怎么修琴,钢琴如何修,1\n怎么修琴,多少钱,0\n",
        "csv:a=sentence1,b=sentence2,label=关系",
        BANK,
    ),
    "csv": ('"怎么修琴,急",钢琴如何修,1\n', "csv:a,b,label", ("怎么修琴,急", "钢琴如何修", 1)),
    "csv over lines": (
        '"怎么\n还款","他说""急""",1\n怎么修琴,怎么卖琴,0\n',
        "csv:a,b,label",
        ("怎么\n还款", '他说"急"', 1),
    ),
    "bare quotes in tsv": ('"怎么修琴\t"如何"还钱\t1\n', "tsv:a,b,label", ('"怎么修琴', '"如何"还钱', 1)),
    "commas in tsv": ("卡,还款\t卡,还钱\t1\n卡,还款\t卡,借钱\t0\n", "tsv:a,b,label", ("卡,还款", "卡,还钱", 1)),
    "braces that are no json": ("{笑}还款\t{笑}还钱\t1\n", "tsv:a,b,label", ("{笑}还款", "{笑}还钱", 1)),
    "running number": (
        "0\t怎么修琴\t钢琴如何修\t1\n1\t怎么修琴\t怎么卖琴\t0\n2\t你好\t您好\t1\n",
        "tsv:_,a,b,label",
        BANK,
    ),
    "running number, no label": (
        "0\t怎么修琴\t钢琴如何修\n1\t怎么修琴\t怎么卖琴\n2\t你好\t您好\n",
        "tsv:_,a,b",
        (*BANK[:2], None),
    ),
    "name of the row": (
        "x-1\t怎么修琴\t钢琴如何修\t1\nx-2\t怎么修琴\t怎么卖琴\t0\n",
        "tsv:_,a,b,label",
        BANK,
    ),
    "labels as real numbers": ("怎么修琴\t钢琴如何修\t1.0\n怎么修琴\t怎么卖琴\t0.0\n", "tsv:a,b,label", BANK),
    "numbers for sentences": (
        "95588\t955 88\t1\n95588\t95555\t0\n10086\t10010\t0\n",
        "tsv:a,b,label",
        ("95588", "955 88", 1),
    ),
    "labels for sentences": ("0\t1\t0\n1\t1\t1\n0\t0\t1\n", "tsv:a,b,label", ("0", "1", 0)),
    "jsonl": (
        '{"sentence1": "怎么修琴", "sentence2": "钢琴如何修", "label": "1"}\n',
        "jsonl:a=sentence1,b=sentence2,label=label",
        BANK,
    ),
    "jsonl without label": (
        '{"id": 3, "text_a": "怎么修琴", "text_b": "钢琴如何修"}\n',
        "jsonl:a=text_a,b=text_b",
        (*BANK[:2], None),
    ),
    "a bad row first": ("怎么修琴\t钢琴如何修\n怎么修琴\t钢琴如何修\t1\n怎么修琴\t借钱\t0\n", "tsv:a,b,label", BANK),
    "a bad label first": ("还款\t还钱\t2\n怎么修琴\t钢琴如何修\t1\n怎么修琴\t借钱\t0\n", "tsv:a,b,label", BANK),
}


@pytest.mark.parametrize("layout", LAYOUTS)
def test_the_layout_is_found_and_its_notation_reads_the_same_rows(layout, tmp_path):
    content, spec, first = LAYOUTS[layout]
    path = tmp_path / "pairs.txt"
    path.write_bytes(content.encode("utf-8"))
    found = sniff(path)
    assert found.spec == spec
    assert Format.parse(spec) == found
    assert spec in str(found)
    rows = list(read_pairs(path, on_bad="skip"))
    assert rows[0][1:] == first
    assert list(read_pairs(path, format=spec, on_bad="skip")) == rows


@pytest.mark.parametrize(
    ("content", "word"),
    [
        ("0\t1\t0\n1\t1\t1\n", "column 1 and 2"),
        ("怎么修琴\t1\n怎么卖琴\t0\n", "column 2"),
        ("x-1\t怎么修琴\t钢琴如何修\t1\nx-2\t怎么修琴\t怎么卖琴\t0\n", "longest"),
        ("sentence1,sentence2,关系\n怎么修琴,钢琴如何修,1\n", "关系"),
    ],
)
def test_what_was_ambiguous_is_said_in_the_printed_format(content, word):
    assert word in str(read_pairs(stream(content)).format).partition("; ")[2]


@pytest.mark.parametrize("name", ["pairs.tsv", "pairs.csv", "pairs.txt", "pairs"])
def test_the_content_decides_not_the_suffix(tmp_path, name):
    path = tmp_path / name
    path.write_text("怎么修琴\t钢琴如何修\t1\n", encoding="utf-8")
    assert sniff(path).spec == "tsv:a,b,label"


@pytest.mark.parametrize(
    ("content", "mend"),
    [
        ("怎么修琴\t钢琴如何修\t多少钱能修\n", "--format tsv:a,b,_"),
        ("怎么修琴\t钢琴如何修\t多少\t钱能还\n", "--format tsv:a,b,_,_"),
        ("只有一列\n", "separate the columns"),
        ('{"x": "一", "y": "二"}\n', "--format jsonl:a=NAME"),
    ],
)
def test_what_can_not_be_told_is_refused_with_the_mend(content, mend):
    with pytest.raises(DataError) as caught:
        read_pairs(stream(content))
    assert mend in caught.value.mend


@pytest.mark.parametrize(
    "spec",
    [
        "",
        "a,b",
        "xml:a,b",
        "tsv:",
        "tsv:a",
        "tsv:a,b,c",
        "tsv:a,a,b",
        "tsv+nohead:a,b",
        "csv:a=x,b",
        "jsonl+header:a,b",
    ],
)
def test_a_format_that_can_not_be_is_refused_with_an_example(spec):
    with pytest.raises(LetgraphError, match="for example tsv:a,b,label"):
        Format.parse(spec)
