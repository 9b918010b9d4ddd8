"""Sentence trees as matrices: branches behind the words of a batch of token sequences, as K-BERT injects them."""

from __future__ import annotations

from dataclasses import dataclass, replace

import numpy as np
from numpy.typing import NDArray

from letgraph.ragged import Ragged, offsets_of, ranges


@dataclass(frozen=True)
class TokenRows:
    """Tokens of B sequences, padded to L: ``ids``, token ``types``, ``positions`` and ``valid`` (False: padding) are
    (B, L). ``char_token`` (characters,): where the token of a character stands in the flattened (B * L) tokens.
    ``visible`` (B, L, L): whether token i sees token j; None: all do."""

    ids: NDArray[np.int64]
    types: NDArray[np.int64]
    positions: NDArray[np.int64]
    valid: NDArray[np.bool_]
    char_token: NDArray[np.int64]
    visible: NDArray[np.bool_] | None = None


def inject(
    trunk: TokenRows, first: NDArray[np.int64], last: NDArray[np.int64], branches: Ragged, pad: int
) -> TokenRows:
    r"""Sequences in which branch k, the token ids ``branches[k]``, stands behind the word of the tokens ``first[k]``
    to ``last[k]`` of the flattened trunk (B * L). Branches come in the order of their words, ``last`` never falls.

    Branches of the same word follow one another in their order. Their soft positions are last's + 1, + 2, …, and those
    of the trunk stay what they are, so that several tokens share a position. With word(k) = {first_k, …, last_k}:

    .. math::
        visible_{ij} = 1 \text{ iff } i, j \in trunk \;\lor\; i, j \in k \;\lor\;
            i \in word(k), j \in k \;\lor\; i \in k, j \in word(k)

    A trunk token that two words share belongs to both. A branch token has the type of the token before its branch.
    Padding sees the trunk, lest a softmax be over nothing, and nobody sees padding.

    Source: K-BERT (AAAI 2020), sections "Knowledge layer" and "Seeing layer".
    """
    rows, width = trunk.valid.shape
    sizes = branches.lengths
    behind = np.zeros(rows * width, np.int64)
    np.add.at(behind, last, sizes)
    behind = behind.reshape(rows, width)
    per_row = behind.sum(1)
    total = int((trunk.valid.sum(1) + per_row).max(initial=1))
    column = np.arange(width) + np.cumsum(behind, 1) - behind  # of trunk tokens
    trunk_at = np.arange(rows)[:, None] * total + column

    row, number = last // width, last % width
    before = offsets_of(sizes)[:-1] - offsets_of(per_row)[row]  # tokens of branches before this one in its row
    branch_at = np.repeat(row * total + number + 1 + before, sizes) + ranges(sizes)

    def joined(of_trunk: NDArray, of_branches: NDArray, fill: int) -> NDArray:
        values = np.full(rows * total, fill, of_branches.dtype)
        values[trunk_at[trunk.valid]] = of_trunk[trunk.valid]
        values[branch_at] = of_branches
        return values.reshape(rows, total)

    def of_last(values: NDArray) -> NDArray:
        return np.repeat(values.reshape(-1)[last], sizes)

    valid = joined(trunk.valid, np.ones(len(branch_at), bool), False)
    return replace(
        trunk,
        ids=joined(trunk.ids, branches.values, pad),
        types=joined(trunk.types, of_last(trunk.types), 0),
        positions=joined(trunk.positions, of_last(trunk.positions) + 1 + ranges(sizes), 0),
        valid=valid,
        char_token=trunk_at.reshape(-1)[trunk.char_token],
        visible=_visible(
            valid,
            number=joined(np.tile(np.arange(width), (rows, 1)), np.full(len(branch_at), -1), -1),
            branch=joined(np.full((rows, width), -1), np.repeat(np.arange(len(sizes)), sizes), -1),
            first=joined(np.zeros((rows, width), np.int64), np.repeat(first % width, sizes), 0),
            last=joined(np.full((rows, width), width), np.repeat(number, sizes), width),
        ),
    )


def that_fit(trunk: TokenRows, last: NDArray[np.int64], sizes: NDArray[np.int64], most: int) -> NDArray[np.bool_]:
    """Which branches, of ``sizes`` tokens behind the trunk's tokens ``last``, to `inject` so that no row has more than
    ``most`` tokens: of each row those before the first that goes beyond. A trunk is never cut."""
    row = last // trunk.valid.shape[1]
    of_row = np.bincount(row, sizes, len(trunk.valid)).astype(np.int64)
    so_far = np.cumsum(sizes) - offsets_of(of_row)[row]
    return trunk.valid.sum(1)[row] + so_far <= most


def _visible(
    valid: NDArray[np.bool_], number: NDArray, branch: NDArray, first: NDArray, last: NDArray
) -> NDArray[np.bool_]:
    """All (B, L): ``number`` of a trunk token, else -1; ``branch`` that a token is of, else -1; ``first`` and ``last``
    number of the trunk tokens that it sees."""
    number, branch, first, last = (values.astype(np.int32) for values in (number, branch, first, last))
    sees = (first[:, :, None] <= number[:, None, :]) & (number[:, None, :] <= last[:, :, None])
    same = (branch[:, :, None] == branch[:, None, :]) & (branch >= 0)[:, None, :]
    return (sees | sees.transpose(0, 2, 1) | same) & valid[:, None, :]
