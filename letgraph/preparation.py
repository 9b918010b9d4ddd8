"""How raw sentences become graphs: what a model was trained with, and has to be given again."""

from __future__ import annotations

import sys
from collections.abc import Mapping
from dataclasses import dataclass, field, replace
from typing import Any, Self, get_args

from letgraph.errors import LetgraphError
from letgraph.text.clean import DEFAULT_MAX_CHARACTERS, Blanks, Cleaned, Width, clean, truncate
from letgraph.text.segment import load_segmenter

TEXT_PRESETS: Mapping[str, Mapping[str, Any]] = {
    "paper": {},
    "reference": {"blanks": "drop", "width": "keep", "max_tokens": 128},
}
"""What the presets of `letgraph.models.PRESETS` do with text; one that is not here does nothing else than ``paper``."""


@dataclass(frozen=True)
class Preparation:
    """How sentences become graphs.

    ``segmenters``, with their ``versions``; ``blanks`` and ``width``: what `letgraph.text.clean` does to blanks and to
    full-width forms; ``max_characters``: what is kept of a sentence; ``max_tokens``: None, or what is kept of a pair
    (`letgraph.data.cut`).
    """

    segmenters: tuple[str, ...]
    blanks: Blanks = "collapse"
    versions: dict[str, str] = field(default_factory=dict)
    max_characters: int = DEFAULT_MAX_CHARACTERS
    width: Width = "narrow"
    max_tokens: int | None = None

    @classmethod
    def current(cls, segmenters: tuple[str, ...], preset: str = "paper", max_tokens: int | None = None) -> Self:
        """With the segmenters that are installed here, as a preset wants it, or with ``max_tokens`` of one's own."""
        versions = {name: load_segmenter(name).version for name in segmenters}
        preparation = cls(segmenters, versions=versions, **TEXT_PRESETS.get(preset, {}))
        return preparation if max_tokens is None else replace(preparation, max_tokens=max_tokens)

    @classmethod
    def from_json(cls, values: dict[str, Any]) -> Self:
        """Of what `Checkpoint.save` has written. Raises TypeError for anything else."""
        preparation = cls(**values)
        names, versions = preparation.segmenters, preparation.versions
        if not (isinstance(names, list) and names and all(isinstance(name, str) for name in names)):
            raise TypeError("no names of segmenters")
        if not isinstance(versions, dict) or not all(isinstance(version, str) for version in versions.values()):
            raise TypeError("no versions of segmenters")
        if preparation.blanks not in get_args(Blanks):
            raise TypeError(f"blanks {preparation.blanks!r}")
        if preparation.width not in get_args(Width):
            raise TypeError(f"width {preparation.width!r}")
        if not isinstance(preparation.max_characters, int) or preparation.max_characters < 1:
            raise TypeError(f"max_characters {preparation.max_characters!r}")
        # Three special tokens, and a character of each sentence.
        if preparation.max_tokens is not None and not (
            isinstance(preparation.max_tokens, int) and preparation.max_tokens >= 5
        ):
            raise TypeError(f"max_tokens {preparation.max_tokens!r}")
        return replace(preparation, segmenters=tuple(names))

    @property
    def text_options(self) -> dict[str, Any]:
        """What `letgraph.inputs.prepare_split` must do for this model, besides segmenting."""
        names = ("blanks", "width", "max_characters", "max_tokens")
        return {name: getattr(self, name) for name in names}

    def clean(self, text: str) -> Cleaned:
        """A raw sentence as the model was trained to see it: cleaned, and cut off after ``max_characters``."""
        return truncate(clean(text, blanks=self.blanks, width=self.width), self.max_characters)

    def check_positions(self, max_positions: int | None, positions: str, branch: int = 0) -> None:
        """Raises `LetgraphError` where an encoder has too few positions for the longest pairs; None: it has no end.

        ``branch``: how many tokens count on from a word, see `letgraph.data.injection`."""
        if max_positions is None:
            return
        if positions == "restart":
            needed, why = self.max_characters + 2, "sentences"
        else:
            needed, why = min(2 * self.max_characters + 3, self.max_tokens or sys.maxsize), "pairs"
        # A special token stands behind the last word.
        beyond = max(branch - 1, 0)
        if max_positions < needed + beyond:
            injected = f", and {branch} of a triple count on from a word's last" if branch else ""
            raise LetgraphError(
                f"max_positions {max_positions}: {why} have up to {needed} characters and special tokens{injected}; "
                f"it has to be {needed + beyond} or more"
            )

    def check_versions(self) -> None:
        """Warn on stderr about segmenters that are not the ones the model was trained with."""
        for name, version in self.versions.items():
            here = load_segmenter(name).version
            if here != version:
                print(
                    f"warning: segmenter {name} is {here} here; the model was trained with {version}", file=sys.stderr
                )
