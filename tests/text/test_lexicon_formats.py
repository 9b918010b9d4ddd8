"""Every lexicon format gives the same rows for the same senses, and says where a file is wrong."""

from __future__ import annotations

import importlib
import json
import os
import pickle
import shutil
import sys
from pathlib import Path

import pytest

from letgraph.errors import DataError, LetgraphError, MissingDependency
from letgraph.text.lexicon import load_lexicon
from letgraph.text.lexicon_formats import OPENHOWNET_FILES, read_openhownet, read_sense_dict, read_tsv
from letgraph.text.sememes import read_sememe_vectors

REAL = Path(os.environ.get("LETGRAPH_DATA", Path(__file__).parents[2] / ".." / "shared" / "data")) / "hownet"
needs_hownet = pytest.mark.skipif(not REAL.is_dir(), reason=f"no HowNet files in {REAL}")
needs_openhownet = pytest.mark.skipif(
    importlib.util.find_spec("OpenHowNet") is None, reason="the package OpenHowNet is not installed"
)

SENSES = [("开户", ["开始", "账目"]), ("打", ["联络"]), ("打", ["击打", "手"])]

DEFS = {
    "000000000210": ("strike", "打", "{beat|击打:instrument={part|手}}"),
    "000000000031": ("open an account", "开户", "{begin|开始:content={account book|账目}}"),
    "000000000104": ("call", "打 ", "{communicate|联络}"),
    "000000000007": ("abroad", "", "{place|地方}"),
}


def write_openhownet(folder: Path, senses: dict[str, tuple[str, str, str]] = DEFS) -> Path:
    """A small resource folder in the format of OpenHowNet 2.0, whose sememe keys have "_" for blanks."""
    folder.mkdir(parents=True)
    sememes = ["beat|击打", "part|手", "begin|开始", "account_book|账目", "communicate|联络", "place|地方"]
    (folder / "sememe_all").write_bytes(pickle.dumps(dict.fromkeys(sememes, 1)))
    (folder / "sememe_triples_taxonomy.txt").write_text("beat|击打 hypernym communicate|联络\n", "utf-8")
    (folder / "HowNet_dict_complete").write_bytes(pickle.dumps(hownet_dict(senses)))
    return folder


def hownet_dict(senses: dict[str, tuple[str, str, str]]) -> dict[str, dict[str, str]]:
    return {
        no: {"No": no, "en_word": en, "en_grammar": "verb", "ch_word": zh, "ch_grammar": "verb", "Def": definition}
        for no, (en, zh, definition) in senses.items()
    }


class TestTsv:
    @pytest.mark.parametrize("newline", ["\n", "\r\n"])
    @pytest.mark.parametrize("encoding", ["utf-8", "utf-8-sig"])
    def test_line_ends_and_byte_order_mark_change_nothing(self, tmp_path: Path, newline: str, encoding: str) -> None:
        path = tmp_path / "lexicon.tsv"
        lines = [f"{word}\t{' '.join(sememes)}{newline}" for word, sememes in SENSES]
        path.write_bytes("".join(lines).encode(encoding))
        assert list(read_tsv(path)) == SENSES

    def test_only_newlines_end_a_row(self, tmp_path: Path) -> None:
        path = tmp_path / "lexicon.tsv"
        path.write_bytes("上\u2028下\t位置\n卡\x0c\t用具".encode())
        assert list(read_tsv(path)) == [("上\u2028下", ["位置"]), ("卡\x0c", ["用具"])]

    @pytest.mark.parametrize(
        ("row", "problem"), [("卡 用具", "no TAB"), ("卡\t用具\t1", "3 columns where 2"), ("卡\t\tx", "3 columns")]
    )
    def test_a_malformed_row_is_named(self, tmp_path: Path, row: str, problem: str) -> None:
        path = tmp_path / "lexicon.tsv"
        path.write_text(f"开户\t开始\n{row}\n", "utf-8")
        with pytest.raises(DataError, match=problem) as caught:
            load_lexicon(path)
        assert (caught.value.path, caught.value.line) == (str(path), 2)
        assert "WORD<TAB>SEMEME" in caught.value.mend

    def test_another_encoding_is_named_with_its_line(self, tmp_path: Path) -> None:
        path = tmp_path / "lexicon.txt"
        path.write_bytes(b"one\tx\n" + "开户\t开始\n".encode("gb18030"))
        with pytest.raises(DataError, match=r"not UTF-8.*iconv") as caught:
            load_lexicon(path)
        assert caught.value.line == 2

    def test_skipped_rows_are_counted_by_their_line(self, tmp_path: Path) -> None:
        path = tmp_path / "lexicon.tsv"
        path.write_text("卡\t用具\n\n\t用具\n钱\t\n", "utf-8")
        lexicon = load_lexicon(path)
        assert list(lexicon.words) == ["卡"]
        assert lexicon.notes[0].startswith("3 row(s)") and "row 2)" in lexicon.notes[0]

    @pytest.mark.parametrize("content", ["", "\n", "\t用具\n"])
    def test_a_file_without_senses_is_refused(self, tmp_path: Path, content: str) -> None:
        path = tmp_path / "lexicon.tsv"
        path.write_text(content, "utf-8")
        with pytest.raises(LetgraphError, match="no sense"):
            load_lexicon(path)


