"""What happens to text is one set of options, by preset, and is read back strictly."""

from __future__ import annotations

import json
from dataclasses import asdict

import pytest

from letgraph.errors import LetgraphError
from letgraph.preparation import TEXT_PRESETS, Preparation


@pytest.mark.parametrize("preset", sorted(TEXT_PRESETS))
def test_what_is_written_is_read_back(preset):
    before = Preparation.current(("jieba",), preset)

    assert Preparation.from_json(json.loads(json.dumps(asdict(before)))) == before
    assert before.versions["jieba"].startswith("jieba==")


def test_presets_differ_in_blanks_widths_and_the_length_of_a_pair():
    paper, reference = (Preparation(("jieba",), **TEXT_PRESETS[preset]) for preset in ("paper", "reference"))

    assert paper.text_options == {"blanks": "collapse", "width": "narrow", "max_characters": 254, "max_tokens": None}
    assert reference.text_options == {"blanks": "drop", "width": "keep", "max_characters": 254, "max_tokens": 128}


@pytest.mark.parametrize(
    ("options", "positions", "needed"),
    [
        ({}, "restart", 256),
        ({}, "running", 511),
        ({"max_characters": 20}, "running", 43),
        ({"max_tokens": 128}, "running", 128),
        ({"max_tokens": 128, "max_characters": 20}, "running", 43),
        ({"max_tokens": 128}, "restart", 256),
    ],
)
def test_an_encoder_needs_a_position_for_every_token(options, positions, needed):
    preparation = Preparation(("jieba",), **options)

    preparation.check_positions(needed, positions)
    with pytest.raises(LetgraphError, match=f"max_positions {needed - 1}: .* {needed} or more"):
        preparation.check_positions(needed - 1, positions)
