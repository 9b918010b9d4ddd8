"""The page of a pair in a real browser: what is drawn, what a word shows, and that text stays text."""

from __future__ import annotations

import json
import re
from pathlib import Path

import pytest

from letgraph import schema
from letgraph.text.lexicon import Lexicon
from letgraph.text.segment import load_segmenter
from letgraph.viewing.page import page, page_data
from letgraph.viewing.view import look, look_by_segmenter
from tests.tiny import tiny_checkpoint
from tests.viewing.browser import DOWN, ENTER, ESCAPE, RIGHT, TAB, browser, console, press
from tests.viewing.test_view import BRIDGE, LEXICON

HOSTILE = "</script><script>document.title='x'</script><img src=x onerror=document.title='x'>"


class Whole:
    """The whole sentence is one word."""

    name, version = "jieba", "1"

    def cut(self, sentence: str) -> list[str]:
        return [sentence]


def test_data_says_what_words_reach():
    (data,) = page_data({"both": look("南京市长江大桥", "还款", BRIDGE, LEXICON)})
    words = {word["text"]: word for word in data["words"]}
    text = [word["text"] for word in data["words"]]
    assert [text[i] for i in words["南京市"]["ahead"]] == ["长江大桥"]
    assert [text[i] for i in words["江大桥"]["behind"]] == ["南京", "市长"]
    assert words["还款"]["ahead"] == words["还款"]["behind"] == []
    assert [sense["sememes"] for sense in words["还"]["senses"]] == ["还", "仍"]
    assert data["probability"] is None and "cross" not in data


def test_data_of_a_model_has_weights_that_sum_to_one():
    view = look("花呗怎么还款", "怎么还花呗", [load_segmenter("jieba")], None, tiny_checkpoint())
    (data,) = page_data({"jieba": view})
    for word in data["words"]:
        for layer in range(2 if word["senses"] else 0):
            assert sum(sense["weights"][layer] for sense in word["senses"]) == pytest.approx(1, abs=1e-3)
    for side, table in enumerate(data["cross"]):
        assert len(table) == len(data["texts"][side])
        assert all(sum(row) == pytest.approx(10_000, abs=5) for row in table)
    assert len(data["matched"]) == sum(view.matched()) / 2
    assert schema.CROSS in view.attention


def test_page_is_one_file_and_its_data_cannot_end_the_script():
    lexicon = Lexicon.from_senses([(HOSTILE, [HOSTILE.split()[0]])], "a test")
    text = page({"jieba": look(HOSTILE, "还款", [Whole()], lexicon)}).decode()
    without_data = re.sub(r'id="data">.*?</script>', "", text, flags=re.DOTALL)
    outside = re.findall(r"""(?:src|href)\s*=\s*["']?(?!data:)[^"'\s>]+|url\(|@import|https?://""", without_data)
    assert outside == []
    assert text.count("</script>") == 2
    (data,) = re.findall(r'id="data">(.*?)</script>', text, re.DOTALL)
    assert json.loads(data)["views"][0]["texts"][0] == HOSTILE


@pytest.fixture(scope="module")
def trained() -> bytes:
    return page(
        look_by_segmenter(
            "花呗怎么还款", "怎么还花呗", [load_segmenter("jieba"), BlankCutter()], None, tiny_checkpoint()
        )
    )


class BlankCutter:
    """Every character a word, under the name of another segmenter."""

    name, version = "thulac", "1"

    def cut(self, sentence: str) -> list[str]:
        return list(sentence)


def opened(driver, content: bytes, folder: Path):
    path = folder / "page.html"
    path.write_bytes(content)
    driver.get(path.as_uri())
    return driver


def word(driver, text: str):
    words = driver.find_elements("css selector", ".word")
    return next(w for w in words if w.get_attribute("aria-label").startswith(text + ","))


def test_a_word_shows_its_senses_and_its_reach(trained, tmp_path):
    with browser() as driver:
        opened(driver, trained, tmp_path)
        assert console(driver) == []
        detail = driver.find_element("css selector", ".detail")
        assert "Point at a word" in detail.text
        word(driver, "怎么").click()
        assert detail.find_element("tag name", "h3").text == "怎么"
        assert "疑问 方式" in detail.text and "layer 2" in detail.text and "100 %" in detail.text
        assert word(driver, "怎么").get_attribute("aria-pressed") == "true"
        lit = {b.get_attribute("aria-label").split(",")[0] for b in driver.find_elements("css selector", ".word.ahead")}
        assert lit and lit <= set("还款") | {"还款"}
        press(driver, ESCAPE)
        assert word(driver, "怎么").get_attribute("aria-pressed") == "false"
        cells = driver.find_elements("css selector", ".heat td[title]")
        assert len(cells) == 2 * 6 * 5
        assert re.search(r"0\.\d{3}", driver.find_element("css selector", ".match").text)
        assert console(driver) == []


