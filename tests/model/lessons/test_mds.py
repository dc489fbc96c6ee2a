"""Multidimensional scaling: exact where it can be, and SMACOF's end against scipy's optimiser."""
import numpy as np
import pytest
from scipy.optimize import minimize
from scipy.spatial import procrustes
from scipy.spatial.distance import cdist

from model.lessons import information

RNG = np.random.default_rng(5)
FLAT = RNG.standard_normal((9, 2))
ROOM = information.between(RNG.standard_normal((9, 5)))   # distances that no plane has


def test_points_of_a_plane_come_back_turned_at_most():
    wanted = information.between(FLAT)
    for points in (information.classical(wanted), information.smacof(wanted, FLAT + 0.1)[0]):
        assert information.stress(points, wanted) == pytest.approx(0, abs=1e-6)
        assert procrustes(FLAT, points)[2] == pytest.approx(0, abs=1e-9)


def test_smacof_never_makes_it_worse_and_ends_where_scipys_optimiser_does():
    start = information.classical(ROOM)
    points, raw = information.smacof(ROOM, start, steps=5000)
    assert (np.diff(raw) <= 1e-12).all() and information.stress(points, ROOM) < information.stress(start, ROOM)
    above = np.triu_indices(len(ROOM), 1)
    best = minimize(lambda flat: ((information.between(flat.reshape(-1, 2))[above] - ROOM[above]) ** 2).sum(),
                    points.ravel(), method="BFGS")
    assert raw[-1] == pytest.approx(best.fun, rel=1e-3)


def test_distances_are_scipys():
    assert information.between(FLAT + 7) == pytest.approx(cdist(FLAT, FLAT), abs=1e-12)


def test_heads_that_coincide_are_one_point():
    wanted = np.array([[0, 0, 1.0], [0, 0, 1], [1, 1, 0]])
    points, _ = information.smacof(wanted, information.classical(wanted))
    assert information.stress(points, wanted) == pytest.approx(0, abs=1e-6) and np.isfinite(points).all()
