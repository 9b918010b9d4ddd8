"""One sentence pair as people look at it: nodes with readable names, edges, and what a model made of them.

`view_of` takes a pair out of any `PairBatch`; `look` starts from two raw sentences. Exporters, pictures and pages read
the `PairView` that both give.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field, replace

import numpy as np
import torch
from numpy.typing import NDArray

from letgraph import schema
from letgraph.blocks import Neighbourhood
from letgraph.checkpoint import Checkpoint
from letgraph.data.collate import Collator, PairBatch
from letgraph.data.cut import cut_characters
from letgraph.errors import LetgraphError
from letgraph.nn.attention_record import AttentionRecord, record_attention
from letgraph.preparation import Preparation
from letgraph.ragged import Ragged
from letgraph.text.align import align
from letgraph.text.clean import truncation_warning
from letgraph.text.features import featurise
from letgraph.text.lexicon import Lexicon
from letgraph.text.segment import Segmenter
from letgraph.text.vocabulary import CharVocabulary
from letgraph.viewing.nodes import Node, WordSpans, char_nodes, sememe_nodes, sense_nodes, word_nodes


@dataclass(frozen=True)
class PairView:
    """The graph of one pair.

    ``texts``: both sentences as cleaned. ``nodes[ntype]``: attributes of every node (str, int, float or bool; what does
    not apply is absent). All have ``name``, unique in the graph, ``type``, ``label`` and ``sentence`` ("a" or "b").

    ========  ====================================================================================================
    char      ``text``, ``span_start``, ``span_end``; ``share``: with a model, the character's weight in its sentence's
              vector
    word      ``text``, ``span_start``, ``span_end``, ``segmenters`` that cut it out; begin and end words have
              ``boundary`` instead of text
    sense     ``text`` and span of its word, ``number`` among the word's senses from 1, ``sense_id`` of the lexicon,
              ``sememes``, ``sememes_english``
    sememe    ``text``, its name, ``english``, ``sememe_id`` (-1 of the dummy of preset ``reference``)
    ========  ====================================================================================================

    Several segmenters or sememes are joined by blanks; a sememe without English name is ``-`` among others' names.

    ``edges[etype]``: source and destination rows of ``nodes``. ``attention[etype][layer]`` (edges, features): α of a
    model, in the order of the edges; layers of SaGT count from 1, what has no layers is layer 0. ``probability``: that
    the sentences match, with a model. ``warning``: what of the sentences was cut off, for people to read, or None.
    """

    texts: tuple[str, str]
    nodes: dict[str, list[Node]]
    edges: dict[schema.EdgeType, tuple[NDArray[np.int64], NDArray[np.int64]]]
    attention: dict[schema.EdgeType, dict[int, NDArray[np.float32]]] = field(default_factory=dict)
    segmenters: tuple[str, ...] = ()
    probability: float | None = None
    warning: str | None = None

    def matched(self) -> NDArray[np.bool_]:
        """Of every `schema.CROSS` edge, whether its two characters are matched: each has the greatest weight, mean over
        features, for the other."""
        sources, destinations = self.edges[schema.CROSS]
        weights = self.attention[schema.CROSS][0].mean(1)
        best: dict[int, tuple[float, int]] = {}
        for source, destination, weight in zip(sources.tolist(), destinations.tolist(), weights.tolist(), strict=True):
            # Of equal weights the first source wins, whatever the order of the edges.
            best[destination] = max(best.get(destination, (-1.0, 0)), (weight, -source))
        chosen = {destination: -source for destination, (_, source) in best.items()}
        pairs = zip(sources.tolist(), destinations.tolist(), strict=True)
        return np.array([chosen[j] == i and chosen[i] == j for i, j in pairs], bool)

    def senses_of_words(self) -> dict[int, list[tuple[Node, list[float]]]]:
        """Row of a word -> its senses, each with its weight, mean over features, in every layer of SaGT (without a
        model: in none)."""
        found: dict[int, list[tuple[Node, list[float]]]] = {}
        if schema.SENSE not in self.nodes:
            return found
        layers = [alpha.mean(1).tolist() for _, alpha in sorted(self.attention.get(schema.SENSE_OF, {}).items())]
        for row, (sense, word) in enumerate(zip(*(ends.tolist() for ends in self.edges[schema.SENSE_OF]), strict=True)):
            weights = [layer[row] for layer in layers]
            found.setdefault(word, []).append((self.nodes[schema.SENSE][sense], weights))
        return found

    def readings(self) -> Iterator[tuple[Node, Node, float, bool]]:
        """With a model: each character that takes from one of the other sentence, that one, the weight (mean over
        features), and whether the two are matched. What stands for a begin or an end is left out."""
        chars = self.nodes[schema.CHAR]
        weights = self.attention[schema.CROSS][0].mean(1).tolist()
        edges = zip(
            *(ends.tolist() for ends in self.edges[schema.CROSS]), weights, self.matched().tolist(), strict=True
        )
        for source, destination, weight, matched in edges:
            if "text" in chars[source] and "text" in chars[destination]:
                yield chars[destination], chars[source], weight, matched


def look(
    a: str,
    b: str,
    segmenters: Sequence[Segmenter],
    lexicon: Lexicon | None = None,
    checkpoint: Checkpoint | None = None,
) -> PairView:
    """The view of two raw sentences: their lattice by ``segmenters``, their senses by ``lexicon``.

    With ``checkpoint`` its model adds weights and probability; sentences are cleaned and cut off as for its training,
    and ``lexicon`` only adds English names of sememes. Raises `LetgraphError` for a sentence of which cleaning leaves
    nothing; where one, or the pair, is cut off, the view's ``warning`` says so.
    """
    texts, warning = _cleaned(a, b, checkpoint)
    return replace(_look(texts, segmenters, lexicon, checkpoint), warning=warning)


def _look(
    texts: tuple[str, str], segmenters: Sequence[Segmenter], lexicon: Lexicon | None, checkpoint: Checkpoint | None
) -> PairView:
    """`look` at cleaned sentences."""
    english = lexicon.english if lexicon else {}
    if checkpoint is not None:
        lexicon = checkpoint.lexicon and replace(checkpoint.lexicon, english=english or checkpoint.lexicon.english)
    table = featurise(texts, segmenters, lexicon)
    if checkpoint is not None:
        collator = checkpoint.collator
    else:
        collator = Collator(CharVocabulary([]), senses=lexicon is not None)
    if collator.senses and lexicon is not None:  # a model may do without the sememe nodes; who looks does not
        collator = replace(collator, sense_sememes=lexicon.sense_sememes)
    batch = collator(table)
    cuts = [{s.name: frozenset(align(text, s.cut(text))) for s in segmenters} for text in texts]
    words = {s.name: (cuts[0][s.name], cuts[1][s.name]) for s in segmenters}
    if checkpoint is None:
        return view_of(batch, lexicon=lexicon, words=words)
    model = checkpoint.model.eval()
    batch = batch.to(model.device)
    with torch.inference_mode(), record_attention(model) as records:
        probability = float(torch.sigmoid(model(batch).logits.double())[0])
        return view_of(batch, lexicon=lexicon, words=words, records=records, probability=probability)


def look_by_segmenter(
    a: str,
    b: str,
    segmenters: Sequence[Segmenter],
    lexicon: Lexicon | None = None,
    checkpoint: Checkpoint | None = None,
) -> dict[str, PairView]:
    """`look` with all segmenters together, then with each alone; by their names."""
    texts, warning = _cleaned(a, b, checkpoint)
    choices = [list(segmenters), *([segmenter] for segmenter in segmenters if len(segmenters) > 1)]
    return {
        "+".join(s.name for s in chosen): replace(_look(texts, chosen, lexicon, checkpoint), warning=warning)
        for chosen in choices
    }


def _cleaned(a: str, b: str, checkpoint: Checkpoint | None) -> tuple[tuple[str, str], str | None]:
    """Both sentences as the model's preparation has them, and what is to be said of their ends."""
    preparation = checkpoint.preparation if checkpoint else Preparation(())
    texts: list[str] = []
    changes: Counter[str] = Counter()
    for name, raw in (("a", a), ("b", b)):
        cleaned = preparation.clean(raw)
        if not cleaned.text:
            raise LetgraphError(f"sentence {name} is empty after cleaning; give one with a character to show")
        changes.update(cleaned.changes)
        texts.append(cleaned.text)
    chars = Ragged.from_lists([[*map(ord, text)] for text in texts], np.uint32)
    vocabulary = checkpoint.vocabulary if checkpoint else None
    if cut := cut_characters(chars, np.array([0]), np.array([1]), preparation.max_tokens, vocabulary):
        changes["pair-truncated"] = cut
    return (texts[0], texts[1]), truncation_warning(changes, preparation.max_characters)