class TestSenseDict:
    NAMES = ("账目", "开始", "联络", "击打", "手")

    @pytest.fixture
    def path(self, tmp_path: Path) -> Path:
        path = tmp_path / "sense_dict.json"
        path.write_text('{"开户": {"1": [2, 1]}, "打": {"2": [3], "3": [4, 5]}}', "utf-8")
        return path

    def test_rows_count_from_one_in_the_vector_file(self, path: Path) -> None:
        assert list(read_sense_dict(path, self.NAMES)) == SENSES

    def test_without_names_sememes_are_called_by_their_row(self, path: Path) -> None:
        assert [sememes for _, sememes in read_sense_dict(path)] == [["#2", "#1"], ["#3"], ["#4", "#5"]]

    def test_a_row_that_the_vector_file_does_not_have(self, path: Path) -> None:
        with pytest.raises(DataError, match="sense '3' of '打' has row 5 of 4 sememe vectors; name the sememe vector"):
            load_lexicon(path, self.NAMES[:4])

    @pytest.mark.parametrize(
        ("content", "problem"),
        [
            ('["打"]', "not an object of words"),
            ('{"打": [3]}', "the senses of '打' are not an object"),
            ('{"打": {"2": [0]}}', "sense '2' of '打' is not a list of row numbers from 1"),
            ('{"打": {"2": ["联络"]}}', "is not a list of row numbers"),
            ('{"打": {"2": [true]}}', "is not a list of row numbers"),
            ('{"打": {"2": 3}}', "is not a list of row numbers"),
        ],
    )
    def test_a_wrong_structure_is_named(self, path: Path, content: str, problem: str) -> None:
        path.write_text(content, "utf-8")
        with pytest.raises(DataError, match=problem):
            load_lexicon(path, self.NAMES)

    def test_broken_json_is_named_with_its_line(self, path: Path) -> None:
        path.write_text('{"打":\n {"2": [3]', "utf-8")
        with pytest.raises(DataError, match="not JSON") as caught:
            load_lexicon(path, self.NAMES)
        assert caught.value.line == 2

    @needs_hownet
    def test_the_authors_dictionary_is_the_tsv_without_sememes_that_have_no_vector(self) -> None:
        known = read_sememe_vectors(REAL / "sememe_vec.txt").names
        with_vector = set(known)
        senses: dict[str, list[list[str]]] = {}
        for line in (REAL / "lancopku_word_sememes.tsv").read_text("utf-8").split("\n")[:-1]:
            word, sememes = line.split("\t")
            sense = [sememe for sememe in dict.fromkeys(sememes.split()) if sememe in with_vector]
            if word and sense and sense not in senses.setdefault(word, []):
                senses[word].append(sense)
        read: dict[str, list[list[str]]] = {}
        for word, names in read_sense_dict(REAL / "sense_dict.json", known):
            read.setdefault(word, []).append(list(names))
        assert read == {word: of_word for word, of_word in senses.items() if of_word}


