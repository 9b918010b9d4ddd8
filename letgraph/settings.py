"""The settings of a training run: their groups, defaults and checks. `letgraph.arguments` reads them."""

from __future__ import annotations

import difflib
from collections.abc import Collection, Mapping
from dataclasses import asdict, dataclass, field
from typing import Any, Literal

import yaml
from transformers import PretrainedConfig

from letgraph.errors import LetgraphError
from letgraph.models import MODELS, PRESETS, EncoderModel, LETConfig

OWN_FLAGS = {
    "senses": "--no-senses",
    "gru": "--no-gru",
    "num_layers": "--layers",
    "encoder_config": "--encoder",
    "freeze_encoder": "--freeze-encoder",
}
"""Settings of a model's configuration that have a flag of their own."""

SIZES_OF_ENCODER = ("encoder_size", "encoder_layers", "encoder_heads", "encoder_intermediate_size", "max_positions")

ENCODER_MAX_TOKENS = 128
"""Of a pair, where a pre-trained encoder reads it. Source: LET (AAAI 2021)."""

LET_ONLY = ("preset", "senses", "gru", "layers")
"""Settings of LET alone: other models have no such parts."""

OF_LEXICON = ("hownet", "sememe_vectors")
"""Settings of models that read a lexicon."""


def _setting(default: Any, help: str, **metadata: Any) -> Any:
    return field(default=default, metadata={"help": help, **metadata})


@dataclass
class DataSettings:
    """What is learnt from, and how text becomes graphs."""

    _argument_group_name = "data"

    dataset: str | None = _setting(None, "demo, bq, lcqmc, afqmc, a file, a folder, or hf:NAME[:CONFIG]")
    data_dir: str | None = _setting(None, "folder of the named corpora; None: $LETGRAPH_DATA, then data/")
    format: str | None = _setting(None, "of the files, such as tsv:a,b,label; None: sniffed")
    limit: int | None = _setting(None, "only the first N pairs of each split")
    skip_bad_rows: bool = _setting(False, "count bad rows and skip them instead of stopping")
    max_tokens: int | None = _setting(
        None, "what is kept of a pair, special tokens included; None: 128 with --encoder, else as the preset has it"
    )
    segmenter: str = _setting("lattice", "jieba, pkuseg, thulac, several joined by +, or lattice: all three")
    hownet: str | None = _setting(
        None, "sense lexicon: demo, a .tsv, a .json or an OpenHowNet folder; None: the only .tsv in DATA_DIR/hownet"
    )
    sememe_vectors: str | None = _setting(None, "pre-trained vectors of sememes; None: those beside a default lexicon")
    cache_dir: str | None = _setting(None, "of prepared data; None: $LETGRAPH_CACHE, then ~/.cache/letgraph/prepared")
    workers: int | None = _setting(None, "processes that prepare data; None: one a core")


