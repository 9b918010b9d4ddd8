"""Files of sentence pairs: what is read is what was written, and what can't be read is told with its line."""

from __future__ import annotations

import csv
import io
import json
import os
import sys
import types
from collections.abc import Sequence
from itertools import islice
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from letgraph.data.formats import Row, read_pairs, sniff
from letgraph.errors import DataError

PAIRS = [
    ("信用卡怎么修琴", "如何还信用卡", 1),
    ("信用卡怎么修琴", "信用卡怎么注销", 0),
    ("转账多久到账", "转账 多长时间能到", 1),
    ('他说"不行"', "额度，能提吗", 0),
]
TSV = "".join(f"{a}\t{b}\t{label}\n" for a, b, label in PAIRS)


def stream(content: str | bytes) -> io.BytesIO:
    return io.BytesIO(content.encode("utf-8") if isinstance(content, str) else content)


def pairs_of(content: str | bytes, **options) -> list[tuple[str, str, int | None]]:
    return [(a, b, label) for _, a, b, label in read_pairs(stream(content), **options)]


sentences = st.text(st.characters(exclude_characters="\t\r\n", exclude_categories=["Cs"]), min_size=1, max_size=12).map(
    lambda text: f"{text}问"
)
pairs = st.lists(st.tuples(sentences, sentences, st.sampled_from([0, 1])), min_size=1, max_size=8)


@given(pairs)
def test_tsv_gives_back_every_character_between_the_tabs(written):
    # Quotes, U+2028, U+0085, vertical tabs and form feeds included: only tabs and line ends mean anything.
    content = "".join(f"{a}\t{b}\t{label}\n" for a, b, label in written)
    assert pairs_of(content, format="tsv:a,b,label") == written


@given(
    st.lists(
        st.tuples(sentences, sentences | st.sampled_from(['a,"b"', "两\n行"]), st.sampled_from([0, 1])), min_size=1
    )
)
def test_csv_gives_back_what_a_csv_writer_wrote(written):
    out = io.StringIO()
    csv.writer(out).writerows(written)
    assert pairs_of(out.getvalue(), format="csv:a,b,label") == written


@given(pairs, st.sampled_from([str, int, float, bool]))
def test_json_lines_give_back_what_json_wrote_whatever_the_type_of_the_label(written, label_type):
    rows = [{"id": i, "sentence1": a, "sentence2": b, "label": label_type(y)} for i, (a, b, y) in enumerate(written)]
    assert pairs_of("".join(json.dumps(row, ensure_ascii=False) + "\n" for row in rows)) == written


@pytest.mark.parametrize("mark", ["", "\ufeff"])
@pytest.mark.parametrize("end", ["\n", "\r\n"])
@pytest.mark.parametrize("last", ["", "end", "end and empty lines"])
def test_byte_order_mark_line_ends_and_the_last_line_end_change_nothing(mark, end, last):
    content = mark + TSV.replace("\n", end).removesuffix(end) + {"": "", "end": end}.get(last, 3 * end)
    assert list(read_pairs(stream(content))) == [Row(line, *pair) for line, pair in enumerate(PAIRS, 1)]


def test_a_given_format_overrides_what_would_be_sniffed():
    content = "1\t0\t1\n0\t0\t1\n"
    assert pairs_of(content) == [("1", "0", 1), ("0", "0", 1)]
    assert pairs_of(content, format="tsv:label,b,a") == [("1", "0", 1), ("1", "0", 0)]
    assert pairs_of("左,右,分\n怎么修琴,钢琴如何修,1\n", format="csv:a=右,b=左") == [("钢琴如何修", "怎么修琴", None)]
    with pytest.raises(DataError, match="no column '上'"):
        pairs_of("左,右,分\n怎么修琴,钢琴如何修,1\n", format="csv:a=上,b=左")