class TestOpenHowNet:
    @needs_openhownet
    @pytest.mark.parametrize("inside", ["resources", ".", "my hownet/resources"])
    def test_senses_come_by_number_and_sememes_by_place(self, tmp_path: Path, inside: str) -> None:
        write_openhownet(tmp_path / "hownet" / inside)
        lexicon = load_lexicon(tmp_path / "hownet" / (inside if "my" in inside else "."))
        assert list(lexicon.words) == ["开户", "打"]
        assert [
            (word, lexicon.sememes_of_sense(sense)) for word in lexicon.words for sense in lexicon.senses_of(word)
        ] == SENSES
        assert lexicon.notes[0].startswith("1 row(s) without a word")

    @needs_openhownet
    def test_the_package_is_quiet_and_left_as_it_was(self, tmp_path: Path, capfd: pytest.CaptureFixture[str]) -> None:
        module = importlib.import_module("OpenHowNet.Download")
        home = module.OPENHOWNET_RESOURCE_PATH
        list(read_openhownet(write_openhownet(tmp_path / "hownet")))
        assert home == module.OPENHOWNET_RESOURCE_PATH
        assert capfd.readouterr() == ("", "")

    @pytest.mark.parametrize("missing", OPENHOWNET_FILES)
    def test_a_missing_file_is_named_with_what_to_run(self, tmp_path: Path, missing: str) -> None:
        folder = write_openhownet(tmp_path / "resources")
        (folder / missing).unlink()
        with pytest.raises(LetgraphError) as caught:
            load_lexicon(tmp_path)
        message = str(caught.value)
        assert message.startswith(str(folder / missing))
        assert "python -c 'import OpenHowNet; OpenHowNet.download()'" in message
        assert f"copy the file to {folder}" in message

    @needs_openhownet
    @pytest.mark.parametrize("content", [b"", b"<html>404</html>", pickle.dumps({"1": {"No": "1"}})])
    def test_files_that_openhownet_cannot_use_are_an_error_of_ours(self, tmp_path: Path, content: bytes) -> None:
        folder = write_openhownet(tmp_path / "resources")
        (folder / "HowNet_dict_complete").write_bytes(content)
        with pytest.raises(LetgraphError, match="OpenHowNet cannot use these files"):
            load_lexicon(folder)

    def test_a_missing_package_is_named_with_its_command(self, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
        monkeypatch.setitem(sys.modules, "OpenHowNet", None)
        with pytest.raises(MissingDependency, match="pip install OpenHowNet"):
            load_lexicon(write_openhownet(tmp_path / "resources"))

    @needs_openhownet
    @needs_hownet
    def test_with_the_real_sememe_files(self, tmp_path: Path) -> None:
        folder = tmp_path / "hownet"
        shutil.copytree(REAL / "openhownet", folder)
        folder.chmod(0o755)
        with pytest.raises(LetgraphError, match="HowNet_dict_complete: OpenHowNet needs this file"):
            load_lexicon(folder)
        senses = {"000000000002": ("the", "之", "{FuncWord|功能词}"), "000000000001": ("upper", "上面", "{upper|上}")}
        (folder / "HowNet_dict_complete").write_bytes(pickle.dumps(hownet_dict(senses)))
        assert list(read_openhownet(folder)) == [("上面", ["upper|上"]), ("之", ["FuncWord|功能词"])]
        assert load_lexicon(folder).sememes == ["上", "功能词"]


@needs_openhownet
def test_the_same_senses_are_the_same_lexicon_in_every_format(tmp_path: Path) -> None:
    (tmp_path / "a.tsv").write_text("".join(f"{word}\t{' '.join(s)}\n" for word, s in SENSES), "utf-8")
    names = sorted({sememe for _, sememes in SENSES for sememe in sememes})
    senses: dict[str, dict[str, list[int]]] = {}
    for number, (word, sememes) in enumerate(SENSES):
        senses.setdefault(word, {})[str(number)] = [names.index(sememe) + 1 for sememe in sememes]
    (tmp_path / "a.json").write_text(json.dumps(senses), "utf-8")
    write_openhownet(tmp_path / "resources")
    hashes = {load_lexicon(path, names).hash for path in (tmp_path / "a.tsv", tmp_path / "a.json", tmp_path)}
    assert len(hashes) == 1
