"""Attention of pre-trained encoders with fast dropout: what it drops, and that nothing else differs from sdpa."""

import pytest
import torch
from transformers import BertConfig

from letgraph.nn.attention import NAME, attend
from letgraph.nn.encoder import new_encoder
from tests.helpers import batch_for, random_pairs, tiny_model


def masks(length):
    visible = torch.rand(2, 1, length, length) < 0.6
    visible |= torch.eye(length, dtype=torch.bool)
    return {
        "none": None,
        "keys": torch.tensor([[True] * length, [True] * (length - 3) + [False] * 3])[:, None, None],
        "matrix": visible,
        "scores": torch.zeros(2, 1, length, length).masked_fill(~visible, -1e4),
    }


class Attention(torch.nn.Module):
    def __init__(self, is_causal):
        super().__init__()
        self.is_causal = is_causal


def weights_of(module, query, key, mask):
    """With unit vectors as values, what comes out are the weights."""
    values = torch.eye(key.shape[2]).expand(*key.shape[:2], -1, -1)
    return attend(module, query, key, values, mask, dropout=0.25)[0].transpose(1, 2)


@pytest.mark.parametrize("mask", ["none", "keys", "matrix", "scores"])
def test_every_weight_is_dropped_or_scaled_by_the_probability_to_be_kept(mask):
    torch.manual_seed(0)
    length = 12
    query, key = torch.randn(2, 2, 4, length, 8)
    seen = masks(length)[mask]
    scores = query @ key.transpose(-1, -2) / 8**0.5
    if seen is not None:
        scores = scores + seen if seen.is_floating_point() else scores.masked_fill(~seen, -torch.inf)
    expected = scores.softmax(-1)
    weights = weights_of(Attention(is_causal=False), query, key, seen)
    kept = weights != 0
    torch.testing.assert_close(weights, expected / 0.75 * kept, rtol=1e-5, atol=1e-7)
    assert 0.65 < kept[expected > 0].float().mean() < 0.85


def test_a_decoder_looks_back_only_without_a_mask_too():
    query, key = torch.randn(2, 2, 4, 12, 8)
    weights = weights_of(Attention(is_causal=True), query, key, None)
    assert (weights.triu(1) == 0).all() and (weights.tril(-1) != 0).any()


def test_the_encoder_attends_as_transformers_has_it_where_nothing_is_dropped():
    torch.manual_seed(0)
    config = BertConfig(hidden_size=32, num_hidden_layers=2, num_attention_heads=4, intermediate_size=64, vocab_size=50)
    encoder = new_encoder(config, pooler=False)
    assert encoder.config._attn_implementation == NAME
    ids = torch.randint(0, 50, (3, 9))
    mask = torch.arange(9) < torch.tensor([[9], [5], [7]])
    encoder.eval()
    ours = encoder(ids, attention_mask=mask).last_hidden_state
    encoder.config._attn_implementation = "eager"
    torch.testing.assert_close(encoder(ids, attention_mask=mask).last_hidden_state, ours, rtol=1e-4, atol=1e-5)


def test_a_sentence_attends_to_itself_alone_in_encoders_without_sdpa_too():
    model = tiny_model("let", encoder_context="sentence")
    batch = batch_for(model, random_pairs(0))
    tokens, _ = model.encode(batch)
    model.encoder.config._attn_implementation = "eager"
    torch.testing.assert_close(model.encode(batch)[0], tokens, rtol=1e-4, atol=1e-5)


def test_the_choice_of_attention_is_not_written_to_the_configuration():
    encoder = new_encoder(BertConfig(hidden_size=32, num_hidden_layers=1, num_attention_heads=4), pooler=False)
    assert NAME not in encoder.config.to_json_string()
