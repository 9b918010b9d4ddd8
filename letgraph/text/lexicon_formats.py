"""The file formats of sense lexicons, each read into plain rows ``(word, sememes of one sense)``.

A reader answers only what its format says: it neither cleans words nor numbers anything (`lexicon.Lexicon` does).
A new format is one function here and one line in `lexicon.READERS`.
"""

from __future__ import annotations

import contextlib
import io
import json
import os
import tempfile
from collections.abc import Iterator, Sequence
from pathlib import Path

from letgraph.errors import DataError, LetgraphError, MissingDependency

Sense = tuple[str, Sequence[str]]

OPENHOWNET_FILES = ("HowNet_dict_complete", "sememe_all", "sememe_triples_taxonomy.txt")

_TSV_MEND = "write one sense a row as WORD<TAB>SEMEME SEMEME …"
_DICT_MEND = 'write {"word": {"sense id": [row, row, …]}}'


def read_text(path: Path) -> str:
    """The file as text: UTF-8 with or without byte order mark, line ends as they are.

    Raises `DataError` with the line where the bytes stop being UTF-8.
    """
    content = path.read_bytes()
    try:
        return content.decode("utf-8-sig")
    except UnicodeDecodeError as error:
        line = content.count(b"\n", 0, error.start) + 1
        raise DataError(path, line, "not UTF-8", "convert it, for example with `iconv -f GB18030 -t UTF-8`") from None


def read_lines(path: Path) -> list[str]:
    r"""The lines of `read_text`, ended by ``\n`` or ``\r\n`` and by nothing else."""
    lines = read_text(path).replace("\r\n", "\n").split("\n")
    if lines[-1] == "":
        lines.pop()
    return lines


def read_tsv(path: Path, sememe_names: Sequence[str] | None = None) -> Iterator[Sense]:
    """A word-sense-sememe file: one sense a row, ``word TAB sememe sememe …``; row i is line i of the file.

    ``sememe_names`` is not needed, as the rows name their sememes. A blank line is a row without word and sememes.
    """
    for line, row in enumerate(read_lines(path), 1):
        word, tab, sememes = row.partition("\t")
        if row and not tab:
            raise DataError(path, line, "no TAB between the word and its sememes", _TSV_MEND)
        if "\t" in sememes:
            raise DataError(path, line, f"{row.count(chr(9)) + 1} columns where 2 are expected", _TSV_MEND)
        yield word, sememes.split()


def read_sense_dict(path: Path, sememe_names: Sequence[str] | None = None) -> Iterator[Sense]:
    """The LET authors' ``sense_dict.json``: ``{word: {sense id: [row of the sememe vector file, 1-based, …]}}``.

    ``sememe_names`` are the names of those rows (`sememes.read_sememe_vectors`); without them row 7 is called ``#7``.
    """
    try:
        senses_of = json.loads(read_text(path))
    except json.JSONDecodeError as error:
        raise DataError(path, error.lineno, f"not JSON ({error.msg}, column {error.colno})", _DICT_MEND) from None
    if not isinstance(senses_of, dict):
        raise DataError(path, None, "not an object of words", _DICT_MEND)
    for word, senses in senses_of.items():
        if not isinstance(senses, dict):
            raise DataError(path, None, f"the senses of {word!r} are not an object", _DICT_MEND)
        for sense, rows in senses.items():
            if not (isinstance(rows, list) and set(map(type, rows)) <= {int} and min(rows, default=1) >= 1):
                problem = f"sense {sense!r} of {word!r} is not a list of row numbers from 1"
                raise DataError(path, None, problem, _DICT_MEND)
            if sememe_names is None:
                yield word, [f"#{row}" for row in rows]
                continue
            if rows and max(rows) > len(sememe_names):
                problem = f"sense {sense!r} of {word!r} has row {max(rows)} of {len(sememe_names)} sememe vectors"
                raise DataError(path, None, problem, "name the sememe vector file that belongs to this lexicon")
            yield word, [sememe_names[row - 1] for row in rows]


def read_openhownet(folder: Path, sememe_names: Sequence[str] | None = None) -> Iterator[Sense]:
    """The resource folder of the package OpenHowNet 2.0, or the folder that has it as ``resources`` inside.

    Rows are ordered by the senses' ``No``, sememes by their place in ``Def``; the word is the Chinese one and may be
    empty. ``sememe_names`` is not needed.

    SECURITY: two of the `OPENHOWNET_FILES` are pickles, which OpenHowNet itself loads; a pickle can run any program.
    Nothing reads them before the user has named the folder: name only one that you trust, such as the download of
    OpenHowNet itself. Nothing is downloaded here.

    Raises `LetgraphError` for a missing file, naming it and how to bring it, or for files OpenHowNet cannot use.
    """
    resources = folder / "resources" if (folder / "resources").is_dir() else folder
    for name in OPENHOWNET_FILES:
        if not (resources / name).is_file():
            raise LetgraphError(
                f"{resources / name}: OpenHowNet needs this file; run `python -c 'import OpenHowNet; "
                f"OpenHowNet.download()'` and name the folder ~/.openhownet, or copy the file to {resources}"
            )
    try:
        import OpenHowNet
        from OpenHowNet import Download
    except ImportError as error:
        raise MissingDependency(
            f"{folder}: reading an OpenHowNet folder needs its package ({error}); run `pip install OpenHowNet`"
        ) from None
    home = Download.OPENHOWNET_RESOURCE_PATH
    with tempfile.TemporaryDirectory() as parent, contextlib.redirect_stdout(io.StringIO()):
        # OpenHowNet insists on a folder that is called "resources"; the user's may have any name.
        os.symlink(resources.resolve(), Path(parent, "resources"), target_is_directory=True)
        Download.OPENHOWNET_RESOURCE_PATH = parent
        try:
            senses = sorted(OpenHowNet.HowNetDict().get_all_senses(), key=lambda sense: int(sense.No))
        except Exception as error:  # whatever unpickling and OpenHowNet's own parsing may raise on foreign files
            raise LetgraphError(
                f"{resources}: OpenHowNet cannot use these files ({type(error).__name__}: {error}); "
                "bring them anew with `python -c 'import OpenHowNet; OpenHowNet.download()'`"
            ) from error
        finally:
            Download.OPENHOWNET_RESOURCE_PATH = home
    for sense in senses:
        yield sense.zh_word.strip(), [sememe.en_zh for sememe in sense.sememes]
