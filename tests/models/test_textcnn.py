"""Text-CNN's sentence vector is the largest response of each filter over the windows inside the sentence."""

from __future__ import annotations

import torch

from tests.helpers import Sentence, batch_for, random_pairs, tiny_model


def test_a_sentence_is_the_largest_response_of_every_filter():
    model = tiny_model("textcnn")
    sentences = [*random_pairs(0, pairs=2), Sentence("存", ((0, 1),), ((),)), Sentence("款存", ((0, 2),), ((),))]
    batch = batch_for(model, sentences)
    with torch.no_grad():
        encoded = model.encode(batch)
        vectors = model.characters(batch.input_ids.flatten()[batch.char_token]).split([len(s.text) for s in sentences])

        for row, x in enumerate(vectors):
            expected = []
            for width, convolution in zip((1, 2, 3), model.convolutions, strict=True):
                filled = torch.cat([x, x.new_zeros(max(width - len(x), 0), x.shape[1])])
                windows = [filled[t : t + width].t() for t in range(len(filled) - width + 1)]
                responses = [(convolution.weight * window).sum((1, 2)) + convolution.bias for window in windows]
                expected.append(torch.stack(responses).amax(0).clamp(min=0))
            torch.testing.assert_close(encoded[row], torch.cat(expected), rtol=1e-5, atol=1e-6)
