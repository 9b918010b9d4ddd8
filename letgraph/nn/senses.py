"""Sense embeddings from sememes."""

from __future__ import annotations

import torch
from torch import Tensor, nn

from letgraph.blocks import Neighbourhood, NodeBlocks
from letgraph.nn.feed_forward import feed_forward
from letgraph.nn.md_attention import Kernel
from letgraph.nn.mdgat import MDGAT
from letgraph.nn.pooling import AttentivePooling, PoolingScore


class SememeEmbedding(nn.Module):
    """Sememe id -> vector of the hidden size: e_m = W x_m + b.

    x_m is the sememe's pre-trained vector where there is one, else a trained vector of the same size. Pre-trained
    vectors are scaled to unit length, because their norms differ by four orders of magnitude, and stay as they are
    unless ``trainable``.

    Parameters
    ----------
    num_sememes, num_known: how many sememes there are, and how many of them have a pre-trained vector.
    vector_size: size of these vectors.
    """

    def __init__(
        self, num_sememes: int, num_known: int, vector_size: int, out_features: int, trainable: bool = False
    ) -> None:
        super().__init__()
        self.known: Tensor
        known = torch.zeros(num_known, vector_size)
        if trainable:
            self.known = nn.Parameter(known)
        else:
            self.register_buffer("known", known)
        self.unknown = nn.Parameter(torch.randn(num_sememes - num_known, vector_size) * vector_size**-0.5)
        # Sememe id -> row of the two tables, one below the other.
        self.register_buffer("row", torch.arange(num_sememes))
        self.row: Tensor
        self.project = nn.Linear(vector_size, out_features)

    @torch.no_grad()
    def load_vectors(self, vectors: Tensor, known: Tensor) -> None:
        """Take the rows of ``vectors`` (num_sememes, size) where ``known`` (num_sememes,) is True."""
        self.known.copy_(nn.functional.normalize(vectors[known], dim=-1))
        self.row[known] = torch.arange(len(self.known), device=self.row.device)
        self.row[~known] = torch.arange(len(self.known), len(self.row), device=self.row.device)

    def forward(self, sememes: Tensor) -> Tensor:
        vectors = torch.cat([self.known, self.unknown])
        return self.project(nn.functional.embedding(self.row[sememes], vectors))


class SenseEmbedding(nn.Module):
    r"""A sense's vector from its sememes: attentive pooling of LN(e + MD-GAT(e)), MD-GAT over a context of sememes.

    The context is the sense itself (`from_lexicon`: then the embedding depends on the sense alone and is computed once
    for each distinct sense of a batch) or whatever neighbourhoods are given (`from_graph`).

    Parameters
    ----------
    num_senses, num_links: how many senses the lexicon has and how many (sense, sememe) links.
    ffn: False for the paper; True adds a feed-forward network 128-256-128 behind MD-GAT (the authors' program).

    Source: LET (AAAI 2021), section "Input module", sense embedding.
    """

    def __init__(
        self,
        sememes: SememeEmbedding,
        features: int,
        num_senses: int,
        num_links: int,
        *,
        num_heads: int = 1,
        ffn: bool = False,
        activation: str = "none",
        pooling: PoolingScore = "ffn",
        clip: float | None = None,
        kernel: Kernel = "auto",
    ) -> None:
        super().__init__()
        self.sememes = sememes
        self.attention = MDGAT(features, features, num_heads, activation=activation, clip=clip, kernel=kernel)
        self.ffn = feed_forward(features, 2 * features, features) if ffn else None
        self.norm = nn.LayerNorm(features)
        self.pooling = AttentivePooling(features, features, score=pooling, clip=clip, kernel=kernel)
        self.register_buffer("offsets", torch.zeros(num_senses + 1, dtype=torch.int64))
        self.register_buffer("links", torch.zeros(num_links, dtype=torch.int32))
        self.offsets: Tensor
        self.links: Tensor
        self._embedded: tuple[list[object], Tensor, Tensor] | None = None

    @torch.no_grad()
    def load_lexicon(self, offsets: Tensor, links: Tensor) -> None:
        """Which sememes each sense has: those of sense s are ``links[offsets[s] : offsets[s + 1]]``."""
        self.offsets.copy_(offsets)
        self.links.copy_(links)

    def from_lexicon(self, senses: Tensor) -> Tensor:
        """(S,) sense ids -> (S, features), each distinct sense once: of the batch where gradients are wanted, else for
        as long as the weights stay what they are."""
        if torch.is_grad_enabled() or self.training:
            distinct, inverse = senses.unique(return_inverse=True)
            return self._embed(distinct).index_select(0, inverse)
        known, table = self._table()
        missing = senses[~known[senses]].unique()
        if len(missing):
            table[missing] = self._embed(missing).to(table.dtype)  # which autocast makes another
            known[missing] = True
        return table.index_select(0, senses)

    def _table(self) -> tuple[Tensor, Tensor]:
        """Which senses have been embedded with the weights as they are now, and their vectors."""
        like = self.norm.weight
        # What was made in inference mode cannot be written to outside of it, and autocast rounds.
        state: list[object] = [torch.is_inference_mode_enabled(), torch.is_autocast_enabled(like.device.type)]
        for tensor in (*self.parameters(), *self.buffers()):
            # The address changes when a tensor is replaced or moved, the sum when it is written to (a tensor's version
            # would miss what goes through ``.data``).
            state.append((tensor.data_ptr(), tensor.dtype, float(tensor.sum())))
        if self._embedded is None or self._embedded[0] != state:
            count = len(self.offsets) - 1
            known = torch.zeros(count, dtype=torch.bool, device=like.device)
            self._embedded = (state, known, like.new_empty(count, len(like)))
        return self._embedded[1:]

    def _embed(self, distinct: Tensor) -> Tensor:
        counts, order = (self.offsets[distinct + 1] - self.offsets[distinct]).sort(stable=True)
        # Senses with equally many sememes share a bucket, so that nothing is padded.
        sizes, repeats = (part.tolist() for part in counts.unique_consecutive(return_counts=True))
        leaf = NodeBlocks.full(zip(repeats, sizes, strict=True), distinct.device)
        sense = NodeBlocks.full(((size, 1) for size in repeats), distinct.device)
        link = self.offsets[distinct[order]].repeat_interleave(counts) + leaf.column
        # Projections are per distinct sememe, messages and pooling per leaf: a (sense, sememe) pair.
        sememe, which = self.links[link].long().unique(return_inverse=True)
        embedded = self.sememes(sememe)
        projected = self.attention.project(embedded, embedded)
        context = Neighbourhood.between(leaf, leaf)
        message = self.attention.attend(context, *(part.index_select(0, which) for part in projected))
        pooled = self.pooling(
            Neighbourhood.between(leaf, sense), self._context(embedded.index_select(0, which), message)
        )
        return pooled.index_select(0, order.argsort())

    def from_graph(self, sememes: Tensor, context: Neighbourhood, sense_of: Neighbourhood) -> Tensor:
        """Sememe nodes' ids (M,), their context edges and the edges sememe -> sense: (S, features)."""
        embedded = self.sememes(sememes)
        message = self.attention(context, embedded, embedded)
        return self.pooling(sense_of, self._context(embedded, message))

    def _context(self, embedded: Tensor, message: Tensor) -> Tensor:
        if self.ffn is not None:
            message = self.ffn(message)
        return self.norm(embedded + message)