BAD_ROWS = {
    "wrong column count": ["怎么修琴\t钢琴如何修", "怎么修琴\t如何\t还钱\t1", "怎么修琴", ""],
    "label not 0/1": [
        "怎么修琴\t钢琴如何修\t2",
        "怎么修琴\t钢琴如何修\t",
        "怎么修琴\t钢琴如何修\tyes",
        "怎么修琴\t钢琴如何修\t-1",
    ],
    "empty sentence": ["\t钢琴如何修\t1", "怎么修琴\t 　\t1", "\u200d\u202a\x08\t钢琴如何修\t0"],
    "not UTF-8": ["怎么修琴\t钢琴如何修\t1".encode("gb18030"), b"\xed\xa0\xbd\t\xed\xb8\x80\t1", b"a\xff\tb\t1"],
}


@pytest.mark.parametrize(("kind", "bad"), [(kind, bad) for kind, rows in BAD_ROWS.items() for bad in rows])
@pytest.mark.parametrize("place", [0, 2, 3])
def test_a_bad_row_is_named_by_file_and_line_or_skipped_and_counted(tmp_path, kind, bad, place):
    lines = [line.encode("utf-8") for line in TSV.splitlines()]
    lines.insert(place, bad if isinstance(bad, bytes) else bad.encode("utf-8"))
    path = tmp_path / "pairs.tsv"
    path.write_bytes(b"\n".join(lines) + b"\n")
    with pytest.raises(DataError) as caught, read_pairs(path) as reader:
        list(reader)
    assert (caught.value.path, caught.value.line) == (str(path), place + 1)
    assert caught.value.mend
    assert "\n" not in str(caught.value)
    reader = read_pairs(path, on_bad="skip")
    assert [row[1:] for row in reader] == PAIRS
    assert reader.report.skipped == {kind: 1}
    assert reader.report.good == len(PAIRS)
    assert f"line {place + 1}" in str(reader.report)


@pytest.mark.parametrize(
    ("row", "kind"),
    [
        ("{", "broken JSON"),
        ("[1, 2]", "broken JSON"),
        ("[" * 100_000, "broken JSON"),
        ('{"a": "怎么修琴", "label": 1}', "missing key"),
        ('{"a": "怎么修琴", "b": 95588, "label": 1}', "not text"),
        ('{"a": "怎么修琴", "b": "钢琴如何修", "label": null}', "label not 0/1"),
    ],
)
def test_bad_json_rows_are_named_too(row, kind):
    good = '{"a": "怎么修琴", "b": "钢琴如何修", "label": 1}\n'
    with pytest.raises(DataError, match=":2: "):
        pairs_of(good + row + "\n" + good)
    reader = read_pairs(stream(good + row + "\n" + good), on_bad="skip")
    assert len(list(reader)) == 2
    assert reader.report.skipped == {kind: 1}


@pytest.mark.parametrize("place", [1, 50, 299])
def test_an_unbalanced_csv_quote_costs_its_own_row_only(place):
    lines = [f"问题{number},疑问{number},{number % 2}" for number in range(300)]
    lines[place] = f'"{lines[place]}'
    reader = read_pairs(stream("\n".join(lines)), on_bad="skip")
    rows = list(reader)
    assert [row.line for row in rows] == [number + 1 for number in range(300) if number != place]
    assert reader.report.skipped == {"broken quoting": 1}
    with pytest.raises(DataError, match=f":{place + 1}: "):
        pairs_of("\n".join(lines))


def test_labels_can_be_demanded_and_ignored():
    unlabelled = "怎么修琴\t钢琴如何修\n怎么修琴\t怎么卖琴\n"
    assert [row.label for row in read_pairs(stream(unlabelled))] == [None, None]
    with pytest.raises(DataError, match="labels are needed"):
        read_pairs(stream(unlabelled), labelled=True)
    assert [row.label for row in read_pairs(stream("怎么修琴\t钢琴如何修\t?\n"), labelled=False)] == [None]
    no_key = '{"a": "怎么修琴", "b": "钢琴如何修", "label": 1}\n{"a": "怎么修琴", "b": "怎么卖琴"}\n'
    assert [row.label for row in read_pairs(stream(no_key), labelled=False)] == [None, None]


