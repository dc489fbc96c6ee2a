"""Masking before and after the softmax, against torch and the algebra."""
import numpy as np
import pytest
import torch

from model.lessons import masking

N = 7
SCORES = masking.toy_scores(N, 3)
ALLOWED = masking.look_ahead_mask(N) & masking.padding_mask(N, 2)


def test_masking_before_is_torchs_softmax_over_minus_infinity():
    wanted = torch.softmax(torch.from_numpy(SCORES).masked_fill(~torch.from_numpy(ALLOWED), -torch.inf), -1).numpy()
    assert masking.masked_weights(SCORES, ALLOWED, "before") == pytest.approx(wanted, abs=1e-15)


def test_zeroing_and_renormalising_is_the_same_as_masking_before():
    assert masking.masked_weights(SCORES, ALLOWED,
                                  "renormalised") == pytest.approx(masking.masked_weights(SCORES, ALLOWED, "before"),
                                                                   abs=1e-14)


def test_zeroing_alone_loses_what_the_forbidden_keys_had():
    whole = torch.softmax(torch.from_numpy(SCORES), -1).numpy()
    found = masking.masked_weights(SCORES, ALLOWED, "after")
    assert found.sum(1) == pytest.approx((whole * ALLOWED).sum(1)) and (found.sum(1)[~ALLOWED.all(1)] < 1).all()


def test_a_large_negative_number_does_as_well_until_a_row_has_nothing_left():
    assert masking.masked_weights(SCORES, ALLOWED,
                                  "finite") == pytest.approx(masking.masked_weights(SCORES, ALLOWED, "before"),
                                                             abs=1e-15)
    blind = ALLOWED.copy()
    blind[4] = False
    assert masking.masked_weights(SCORES, blind, "finite")[4] == pytest.approx(1 / N, abs=1e-6)
    assert np.isnan(masking.masked_weights(SCORES, blind, "before")[4]).all()
    assert np.isnan(masking.masked_weights(SCORES, blind, "renormalised")[4]).all()
    assert not masking.masked_weights(SCORES, blind, "after")[4].any()


def test_only_zeroing_without_renormalising_sees_the_hidden_score():
    moved = np.linspace(-3, 3, 5)
    for method in masking.METHODS:
        found = masking.leak(SCORES, ALLOWED, 2, moved, method)
        assert found.shape == (5, 3)
        assert (np.ptp(found, axis=0).max() > 0.01) == (method == "after")


def test_the_masks_are_what_they_say():
    assert (masking.look_ahead_mask(N) == ~torch.triu(torch.ones(N, N, dtype=torch.bool), 1).numpy()).all()
    assert masking.padding_mask(N, 2).sum(1).tolist() == [5] * N and not masking.padding_mask(N, 2)[:, 5:].any()


def test_a_blind_row_is_nan_or_a_silent_lie():
    found = masking.blind_row(5)
    assert (found["before"], found["after"], found["renormalised"],
            found["torch.softmax"]) == ("NaN", "0", "NaN", "NaN")
    assert found["finite"].startswith("uniform")
    assert found["scaled_dot_product_attention"] in ("0", "NaN")   # 0 in current torch, NaN in older ones
