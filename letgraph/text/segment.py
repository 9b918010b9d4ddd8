"""The word segmenters, and the words of a lattice: the union of what they output."""

from __future__ import annotations

import abc
import contextlib
import difflib
import functools
import hashlib
import importlib
import importlib.metadata
import importlib.util
import io
import os
import threading
import warnings
from collections.abc import Callable, Iterable, Sequence
from pathlib import Path
from types import ModuleType
from typing import Protocol

from letgraph.errors import LetgraphError, MissingDependency
from letgraph.text.align import Span, align

LATTICE = "lattice"
PKUSEG_MODEL_FILES = ("features.msgpack", "weights.npz")


class Segmenter(Protocol):
    """Cuts a sentence into words. ``version`` changes whenever the words may: it is part of cache keys."""

    @property
    def name(self) -> str: ...

    @property
    def version(self) -> str: ...

    def cut(self, sentence: str) -> list[str]: ...


def spans(sentence: str, segmenters: Sequence[Segmenter]) -> list[Span]:
    """The words of the lattice: the distinct spans of all segmenters, sorted by (start, end). They cover everything."""
    if len(segmenters) == 1:
        return align(sentence, segmenters[0].cut(sentence))
    union: set[Span] = set()
    for segmenter in segmenters:
        union.update(align(sentence, segmenter.cut(sentence)))
    return sorted(union)


def resolve(choice: str) -> tuple[str, ...]:
    """Names behind ``"jieba"``, ``"jieba+thulac"`` or ``"lattice"`` (all segmenters), in the registry's order."""
    names: set[str] = set()
    for name in choice.split("+"):
        if name == LATTICE:
            names.update(SEGMENTERS)
        elif name in SEGMENTERS:
            names.add(name)
        else:
            known = [*SEGMENTERS, LATTICE]
            near = difflib.get_close_matches(name.lower(), known, 1)
            hint = f"did you mean {near[0]!r}?" if near else f"known: {', '.join(known)}, or several joined by '+'"
            raise LetgraphError(f"unknown segmenter {name!r}; {hint}")
    return tuple(name for name in SEGMENTERS if name in names)


def available() -> dict[str, str | None]:
    """For every segmenter None, or why it cannot be used and what mends that. Loads no model."""
    return {name: segmenter.missing() for name, segmenter in SEGMENTERS.items()}


@functools.cache
def load_segmenter(name: str) -> Segmenter:
    """The process's segmenter of that name. Its model is read at the first `cut`, not here.

    Raises `MissingDependency` with the command that mends it, and `LetgraphError` for an unknown name.
    """
    if name not in SEGMENTERS:
        resolve(name)
        raise LetgraphError(f"{name!r} is several segmenters; load each of {', '.join(resolve(name))}")
    reasons = available()
    if reasons[name] is not None:
        others = "+".join(other for other, reason in reasons.items() if reason is None)
        without = f", or train with the others: --segmenter {others}" if others else ""
        raise MissingDependency(f"segmenter {name!r}: {reasons[name]}{without}")
    return SEGMENTERS[name]()


class PackagedSegmenter(abc.ABC):
    """What the segmenters share: their files are looked at first, read at the first `cut`, and pickled by name."""

    name: str

    @classmethod
    @abc.abstractmethod
    def parts(cls) -> tuple[str, list[Path]]:
        """Distribution, and the dictionary or model files that decide the words."""

    @abc.abstractmethod
    def cut(self, sentence: str) -> list[str]: ...

    @classmethod
    def missing(cls) -> str | None:
        """None, or what keeps the segmenter from working and the command that mends it."""
        if not _folder(cls.name):
            return f"package {cls.name} is not installed; run `pip install {cls.name}`"
        absent = ", ".join(file.name for file in cls.parts()[1] if not file.is_file())
        return f"package {cls.name} lacks {absent}; run `pip install --force-reinstall {cls.name}`" if absent else None

    @functools.cached_property
    def version(self) -> str:
        package, files = self.parts()
        return f"{package}=={importlib.metadata.version(package)}+{_fingerprint(files)}"

    def __reduce__(self) -> tuple[Callable[[str], Segmenter], tuple[str]]:
        return load_segmenter, (self.name,)


class Jieba(PackagedSegmenter):
    """jieba's accurate mode with its hidden Markov model for unknown words, https://github.com/fxsjy/jieba."""

    name = "jieba"

    @classmethod
    def parts(cls) -> tuple[str, list[Path]]:
        return "jieba", [_installed("jieba") / "dict.txt"]

    @functools.cached_property
    def _cut(self) -> Callable[[str], list[str]]:
        # A tokenizer of our own is deaf to the user's `jieba.add_word`. Its `initialize` would log to stderr and share
        # a marshal file in the temporary folder with everybody, so the dictionary is read here.
        tokenizer = _quiet_import("jieba").Tokenizer()
        with open(_installed("jieba") / "dict.txt", "rb") as dictionary:
            tokenizer.FREQ, tokenizer.total = tokenizer.gen_pfdict(dictionary)
        tokenizer.initialized = True
        return tokenizer.lcut

    def cut(self, sentence: str) -> list[str]:
        return self._cut(sentence)