@pytest.mark.parametrize(
    ("content", "word"),
    [
        (b"", "empty"),
        (b"\xef\xbb\xbf", "empty"),
        (b"\n\n", "empty"),
        (b"text_a\ttext_b\tlabel\n", "no rows"),
        (TSV.encode("utf-16"), "iconv -f UTF-16"),
        (TSV.encode("gb18030"), "iconv -f GB18030"),
        (b"\x1f\x8b\x08\x00abc", "unpack"),
        (b"x" * (1 << 21), "longer than"),
        (b"\t\t1\n", "skipped 1 of 1"),
    ],
)
def test_an_unusable_file_is_an_error_even_when_bad_rows_are_skipped(tmp_path, content, word):
    path = tmp_path / "pairs.tsv"
    path.write_bytes(content)
    with pytest.raises(DataError, match=word), read_pairs(path, on_bad="skip") as reader:
        list(reader)


def test_a_json_array_is_told_how_to_become_json_lines(tmp_path):
    path = tmp_path / "pairs.json"
    path.write_text('[{"a": "怎么修琴", "b": "钢琴如何修"}]')
    with pytest.raises(DataError, match="jq -c"):
        sniff(path)


@pytest.mark.parametrize("name", ["absent.tsv", "."])
def test_a_file_that_can_not_be_opened_is_named(tmp_path, name):
    with pytest.raises(DataError, match="can't be read"):
        read_pairs(tmp_path / name)


class Endless(io.RawIOBase):
    """A stream of numbered rows that never ends and counts what has been taken from it."""

    def __init__(self) -> None:
        self.rows = 0

    def readable(self) -> bool:
        return True

    def readinto(self, buffer) -> int:
        row = f"问题{self.rows}\t疑问{self.rows}\t{self.rows % 2}\n".encode()
        self.rows += 1
        buffer[: len(row)] = row
        return len(row)


def test_a_stream_is_read_as_it_comes_and_sniffing_loses_none_of_it():
    source = Endless()
    reader = read_pairs(io.BufferedReader(source))
    for number, row in enumerate(islice(reader, 5000)):
        assert row == Row(number + 1, f"问题{number}", f"疑问{number}", number % 2)
        assert source.rows <= number + 1000


def test_a_dash_is_standard_input(monkeypatch):
    monkeypatch.setattr(sys, "stdin", types.SimpleNamespace(buffer=stream(TSV)))
    reader = read_pairs("-")
    assert [row[1:] for row in reader] == PAIRS
    monkeypatch.setattr(sys, "stdin", types.SimpleNamespace(buffer=stream("怎么修琴\t\t1\n")))
    with pytest.raises(DataError, match="<stdin>:1: "):
        list(read_pairs("-"))


DATA = Path(os.environ.get("LETGRAPH_DATA") or Path(__file__).parents[2] / ".." / "shared" / "data")
GOLDEN = Path(os.environ.get("LETGRAPH_GOLDEN") or Path(__file__).parents[2] / ".." / "shared" / "golden")


def real_rows(path: Path, order: Sequence[int]) -> list[tuple[str, str, int]]:
    """The rows by the plainest means: split at line feeds and tabs."""
    if not path.exists():
        pytest.skip(f"{path} is not here")
    fields = [line.split("\t") for line in path.read_bytes().decode("utf-8").removeprefix("\ufeff").split("\n") if line]
    a, b, label = order
    return [(row[a], row[b], int(row[label])) for row in fields]


@pytest.mark.parametrize("name", ["bq/train", "bq/dev", "lcqmc/dev", "afqmc/train"])
def test_every_row_of_the_real_corpora_is_read_as_it_stands(name):
    path = DATA / f"{name}.tsv"
    expected = real_rows(path, (0, 1, 2))
    with read_pairs(path) as reader:
        assert [row[1:] for row in reader] == expected
    assert reader.format.spec == "tsv:a,b,label"


def test_the_authors_sample_has_its_label_first():
    path = GOLDEN / "LCQMC_sample20.txt"
    expected = real_rows(path, (1, 2, 0))
    with read_pairs(path) as reader:
        assert [row[1:] for row in reader] == expected