def test_everything_works_by_keyboard_and_segmenters_are_switched(trained, tmp_path):
    with browser() as driver:
        opened(driver, trained, tmp_path)
        words = [b.get_attribute("aria-label") for b in driver.find_elements("css selector", ".word")]
        reached = set()
        for _ in range(len(words) + 6):
            press(driver, TAB)
            element = driver.switch_to.active_element
            reached.add(element.get_attribute("aria-label") or element.get_attribute("name"))
        assert {"segmenter", *words, "a reads b", "b reads a"} <= reached
        word(driver, "怎么").send_keys(ENTER)
        assert driver.find_element("css selector", ".detail h3").text == "怎么"
        assert word(driver, "怎么").get_attribute("aria-pressed") == "true"
        driver.find_elements("css selector", "input[name=segmenter]")[2].send_keys(" ")
        assert len(driver.find_elements("css selector", ".word")) == 11 < len(words)
        assert console(driver) == []


def test_markup_in_sentences_and_senses_stays_text(tmp_path):
    lexicon = Lexicon.from_senses([(HOSTILE, ["<b>x</b>"])], "a test")
    with browser() as driver:
        opened(driver, page({"jieba": look(HOSTILE, "还款", [Whole()], lexicon)}), tmp_path)
        assert driver.title == "letgraph"
        driver.find_element("css selector", ".word").click()
        detail = driver.find_element("css selector", ".detail")
        assert HOSTILE in detail.text and "<b>x</b>" in detail.text
        assert driver.find_elements("css selector", "main script, main img") == []
        assert console(driver) == []


@pytest.mark.parametrize("dark", [False, True])
def test_a_narrow_window_needs_no_sideways_scrolling_of_the_page(trained, tmp_path, dark):
    with browser(360, 740, dark) as driver:
        opened(driver, trained, tmp_path)
        word(driver, "怎么").click()
        assert driver.execute_script("return document.documentElement.scrollWidth") <= 360
        background = driver.execute_script("return getComputedStyle(document.body).backgroundColor")
        assert (background == "rgb(255, 255, 255)") != dark


@pytest.mark.parametrize("dark", [False, True])
def test_the_longest_sentences_stay_usable(tmp_path, dark):
    """Lines are wrapped, the map is an image of which each cell can be asked, and the page a small file."""
    checkpoint = tiny_checkpoint()
    longest = [(text * 64)[:254] for text in ("花呗怎么还款", "我的银行卡丢了")]
    content = page(look_by_segmenter(*longest, [load_segmenter("jieba")], None, checkpoint))
    assert len(content) < 2_000_000
    (data,) = json.loads(re.findall(r'id="data">(.*?)</script>', content.decode(), re.DOTALL)[0])["views"]
    with browser(360, 740, dark) as driver:
        opened(driver, content, tmp_path)
        assert driver.execute_script("return document.documentElement.scrollWidth") <= 360
        assert driver.execute_script("return document.querySelectorAll('*').length") < 5000
        word(driver, "怎么").click()
        panel, screen = driver.execute_script(
            "return [document.querySelector('.detail').getBoundingClientRect().toJSON(), innerHeight]"
        )
        assert 0 <= panel["top"] < panel["bottom"] <= screen + 1, "what a word shows is in sight of the word"
        canvas, told = (driver.find_elements("css selector", name)[0] for name in ("canvas", ".told"))
        for _ in range(2):
            canvas.send_keys(DOWN)
        canvas.send_keys(RIGHT)
        expected = f"takes {data['cross'][0][1][1] / 100:.2f} % from"
        assert expected in told.text
        assert [mark.text for mark in told.find_elements("tag name", "mark")] == [longest[0][1], longest[1][1]]
        assert console(driver) == []
        pixels = driver.execute_script(
            "const c = arguments[0]; return [...new Set(new Uint32Array("
            "c.getContext('2d').getImageData(0, 0, c.width, c.height).data.buffer))].length",
            canvas,
        )
        assert pixels > 2
