"""HowNet lexicons: the senses of a word and the sememes of a sense, whatever file they come from."""

from __future__ import annotations

import hashlib
import os
import re
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from functools import cached_property
from importlib import resources
from pathlib import Path

import numpy as np

from letgraph.errors import LetgraphError
from letgraph.output import whole_file
from letgraph.ragged import Ragged
from letgraph.text.clean import Width, clean
from letgraph.text.lexicon_formats import Sense, read_openhownet, read_sense_dict, read_tsv

Reader = Callable[[Path, Sequence[str] | None], Iterator[Sense]]

PACKAGED = {"demo": "demo/hownet.tsv"}
READERS: dict[str, Reader] = {".tsv": read_tsv, ".txt": read_tsv, ".json": read_sense_dict}

# Words that `clean` leaves alone: nearly all of HowNet, and not worth a call each.
_ideographs_only = re.compile(r"[\u4e00-\u9fff]+").fullmatch


@dataclass(frozen=True, eq=False)
class Lexicon:
    """Words, their senses and the sememes of each sense, numbered in canonical order.

    Canonical order: words by their first row, the senses of a word one after another, sememes by first appearance.
    Words are cleaned as sentences are (`clean`, with the same ``width``), so that what stands in a cleaned sentence can
    be found. A sense is a set of sememes in the order given; a word has no sense twice. Two lexicons are equal when
    their canonical TSVs are.

    words          word -> row
    sense_offsets  the senses of the word in row i are ``sense_offsets[i] … sense_offsets[i + 1] - 1``
    sense_sememes  sense id -> sememe ids (int32), never empty
    sememes        sememe id -> name, see `sememe_name`
    source         the file, folder or name it was loaded from
    notes          what was skipped, merged or rewritten while loading, one sentence each, to be shown to the user
    english        sememe name -> its English name, where the source writes ``English|中文``; not part of the identity
    """

    words: dict[str, int]
    sense_offsets: list[int]
    sense_sememes: Ragged
    sememes: list[str]
    source: str
    notes: tuple[str, ...] = ()
    english: Mapping[str, str] = field(default_factory=dict)

    @classmethod
    def from_senses(cls, senses: Iterable[Sense], source: str, width: Width = "narrow") -> Lexicon:
        """Build from rows ``(word, sememes of one sense)``; a word's rows may stand apart.

        Rows without a word or without sememes are skipped, and said so in ``notes``.
        Raises `LetgraphError` when no sense is left or a sememe's name has white space in it.
        """
        senses_of: dict[str, dict[tuple[str, ...], None]] = {}  # dicts for their order
        skipped: list[int] = []
        rewritten: dict[str, str] = {}
        english: dict[str, str] = {}
        kept = 0
        for row, (word, raw_sememes) in enumerate(senses, 1):
            cleaned = word if _ideographs_only(word) else clean(word, width=width).text
            names = tuple(dict.fromkeys(map(sememe_name, raw_sememes)))
            for raw in raw_sememes:
                if "|" in raw and (name := sememe_name(raw)) != raw:
                    english.setdefault(name, raw.rpartition("|")[0])
            if not cleaned or not names:
                skipped.append(row)
                continue
            if cleaned != word:
                rewritten[word] = cleaned
            senses_of.setdefault(cleaned, {})[names] = None
            kept += 1
        if not senses_of:
            raise LetgraphError(f"{source}: no sense in it; a lexicon needs at least one word with one sememe")

        rows = [names for of_word in senses_of.values() for names in of_word]
        sememe_ids = {name: i for i, name in enumerate(dict.fromkeys(name for names in rows for name in names))}
        for name in sememe_ids:
            if name.split() != [name]:
                raise LetgraphError(f"{source}: sememe {name!r} has white space in its name; write it without")
        offsets = np.cumsum([0, *map(len, senses_of.values())])
        return cls(
            words={word: row for row, word in enumerate(senses_of)},
            sense_offsets=offsets.tolist(),
            sense_sememes=Ragged.from_lists([[sememe_ids[name] for name in names] for names in rows], np.int32),
            sememes=list(sememe_ids),
            source=source,
            notes=tuple(_notes(skipped, rewritten, repeated=kept - len(rows))),
            english=english,
        )

    @property
    def num_senses(self) -> int:
        return len(self.sense_sememes)

    @property
    def num_sememes(self) -> int:
        return len(self.sememes)

    def senses_of(self, word: str) -> range:
        """The sense ids of a word as it stands in a cleaned sentence; empty for an unknown word."""
        row = self.words.get(word)
        return range(0) if row is None else range(self.sense_offsets[row], self.sense_offsets[row + 1])

    def word_of_sense(self, sense: int) -> str:
        """The word that has this sense."""
        return self._word_list[int(np.searchsorted(self.sense_offsets, sense, side="right")) - 1]

    def sememes_of_sense(self, sense: int) -> list[str]:
        """The names of a sense's sememes, in their order."""
        return [self.sememes[sememe] for sememe in self.sense_sememes[sense]]

    @cached_property
    def _word_list(self) -> list[str]:
        return list(self.words)

    @cached_property
    def hash(self) -> str:
        """SHA-256 of the canonical TSV, in hexadecimal: the lexicon's identity in checkpoints and caches."""
        return hashlib.sha256(self._canonical_tsv().encode()).hexdigest()

    def __eq__(self, other: object) -> bool:
        return self.hash == other.hash if isinstance(other, Lexicon) else NotImplemented

    def __hash__(self) -> int:
        return hash(self.hash)

    def save(self, path: str | os.PathLike[str]) -> None:
        """Write the canonical TSV, which `load_lexicon` reads back to an equal lexicon with the same ids."""
        with whole_file(Path(path)) as stream:
            stream.write(self._canonical_tsv().encode())

    def _canonical_tsv(self) -> str:
        names = [self.sememes[sememe] for sememe in self.sense_sememes.values.tolist()]
        ends = self.sense_sememes.offsets.tolist()
        return "".join(
            f"{word}\t{' '.join(names[ends[sense] : ends[sense + 1]])}\n"
            for word, row in self.words.items()
            for sense in range(self.sense_offsets[row], self.sense_offsets[row + 1])
        )


