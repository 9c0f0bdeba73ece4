"""Derivatives of programs by central differences in 60 digits: an oracle of derivatives in any arithmetic, to 1e-25.

With steps of h = 1e-20 the difference errs by h²/6 times the third derivative, about 1e-40, and by rounding, 1e-60 / h.
Five traps:

- Constants of robots are doubles that agree with each other to 1e-16 only, such as an inertia about one point and about
  another, or the columns of a rotation: take robots from `exact_robot`.
- Quaternions in doubles have norm 1 to 1e-16 only, and formulas of derivatives hold on the manifold: take points from
  `on_manifold`.
- The series of rotations (`trajopt.lie`) are cut off where doubles end: formulas that hold to more digits
  are those beyond their thresholds. A step must turn by more than 0.2 rad, or derivatives agree to 1e-17 only.
- An iteration must go on to 1e-50: what it leaves is divided by the step, and an early end is another function.
- Selections have derivatives on each side: keep away from their edges.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from itertools import permutations, product
from typing import Any

import casadi as ca
import mpmath
import numpy as np
import numpy.typing as npt
import pinocchio as pin
from casadi import SX

from trajopt.kernels import Program
from trajopt.kernels.numbers import Values
from trajopt.kernels.precision import HighPrecision
from trajopt.robots import Robot
from trajopt.states import StateAbstract
from trajopt.types import Reals

HIGH = HighPrecision(200)
STEP = "1e-20"


def as_mpmath(x: Any) -> mpmath.mpf:
    """The same number, exactly, if mpmath's precision is that of `x` at least."""
    mantissa, exponent = x.as_mantissa_exp()
    return mpmath.ldexp(mpmath.mpf(int(mantissa)), int(exponent))


def on_manifold(state: StateAbstract, dx: npt.ArrayLike, numbers: HighPrecision = HIGH) -> Values:
    """The state zero() ⊕ dx, shape (nx, 1), on the manifold to the last digit."""
    return _Moves(state, numbers).integrate(state.zero(), dx)


def exact_robot(robot: Robot) -> Robot:
    """A similar robot whose constants are numbers of 8 bits, so that doubles hold what is computed from them exactly.

    Placements are turned to the nearest right angles. Joints turn about, or move along, axes x, y and z. Reciprocals of
    constants are exact too: of the inertia of a last link about its joint and of the whole mass, powers of two.
    """
    model = robot.model.copy()
    for i, body in enumerate(model.inertias):
        model.inertias[i] = _short_inertia(body) if i in list(model.parents) else _last_inertia(body)
    mass = sum(body.mass for body in model.inertias)
    model.inertias[1].mass += 2.0 ** np.ceil(np.log2(mass)) - mass
    for i, placement in enumerate(model.jointPlacements):
        model.jointPlacements[i] = pin.SE3(_right_angles(placement.rotation), _short(placement.translation))
    for frame in model.frames:
        frame.placement = pin.SE3(_right_angles(frame.placement.rotation), _short(frame.placement.translation))
    model.gravity.linear = _short(model.gravity.linear)
    return Robot(model, name=robot.name)


def _short_inertia(body: pin.Inertia) -> pin.Inertia:
    return pin.Inertia(float(_short(body.mass)), _short(body.lever), _short(body.inertia))


def _last_inertia(body: pin.Inertia) -> pin.Inertia:
    """Mass m at a distance d along one axis, both powers of two, and m d² in each direction about the centre."""
    longest = np.abs(body.lever) == np.max(np.abs(body.lever))
    mass, lever = float(_short(body.mass, bits=1)), _short(body.lever * longest, bits=1)
    return pin.Inertia(mass, lever, mass * float(lever @ lever) * np.eye(3))


def _short(values: npt.ArrayLike, bits: int = 8) -> Reals:
    """Rounded to a few significant bits; zero below 1e-9."""
    mantissa, exponent = np.frexp(np.asarray(values, dtype=np.float64))
    rounded = np.ldexp(np.rint(np.ldexp(mantissa, bits)), exponent - bits)
    return np.where(np.abs(values) < 1e-9, 0.0, rounded)


def _right_angles(rotation: Reals) -> Reals:
    """The nearest rotation by right angles, of the 24 that there are."""
    turns = (np.eye(3)[list(p)] * signs for p in permutations(range(3)) for signs in product((1.0, -1.0), repeat=3))
    return max((turn for turn in turns if np.linalg.det(turn) > 0), key=lambda turn: float(np.sum(turn * rotation)))


def derivatives(
    program: Program,
    values: Sequence[Any],
    by: int,
    *,
    inputs: Mapping[int, StateAbstract] | None = None,
    outputs: Mapping[int, StateAbstract] | None = None,
    numbers: HighPrecision = HIGH,
) -> list[Values]:
    """Derivative of each output by one input, by central differences.

    Args:
        program: The program.
        values: Its inputs.
        by: Number of the input.
        inputs: Inputs that are states, by number: they move by x ⊕ dx. Others are vectors, row-major.
        outputs: Outputs that are states, by number: their change is seen as x' ⊖ x. Others are vectors.
        numbers: The arithmetic; steps of 1e-20 are for 200 bits.

    Returns:
        One array an output, (size of its tangent space, size of that of the input).
    """
    moving = (inputs or {}).get(by)
    seen = {i: _Moves(state, numbers) for i, state in (outputs or {}).items()}
    shape = program.inputs[by].shape
    with numbers.context():
        given = [numbers.array(v, array.shape) for v, array in zip(values, program.inputs, strict=True)]
        base = program.evaluate(*given, numbers=numbers)
        step = numbers.array(STEP, ())[()]
        size = shape[0] * shape[1] if moving is None else moving.ndx
        move = _Moves(moving, numbers).integrate if moving is not None else lambda x, dx: x + dx.reshape(shape)
        columns: list[list[Values]] = [[] for _ in base]
        for direction in np.eye(size):
            changes = []
            for h in (step, -step):
                there = [*given[:by], move(given[by], numbers.array(direction, (size, 1)) * h), *given[by + 1 :]]
                results = zip(base, program.evaluate(*there, numbers=numbers))
                changes.append([seen[i].difference(a, b) if i in seen else b for i, (a, b) in enumerate(results)])
            for column, plus, minus in zip(columns, *changes):
                column.append(((plus - minus) / (2 * step)).ravel())
    return [np.array(column, dtype=object).T for column in columns]


def distance(a: Values, b: Values, numbers: HighPrecision = HIGH) -> float:
    """max|a - b| / max(1, max|b|)."""
    with numbers.context():
        return float(np.abs(a - b).max() / max(1, np.abs(b).max()))


class _Moves:
    """⊕ and ⊖ of a state in more digits."""

    def __init__(self, state: StateAbstract, numbers: HighPrecision) -> None:
        x, y, dx = SX.sym("x", state.nx), SX.sym("y", state.nx), SX.sym("dx", state.ndx)
        self._integrate = Program.of("integrate", ca.Function("f", [x, dx], [state.sx_integrate(x, dx)]))
        self._difference = Program.of("difference", ca.Function("f", [x, y], [state.sx_difference(x, y)]))
        self._numbers = numbers

    def integrate(self, x: Any, dx: Any) -> Values:
        """x ⊕ dx, shape (nx, 1)."""
        return self._integrate.evaluate(x, dx, numbers=self._numbers)[0]

    def difference(self, x: Any, y: Any) -> Values:
        """y ⊖ x, shape (ndx, 1)."""
        return self._difference.evaluate(x, y, numbers=self._numbers)[0]
