"""Kernel regression against scipy and closed forms, and the conditions under which it is dot-product attention."""
import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from scipy import special, stats

from model.lessons import kernels

PLACES = st.lists(st.floats(-3, 3), min_size=2, max_size=9).map(np.array)


@given(PLACES, st.floats(-3, 3), st.floats(0.1, 5))
def test_the_gaussian_kernel_is_scipys_normal_density(keys, query, h):
    density = stats.norm.pdf(query, keys, h)
    found = kernels.kernel_weights(np.array([[query]]), keys[:, None], h)[0]
    assert found.sum() == pytest.approx(1)
    if density.sum() > 1e-250:
        assert found == pytest.approx(density / density.sum(), abs=1e-12)


@pytest.mark.parametrize(("name", "formula"),
                         [("epanechnikov", lambda u: 0.75 * (1 - u**2)), ("triangular", lambda u: 1 - abs(u)),
                          ("boxcar", lambda u: 0.5 + 0 * u)])
def test_kernels_with_an_end_are_the_textbooks(name, formula):
    keys, query, h = np.array([-2.0, -0.4, 0.1, 0.5, 1.3, 2.9]), 0.3, 1.4
    u = (query - keys) / h
    wanted = np.where(np.abs(u) < 1, formula(u), 0)
    assert kernels.kernel_weights(np.array([[query]]), keys[:, None], h,
                                  name)[0] == pytest.approx(wanted / wanted.sum(), abs=1e-15)
    assert np.isnan(kernels.kernel_weights(np.array([[50.0]]), keys[:, None], h, name)).all()     # nobody within reach


def test_no_bandwidth_overflows_and_the_ends_are_the_nearest_point_and_the_mean():
    keys = np.array([-1.0, 0.2, 2.0])[:, None]
    rows = [kernels.kernel_weights(np.array([[0.5]]), keys, h)[0] for h in (1e-6, 1e6)]
    assert rows[0] == pytest.approx([0, 1, 0]) and rows[1] == pytest.approx([1 / 3] * 3)


@given(PLACES, st.floats(-3, 3), st.floats(0.2, 5), st.sampled_from(kernels.LIFTS))
def test_with_t_as_h_squared_dot_products_need_keys_of_equal_length_or_a_bias(keys, query, h, how):
    lifted, asked = kernels.lift(keys, how), kernels.lift(np.array([query]), how)
    wanted = kernels.kernel_weights(asked, lifted, h)
    plain = kernels.dot_product_weights(asked, lifted, h**2)
    assert kernels.dot_product_weights(asked, lifted, h**2,
                                       kernels.length_bias(lifted)) == pytest.approx(wanted, abs=1e-9)
    if how == "circle":
        assert plain == pytest.approx(wanted, abs=1e-9)
    else:
        assert plain[0] == pytest.approx(special.softmax(query * keys / h**2), abs=1e-9)


def test_without_equal_lengths_they_differ_and_the_longest_key_wins():
    keys = np.array([0.5, 1.0, 3.0])[:, None]
    wanted, plain = kernels.kernel_weights(np.array([[0.9]]), keys,
                                           0.5), kernels.dot_product_weights(np.array([[0.9]]), keys, 0.25)
    assert wanted.argmax() == 1 and plain.argmax() == 2 and np.abs(wanted - plain).sum() / 2 > 0.9


def test_leaving_one_out_is_the_hat_matrix_shortcut():
    """Of a linear smoother the left-out error is (y − ŷ)/(1 − H_ii) (Hastie, Tibshirani, Friedman 2009, equation
    7.52)."""
    rng = np.random.default_rng(0)
    keys, values, h = rng.uniform(-3, 3, (9, 1)), rng.standard_normal(9), 0.8
    hat = kernels.kernel_weights(keys, keys, h)
    wanted = (((values - hat @ values) / (1 - np.diag(hat))) ** 2).mean()
    assert kernels.leave_one_out(keys, values, h, "gaussian") == pytest.approx(wanted)
    assert np.isnan(kernels.leave_one_out(keys, values, 1e-3, "boxcar"))
