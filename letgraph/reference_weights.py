"""The weights of the authors' MXNet program as those of preset ``reference``.

Names in their files follow attributes of their classes. Layers of their own class TDense are stored in x out, those of
gluon's Dense out x in, as torch has them. Their BERT is gluonnlp's.
"""

from __future__ import annotations

import os
import re
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np
import torch
from numpy.typing import NDArray
from torch import Tensor

from letgraph.errors import DataError
from letgraph.models import LET, LETConfig
from letgraph.mxnet_params import read_params

UNUSED = ("bert.decoder.", "bert.classifier.")
"""Parts of gluonnlp's BERT that LET does not read: the heads of its pre-training."""

_OF_LEXICON = ("senses.sememes.row", "senses.offsets", "senses.links")
_MEND = "give a file that the authors' program wrote, net.save_parameters(FILE), with nothing taken out"


class Placement(NamedTuple):
    """The model's tensor ``target`` is ``make`` of the file's arrays ``sources``."""

    target: str
    sources: tuple[str, ...]
    make: Callable[..., Tensor]


@dataclass(frozen=True)
class ReferenceWeights:
    """A file taken apart.

    ``config``: the model's, with the sizes of the file. ``tensors``: of its state, by name. ``arrays``: how many the
    file has. ``unused``: those that LET does not read; ``unplaced``: those with no place known; ``unset``: tensors of
    the model that the file has nothing for.
    """

    config: LETConfig
    tensors: Mapping[str, Tensor]
    arrays: int
    unused: tuple[str, ...]
    unplaced: tuple[str, ...]
    unset: tuple[str, ...]

    @property
    def lacks_encoder(self) -> bool:
        """Whether the file has nothing at all for the encoder."""
        return not any(name.startswith("encoder.") for name in self.tensors)


def read_reference_weights(
    path: str | os.PathLike[str], encoder_config: Mapping[str, Any] | None = None
) -> ReferenceWeights:
    """Read and check a parameter file; ``encoder_config``: fields of a BertConfig, of which the number of heads is the
    one that the file does not tell (else one head for 64 features).

    Raises `DataError` for a file that is no LET, or whose shapes do not fit together.
    """
    arrays = read_params(path)
    sizes = _Sizes(Path(path), arrays)
    config = _config(sizes, encoder_config or {})
    tensors: dict[str, Tensor] = {}
    used: set[str] = set()
    for target, sources, make in (*_let(config), *_bert(config)):
        if all(name in arrays for name in sources):
            used.update(sources)
            try:
                tensors[target] = make(*(_tensor(sizes.path, name, arrays[name]) for name in sources)).contiguous()
            except (RuntimeError, IndexError) as error:
                shapes = ", ".join(f"{name} {arrays[name].shape}" for name in sources)
                raise DataError(path, None, f"shapes that do not fit: {shapes} ({error})", _MEND) from None
    # A model without memory, so that nothing is allocated before everything fits.
    with torch.device("meta"):
        expected = {name: tensor.shape for name, tensor in LET(config).state_dict().items()}
    for name, tensor in tensors.items():
        if tensor.shape != expected[name]:
            problem = f"{name} would have the shape {tuple(tensor.shape)} where the model has {tuple(expected[name])}"
            raise DataError(path, None, problem, _MEND)
    left = [name for name in arrays if name not in used]
    return ReferenceWeights(
        config=config,
        tensors=tensors,
        arrays=len(arrays),
        unused=tuple(name for name in left if name.startswith(UNUSED)),
        unplaced=tuple(name for name in left if not name.startswith(UNUSED)),
        unset=tuple(name for name in expected if name not in tensors and name not in _OF_LEXICON),
    )


def build_model(weights: ReferenceWeights) -> LET:
    """The model, in evaluation mode; what the file has nothing for is the same in every run."""
    with torch.random.fork_rng(devices=[]):
        torch.manual_seed(0)
        model = LET(weights.config)
    model.load_state_dict(weights.tensors, strict=False)
    return model.eval()


@dataclass(frozen=True)
class _Sizes:
    path: Path
    arrays: Mapping[str, NDArray]

    def of(self, name: str, axis: int) -> int:
        """The size of a parameter that has to be there."""
        if name not in self.arrays:
            raise DataError(self.path, None, f"not a LET of the authors' program: it has no {name}", _MEND)
        shape = self.arrays[name].shape
        if axis >= len(shape):
            raise DataError(self.path, None, f"{name} has the shape {shape}, not {axis + 1} dimensions", _MEND)
        return shape[axis]

    def layers(self, pattern: str) -> int:
        """One more than the highest number in names of the pattern; numbers that are left out are found unset later."""
        found = [int(match[1]) for match in map(re.compile(pattern).match, self.arrays) if match]
        if found and max(found) >= len(self.arrays):
            raise DataError(self.path, None, f"{len(self.arrays)} arrays cannot be {max(found) + 1} layers", _MEND)
        return max(found, default=-1) + 1