@dataclass
class ModelSettings:
    """Which model: LET in one of its variants, or a baseline."""

    _argument_group_name = "model"

    model: str = _setting("let", f"one of {', '.join(MODELS)}")
    encoder: str | None = _setting(
        None, "pre-trained encoder: a folder or a name on the Hugging Face hub; with --model let it is LET-BERT"
    )
    freeze_encoder: bool = _setting(False, "leave the pre-trained encoder as it is")
    preset: str = _setting("paper", f"{' or '.join(PRESETS)} (the authors' program)")
    senses: bool = _setting(True, "use HowNet senses")
    gru: bool = _setting(True, "update words and senses by GRU cells")
    layers: int = _setting(2, "layers of SaGT")
    embeddings: str | None = _setting(
        None, "word2vec file, text or binary, whose vectors characters and words start from; None: random ones"
    )
    set: list[str] = field(
        default_factory=list,
        metadata={"help": "further settings of the model as NAME=VALUE, e.g. pooling=centred dropout=0.1"},
    )

    @property
    def title(self) -> str:
        """For people to read."""
        name = MODELS[self.model].__name__
        name = f"{name} ({self.preset})" if self.model == LETConfig.model_type else name
        return f"{name} on {self.encoder}" if self.encoder else name

    def model_config(self, encoder: Mapping[str, Any] | None = None) -> PretrainedConfig:
        """The model's configuration, without the sizes that follow from the data.

        ``encoder``: what a model has to know of its pre-trained encoder.
        """
        kind: Any = MODELS[self.model].config_class
        known = {name for name in vars(kind()) if not name.startswith("_")}
        overrides: dict[str, Any] = {}
        for item in self.set:
            name, equals, value = item.partition("=")
            if not equals:
                raise LetgraphError(f"--set {item}: write NAME=VALUE")
            if name in OWN_FLAGS and name in known:
                raise LetgraphError(f"--set {item}: use {OWN_FLAGS[name]}")
            if self.encoder and name in SIZES_OF_ENCODER:
                raise LetgraphError(f"--set {item}: the pre-trained encoder of --encoder decides this; leave it out")
            if name not in known:
                raise LetgraphError(f"--set {item}: {kind.__name__} has no setting {name!r}{nearest(name, known)}")
            overrides[name] = yaml.safe_load(value)
        if encoder is not None:
            overrides |= encoder
        if self.freeze_encoder:
            overrides["freeze_encoder"] = True
        if kind is not LETConfig:
            return kind(**overrides)
        overrides |= {"senses": self.senses, "gru": self.gru, "num_layers": self.layers}
        return LETConfig.from_preset(self.preset, **overrides)


@dataclass
class TrainingSettings:
    """How it is trained: RMSProp with linear warm-up and decay."""

    _argument_group_name = "training"

    output_dir: str | None = _setting(None, "folder of the run")
    epochs: float | None = _setting(None, "passes over the training split; None: 6, or 3 for demo")
    max_steps: int = _setting(-1, "stop (and end the decay) after N steps, whatever the epochs; -1: off")
    batch_size: int | None = _setting(None, "pairs a step; None: 64 for bq, else 32")
    eval_batch_size: int = _setting(128, "pairs a batch when scoring")
    accumulate: int = _setting(1, "cut a step's batch into N parts, for want of memory; the step is the same")
    learning_rate: float | None = _setting(None, "peak learning rate; None: 1e-3 for esim, else 5e-4")
    encoder_rate: float = _setting(0.1, "learning rate of a pre-trained encoder, as a part of the others'")
    warmup: float = _setting(0.1, "part of the steps in which the learning rate rises")
    weight_decay: float = _setting(1e-6, "L2 penalty on all parameters but biases and layer normalisation")
    max_grad_norm: float = _setting(5.0, "gradients are scaled down to this norm")
    bf16: bool = _setting(False, "matrix products in bfloat16; weights, sums and softmax stay in float32")
    gradient_checkpointing: bool = _setting(False, "save memory: compute the encoder's layers twice")
    seed: int = _setting(42, "of weights, order of pairs and dropout")
    eval_steps: int | None = _setting(None, "score the dev split every N steps; None: after every epoch")
    save_steps: int = _setting(500, "keep a state to resume from every N steps")
    logging_steps: int = _setting(50, "log the loss every N steps")
    resume: Literal["never", "auto"] = _setting(
        "never", "auto: go on from the last kept state in output_dir, or begin if there is none"
    )


@dataclass(frozen=True)
class Settings:
    data: DataSettings
    model: ModelSettings
    training: TrainingSettings

    def to_dict(self) -> dict[str, Any]:
        """All settings by name, flat, without those that are foreign to the model."""
        values = {**asdict(self.data), **asdict(self.model), **asdict(self.training)}
        foreign = _foreign(self.model.model)
        return {name: value for name, value in values.items() if name not in foreign}

    @property
    def needs_lexicon(self) -> bool:
        return self.model.model_config().needs_lexicon


def defaults() -> dict[str, Any]:
    """All settings by name where nobody has said anything."""
    return {**asdict(DataSettings()), **asdict(ModelSettings()), **asdict(TrainingSettings())}


def _foreign(model: str) -> dict[str, str]:
    """The settings that a model does not have, and whose they are."""
    foreign = {} if model == LETConfig.model_type else dict.fromkeys(LET_ONLY, "LET alone")
    kind: Any = MODELS[model].config_class
    if not kind().needs_lexicon:
        foreign |= dict.fromkeys(OF_LEXICON, "models that read a lexicon")
    return foreign


