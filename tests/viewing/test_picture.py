"""Pictures: every character is drawn as itself, or the picture is refused."""

from __future__ import annotations

import xml.etree.ElementTree as ET
from pathlib import Path

import pytest

from letgraph.errors import LetgraphError
from letgraph.text.segment import load_segmenter
from letgraph.viewing.fonts import families_for
from letgraph.viewing.picture import _fit, save_picture
from letgraph.viewing.view import look
from tests.tiny import tiny_checkpoint
from tests.viewing.test_page import Whole
from tests.viewing.test_view import BRIDGE, LEXICON

font_manager = pytest.importorskip("matplotlib.font_manager", reason="matplotlib is not installed")
image = pytest.importorskip("matplotlib.image")


@pytest.fixture(scope="module")
def view():
    return look("南京市长江大桥", "还款", BRIDGE, LEXICON)


@pytest.fixture
def no_chinese_font(monkeypatch):
    latin = [entry for entry in font_manager.fontManager.ttflist if entry.name.startswith("DejaVu")]
    monkeypatch.setattr(font_manager.fontManager, "ttflist", latin)
    monkeypatch.setattr(font_manager, "findSystemFonts", lambda: [])


def svg_texts(path: Path) -> list[str]:
    return ["".join(element.itertext()) for element in ET.parse(path).iter("{http://www.w3.org/2000/svg}text")]


def test_svg_has_characters_words_and_senses_as_text(view, tmp_path):
    save_picture(view, tmp_path / "pair.svg")
    texts = svg_texts(tmp_path / "pair.svg")
    assert all(texts.count(char) >= 1 for char in "南京市长江大桥还款")
    assert {"市长", "长江大桥", "1 人 官", "2 仍", "jieba", "thulac"} <= set(texts)


def test_svg_of_a_model_shows_probability_and_what_each_sentence_reads(tmp_path):
    view = look("花呗怎么还款", "怎么还花呗", [load_segmenter("jieba")], None, tiny_checkpoint())
    save_picture(view, tmp_path / "pair.svg")
    assert {f"match: {view.probability:.3f}", "a reads b", "b reads a"} <= set(svg_texts(tmp_path / "pair.svg"))


def test_the_same_view_gives_the_same_file(view, tmp_path):
    for name in ("one.svg", "two.svg"):
        save_picture(view, tmp_path / name)
    assert (tmp_path / "one.svg").read_bytes() == (tmp_path / "two.svg").read_bytes()


def test_signs_of_mathematics_are_signs(tmp_path):
    save_picture(look("还$1_款$", "还款", [load_segmenter("jieba")]), tmp_path / "pair.svg")
    assert svg_texts(tmp_path / "pair.svg").count("$") >= 2


def test_png_shows_chinese(view, tmp_path):
    try:
        families_for("南京")
    except LetgraphError as error:
        pytest.skip(str(error))
    save_picture(view, tmp_path / "pair.png", dpi=50)
    pixels = image.imread(tmp_path / "pair.png")
    assert 0.5 < pixels[..., :3].mean() < 0.999


def test_without_a_font_a_png_is_refused_and_an_svg_written(view, tmp_path, no_chinese_font):
    with pytest.raises(
        LetgraphError, match=r"no installed font has .*\(U\+[0-9A-F]{4}\).*apt-get install fonts-noto-cjk"
    ):
        save_picture(view, tmp_path / "pair.png")
    assert list(tmp_path.iterdir()) == []
    save_picture(view, tmp_path / "pair.svg")
    assert "桥" in svg_texts(tmp_path / "pair.svg")


def test_other_suffixes_and_endless_words_are_refused(view, tmp_path):
    with pytest.raises(LetgraphError, match=r"no picture format .jpg; .png or .svg"):
        save_picture(view, tmp_path / "pair.jpg")
    endless = look("还" * 200, "还款", [Whole()])
    with pytest.raises(LetgraphError, match=r"of 200 and 2 characters are too long for a picture; write .html"):
        save_picture(endless, tmp_path / "long.svg", dpi=400)
    assert list(tmp_path.iterdir()) == []


def test_long_sentences_are_wrapped_and_their_map_is_an_image(tmp_path):
    longest = [(text * 64)[:254] for text in ("花呗怎么还款", "我的银行卡丢了")]
    save_picture(look(*longest, [load_segmenter("jieba")], None, tiny_checkpoint()), tmp_path / "pair.svg")
    root = ET.parse(tmp_path / "pair.svg").getroot()
    assert float(root.get("width").removesuffix("pt")) / 72 < 34, "inches"
    assert (tmp_path / "pair.svg").stat().st_size < 4_000_000
    assert len(list(root.iter("{http://www.w3.org/2000/svg}image"))) == 2
    texts = svg_texts(tmp_path / "pair.svg")
    assert texts.count("a") == texts.count("b") == 1
    for text in longest:
        assert all(texts.count(char) >= text.count(char) for char in set(text))


def test_text_is_cut_where_it_would_leave_its_box():
    assert _fit("信用卡", 3 * 10 / 72, 10) == "信用卡"
    assert _fit("信用卡号", 3 * 10 / 72, 10) == "信用…"
