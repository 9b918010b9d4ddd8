"""The configuration names every choice, and refuses what it does not know."""

from __future__ import annotations

import inspect
import re

import pytest

from letgraph.data.collate import Collator
from letgraph.errors import LetgraphError
from letgraph.models import PRESETS, LETConfig
from letgraph.models.config import CHOICES
from tests.helpers import VOCABULARY


def test_the_default_is_the_paper():
    assert LETConfig().to_dict() == LETConfig.from_preset("paper").to_dict()


def test_overrides_win_over_the_preset():
    config = LETConfig.from_preset("reference", pooling="ffn", num_layers=3)

    assert (config.pooling, config.num_layers, config.cosine) == ("ffn", 3, "distance")


def test_every_difference_between_the_presets_is_a_documented_setting():
    documented = set(re.findall(r"^    (\w+) +\S.* \| ", inspect.getdoc(LETConfig).replace("\n", "\n    "), re.M))
    documented |= {"cosine"}  # its two values stand in two lines

    assert documented - {"setting"} == set(PRESETS["reference"])
    for name, value in PRESETS["reference"].items():
        assert getattr(LETConfig(), name) != value


def test_an_unknown_preset_is_named_with_those_there_are():
    with pytest.raises(LetgraphError, match="'papr'; presets are paper, reference"):
        LETConfig.from_preset("papr")


@pytest.mark.parametrize("name", sorted(CHOICES))
def test_an_unknown_choice_is_refused_with_those_there_are(name):
    for choice in CHOICES[name]:
        assert getattr(LETConfig(**{name: choice}), name) == choice
    with pytest.raises(LetgraphError, match=f"{name}='centered': choose one of .*{re.escape(CHOICES[name][-1])}"):
        LETConfig(**{name: "centered"})


@pytest.mark.parametrize("preset", sorted(PRESETS))
def test_a_saved_configuration_loads_equal(tmp_path, preset):
    config = LETConfig.from_preset(preset, vocab_size=17, lexicon_hash="abc", classifier_sizes=(5, 3))

    config.save_pretrained(tmp_path)

    loaded = LETConfig.from_pretrained(tmp_path)
    assert loaded.to_json_string() == config.to_json_string()
    assert tuple(loaded.classifier_sizes) == (5, 3)


@pytest.mark.parametrize("preset", sorted(PRESETS))
@pytest.mark.parametrize("senses", [True, False])
def test_graph_options_are_those_of_a_collator(preset, senses):
    config = LETConfig.from_preset(preset, senses=senses)

    collator = Collator(VOCABULARY, **config.graph_options)

    assert collator.senses == senses
    assert collator.boundary_chars == (preset == "reference")
    assert config.needs_sememe_nodes == (senses and preset == "reference")