def sememe_name(raw: str) -> str:
    """``FuncWord|功能词`` -> ``功能词``: the Chinese name, as sememe vector files have it; other names as they are.

    A few pairs of HowNet sememes differ in English only (most of them in a blank); they become one.
    """
    return raw.rpartition("|")[2] or raw


def load_lexicon(
    path_or_name: str | os.PathLike[str], sememe_names: Sequence[str] | None = None, width: Width = "narrow"
) -> Lexicon:
    """Load a lexicon by its form:

    * ``demo``: the excerpt that comes with this package;
    * ``*.tsv``, ``*.txt``: one sense a row (`read_tsv`), as `Lexicon.save` writes it;
    * ``*.json``: the LET authors' ``sense_dict.json`` (`read_sense_dict`), with ``sememe_names`` from the vector file
      whose rows it counts;
    * a folder: the resources of OpenHowNet (`read_openhownet`, which loads the user's own pickles: see there).

    ``width``: how its words are cleaned, see `clean`. Raises `LetgraphError` or `DataError` for what is missing or
    malformed.
    """
    name = os.fspath(path_or_name)
    if name in PACKAGED:
        with resources.as_file(resources.files("letgraph").joinpath(PACKAGED[name])) as path:
            return Lexicon.from_senses(read_tsv(path), name, width)
    path = Path(name).expanduser()
    if path.is_dir():
        reader: Reader | None = read_openhownet
    else:
        reader = READERS.get(path.suffix.lower())
    if reader is None or not path.exists():
        problem = "no such lexicon" if not path.exists() else "not a known form of lexicon"
        forms = ", ".join([*PACKAGED, *(f"a {suffix} file" for suffix in READERS)])
        raise LetgraphError(f"{name}: {problem}; name one of: {forms}, a folder of OpenHowNet resources")
    return Lexicon.from_senses(reader(path, sememe_names), name, width)


def _notes(skipped: list[int], rewritten: dict[str, str], *, repeated: int) -> Iterator[str]:
    if skipped:
        yield f"{len(skipped):,} row(s) without a word or without sememes skipped (the first is row {skipped[0]:,})"
    if repeated:
        yield f"{repeated:,} repeated sense(s) of a word kept once"
    if rewritten:
        word, cleaned = next(iter(rewritten.items()))
        yield f"{len(rewritten):,} word(s) cleaned like the text they are looked up in ({word!r} is {cleaned!r})"
