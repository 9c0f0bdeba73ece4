"""Distances of segments from boxes against a slow twin, where rounding decides which feature is nearest too."""

from __future__ import annotations

from collections import Counter

import casadi as ca
import numpy as np
import pytest

from trajopt.kernels.instructions import read_instructions
from trajopt.robots.box_distances import TOUCHING, box_gap, segment_box
from trajopt.types import Reals

COUNT = 4000
PLACES = ("anywhere", "along an axis", "nearly along an axis", "on a grid", "in a face", "without length")


def segments(where: str, rng: np.random.Generator) -> tuple[Reals, Reals, Reals]:
    """Starts and ends of segments, and half sides (3, COUNT) [m]."""
    half, scale = rng.uniform(0.05, 0.5, (3, COUNT)), rng.choice([0.1, 0.5, 1.0], COUNT)
    start, end = scale * rng.normal(size=(2, 3, COUNT))
    axis, cases = rng.integers(3, size=COUNT), np.arange(COUNT)
    tiny = 10.0 ** rng.uniform(-18.0, -4.0, COUNT)
    if where.endswith("along an axis"):
        end = start.copy()
        end[axis, cases] += rng.normal(size=COUNT)
        if where.startswith("nearly"):
            end += tiny * rng.normal(size=(3, COUNT))
    if where == "on a grid":
        half, start, end = 0.1 + np.round(half, 1), np.round(start, 1), np.round(end, 1)
    if where == "in a face":
        start[axis, cases] = rng.choice([-1.0, 1.0], COUNT) * half[axis, cases]
        end[axis, cases] = start[axis, cases] + rng.choice([0.0, 1.0], COUNT) * tiny
    return start, start if where == "without length" else end, half


def slow_distances(start: Reals, end: Reals, half: Reals) -> Reals:
    """By bisection of the slope along the segment outside, and by all separating axes inside."""
    along = end - start

    def gap(share: Reals) -> Reals:
        point = start + share * along
        return np.asarray(point - np.clip(point, -half, half))

    low, high = np.zeros(start.shape[1]), np.ones(start.shape[1])
    for _ in range(60):
        middle = (low + high) / 2
        rising = (along * gap(middle)).sum(axis=0) > 0.0
        low, high = np.where(rising, low, middle), np.where(rising, middle, high)
    outside = np.min([np.linalg.norm(gap(share), axis=0) for share in (np.zeros_like(low), low, high)], axis=0)
    inside = np.full(len(outside), -np.inf)
    for k in range(3):
        unit = np.eye(3)[:, [k]] + 0.0 * along
        across = np.cross(unit, along, axis=0)
        for axis in (unit, across):
            norm = np.linalg.norm(axis, axis=0)
            ends = np.abs((axis * (start + end)).sum(axis=0)) - np.abs((axis * along).sum(axis=0))
            reach = ends / 2 - (np.abs(axis) * half).sum(axis=0)
            inside = np.maximum(inside, np.where(norm > 1e-12, reach / np.maximum(norm, 1e-300), -np.inf))
    return np.where(outside > TOUCHING, outside, inside)


def distances(start: Reals, end: Reals, half: Reals) -> tuple[Reals, Reals, Reals]:
    """Distances, normals and points of the segments, from `segment_box`."""
    s, e, h = (ca.SX.sym(name, 3) for name in ("start", "end", "half"))
    distance, normal, share = segment_box(s, e - s, h)
    function = ca.Function("distance", [s, e, h], [distance, normal, s + share * (e - s)])
    found = function.map(start.shape[1])(start, end, half)
    return np.asarray(found[0])[0], np.asarray(found[1]), np.asarray(found[2])


@pytest.mark.parametrize("where", PLACES)
def test_distances_are_those_of_a_slow_twin(where: str) -> None:
    start, end, half = segments(where, np.random.default_rng(PLACES.index(where)))
    found, normal, point = distances(start, end, half)
    expected = slow_distances(start, end, half)
    np.testing.assert_allclose(found, expected, rtol=0, atol=2.0 * TOUCHING)
    assert np.all(np.isfinite(normal))
    assert np.all(np.isfinite(point))
    clear = np.abs(expected) > 1e-6
    assert (clear & (expected > 0.0)).sum() > 400
    assert (clear & (expected < 0.0)).sum() > 50
    np.testing.assert_allclose(np.linalg.norm(normal, axis=0)[clear], 1.0, rtol=0, atol=1e-9)
    beyond = (normal * point).sum(axis=0) - (np.abs(normal) * half).sum(axis=0)
    np.testing.assert_allclose(beyond[clear], expected[clear], rtol=0, atol=1e-7)  # the plane of the derivative


def test_a_segment_through_a_corner() -> None:
    """By rounding, each coordinate enters the box after another one."""
    start, end, half = np.array([[-1.19, -1.12, 1.26], [0.56, 0.63, -0.49], [0.14, 0.07, 0.21]])[:, :, None]
    found, _, _ = distances(start, end, half)
    np.testing.assert_allclose(found, slow_distances(start, end, half), rtol=0, atol=1e-9)
    assert found[0] < 0.0


def test_few_divisions_and_roots() -> None:
    """They take ten times as long as other operations."""
    inputs = box_gap().sx_in()
    flat = ca.Function("gap", inputs, box_gap().call(inputs, True, False))
    count = Counter(operation for operation, _, _ in read_instructions(flat).operations)
    assert count[ca.OP_DIV] + count[ca.OP_INV] <= 3
    assert count[ca.OP_SQRT] == 1
    assert sum(count.values()) <= 400