def _config(sizes: _Sizes, encoder_config: Mapping[str, Any]) -> LETConfig:
    sememes, sememe_size = (sizes.of("sememe_embedding.weight", axis) for axis in range(2))
    return LETConfig.from_preset(
        "reference",
        hidden_size=sizes.of("Dense_sense.weight", 0),
        num_layers=sizes.layers(r"SenseBlock_(\d{1,6})\."),
        perspectives=sizes.of("transformer_char.FastParallelDiSA.bimpm.bimp.weight", 0),
        classifier_sizes=(sizes.of("score.dense_1.weight", 0), sizes.of("score.dense_2.weight", 0)),
        num_sememes=sememes,
        num_known_sememes=sememes,
        sememe_size=sememe_size,
        **_encoder_sizes(sizes, encoder_config),
    )


def _encoder_sizes(sizes: _Sizes, given: Mapping[str, Any]) -> dict[str, int]:
    """The encoder's sizes from the file, checked against those that are given, or these where the file has none."""
    size = sizes.of("encoder_char.tdense_v.weight", 0)
    found = {"hidden_size": size}
    if any(name.startswith("bert.") for name in sizes.arrays):
        found |= {
            "num_hidden_layers": sizes.layers(r"bert\.encoder\.transformer_cells\.(\d{1,6})\."),
            "intermediate_size": sizes.of("bert.encoder.transformer_cells.0.ffn.ffn_1.weight", 0),
            "max_position_embeddings": sizes.of("bert.encoder.position_weight", 0),
            "vocab_size": sizes.of("bert.word_embed.0.weight", 0),
            "type_vocab_size": sizes.of("bert.token_type_embed.0.weight", 0),
        }
    fixed = {"type_vocab_size": 2, "hidden_act": "gelu", "layer_norm_eps": 1e-12}
    for name, value in {**fixed, **found}.items():
        if name in given and given[name] != value:
            problem = f"its encoder has {name} {value}, and the encoder configuration says {given[name]}"
            raise DataError(sizes.path, None, problem, "give the configuration of this encoder")
    heads = given.get("num_attention_heads", max(size // 64, 1))
    if not isinstance(heads, int) or heads < 1 or size % heads:
        problem = f"{size} features cannot be split over {heads} attention heads"
        raise DataError(sizes.path, None, problem, "name the number of heads in --encoder-config, num_attention_heads")
    ours = {
        "encoder_layers": "num_hidden_layers",
        "encoder_intermediate_size": "intermediate_size",
        "max_positions": "max_position_embeddings",
        "vocab_size": "vocab_size",
    }
    known = {**given, **found}
    return {
        "encoder_size": size,
        "encoder_heads": heads,
        **{name: known[theirs] for name, theirs in ours.items() if theirs in known},
    }


def _tensor(path: Path, name: str, array: NDArray) -> Tensor:
    if array.dtype.kind != "f":
        raise DataError(path, None, f"{name} has numbers of type {array.dtype}, which no weight has", _MEND)
    return torch.from_numpy(array.astype(np.float32))


def _same(x: Tensor) -> Tensor:
    return x


def _dense(target: str, source: str, bias: bool = True) -> Iterator[Placement]:
    yield Placement(f"{target}.weight", (f"{source}.weight",), _same)
    if bias:
        yield Placement(f"{target}.bias", (f"{source}.bias",), _same)


def _tdense(target: str, source: str, bias: bool = True) -> Iterator[Placement]:
    yield Placement(f"{target}.weight", (f"{source}.weight",), torch.t)
    if bias:
        yield Placement(f"{target}.bias", (f"{source}.bias",), _same)


def _norm(target: str, source: str) -> Iterator[Placement]:
    yield Placement(f"{target}.weight", (f"{source}.gamma",), _same)
    yield Placement(f"{target}.bias", (f"{source}.beta",), _same)


def _attention(target: str, source: str) -> Iterator[Placement]:
    """`letgraph.nn.mdgat.MDGAT`."""
    for ours, theirs in (("query", "q"), ("key", "k"), ("value", "v")):
        yield from _tdense(f"{target}.{ours}", f"{source}.tdense_{theirs}", bias=False)
    yield from _tdense(f"{target}.score.0", f"{source}.tdense_s2t_1")
    yield from _tdense(f"{target}.score.3", f"{source}.tdense_s2t_2")


def _pooling(target: str, source: str) -> Iterator[Placement]:
    """`letgraph.nn.pooling.AttentivePooling`."""
    yield from _tdense(f"{target}.value", f"{source}.tdense_v", bias=False)
    yield from _tdense(f"{target}.score.0", f"{source}.tdense_s2t_1")
    yield from _tdense(f"{target}.score.3", f"{source}.tdense_s2t_2_1")
    yield from _tdense(f"{target}.offset", f"{source}.tdense_s2t_2_2")


def _ffn(target: str, source: str) -> Iterator[Placement]:
    """`letgraph.nn.feed_forward.feed_forward`."""
    yield from _tdense(f"{target}.0", f"{source}.mlp.TDense_1")
    yield from _tdense(f"{target}.3", f"{source}.mlp.TDense_2")


def _gru(target: str, source: str, size: int) -> Iterator[Placement]:
    """r = σ(W [m; h] + b), i likewise, n = tanh(W m + b + r ⊙ (W' h + b')): where torch's two gates have a bias of the
    message and one of the state, the program has one bias."""
    gates = (f"{source}.r", f"{source}.i")

    def of_message(reset: Tensor, update: Tensor, candidate: Tensor) -> Tensor:
        return torch.cat([reset[:, :-size], update[:, :-size], candidate])

    def of_state(reset: Tensor, update: Tensor, candidate: Tensor) -> Tensor:
        return torch.cat([reset[:, -size:], update[:, -size:], candidate])

    def bias_of_state(candidate: Tensor) -> Tensor:
        return torch.cat([candidate.new_zeros(2 * size), candidate])

    weights = tuple(f"{gate}.weight" for gate in gates)
    biases = tuple(f"{gate}.bias" for gate in gates)
    yield Placement(f"{target}.weight_ih", (*weights, f"{source}.in_.weight"), of_message)
    yield Placement(f"{target}.weight_hh", (*weights, f"{source}.hn_.weight"), of_state)
    yield Placement(f"{target}.bias_ih", (*biases, f"{source}.in_.bias"), lambda *parts: torch.cat(parts))
    yield Placement(f"{target}.bias_hh", (f"{source}.hn_.bias",), bias_of_state)


def _let(config: LETConfig) -> Iterator[Placement]:
    size = config.hidden_size
    yield Placement("senses.sememes.known", ("sememe_embedding.weight",), _same)
    # There are no sememes without a vector in the file.
    yield Placement("senses.sememes.unknown", ("sememe_embedding.weight",), lambda known: known[:0])
    yield from _dense("senses.sememes.project", "Dense_sense")
    yield from _attention("senses.attention", "transformer_sememe.FastDiSA")
    yield from _ffn("senses.ffn", "transformer_sememe.FastDiSA")
    yield from _norm("senses.norm", "transformer_sememe.layer_norm")
    yield from _pooling("senses.pooling", "transformer_sememe.encoder")
    yield from _pooling("word_pooling", "encoder_char")
    for layer in range(config.num_layers):
        ours = f"sagt.layers.{layer}"
        yield from _attention(f"{ours}.sense_step.both", f"SenseBlock_{layer}")
        yield from _attention(f"{ours}.word_step", f"LatticeBlock_{layer}")
        yield from _ffn(f"{ours}.word_ffn", f"LatticeBlock_{layer}")
    yield from _gru("sagt.update_senses.gru", "gate_sense", size)
    yield from _gru("sagt.update_words.gru", "gate_lattice", size)
    yield from _pooling("char_pooling", "encoder_lattice")
    yield from _dense("char_projection", "Dense", bias=False)
    matching = "transformer_char.FastParallelDiSA"
    yield from _attention("matching.attention", f"{matching}.FastDiSA")
    yield Placement("matching.compare.weight", (f"{matching}.bimpm.bimp.weight",), _same)
    yield from _ffn("matching.ffn", matching)
    yield from _norm("matching.norm", "transformer_char.layer_norm")
    yield from _pooling("sentence_pooling", "transformer_char.encoder")

    def swap(weight: Tensor) -> Tensor:
        """The program's classifier reads [..; |r_a - r_b|; r_a ⊙ r_b], ours has the two the other way round."""
        rest, difference, product = weight.split([weight.shape[1] - 2 * size, size, size], 1)
        return torch.cat([rest, product, difference], 1)

    yield Placement("classifier.0.0.weight", ("score.dense_1.weight",), swap)
    yield Placement("classifier.0.0.bias", ("score.dense_1.bias",), _same)
    yield from _dense("classifier.0.3", "score.dense_2")
    yield from _dense("classifier.3", "score.dense_3", bias=False)


def _bert(config: LETConfig) -> Iterator[Placement]:
    """gluonnlp's BERTModel as transformers' BertModel."""
    embeddings = "encoder.embeddings"
    yield Placement(f"{embeddings}.word_embeddings.weight", ("bert.word_embed.0.weight",), _same)
    yield Placement(f"{embeddings}.token_type_embeddings.weight", ("bert.token_type_embed.0.weight",), _same)
    yield Placement(f"{embeddings}.position_embeddings.weight", ("bert.encoder.position_weight",), _same)
    yield from _norm(f"{embeddings}.LayerNorm", "bert.encoder.layer_norm")
    for layer in range(config.encoder_layers):
        ours, theirs = f"encoder.encoder.layer.{layer}", f"bert.encoder.transformer_cells.{layer}"
        for part in ("query", "key", "value"):
            yield from _dense(f"{ours}.attention.self.{part}", f"{theirs}.attention_cell.proj_{part}")
        yield from _dense(f"{ours}.attention.output.dense", f"{theirs}.proj")
        yield from _norm(f"{ours}.attention.output.LayerNorm", f"{theirs}.layer_norm")
        yield from _dense(f"{ours}.intermediate.dense", f"{theirs}.ffn.ffn_1")
        yield from _dense(f"{ours}.output.dense", f"{theirs}.ffn.ffn_2")
        yield from _norm(f"{ours}.output.LayerNorm", f"{theirs}.ffn.layer_norm")
    yield from _dense("encoder.pooler.dense", "bert.pooler")
