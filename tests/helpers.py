"""What the tests of graphs and models share: sentences made by hand or by hypothesis, a lexicon and a tiny LET."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
import torch
from hypothesis import strategies as st
from transformers import BertConfig, PreTrainedModel

from letgraph.blocks import TILE, Neighbourhood, NodeBlocks
from letgraph.data.collate import Collator, PairBatch
from letgraph.models import LET, MODELS, EncoderModel, LETConfig
from letgraph.ragged import Ragged
from letgraph.text.features import COLUMNS, SentenceTable
from letgraph.text.triples import Triples
from letgraph.text.vocabulary import CharVocabulary

ALPHABET = "存款利率银行"
VOCABULARY = CharVocabulary(ALPHABET[:-1])  # 行 is unknown

SENSE_SEMEMES = Ragged.from_lists([[0, 1], [2], [1, 3, 0], [4, 2], [3], [0, 1]], np.int32)
"""Six senses over five sememes; the last sense has the sememes of the first."""
NUM_SEMEMES = 5
TRIPLES = Triples.of(SENSE_SEMEMES, ["利", "存款", "率", "银", "利率银"], VOCABULARY, predicate=False)

Span = tuple[int, int]


@dataclass(frozen=True)
class Sentence:
    """A lattice: its words without begin and end, in any order, and the sense ids of each of them."""

    text: str
    words: tuple[Span, ...]
    senses: tuple[tuple[int, ...], ...]

    @property
    def nodes(self) -> list[Span]:
        return [(0, 0), *self.words, (len(self.text), len(self.text))]

    @property
    def node_senses(self) -> list[tuple[int, ...]]:
        return [(), *self.senses, ()]

    def reach(self) -> set[tuple[int, int]]:
        """All (u, v) where v is u or a path of adjacent words leads from u to v."""
        nodes = self.nodes
        found = {(u, u) for u in range(len(nodes))}
        todo = list(found)
        while todo:
            u, v = todo.pop()
            for w, (start, _) in enumerate(nodes):
                if nodes[v][1] == start and (u, w) not in found:
                    found.add((u, w))
                    todo.append((u, w))
        return found


def to_table(sentences: Sequence[Sentence]) -> SentenceTable:
    reach = [sorted(sentence.reach()) for sentence in sentences]
    rows: dict[str, list[list[int]]] = {
        "chars": [[ord(char) for char in s.text] for s in sentences],
        "word_start": [[start for start, _ in s.nodes] for s in sentences],
        "word_end": [[end for _, end in s.nodes] for s in sentences],
        "word_senses": [[len(senses) for senses in s.node_senses] for s in sentences],
        "senses": [[sense for senses in s.node_senses for sense in senses] for s in sentences],
        "reach_from": [[u for u, _ in edges] for edges in reach],
        "reach_to": [[v for _, v in edges] for edges in reach],
    }
    return SentenceTable(**{name: Ragged.from_lists(rows[name], dtype) for name, dtype in COLUMNS.items()})


@st.composite
def sentences(draw: st.DrawFn, max_senses: int = 2) -> Sentence:
    """A lattice of up to six characters whose words cover them all."""
    text = draw(st.text(st.sampled_from(ALPHABET), min_size=1, max_size=6))
    spans = [(i, j) for i in range(len(text)) for j in range(i + 1, len(text) + 1)]
    words = set(draw(st.lists(st.sampled_from(spans), max_size=5)))
    covered = {char for start, end in words for char in range(start, end)}
    words |= {(i, i + 1) for i in range(len(text)) if i not in covered}
    ids = st.lists(st.integers(0, len(SENSE_SEMEMES) - 1), max_size=max_senses, unique=True)
    return Sentence(text, tuple(sorted(words)), tuple(tuple(draw(ids)) for _ in words))


def pair_lists(max_pairs: int = 3, max_senses: int = 2) -> st.SearchStrategy[list[Sentence]]:
    """2B sentences, of which 2p and 2p + 1 are a pair."""
    pair = st.tuples(sentences(max_senses), sentences(max_senses))
    return st.lists(pair, min_size=1, max_size=max_pairs).map(lambda pairs: [s for pair in pairs for s in pair])


def random_sentence(random: np.random.Generator, length: int) -> Sentence:
    """Every character a word, and about half of all longer spans up to three characters; about one sense a word."""
    words = [(i, j) for i in range(length) for j in range(i + 1, min(i + 3, length) + 1)]
    words = [(i, j) for i, j in words if j == i + 1 or random.random() < 0.5]
    senses = [random.choice(len(SENSE_SEMEMES), random.integers(0, 3), replace=False) for _ in words]
    text = "".join(random.choice(list(ALPHABET), length))
    return Sentence(text, tuple(words), tuple(tuple(map(int, ids)) for ids in senses))


def random_pairs(seed: int, pairs: int = 4, min_length: int = 3, max_length: int = 8) -> list[Sentence]:
    random = np.random.default_rng(seed)
    return [random_sentence(random, int(random.integers(min_length, max_length + 1))) for _ in range(2 * pairs)]


def tiny_config(preset: str = "paper", **overrides: Any) -> LETConfig:
    sizes = {
        "vocab_size": len(VOCABULARY),
        "hidden_size": 8,
        "encoder_size": 8,
        "encoder_layers": 1,
        "encoder_heads": 2,
        "encoder_intermediate_size": 16,
        "max_positions": 24,
        "perspectives": 3,
        "classifier_sizes": (8, 6),
        "num_senses": len(SENSE_SEMEMES),
        "num_links": len(SENSE_SEMEMES.values),
        "num_sememes": NUM_SEMEMES,
        "num_known_sememes": 3,
        "sememe_size": 6,
    }
    config = LETConfig.from_preset(preset, **{**sizes, **overrides})
    config.num_sememes += config.num_dummies
    return config


def tiny_let(preset: str = "paper", seed: int = 0, **overrides: Any) -> LET:
    """A small LET in evaluation mode, with senses loaded and vectors for three of the five sememes."""
    torch.manual_seed(seed)
    model = LET(tiny_config(preset, **overrides))
    if model.config.senses:
        model.senses.load_lexicon(torch.from_numpy(SENSE_SEMEMES.offsets), torch.from_numpy(SENSE_SEMEMES.values))
        known = torch.tensor([False] * model.config.num_dummies + [True, False, True, True, False])
        vectors = torch.randn(len(known), model.config.sememe_size, generator=torch.Generator().manual_seed(seed))
        model.senses.sememes.load_vectors(vectors, known)
    return model.eval()


TINY_ENCODER = BertConfig(
    vocab_size=len(VOCABULARY),
    hidden_size=8,
    num_hidden_layers=1,
    num_attention_heads=2,
    intermediate_size=16,
    max_position_embeddings=24,
    hidden_dropout_prob=0.0,  # so that a model's own dropout is all there is
    attention_probs_dropout_prob=0.0,
).to_dict()

TINY_BASELINES: dict[str, dict[str, Any]] = {
    "textcnn": {"filters": 4, "widths": (1, 2, 3)},
    "bilstm": {},
    "lattice_cnn": {"filters": (3, 4, 2), "word_buckets": 50},
    "bimpm": {"perspectives": 3, "character_size": 4, "composed_size": 5, "word_buckets": 50},
    "esim": {},
}


def tiny_model(kind: str, seed: int = 0, **overrides: Any) -> PreTrainedModel:
    """A small model of the registry in evaluation mode."""
    if kind == "let":
        return tiny_let(seed=seed, **overrides)
    torch.manual_seed(seed)
    model_class = MODELS[kind]
    if issubclass(model_class, EncoderModel):
        sizes = {"encoder_config": TINY_ENCODER, "encoder_size": 8, "max_positions": 24}
        return model_class(model_class.config_class(**{**sizes, **overrides})).eval()
    sizes = {"vocab_size": len(VOCABULARY), "embedding_size": 8, "hidden_size": 8}
    return model_class(model_class.config_class(**{**sizes, **TINY_BASELINES[kind], **overrides})).eval()


def batch_for(model: PreTrainedModel, pairs: Sequence[Sentence], labels: Sequence[int] | None = None) -> PairBatch:
    """The pairs as the model's settings want them."""
    config = model.config
    sememes = SENSE_SEMEMES if config.needs_sememe_nodes else None
    collator = Collator(VOCABULARY, sense_sememes=sememes, triples=TRIPLES, **config.graph_options)
    return collator(to_table(pairs), labels)


