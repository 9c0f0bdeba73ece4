"""Smoothness of the step map where a sphere begins to touch."""

from __future__ import annotations

import numpy as np
import pytest

from tests.simulator.cases import box, point

DT, STRENGTH, RAYS = 1e-3, 1e5, 6
H = np.array([1e-4, 1e-5])  # [m]


def second_derivatives(exponent: int, height: float, step: float) -> tuple[float, float]:
    """∂²v_z⁺/∂z² of a falling mass at a height, by a difference of the step's derivatives, and ∂v_z⁺/∂z."""
    simulator = point(strength=STRENGTH, exponent=exponent).simulator()

    def slope(z: float) -> float:
        return float(simulator.simulate(DT, np.array([0, 0, z, 0.3, 0.1, -1.0]), Dqdq=True)[1][5, 2])

    return (slope(height + step) - slope(height - step)) / (2 * step), slope(height)


def jumps(exponent: int) -> np.ndarray:
    """Second derivative just inside minus just outside, at distances of H from the surface."""
    return np.array([second_derivatives(exponent, -h, h / 2)[0] - second_derivatives(exponent, h, h / 2)[0] for h in H])


def test_cubic_strength_makes_steps_c2() -> None:
    """The jump over a gap of 2h is that of k'' = 6 strength h, to first order: it falls tenfold with h."""
    found = jumps(3)
    assert found[0] / found[1] == pytest.approx(10, rel=0.1)
    assert abs(found[1]) < 6 * STRENGTH * H[1] * DT * 2


def test_quadratic_strength_does_not() -> None:
    """The jump is k'' dt n/(n+1)/m = 2 strength dt n/(n+1), whatever h: w is at its centre where k = 0."""
    wanted = 2 * STRENGTH * DT * RAYS / (RAYS + 1)
    found = jumps(2)
    assert found[1] == pytest.approx(wanted, rel=0.1)
    assert abs(found[1] - wanted) < abs(found[0] - wanted)


@pytest.mark.parametrize("exponent", [2, 3])
def test_first_derivatives_are_continuous(exponent: int) -> None:
    """They differ by the second derivative times the way, or less."""
    for h in H:
        inside, outside = (second_derivatives(exponent, z, h / 2)[1] for z in (-h, h))
        assert abs(inside - outside) < 1.1 * 2 * STRENGTH * h ** (exponent - 1) * exponent * DT


def test_a_corner_of_a_free_box_touches_down_smoothly() -> None:
    """On a free flyer: the matrix Dqdq along a fall has second differences that agree on both sides, tenfold with h.

    Along a vertical shift of the box, in every element, relative to the largest second difference at 1 mm depth.
    """
    case = box()
    sphere = case.spheres[0]
    corner = type(sphere)(frame="body", offset=sphere.offset, radius=0.0, strength=STRENGTH, rays=6)
    one = type(case)(mechanism=case.mechanism, spheres=(corner,), q=case.q, v=case.v)
    simulator, twin = one.simulator(), one.twin()
    R, p = twin.mechanism.place(case.q, "body")
    touch = case.q.copy()
    touch[2] -= (p + R @ np.array(corner.offset))[2]

    def matrix(z: float) -> np.ndarray:
        q = touch.copy()
        q[2] += z
        return simulator.simulate(DT, np.concatenate([q, case.v]), Dqdq=True)[1]

    def bend(z: float, step: float) -> np.ndarray:
        return (matrix(z + step) - matrix(z - step)) / (2 * step)

    scale = np.abs(bend(-1e-3, 5e-4)).max()
    found = [np.abs(bend(-h, h / 2) - bend(h, h / 2)).max() / scale for h in H]
    assert found[0] / found[1] == pytest.approx(10, rel=0.2)
    assert found[1] < 0.05
