"""The BiLSTM's sentence vector is the last state of each direction, run step by step over the sentence alone."""

from __future__ import annotations

import torch
from torch import nn

from tests.helpers import batch_for, random_pairs, tiny_model


def test_a_sentence_is_the_last_state_of_either_direction():
    model = tiny_model("bilstm")
    sentences = random_pairs(0, pairs=2, min_length=1)
    batch = batch_for(model, sentences)
    lstm = model.encoder.lstm
    cells = []
    for suffix in ("", "_reverse"):
        cell = nn.LSTMCell(lstm.input_size, lstm.hidden_size)
        for name in ("weight_ih", "weight_hh", "bias_ih", "bias_hh"):
            getattr(cell, name).data = getattr(lstm, f"{name}_l0{suffix}").data
        cells.append(cell)

    with torch.no_grad():
        encoded = model.encode(batch)
        vectors = model.characters(batch.input_ids.flatten()[batch.char_token]).split([len(s.text) for s in sentences])
        for row, x in enumerate(vectors):
            states = []
            for cell, steps in zip(cells, (x, x.flip(0)), strict=True):
                state = None
                for step in steps:
                    state = cell(step.unsqueeze(0), state)
                states.append(state[0][0])
            torch.testing.assert_close(encoded[row], torch.cat(states), rtol=1e-5, atol=1e-6)