@st.composite
def buckets_of(draw: st.DrawFn, blocks: int) -> list[np.ndarray]:
    """The numbers below ``blocks`` in any order, cut into buckets."""
    order = np.array(draw(st.permutations(range(blocks))))
    cuts = draw(st.sets(st.integers(1, blocks - 1))) if blocks > 1 else set()
    return np.split(order, sorted(cuts))


@st.composite
def neighbourhoods(draw: st.DrawFn, max_blocks: int = 3, max_nodes: int = 4) -> Neighbourhood:
    """Random edges inside blocks: isolated nodes, empty blocks and no edge at all included."""
    blocks = draw(st.integers(1, max_blocks))
    counts = st.lists(st.integers(0, max_nodes), min_size=blocks, max_size=blocks)
    sources, destinations, buckets = draw(counts), draw(counts), draw(buckets_of(blocks))
    random = np.random.default_rng(draw(st.integers(0, 2**32 - 1)))
    density = draw(st.sampled_from([0.0, 0.3, 0.7, 1.0]))
    tile = draw(st.sampled_from([1, 2, TILE]))
    return random_neighbourhood(random, sources, destinations, density, buckets, tile)


def random_neighbourhood(
    random: np.random.Generator,
    sources: Sequence[int],
    destinations: Sequence[int],
    density: float = 0.5,
    buckets: Sequence[np.ndarray] | None = None,
    tile: int = TILE,
) -> Neighbourhood:
    src, dst = (NodeBlocks.from_counts(np.array(counts), buckets) for counts in (sources, destinations))
    return Neighbourhood.from_edges(src, dst, *random_edges(random, sources, destinations, density), tile)


def random_edges(
    random: np.random.Generator, sources: Sequence[int], destinations: Sequence[int], density: float
) -> tuple[np.ndarray, np.ndarray]:
    """Sources and destinations of edges inside blocks of so many nodes."""
    edges = [
        (u, v)
        for g in range(len(sources))
        for u in range(sum(sources[:g]), sum(sources[: g + 1]))
        for v in range(sum(destinations[:g]), sum(destinations[: g + 1]))
        if random.random() < density
    ]
    u, v = np.array(edges, np.int64).reshape(-1, 2).T
    return u, v


def edge_set(neighbourhood: Neighbourhood) -> list[tuple[int, int]]:
    """The (source, destination) node numbers of the edges of the dense blocks, sorted."""
    sources, destinations = neighbourhood.edges
    return sorted(zip(sources.tolist(), destinations.tolist(), strict=True))
