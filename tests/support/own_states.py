"""States as a user writes them, with four methods."""

from __future__ import annotations

from typing import Any

import casadi as ca
import numpy as np
import numpy.typing as npt
from casadi import SX

import trajopt
from trajopt.lie import quaternions, rotations


class StateCircle(trajopt.StateAbstract):
    """Points (cos θ, sin θ) of a circle, turned by an angle [rad]."""

    def __init__(self, lower: float = -np.inf, upper: float = np.inf) -> None:
        names = {"names": ["cos", "sin"], "tangent_names": ["theta"], "units": ["rad"]}
        super().__init__(2, 1, **names, lower=[lower], upper=[upper])

    def zero(self) -> npt.NDArray[np.float64]:
        return np.array([1.0, 0.0])

    def sx_integrate(self, x: SX, dx: SX) -> SX:
        c, s = ca.cos(dx), ca.sin(dx)
        return ca.vertcat(c * x[0] - s * x[1], s * x[0] + c * x[1])

    def sx_difference(self, x0: SX, x1: SX) -> SX:
        return ca.atan2(x0[0] * x1[1] - x0[1] * x1[0], x0[0] * x1[0] + x0[1] * x1[1])


class StateTwistedPlane(trajopt.StateAbstract):
    """Poses (x, y, θ) in the plane, without a constraint: moved in the body's frame, ⊕ and ⊖ not symmetric."""

    def __init__(self, turns: float = 1.0) -> None:
        self.turns = turns
        super().__init__(3, 3, names=["px", "py", "angle"], units=["m", "m", "rad"])

    def zero(self) -> npt.NDArray[np.float64]:
        return np.zeros(3)

    def sx_integrate(self, x: SX, dx: SX) -> SX:
        c, s = ca.cos(self.turns * x[2]), ca.sin(self.turns * x[2])
        return ca.vertcat(x[0] + c * dx[0] - s * dx[1], x[1] + s * dx[0] + c * dx[1], x[2] + dx[2])

    def sx_difference(self, x0: SX, x1: SX) -> SX:
        c, s = ca.cos(self.turns * x0[2]), ca.sin(self.turns * x0[2])
        d = x1[:2] - x0[:2]
        return ca.vertcat(c * d[0] + s * d[1], c * d[1] - s * d[0], x1[2] - x0[2])


class StateStretched(trajopt.StateAbstract):
    """A number with x ⊕ dx = x + sinh(c dx) / c, whose derivative by dx depends on x by c = 1 + sin(x) / 2, too."""

    def __init__(self) -> None:
        super().__init__(1, 1)

    def zero(self) -> npt.NDArray[np.float64]:
        return np.zeros(1)

    def sx_integrate(self, x: SX, dx: SX) -> SX:
        c = 1.0 + 0.5 * ca.sin(x)
        return x + ca.sinh(c * dx) / c

    def sx_difference(self, x0: SX, x1: SX) -> SX:
        c = 1.0 + 0.5 * ca.sin(x0)
        return ca.asinh(c * (x1 - x0)) / c


class StateOwnRotation(trajopt.StateAbstract):
    """SO(3) from the formulas of this package, but with derived derivatives and numbers."""

    def __init__(self) -> None:
        super().__init__(4, 3, tangent_names=["a.rx", "a.ry", "a.rz"], units=["rad"] * 3)

    def zero(self) -> npt.NDArray[np.float64]:
        return np.array([0.0, 0.0, 0.0, 1.0])

    def normalize(self, x: npt.ArrayLike) -> npt.NDArray[np.float64]:
        """Keeps the sign of the quaternion."""
        return np.asarray(x, dtype=np.float64) / np.linalg.norm(x)

    def sx_integrate(self, x: SX, dx: SX) -> SX:
        return quaternions.renormalise(quaternions.multiply(x, rotations.exp_quaternion(dx)))

    def sx_difference(self, x0: SX, x1: SX) -> SX:
        return rotations.log_quaternion(quaternions.multiply(quaternions.conjugate(x0), x1))[0]


class StateWrong(trajopt.StateAbstract):
    """A circle, or what `integrate` and `difference` make of it."""

    def __init__(self, integrate: Any = None, difference: Any = None, zero: Any = (1.0, 0.0), **more: Any) -> None:
        self._own_zero, self._own_integrate, self._own_difference = zero, integrate, difference
        super().__init__(2, 1, **more)

    def zero(self) -> Any:
        return np.array(self._own_zero)

    def sx_integrate(self, x: SX, dx: SX) -> Any:
        return StateCircle.sx_integrate(self, x, dx) if self._own_integrate is None else self._own_integrate(x, dx)

    def sx_difference(self, x0: SX, x1: SX) -> Any:
        own = self._own_difference
        return StateCircle.sx_difference(self, x0, x1) if own is None else own(x0, x1)
