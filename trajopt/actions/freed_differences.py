"""Central differences along unknown parameters, as steps of a program."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from functools import partial

import casadi as ca
import numpy as np
from casadi import SX

from trajopt.kernels.program import Program
from trajopt.kernels.steps import Array
from trajopt.model.parts import computed

STEP = np.finfo(float).eps ** (1 / 3)  # relative to the size of an unknown
LEAST = 1e-2  # least size of an unknown

Difference = Callable[[SX, SX], SX]


def central_differences(
    program: Program,
    values: Callable[[Array], Mapping[str, Array | None]],
    theta: Array,
    differences: Mapping[str, Difference],
) -> dict[str, Array]:
    """Adds the steps that compute the derivatives (n, k) of named columns (n,) by the unknowns.

    Args:
        program: The program.
        values: Adds the steps that compute the columns at unknowns (k,); None for one that the knot lacks.
        theta: The unknowns (k,).
        differences: Difference b ⊖ a of columns a and b by name, where that is not b - a.
    """
    slopes = dict[str, list[Array]]()
    for j in range(theta.size):
        before, after = (
            values(computed(program, "moved", partial(_moved, j=j, sign=sign), theta)) for sign in (-1.0, 1.0)
        )
        for name, a in before.items():
            if a is not None and (b := after[name]) is not None:
                slope = partial(_slope, differences.get(name, _minus), j)
                slopes.setdefault(name, []).append(computed(program, "slope", slope, a, b, theta))
    return {name: computed(program, "columns", _side_by_side, *columns) for name, columns in slopes.items()}


def _side_by_side(*columns: SX) -> SX:
    return SX(ca.horzcat(*columns))


def _minus(a: SX, b: SX) -> SX:
    return b - a


def _step(unknown: SX) -> SX:
    return SX(STEP * ca.fmax(ca.fabs(unknown), LEAST))


def _moved(theta: SX, *, j: int, sign: float) -> SX:
    """The unknowns with one of them moved by a step."""
    moved = SX(theta)
    moved[j] += sign * _step(theta[j])
    return moved


def _slope(differ: Difference, j: int, a: SX, b: SX, theta: SX) -> SX:
    """Difference quotient along one unknown."""
    return SX(differ(a, b) / (2.0 * _step(theta[j])))
