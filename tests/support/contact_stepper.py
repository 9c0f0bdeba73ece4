"""A walker of its own: contact dynamics from Pinocchio's building blocks and one dense solve, no code of trajopt.

Bodies are pinocchio's joint-space inertia matrix and bias forces; a contact holds a frame's acceleration

    J dv/dt + γ + kp e + kd J v = 0    (point: classical acceleration; sole: spatial acceleration, e = log6(R⁻¹ M)),

and a touch-down takes its velocity away at once: J v⁺ = -r J v. Axes of the world at the frame's origin.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
import numpy.typing as npt
import pinocchio as pin

Reals = npt.NDArray[np.float64]
ALIGNED = pin.ReferenceFrame.LOCAL_WORLD_ALIGNED


@dataclass(frozen=True, kw_only=True)
class Touch:
    """A frame that touches the ground: 3 rows for a point, 6 for a sole, and its Baumgarte gains; kp for points."""

    frame: str
    rows: int = 3
    kd: float = 0.0
    kp: float = 0.0
    place: tuple[float, float, float] = (0.0, 0.0, 0.0)


@dataclass(frozen=True, kw_only=True)
class Step:
    """Next configuration (nq,) and velocity (nv,), and the force (or impulse) of each touch."""

    q: Reals
    v: Reals
    forces: dict[str, Reals]


class Stepper:
    """Steps a robot through contacts and touch-downs."""

    def __init__(self, model: pin.Model) -> None:
        self.model, self.data = model.copy(), model.createData()

    def place(self, frame: str, q: Reals) -> pin.SE3:
        """Where a frame is."""
        pin.framesForwardKinematics(self.model, self.data, q)
        return self.data.oMf[self._id(frame)].copy()

    def slide(self, q: Reals, v: Reals, torque: Reals, touches: Sequence[Touch], dt: float) -> Step:
        """One semi-implicit Euler step of dt [s] under joint torques (nv,)."""
        model, data = self.model, self.data
        mass = self._mass_matrix(q)
        bias = pin.nonLinearEffects(model, data, q, v)
        pin.forwardKinematics(model, data, q, v, np.zeros(model.nv))
        pin.updateFramePlacements(model, data)
        jacobian = self._jacobian(q, touches)
        drift = [self._drift(touch) for touch in touches]
        acceleration, forces = _solve(mass, jacobian, torque - bias, -np.concatenate([np.zeros(0), *drift]))
        after = v + dt * acceleration
        return Step(q=pin.integrate(model, q, dt * after), v=after, forces=_shared(forces, touches))

    def touch_down(self, q: Reals, v: Reals, touches: Sequence[Touch], restitution: float = 0.0) -> Step:
        """A collision that takes no time."""
        mass, jacobian = self._mass_matrix(q), self._jacobian(q, touches)
        after, impulses = _solve(mass, jacobian, mass @ v, -restitution * (jacobian @ v))
        return Step(q=q.copy(), v=after, forces=_shared(impulses, touches))

    def _id(self, frame: str) -> int:
        assert self.model.existFrame(frame), frame
        return int(self.model.getFrameId(frame))

    def _mass_matrix(self, q: Reals) -> Reals:
        upper = np.triu(pin.crba(self.model, self.data, q))
        return upper + np.triu(upper, 1).T

    def _jacobian(self, q: Reals, touches: Sequence[Touch]) -> Reals:
        rows = [
            pin.computeFrameJacobian(self.model, self.data, q, self._id(t.frame), ALIGNED)[: t.rows] for t in touches
        ]
        return np.vstack([np.zeros((0, self.model.nv)), *rows])

    def _drift(self, touch: Touch) -> Reals:
        """γ + kp e + kd J v, at zero joint acceleration."""
        index = self._id(touch.frame)
        spatial = touch.rows == 6
        get = pin.getFrameAcceleration if spatial else pin.getFrameClassicalAcceleration
        velocity = pin.getFrameVelocity(self.model, self.data, index, ALIGNED).vector
        drift = np.array((get(self.model, self.data, index, ALIGNED).vector + touch.kd * velocity)[: touch.rows])
        drift[:3] += touch.kp * (self.data.oMf[index].translation - touch.place)
        return drift


def _solve(mass: Reals, jacobian: Reals, generalized: Reals, wanted: Reals) -> tuple[Reals, Reals]:
    """Solves M x = generalized + Jᵀ f and J x = wanted for x and f."""
    n, m = len(mass), len(jacobian)
    matrix = np.block([[mass, -jacobian.T], [jacobian, np.zeros((m, m))]])
    solution = np.linalg.solve(matrix, np.concatenate([generalized, wanted]))
    return solution[:n], solution[n:]


def _shared(forces: Reals, touches: Sequence[Touch]) -> dict[str, Reals]:
    shares, first = {}, 0
    for touch in touches:
        shares[touch.frame] = forces[first : first + touch.rows]
        first += touch.rows
    return shares
