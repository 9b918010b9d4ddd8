"""Segmenters: which there are, what is said when one is missing, what they cut, and the union of their words."""

from __future__ import annotations

import importlib.util
import json
import os
import subprocess
import sys
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import pytest

from letgraph.errors import LetgraphError, MissingDependency
from letgraph.text import segment
from letgraph.text.align import align
from letgraph.text.segment import Jieba, Pkuseg, available, load_segmenter, resolve, spans

SENTENCES = [
    "我想提前还清全部贷款",
    "信用卡 怎么 办理",
    "手机号码换了,还能登录吗?",
    "乒乓球拍卖完了",
    "iphone14多少钱",
    "\U0001f468\U0001f469笑死",
    "的",
    "",
]

# A fresh process, so that what the packages print and write at their first import and use is seen.
CHILD = """
import json, pickle, sys
from letgraph.text.segment import available, load_segmenter
sentences, result = json.load(sys.stdin), {}
length = 25_001  # THULAC by itself fails from 50,000 characters on.
for name in [name for name, reason in available().items() if reason is None]:
    segmenter = load_segmenter(name)
    singly = [segmenter.cut(sentence) for sentence in sentences]
    result[name] = {
        "singly": singly,
        "again": [segmenter.cut(sentence) for sentence in reversed(sentences)][::-1],
        "bulk": segmenter.cut(" ".join(sentences)),
        "long": "".join(segmenter.cut("还款" * length)) == "还款" * length,
        "one": pickle.loads(pickle.dumps(segmenter)) is load_segmenter(name) is segmenter,
        "version": segmenter.version,
    }
if "jieba" in result:
    import jieba
    result["jieba"]["shared"] = jieba.dt.initialized
json.dump(result, open(sys.argv[1], "w"))
"""


class Cutter:
    """A segmenter that cuts at the bars of a fixed answer."""

    version = "1"

    def __init__(self, answer: str) -> None:
        self.name = self.answer = answer

    def cut(self, sentence: str) -> list[str]:
        return self.answer.split("|")


@pytest.fixture(scope="module")
def real(tmp_path_factory: pytest.TempPathFactory) -> dict[str, Any]:
    """What every installed segmenter does with `SENTENCES`, and what its process left behind."""
    temporary, out = tmp_path_factory.mktemp("temporary"), tmp_path_factory.mktemp("out") / "result.json"
    done = subprocess.run(
        [sys.executable, "-c", CHILD, str(out)],
        input=json.dumps(SENTENCES),
        env={**os.environ, "TMPDIR": str(temporary), "PYTHONPATH": os.pathsep.join(sys.path)},
        capture_output=True,
        text=True,
        check=False,
    )
    assert done.returncode == 0, done.stderr
    files = [path.name for path in temporary.iterdir()]
    return {"by": json.loads(out.read_text()), "stdout": done.stdout, "stderr": done.stderr, "files": files}