class Thulac(PackagedSegmenter):
    """THULAC without part-of-speech tags, https://github.com/thunlp/THULAC-Python. Drops repeated blanks."""

    name = "thulac"
    # THULAC fails from 50,000 characters on: a longer sentence is cut in pieces of this length.
    longest = 10_000

    def __init__(self) -> None:
        self._lock = threading.Lock()

    @classmethod
    def parts(cls) -> tuple[str, list[Path]]:
        names = "cws_model.bin cws_dat.bin cws_label.txt t2s.dat ns.dat idiom.dat singlepun.dat"
        return "thulac", [_installed("thulac") / "models" / name for name in names.split()]

    @functools.cached_property
    def _cut(self) -> Callable[[str], Iterable[str]]:
        with contextlib.redirect_stdout(io.StringIO()):
            return _quiet_import("thulac").thulac(seg_only=True).cutline

    def cut(self, sentence: str) -> list[str]:
        # One model has one set of work arrays.
        with self._lock:
            if len(sentence) <= self.longest:
                return list(self._cut(sentence))
            pieces = (sentence[start : start + self.longest] for start in range(0, len(sentence), self.longest))
            return [word for piece in pieces for word in self._cut(piece)]


class Pkuseg(PackagedSegmenter):
    """pkuseg with its default (mixed-domain) model, https://github.com/lancopku/pkuseg-python. Drops blanks.

    Package pkuseg where it is installed with its model; else spacy-pkuseg, which is the same program without a model,
    with the model in `pkuseg_folder()`. The words are the same.
    """

    name = "pkuseg"

    @classmethod
    def missing(cls) -> str | None:
        if _own_pkuseg():
            return None
        fetch = "`python -m letgraph.fetch_pkuseg`"
        if not _folder("spacy_pkuseg"):
            then = "" if has_pkuseg_model() else f", then {fetch}"
            return f"package spacy-pkuseg is not installed; run `pip install spacy-pkuseg`{then}"
        return None if has_pkuseg_model() else f"no model in {pkuseg_folder()}; run {fetch}"

    @classmethod
    def parts(cls) -> tuple[str, list[Path]]:
        own = _own_pkuseg()
        if own:
            files = ("dicts/default.pkl", "models/default/features.pkl", "models/default/weights.npz")
            return "pkuseg", [_installed("pkuseg") / file for file in files]
        model = [pkuseg_folder() / name for name in PKUSEG_MODEL_FILES]
        return "spacy-pkuseg", [_installed("spacy_pkuseg") / "dicts" / "default.pkl", *model]

    @functools.cached_property
    def _cut(self) -> Callable[[str], list[str]]:
        own = _own_pkuseg()
        return own.pkuseg().cut if own else _quiet_import("spacy_pkuseg").pkuseg(str(pkuseg_folder())).cut

    def cut(self, sentence: str) -> list[str]:
        return self._cut(sentence)


SEGMENTERS: dict[str, type[PackagedSegmenter]] = {"jieba": Jieba, "pkuseg": Pkuseg, "thulac": Thulac}


def pkuseg_folder() -> Path:
    """``$LETGRAPH_HOME/pkuseg``, by default ``~/.cache/letgraph/pkuseg``: what `letgraph.fetch_pkuseg` fills."""
    return Path(os.environ.get("LETGRAPH_HOME") or "~/.cache/letgraph").expanduser() / "pkuseg"


def has_pkuseg_model() -> bool:
    return all((pkuseg_folder() / name).is_file() for name in PKUSEG_MODEL_FILES)


def _own_pkuseg() -> ModuleType | None:
    """The package pkuseg, when it can be imported and has its model."""
    folder = _folder("pkuseg")
    if folder is None or not (folder / "models" / "default" / "weights.npz").is_file():
        return None
    try:
        return _quiet_import("pkuseg")
    except (ImportError, ValueError):  # ValueError: compiled for another numpy.
        return None


def _folder(package: str) -> Path | None:
    """Where an importable package lies; it is not imported."""
    spec = importlib.util.find_spec(package)
    return Path(spec.submodule_search_locations[0]) if spec and spec.submodule_search_locations else None


def _installed(package: str) -> Path:
    folder = _folder(package)
    if folder is None:
        raise MissingDependency(f"package {package} is not installed")
    return folder


def _quiet_import(package: str) -> ModuleType:
    """Import it without what its users can do nothing about: old setuptools calls and escapes in its source."""
    with warnings.catch_warnings():
        warnings.filterwarnings("ignore", message=".*pkg_resources is deprecated")
        warnings.filterwarnings("ignore", message="invalid escape sequence")
        return importlib.import_module(package)


def _fingerprint(files: Sequence[Path], whole: int = 8 << 20, blocks: int = 64, block: int = 64 << 10) -> str:
    """12 hexadecimal digits from the files' sizes and contents.

    Files over ``whole`` bytes are trained weights, in which another training changes everything: ``blocks`` evenly
    spaced samples tell, and a cache key need not read 300 MB.
    """
    digest = hashlib.sha256()
    for path in files:
        size = path.stat().st_size
        digest.update(f"{path.name} {size}\n".encode())
        with open(path, "rb") as file:
            if size <= whole:
                digest.update(file.read())
            else:
                for number in range(blocks):
                    file.seek((size - block) * number // (blocks - 1))
                    digest.update(file.read(block))
    return digest.hexdigest()[:12]
