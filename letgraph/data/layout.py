"""How a file of sentence pairs is laid out: its kind, its header, and which columns hold what."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field, replace
from typing import Literal, NamedTuple, get_args

from letgraph.errors import LetgraphError

Kind = Literal["tsv", "csv", "jsonl", "hf"]
KEYED_KINDS = ("jsonl", "hf")
"""Kinds whose every row carries the names of its values."""

_EXAMPLES = "for example tsv:a,b,label or csv+header:_,a,b,label or jsonl:a=sentence1,b=sentence2,label=label"


class Columns(NamedTuple):
    """Where the two sentences and the label are: positions from 0, or names. ``label`` is None in unlabelled files."""

    a: int | str
    b: int | str
    label: int | str | None


@dataclass(frozen=True)
class Format:
    """The layout of one file.

    `parse` and `spec` are inverse to each other; the notation, which ``--format`` takes, is::

        tsv:a,b,label                     columns by position, no header; "_" is a column to ignore
        csv+header:_,a,b,label            the same below a header line
        csv:a=question1,b=question2       columns by their names in the header; without label, unlabelled
        jsonl:a=sentence1,b=sentence2,label=label

    kind: "tsv" (no quoting: quotes are data), "csv" (comma, RFC 4180 quoting), "jsonl" (one object a line), "hf".
    header: whether the first line holds names (always so when the columns of a tsv or csv are given by name).
    width: number of columns of every row; None where the header or the keys decide.
    note: what was ambiguous when the format was sniffed, and how it was decided. Not part of the identity.
    """

    kind: Kind
    header: bool
    columns: Columns
    width: int | None = None
    note: str = field(default="", compare=False)

    @classmethod
    def parse(cls, spec: str) -> Format:
        """Read the notation above. Raises `LetgraphError` with an example where it can't."""

        def refuse(problem: str) -> LetgraphError:
            return LetgraphError(f"format {spec!r}: {problem}; {_EXAMPLES}")

        kind_part, colon, column_part = spec.strip().partition(":")
        name, plus, option = kind_part.partition("+")
        kind = next((kind for kind in get_args(Kind) if kind == name.strip().lower()), None)
        if kind is None or not colon:
            raise refuse("it has to start with tsv: or csv: or jsonl:")
        if plus and (option != "header" or kind in KEYED_KINDS):
            raise refuse(f"{kind} has no option {option!r}")
        items = [item.strip() for item in column_part.split(",")]
        by_name = kind in KEYED_KINDS or any("=" in item for item in items)
        places: dict[str, int | str] = {}
        for position, item in enumerate(items):
            role, _, column = (part.strip() for part in item.partition("="))
            if role == "_" and not by_name:
                continue
            if role not in Columns._fields or role in places:
                raise refuse(f"{item!r} is not one of a, b, label, each at most once")
            if by_name and not column and kind not in KEYED_KINDS:
                raise refuse(f"{item!r} lacks its name")
            places[role] = (column or role) if by_name else position
        if "a" not in places or "b" not in places:
            raise refuse("it has to name a and b")
        columns = Columns(places["a"], places["b"], places.get("label"))
        header = kind not in KEYED_KINDS and (by_name or bool(plus))
        return cls(kind, header, columns, None if by_name else len(items))

    @property
    def spec(self) -> str:
        """The notation that `parse` reads."""
        option = "+header" if self.header and self.width is not None else ""
        return f"{self.kind}{option}:{self.names}"

    @property
    def names(self) -> str:
        """The part of `spec` that says what the columns hold."""
        roles = {column: role for role, column in self.columns._asdict().items() if column is not None}
        if self.width is None:
            return ",".join(f"{role}={column}" for column, role in roles.items())
        return ",".join(roles.get(position, "_") for position in range(self.width))

    def __str__(self) -> str:
        def where(column: int | str | None) -> str:
            if column is None:
                return "none"
            return f"column {column + 1}" if isinstance(column, int) else repr(column)

        kind = self.kind.upper()
        if self.kind not in KEYED_KINDS:
            kind += " with header" if self.header else " without header"
        text = ", ".join(f"{role} = {where(column)}" for role, column in self.columns._asdict().items())
        note = f"; {self.note}" if self.note else ""
        return f"{kind}: {text} (--format {self.spec}){note}"

    def below(self, header: Sequence[str]) -> Format:
        """This format with names replaced by positions in ``header``. Raises KeyError with a name that isn't there."""
        names = [name.strip() for name in header]

        def position(column: int | str) -> int:
            if isinstance(column, int):
                return column
            if column not in names:
                raise KeyError(column)
            return names.index(column)

        a, b, label = self.columns
        columns = Columns(position(a), position(b), None if label is None else position(label))
        return replace(self, columns=columns, width=len(names) if self.width is None else self.width)


def _pair_names() -> list[tuple[str, str]]:
    stems = (
        "text",
        "sentence",
        "sent",
        "question",
        "query",
        "string",
        "title",
        "seq",
        "q",
        "s",
        "句子",
        "文本",
        "问题",
    )
    numbered = [(stem + a, stem + b) for stem in stems for a, b in (("a", "b"), ("1", "2"))]
    numbered += [(a + stem, b + stem) for stem in stems[:7] for a, b in (("a", "b"), ("1", "2"))]
    return [*numbered, ("premise", "hypothesis"), ("query", "title"), ("query", "candidate"), ("a", "b")]


PAIR_NAMES = _pair_names()
"""Known names of the two sentences, normalised by `normalised`; earlier ones win."""

LABEL_NAMES = (
    *("label", "labels", "isduplicate", "duplicate", "gold", "goldlabel", "quality"),
    *("ismatch", "match", "similar", "similarity", "y", "标签", "score"),
)
"""Known names of the label; earlier ones win."""


def normalised(name: str) -> str:
    """A column's name in lower case without blanks, ``_``, ``-``, ``.`` and ``#``."""
    return "".join(name.lower().split()).translate(_SEPARATORS)


_SEPARATORS = str.maketrans("", "", "_-.#")


def columns_by_name(names: Sequence[str]) -> Columns | None:
    """The columns, by the names as they are written, or None where the two sentences can't be told from the names."""
    written = {normalised(name): name.strip() for name in reversed(names)}
    pair = next(((a, b) for a, b in PAIR_NAMES if a in written and b in written), None)
    if pair is None:
        return None
    label = next((written[name] for name in LABEL_NAMES if name in written), None)
    return Columns(written[pair[0]], written[pair[1]], label)