def view_of(
    batch: PairBatch,
    index: int = 0,
    *,
    lexicon: Lexicon | None = None,
    words: WordSpans | None = None,
    records: Sequence[AttentionRecord] = (),
    probability: float | None = None,
) -> PairView:
    """Pair ``index`` of a batch.

    ``lexicon``: names the sememes. ``words``: names the segmenters of a word. ``records``: from `record_attention`
    around the model's run on this batch.
    """
    if not 0 <= index < len(batch):
        raise IndexError(f"pair {index} of a batch of {len(batch)}")
    mine = {ntype: (pair == index).nonzero().squeeze(1).cpu() for ntype, pair in batch.pair.items()}
    first = {ntype: int(nodes[0]) if len(nodes) else 0 for ntype, nodes in mine.items()}
    edges: dict[schema.EdgeType, tuple[NDArray[np.int64], NDArray[np.int64]]] = {}
    attention: dict[schema.EdgeType, dict[int, NDArray[np.float32]]] = {}
    for etype, neighbourhood in batch.edges.items():
        kept, sources, destinations = _edges_of(neighbourhood, mine[etype[2]])
        edges[etype] = (sources - first[etype[0]], destinations - first[etype[2]])
        layers = {_layer(r.module): _alpha(r)[kept] for r in records if r.neighbourhood is neighbourhood}
        if layers:
            attention[etype] = layers
    columns = {
        ntype: {name: values.cpu()[nodes].tolist() for name, values in batch.graph.nodes[ntype].data.items()}
        for ntype, nodes in mine.items()
    }
    chars, texts = char_nodes(columns[schema.CHAR])
    shifted = any(code < 0 for code in columns[schema.CHAR]["code"])
    nodes = {schema.CHAR: chars, schema.WORD: word_nodes(columns[schema.WORD], texts, shifted, words or {})}
    if schema.SENSE in columns:
        of = dict(zip(*(ends.tolist() for ends in edges[schema.SENSE_OF]), strict=True))
        nodes[schema.SENSE] = sense_nodes(columns[schema.SENSE]["sense"], of, nodes[schema.WORD], lexicon)
    if schema.SEMEME in columns:
        nodes[schema.SEMEME] = sememe_nodes(columns[schema.SEMEME], set(edges[schema.SEMEME_OF][0].tolist()), lexicon)
    for record in records:
        if record.neighbourhood is batch.sentences:
            kept, sources, _ = _edges_of(record.neighbourhood, torch.tensor([2 * index, 2 * index + 1]))
            for char, share in zip(sources - first[schema.CHAR], _alpha(record)[kept].mean(1).tolist(), strict=True):
                chars[char]["share"] = share
    return PairView(texts, nodes, edges, attention, tuple(words or ()), probability)


def _edges_of(neighbourhood: Neighbourhood, destinations: torch.Tensor) -> tuple[NDArray, NDArray, NDArray]:
    """The edges into ``destinations``, as numbers among all edges, sources and destinations, sorted by both."""
    sources, ends = (part.cpu().numpy() for part in neighbourhood.edges)
    kept = np.flatnonzero(np.isin(ends, destinations.numpy()))
    kept = kept[np.lexsort((sources[kept], ends[kept]))]
    return kept, sources[kept], ends[kept]


def _alpha(record: AttentionRecord) -> NDArray[np.float32]:
    return record.weights().flatten(1).float().cpu().numpy()


def _layer(module: str) -> int:
    """1 of ``sagt.layers.0.word_step``; 0 of what stands in no such list."""
    parts = module.split(".")
    return int(parts[parts.index("layers") + 1]) + 1 if "layers" in parts else 0