OFF = {"senses": "leave out HowNet senses", "gru": "update words and senses without GRU cells"}


def check(settings: Settings, given: Collection[str]) -> None:
    """Raises `LetgraphError` for settings that contradict each other or make no sense.

    ``given``: the settings that the user has made, whatever their values.
    """
    _check_model(settings.model, given)
    _check(settings)


def _check_model(model: ModelSettings, given: Collection[str]) -> None:
    if model.model not in MODELS:
        raise LetgraphError(f"no model {model.model!r}; models are {', '.join(MODELS)}{nearest(model.model, MODELS)}")
    takes_encoder = issubclass(MODELS[model.model], EncoderModel)
    if model.encoder and not takes_encoder:
        able = ", ".join(name for name, kind in MODELS.items() if issubclass(kind, EncoderModel))
        raise LetgraphError(f"--model {model.model} has no transformer encoder; --encoder goes with {able}")
    if takes_encoder and model.model != LETConfig.model_type and not model.encoder:
        raise LetgraphError(f"--model {model.model} needs a pre-trained encoder: give --encoder PATH_OR_NAME")
    if model.freeze_encoder and not model.encoder:
        raise LetgraphError("--freeze-encoder is for the pre-trained encoder of --encoder; give it, or leave this out")
    for name, whose in _foreign(model.model).items():
        if name in given:
            flag = f"--no-{name}" if name in OFF else f"--{name.replace('_', '-')}"
            raise LetgraphError(f"--model {model.model} and {flag} contradict each other: it is a setting of {whose}")


def _check(settings: Settings) -> None:
    data, model, training = settings.data, settings.model, settings.training
    if data.dataset is None:
        raise LetgraphError("which corpus? Give --dataset demo, bq, lcqmc, afqmc, a file or a folder")
    if not model.senses and (data.hownet or data.sememe_vectors):
        flag = "--hownet" if data.hownet else "--sememe-vectors"
        raise LetgraphError(f"--no-senses and {flag} contradict each other; give one of them")
    if model.preset not in PRESETS:
        raise LetgraphError(f"no preset {model.preset!r}{nearest(model.preset, PRESETS)}")
    for flag, value, least in (
        ("--layers", model.layers, 1),
        ("--max-tokens", data.max_tokens, 5),  # three special ones, and one of each sentence
        ("--batch-size", training.batch_size, 1),
        ("--accumulate", training.accumulate, 1),
        ("--eval-batch-size", training.eval_batch_size, 1),
        ("--save-steps", training.save_steps, 1),
        ("--eval-steps", training.eval_steps, 1),
        ("--logging-steps", training.logging_steps, 1),
    ):
        if value is not None and value < least:
            raise LetgraphError(f"{flag} {value}: it has to be {least} or more")
    for flag, rate in (
        ("--epochs", training.epochs),
        ("--learning-rate", training.learning_rate),
        ("--encoder-rate", training.encoder_rate),
    ):
        if rate is None or rate <= 0:
            raise LetgraphError(f"{flag} {rate or 0:g}: it has to be above 0")
    if training.batch_size is not None and training.batch_size % training.accumulate:
        raise LetgraphError(f"--batch-size {training.batch_size} cannot be cut into {training.accumulate} equal parts")
    if training.gradient_checkpointing and not issubclass(MODELS[model.model], EncoderModel):
        raise LetgraphError(f"--model {model.model} has no transformer encoder for --gradient-checkpointing")
    if not 0 <= training.warmup < 1:
        raise LetgraphError(f"--warmup {training.warmup}: a part of the steps, from 0 to below 1")
    if training.max_steps == 0 or training.max_steps < -1:
        raise LetgraphError(f"--max-steps {training.max_steps}: it has to be 1 or more, or -1 for no limit")
    model.model_config()


def nearest(name: str, known: Any) -> str:
    near = difflib.get_close_matches(name, list(known), 1)
    return f"; did you mean {near[0]}?" if near else ""