@pytest.fixture
def no_own_pkuseg(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    monkeypatch.setitem(sys.modules, "pkuseg", None)
    monkeypatch.setenv("LETGRAPH_HOME", str(tmp_path))


def load(name: str) -> segment.Segmenter:
    """`load_segmenter` as in a process that has loaded nothing yet."""
    return load_segmenter.__wrapped__(name)


@pytest.mark.parametrize(
    ("choice", "names"),
    [
        ("jieba", ("jieba",)),
        ("lattice", ("jieba", "pkuseg", "thulac")),
        ("thulac+jieba", ("jieba", "thulac")),
        ("jieba+jieba", ("jieba",)),
        ("pkuseg+lattice", ("jieba", "pkuseg", "thulac")),
    ],
)
def test_a_choice_names_segmenters_in_one_order(choice: str, names: Sequence[str]) -> None:
    assert resolve(choice) == names


@pytest.mark.parametrize(
    ("choice", "said"),
    [("jeiba", "did you mean 'jieba'"), ("PKUSEG", "did you mean 'pkuseg'"), ("xyz", "known: jieba"), ("jieba+", "''")],
)
def test_an_unknown_segmenter_is_refused_with_the_nearest_name(choice: str, said: str) -> None:
    with pytest.raises(LetgraphError, match=said):
        resolve(choice)
    with pytest.raises(LetgraphError, match=said):
        load(choice)


def test_several_segmenters_are_not_loaded_as_one() -> None:
    with pytest.raises(LetgraphError, match="jieba, thulac"):
        load("thulac+jieba")


@pytest.mark.parametrize("name", ["jieba", "thulac"])
def test_a_missing_package_is_named_with_its_mend(monkeypatch: pytest.MonkeyPatch, name: str) -> None:
    monkeypatch.setitem(sys.modules, name, None)
    assert f"pip install {name}" in str(available()[name])
    with pytest.raises(MissingDependency, match=f"segmenter '{name}'.*`pip install {name}`") as raised:
        load(name)
    # What is offered instead is what there is.
    others = [other for other, reason in available().items() if reason is None]
    assert name not in others
    assert f"train with the others: --segmenter {'+'.join(others)}" in str(raised.value)


@pytest.mark.usefixtures("no_own_pkuseg")
def test_a_missing_pkuseg_is_named_with_its_mend(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(sys.modules, "spacy_pkuseg", None)
    mend = "`pip install spacy-pkuseg`, then `python -m letgraph.fetch_pkuseg`"
    with pytest.raises(MissingDependency, match=f"segmenter 'pkuseg'.*{mend}, or train with the others: --segmenter "):
        load("pkuseg")


@pytest.mark.usefixtures("no_own_pkuseg")
def test_a_missing_or_half_model_is_named_with_its_mend(tmp_path: Path) -> None:
    pytest.importorskip("spacy_pkuseg")
    (tmp_path / "pkuseg").mkdir()
    (tmp_path / "pkuseg" / "weights.npz").write_bytes(b"")
    with pytest.raises(MissingDependency, match=r"no model in .*pkuseg; run `python -m letgraph.fetch_pkuseg`, or "):
        load("pkuseg")


def test_the_package_pkuseg_is_used_where_it_has_its_model(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    (tmp_path / "models" / "default").mkdir(parents=True)
    (tmp_path / "models" / "default" / "weights.npz").write_bytes(b"")
    (tmp_path / "__init__.py").write_text("class pkuseg:\n    cut = staticmethod(list)\n")
    spec = importlib.util.spec_from_file_location("pkuseg", tmp_path / "__init__.py")
    assert spec and spec.loader
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    monkeypatch.setitem(sys.modules, "pkuseg", module)
    monkeypatch.setenv("LETGRAPH_HOME", str(tmp_path / "empty"))
    assert available()["pkuseg"] is None
    assert Pkuseg().cut("还款") == ["还", "款"]


@pytest.mark.parametrize("size", [1_000, 20_000_000])
def test_the_version_follows_the_dictionary(monkeypatch: pytest.MonkeyPatch, tmp_path: Path, size: int) -> None:
    dictionary = tmp_path / "dict.txt"
    monkeypatch.setattr(Jieba, "parts", classmethod(lambda cls: ("jieba", [dictionary])))
    versions = []
    for content in (b"a" * size, b"a" * size, b"b" * size, b"b" * size + b"b"):
        dictionary.write_bytes(content)
        versions.append(Jieba().version)
    assert versions[0] == versions[1]
    assert len(set(versions)) == 3
    assert versions[0].startswith("jieba==")


def test_the_lattice_has_the_words_of_every_segmenter_once() -> None:
    cutters = [Cutter("乒乓球|拍卖|完了"), Cutter("乒乓|球拍|卖|完|了"), Cutter("乒乓球|拍卖|完|了")]
    words = [(0, 2), (0, 3), (2, 4), (3, 5), (4, 5), (5, 6), (5, 7), (6, 7)]
    assert spans("乒乓球拍卖完了", cutters) == words
    assert spans("乒乓球拍卖完了", cutters[::-1]) == words
    assert spans("乒乓球拍卖完了", cutters[:1]) == [(0, 3), (3, 5), (5, 7)]


def test_the_lattice_covers_blanks_that_segmenters_drop() -> None:
    assert spans("我 想", [Cutter("我|想"), Cutter("我|想")]) == [(0, 1), (1, 2), (2, 3)]


def test_segmenters_print_nothing_and_write_nothing(real: dict[str, Any]) -> None:
    assert (real["stdout"], real["stderr"], real["files"]) == ("", "", [])


@pytest.mark.parametrize("name", ["jieba", "pkuseg", "thulac"])
def test_a_segmenter_cuts_sensibly_and_always_alike(real: dict[str, Any], name: str) -> None:
    if name not in real["by"]:
        pytest.skip(f"segmenter {name}: {available()[name]}")
    result = real["by"][name]
    assert {"我", "提前", "全部", "贷款"} <= set(result["singly"][0])
    assert {"手机", "手机号码"} & set(result["singly"][2])
    assert result["singly"][-1] == []
    assert result["again"] == result["singly"]
    together = [word for words in result["singly"] for word in words if not word.isspace()]
    assert [word for word in result["bulk"] if not word.isspace()] == together
    for sentence, words in zip(SENTENCES, result["singly"], strict=True):
        assert {word for word in words if not word.isspace()} <= {sentence[a:b] for a, b in align(sentence, words)}
    assert result["long"] and result["one"]


def test_jieba_neither_uses_nor_changes_the_tokenizer_that_users_adjust(real: dict[str, Any]) -> None:
    assert not real["by"]["jieba"]["shared"]
