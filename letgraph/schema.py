"""The one place where the node and edge types of a sentence-pair graph are written down.

The graph of a pair holds both sentences. Per sentence there are T characters, W lattice words (a begin and an end
word included), S senses and M sememes. The builder, the models, the exporters and the docs all read this table.

===========================  =========================================================================================
edge type                    meaning
===========================  =========================================================================================
char -in-> word              the characters that a word covers
word -fw-> sense             words reachable forward from the sense's word, itself included
word -bw-> sense             words reachable backward from the sense's word, itself included
sense -of-> word             a word's senses
word -covers-> char          the words that contain a character
char -self-> char            complete graph inside one sentence, loops included
char -cross-> char           complete bipartite graph between the two sentences, both ways
sememe -of-> sense           a sense's sememes
sememe -ctx-> sememe         sememe context: complete inside one sense, or inside one sentence (see `SememeContext`)
word -reach-> word           words reachable forward or backward, itself included (only in graphs without senses)
===========================  =========================================================================================

Source: LET (AAAI 2021), sections "Chinese word lattice", "SaGT" and "Matching layer".
"""

from __future__ import annotations

from typing import Literal

CHAR, WORD, SENSE, SEMEME = "char", "word", "sense", "sememe"

EdgeType = tuple[str, str, str]

IN: EdgeType = (CHAR, "in", WORD)
FORWARD: EdgeType = (WORD, "fw", SENSE)
BACKWARD: EdgeType = (WORD, "bw", SENSE)
SENSE_OF: EdgeType = (SENSE, "of", WORD)
COVERS: EdgeType = (WORD, "covers", CHAR)
SELF: EdgeType = (CHAR, "self", CHAR)
CROSS: EdgeType = (CHAR, "cross", CHAR)
SEMEME_OF: EdgeType = (SEMEME, "of", SENSE)
CONTEXT: EdgeType = (SEMEME, "ctx", SEMEME)
REACH: EdgeType = (WORD, "reach", WORD)

SememeContext = Literal["sense", "sentence"]
"""``sense``: the sememes of one sense attend to each other, one node per (sense, sememe). ``sentence``: all distinct
sememes of a sentence do, one node per (sentence, sememe)."""

Positions = Literal["restart", "running"]
"""``restart``: the positions of ``[CLS] a [SEP] b [SEP]`` count from [CLS] and again from the first [SEP].
``running``: they count on, as BERT was trained."""


def node_types(senses: bool = True, sememes: bool = True) -> tuple[str, ...]:
    """The node types of a graph with or without senses, and with or without the sememes they are embedded from."""
    return (CHAR, WORD, *((SENSE,) if senses else ()), *((SEMEME,) if senses and sememes else ()))


def edge_types(senses: bool = True, sememes: bool = True) -> tuple[EdgeType, ...]:
    """The edge types of a graph with or without senses, and with or without sememes."""
    middle = (FORWARD, BACKWARD, SENSE_OF) if senses else (REACH,)
    leaves = (SEMEME_OF, CONTEXT) if senses and sememes else ()
    return (IN, *middle, COVERS, SELF, CROSS, *leaves)
