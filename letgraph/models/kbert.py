"""K-BERT: a pre-trained encoder that reads HowNet's triples behind the words of the sentences."""

from __future__ import annotations

from typing import Any

from letgraph.errors import LetgraphError
from letgraph.models.bert import Bert, BertConfig


class KBertConfig(BertConfig):
    """Configuration of `KBert`, beside that of `Bert`.

    As in the source: ``max_triples`` 2 of a word; ``max_tree`` 256 tokens of a pair with its branches, of which those
    that would go beyond are left out; ``predicate``: whether a triple's branch is 包含 and the sememe, or
    the sememe alone. Its words are the path of fewest words through the lattice (pkuseg's with HowNet's words added).
    """

    model_type = "kbert"

    needs_lexicon = True

    def __init__(
        self,
        max_triples: int = 2,
        max_tree: int = 256,
        predicate: bool = True,
        lexicon_hash: str | None = None,
        **kwargs: Any,
    ) -> None:
        if max_triples < 0:
            raise LetgraphError(f"max_triples={max_triples}: it has to be 0 or more")
        self.max_triples, self.max_tree = max_triples, max_tree
        self.predicate, self.lexicon_hash = predicate, lexicon_hash
        super().__init__(**kwargs)

    @property
    def graph_options(self) -> dict[str, Any]:
        return {**super().graph_options, "max_triples": self.max_triples, "max_tree": self.max_tree}


class KBert(Bert):
    r"""`Bert` over sentence trees: behind every word stand its triples, each a branch of its own.

    Soft positions count the trunk as if there were no branches, and a branch on from the last token of its word.
    Attention is masked by the visible matrix of `letgraph.data.injection.inject`, in every layer and head:

    .. math::
        M_{ij} &= 0 \text{ if token i sees token j, else } -\infty \\
        S &= \text{softmax}\left(\frac{Q K^\top + M}{\sqrt{d_k}}\right), \qquad h = S V

    So a trunk token meets a branch of another word only by way of that word's tokens, a layer later. Without triples it
    is `Bert`.

    Source: Liu et al. 2020, "K-BERT: Enabling Language Representation with Knowledge Graph" (AAAI), with one logit in
    place of two.
    """

    config_class = KBertConfig
    base_model_prefix = "kbert"

    def __init__(self, config: KBertConfig) -> None:
        super().__init__(config)
        embeddings = getattr(self.encoder, "embeddings", None)
        relative = getattr(self.encoder.config, "relative_attention", False)
        if relative or not hasattr(embeddings, "position_embeddings"):
            raise LetgraphError(
                f"model kbert gives tokens their positions, and {self.encoder.config.model_type} counts them itself; "
                "choose an encoder of BERT's kind"
            )
