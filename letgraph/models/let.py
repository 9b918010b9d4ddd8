"""LET: the Linguistic knowledge Enhanced graph Transformer for sentence pairs."""

from __future__ import annotations

from functools import partial
from typing import TYPE_CHECKING

import torch
from torch import Tensor, nn
from transformers import BertConfig

from letgraph import schema
from letgraph.models.config import LETConfig
from letgraph.models.encoder_model import EncoderModel
from letgraph.models.output import PairOutput, pair_output
from letgraph.nn.dropout import PairDropout
from letgraph.nn.feed_forward import feed_forward
from letgraph.nn.matching import Matching
from letgraph.nn.pooling import AttentivePooling
from letgraph.nn.sagt import Edges, SaGT
from letgraph.nn.senses import SememeEmbedding, SenseEmbedding

if TYPE_CHECKING:
    from letgraph.data.collate import PairBatch


class LET(EncoderModel):
    """Sentence pair -> log-odds that the two sentences mean the same.

    characters c (transformer encoder) -> words v (attentive pooling) and senses s (sememes) -> SaGT, L layers ->
    words pooled back into characters y -> matching ŷ -> r_a, r_b -> FFN([c_CLS; r_a; r_b; r_a ⊙ r_b; |r_a - r_b|]).

    With a pre-trained encoder it is the paper's LET-BERT.
    Source: LET (AAAI 2021), section "Proposed approach"; settings in `LETConfig`.
    """

    config_class = LETConfig
    base_model_prefix = "let"

    def __init__(self, config: LETConfig) -> None:
        super().__init__(config, config.encoder_config or _own_encoder(config).to_dict())
        size, encoder_size = config.hidden_size, config.encoder_size
        common = {"clip": config.clip, "kernel": config.kernel}
        pooling = {"score": config.pooling, **common}
        self.dropout = PairDropout(config.dropout, config.dropout_mode)
        self.word_pooling = AttentivePooling(encoder_size, size, **pooling)
        self.boundary = None if config.boundary_chars else nn.Embedding(2, size)
        if config.senses:
            self.senses = SenseEmbedding(
                SememeEmbedding(
                    config.num_sememes,
                    config.num_known_sememes,
                    config.sememe_size,
                    size,
                    config.trainable_sememe_vectors,
                ),
                size,
                config.num_senses,
                config.num_links,
                num_heads=config.sememe_heads,
                ffn=config.sememe_ffn,
                activation=config.activation,
                pooling=config.pooling,
                **common,
            )
        self.sagt = SaGT(
            size,
            config.num_layers,
            senses=config.senses,
            gru=config.gru,
            directions=config.directions,
            word_ffn=config.word_ffn,
            activation=config.activation,
            attention=config.attention,
            **common,
        )
        self.char_pooling = AttentivePooling(size, size, **pooling)
        self.char_projection = (
            nn.Linear(encoder_size, size, bias=False)
            if config.fusion == "linear" or encoder_size != size
            else nn.Identity()
        )
        self.char_norm = nn.LayerNorm(size) if config.fusion == "norm" else nn.Identity()
        self.matching = Matching(
            size,
            config.perspectives,
            config.matching_heads,
            cosine=config.cosine,
            residual=config.matching_residual,
            activation=config.activation,
            dropout=config.dropout,
            **common,
        )
        self.sentence_pooling = AttentivePooling(size, size, score=config.pooling, kernel=config.kernel)
        first, second = config.classifier_sizes
        outputs = 1 if config.output == "sigmoid" else 2
        self.classifier = nn.Sequential(
            feed_forward(encoder_size + 4 * size, first, second, config.dropout),
            nn.ReLU(),
            nn.Dropout(config.dropout),
            nn.Linear(second, outputs, bias=config.output == "sigmoid"),
        )
        self.post_init()

    def get_input_embeddings(self) -> nn.Module:
        """The characters' table."""
        return self.encoder.get_input_embeddings()

    def forward(self, batch: PairBatch, labels: Tensor | None = None) -> PairOutput:
        """Score the pairs of a `PairBatch`; ``labels`` (B,) of 0 and 1, else those of the batch, give the loss."""
        edges = batch.edges
        drop = partial(self._drop, batch)
        tokens, cls = self.encode(batch)
        chars = tokens.flatten(0, 1).index_select(0, batch.char_token)

        words = self._add_boundary(self.word_pooling(edges[schema.IN], drop(chars, schema.CHAR)), batch)
        senses = self._embed_senses(batch, edges) if self.config.senses else None
        words = self.sagt(edges, words, senses, drop)

        context = self.char_pooling(edges[schema.COVERS], drop(words, schema.WORD))
        y = self.char_norm(self.char_projection(chars) + context)
        y = self.matching(edges[schema.SELF], edges[schema.CROSS], y, drop(y, schema.CHAR))

        r = self.sentence_pooling(batch.sentences, drop(y, schema.CHAR))
        r_a, r_b = r[0::2], r[1::2]
        features = torch.cat([cls, r_a, r_b, r_a * r_b, (r_a - r_b).abs()], -1)
        logits = self.classifier(nn.functional.dropout(features, self.config.dropout, self.training))
        return self._output(logits, batch.labels if labels is None else labels)

    def _output(self, logits: Tensor, labels: Tensor | None) -> PairOutput:
        # Softmax over two logits is the sigmoid of their difference, and its cross-entropy is binary cross-entropy.
        odds = logits.squeeze(-1) if logits.shape[-1] == 1 else logits[:, 1] - logits[:, 0]
        return pair_output(odds, labels)

    def _embed_senses(self, batch: PairBatch, edges: Edges) -> Tensor:
        if not self.config.needs_sememe_nodes:
            return self.senses.from_lexicon(batch.senses)
        sememes = batch.graph.nodes[schema.SEMEME].data["sememe"].to(batch.senses.device)
        return self.senses.from_graph(sememes, edges[schema.CONTEXT], edges[schema.SEMEME_OF])

    def _add_boundary(self, words: Tensor, batch: PairBatch) -> Tensor:
        """Give the begin and the end word, which cover no character, their trained vectors."""
        if self.boundary is None:
            return words
        vectors = self.boundary.weight.repeat_interleave(batch.boundary.shape[1], 0)
        return words.index_copy(0, batch.boundary.flatten(), vectors)

    def _drop(self, batch: PairBatch, x: Tensor, ntype: str) -> Tensor:
        return self.dropout(x, batch.pair[ntype] if self.config.dropout_mode == "pair" else None)


def _own_encoder(config: LETConfig) -> BertConfig:
    return BertConfig(
        vocab_size=config.vocab_size,
        hidden_size=config.encoder_size,
        num_hidden_layers=config.encoder_layers,
        num_attention_heads=config.encoder_heads,
        intermediate_size=config.encoder_intermediate_size,
        max_position_embeddings=config.max_positions,
        hidden_dropout_prob=config.dropout,
        attention_probs_dropout_prob=config.dropout,
        pad_token_id=config.pad_token_id,
    )
