"""Multidimensional scaling: exact where it can be, and SMACOF's end against scipy's optimiser."""
import numpy as np
import pytest
from scipy.optimize import minimize
from scipy.spatial import procrustes
from scipy.spatial.distance import cdist

from model.lessons import mds

RNG = np.random.default_rng(5)
FLAT = RNG.standard_normal((9, 2))
ROOM = mds.between(RNG.standard_normal((9, 5)))   # distances that no plane has


def test_points_of_a_plane_come_back_turned_at_most():
    wanted = mds.between(FLAT)
    for points in (mds.classical(wanted), mds.smacof(wanted, FLAT + 0.1)[0]):
        assert mds.stress(points, wanted) == pytest.approx(0, abs=1e-6)
        assert procrustes(FLAT, points)[2] == pytest.approx(0, abs=1e-9)


def test_smacof_never_makes_it_worse_and_ends_where_scipys_optimiser_does():
    start = mds.classical(ROOM)
    points, raw = mds.smacof(ROOM, start, steps=5000)
    assert (np.diff(raw) <= 1e-12).all() and mds.stress(points, ROOM) < mds.stress(start, ROOM)
    above = np.triu_indices(len(ROOM), 1)
    best = minimize(lambda flat: ((mds.between(flat.reshape(-1, 2))[above] - ROOM[above]) ** 2).sum(), points.ravel(),
                    method="BFGS")
    assert raw[-1] == pytest.approx(best.fun, rel=1e-3)


def test_distances_are_scipys():
    assert mds.between(FLAT + 7) == pytest.approx(cdist(FLAT, FLAT), abs=1e-12)


def test_heads_that_coincide_are_one_point():
    wanted = np.array([[0, 0, 1.0], [0, 0, 1], [1, 1, 0]])
    points, _ = mds.smacof(wanted, mds.classical(wanted))
    assert mds.stress(points, wanted) == pytest.approx(0, abs=1e-6) and np.isfinite(points).all()
