"""Constrained dynamics once more, in numpy: Pinocchio's mass matrix, Jacobians and accelerations, one dense system.

Contacts that are not active are left out of the system altogether.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any

import numpy as np
import numpy.typing as npt
import pinocchio as pin

import trajopt
from trajopt.contacts import ContactModelAbstract, ImpulseModelAbstract
from trajopt.contacts.base import TouchModelAbstract

Reals = npt.NDArray[np.float64]
WORLD = pin.ReferenceFrame.LOCAL_WORLD_ALIGNED


class Body:
    """A robot at (q, v) in Pinocchio."""

    def __init__(self, model: pin.Model, q: Reals, v: Reals) -> None:
        self.model, self.q, self.v = model, q, v
        self.data = model.createData()
        pin.forwardKinematics(model, self.data, q, v, np.zeros(model.nv))
        pin.computeJointJacobians(model, self.data, q)
        pin.updateFramePlacements(model, self.data)

    def placement(self, frame: str) -> pin.SE3:
        return self.data.oMf[self.model.getFrameId(frame)].copy()

    def jacobian(self, frame: str, axes: pin.ReferenceFrame = WORLD) -> Reals:
        return np.array(pin.getFrameJacobian(self.model, self.data, self.model.getFrameId(frame), axes))

    def point_acceleration(self, frame: str) -> Reals:
        """p̈ (3,) in the world at zero joint accelerations."""
        number = self.model.getFrameId(frame)
        return np.array(pin.getFrameClassicalAcceleration(self.model, self.data, number, WORLD).linear)

    def twist_rate(self, frame: str) -> Reals:
        """dV/dt (6,) of the local twist at zero joint accelerations."""
        number = self.model.getFrameId(frame)
        return np.array(pin.getFrameAcceleration(self.model, self.data, number, pin.ReferenceFrame.LOCAL).vector)

    def mass_matrix(self) -> Reals:
        upper = np.triu(pin.crba(self.model, self.model.createData(), self.q))
        return np.array(upper + np.triu(upper, 1).T)

    def bias(self) -> Reals:
        return np.array(pin.rnea(self.model, self.model.createData(), self.q, self.v, np.zeros(self.model.nv)))

    def moved(self, time: float) -> Body:
        """Where it is after a time if velocities in its own coordinates stay as they are."""
        return Body(self.model, pin.integrate(self.model, self.q, time * self.v), self.v)


def given(contact: TouchModelAbstract, name: str, default: Any = 0.0) -> Any:
    """First value of a parameter, if the contact has it."""
    parameters = contact.parameters()
    return parameters[name].default if name in parameters else default


def contact_rows(contact: ContactModelAbstract, body: Body) -> tuple[Reals, Reals]:
    """J (nc, nv) and what J a is to cancel (nc,), by the formula in its docstring, in the axes of its force."""
    kp, kd = float(given(contact, "kp")), float(given(contact, "kd"))
    J, bias, error = WRITERS[type(contact)](contact, body)
    return J, bias + kd * (J @ body.v) + kp * error


Written = tuple[Reals, Reals, Reals]


def _one(contact: Any, body: Body) -> Written:
    R, p = body.placement(contact.frame).rotation, body.placement(contact.frame).translation
    n = contact.axis if contact.in_world else R @ contact.axis
    error = n @ (p - given(contact, "reference") * contact.axis)
    return n[None] @ body.jacobian(contact.frame)[:3], np.array([n @ body.point_acceleration(contact.frame)]), error


def _two(contact: Any, body: Body) -> Written:
    R, p = body.placement(contact.frame).rotation, body.placement(contact.frame).translation
    x, z = given(contact, "reference", np.zeros(2))
    seen = R.T[[0, 2]]
    error = seen @ np.array([p[0] - x, 0.0, p[2] - z])
    return seen @ body.jacobian(contact.frame)[:3], seen @ body.point_acceleration(contact.frame), error


def _three(contact: Any, body: Body) -> Written:
    R, p = body.placement(contact.frame).rotation, body.placement(contact.frame).translation
    seen = np.eye(3) if contact.in_world else R.T
    error = p - given(contact, "reference", np.zeros(3))
    return seen @ body.jacobian(contact.frame)[:3], seen @ body.point_acceleration(contact.frame), seen @ error


def _six(contact: Any, body: Body) -> Written:
    place = body.placement(contact.frame)
    seen = np.kron(np.eye(2), place.rotation if contact.in_world else np.eye(3))
    reference = given(contact, "reference", np.eye(3, 4))
    error = pin.log6(pin.SE3(reference[:, :3], reference[:, 3]).actInv(place)).vector
    J = body.jacobian(contact.frame, pin.ReferenceFrame.LOCAL)
    return seen @ J, seen @ body.twist_rate(contact.frame), seen @ error


def _loop(contact: Any, body: Body) -> Written:
    """Rates of Jacobians by differences of fourth order."""
    jacobian, h = _ball if contact.nc == 3 else _weld, 1e-3
    near = [jacobian(contact, body.moved(k * h)) for k in (-2, -1, 1, 2)]
    rate = (near[0] - 8 * near[1] + 8 * near[2] - near[3]) / (12 * h)
    relative = _relative(contact, body)
    error = pin.log6(relative).vector if contact.nc == 6 else relative.translation
    if contact.nc == 5:
        z = np.array([0.0, 0.0, 1.0])
        error = np.append(relative.translation, np.cross(z, relative.rotation @ z)[:2])
    return jacobian(contact, body), rate @ body.v, error


def _relative(contact: Any, body: Body) -> pin.SE3:
    a, b = contact.frames
    return body.placement(a).actInv(body.placement(b))


def _weld(contact: Any, body: Body) -> Reals:
    """Of the twist of B relative to A, in the axes of A about its origin."""
    a, b = (body.jacobian(f, pin.ReferenceFrame.LOCAL) for f in contact.frames)
    return np.array(_relative(contact, body).toActionMatrix() @ b - a)[: contact.nc]


def _ball(contact: Any, body: Body) -> Reals:
    """Of the position of B's origin as A sees it."""
    a, b = contact.frames
    seen = body.placement(a).rotation.T
    turning = pin.skew(_relative(contact, body).translation) @ seen @ body.jacobian(a)[3:]
    return np.array(seen @ (body.jacobian(b) - body.jacobian(a))[:3] + turning)


WRITERS: dict[type, Callable[[Any, Body], Written]] = {
    trajopt.ContactModel1D: _one,
    trajopt.ContactModel2D: _two,
    trajopt.ContactModel3D: _three,
    trajopt.ContactModel6D: _six,
    trajopt.ContactModelLoop: _loop,
}


def impulse_rows(impulse: ImpulseModelAbstract, body: Body) -> Reals:
    """J (nc, nv) in the axes in which users see the impulse; of one along z, of a point or of a sole."""
    R = body.placement(impulse.frame).rotation
    axes = body.jacobian(impulse.frame)[2:3] if impulse.nc == 1 else body.jacobian(impulse.frame)[: impulse.nc]
    return axes if impulse.in_world else np.kron(np.eye(impulse.nc // 3), R.T) @ axes


def solve(
    mass: Reals, bias: Reals, rows: Mapping[str, tuple[Reals, Reals]], damping: float
) -> tuple[Reals, dict[str, Reals]]:
    """w and λ of M w + bias = Jᵀ λ, J w + drift + damping λ = 0."""
    nv, J = len(mass), np.vstack([np.zeros((0, len(mass))), *(j for j, _ in rows.values())])
    whole = np.block([[mass, -J.T], [J, damping * np.eye(len(J))]])
    solution = np.linalg.solve(whole, -np.concatenate([bias, *(c for _, c in rows.values())]))
    ends = np.cumsum([nv, *(len(j) for j, _ in rows.values())])
    return solution[:nv], {name: solution[i:j] for name, i, j in zip(rows, ends[:-1], ends[1:])}


def contact_dynamics(
    model: trajopt.DifferentialActionModelContactFwdDynamics, x: Reals, u: Reals, active: list[str] | None = None
) -> tuple[Reals, dict[str, Reals]]:
    """Acceleration (nv,), and the force of each contact; active are those that are so at first, unless told."""
    state, width = model.state, 1e-2
    body = Body(state.model, x[: state.nq], x[state.nq :])
    bias = body.bias() - model.actuation.matrix @ u
    if model.friction is not None:
        bias = bias + state.model.damping * body.v + state.model.friction * np.tanh(body.v / width)
    names = active_at_first(model.contacts) if active is None else active
    rows = {name: contact_rows(model.contacts[name], body) for name in names}
    a, forces = solve(body.mass_matrix(), bias, rows, float(model.parameters()["damping"].default))
    return a, {name: forces.get(name, np.zeros(size)) for name, size in model.contacts.sizes.items()}


def inverse_dynamics(model: Any, x: Reals, u: Reals) -> tuple[Reals, Reals, dict[str, Reals]]:
    """Torques of motors, torques that no motor gives, and the left-hand side of each contact's equation, of (a, f)."""
    state, width = model.state, 1e-2
    body, a = Body(state.model, x[: state.nq], x[state.nq :]), u[: state.nv]
    torque = body.mass_matrix() @ a + body.bias()
    if model.friction is not None:
        torque = torque + state.model.damping * body.v + state.model.friction * np.tanh(body.v / width)
    left, first, active = {}, state.nv, active_at_first(model.contacts)
    damping = float(model.parameters()["damping"].default) if "damping" in model.parameters() else 0.0
    for name, size in model.contacts.sizes.items():
        J, drift = contact_rows(model.contacts[name], body)
        force, first = u[first : first + size], first + size
        torque = torque - J.T @ force
        left[name] = J @ a + drift + damping * force if name in active else force
    B = model.actuation.matrix
    return np.linalg.lstsq(B, torque, rcond=None)[0], torque - B @ (np.linalg.pinv(B) @ torque), left


def active_at_first(stack: Any) -> list[str]:
    parameters = stack.parameters()
    return [name for name in stack.names if parameters[f"{stack.kind}s.{name}.active"].default]


def impulse_dynamics(
    model: trajopt.ActionModelImpulseFwdDynamics, x: Reals, active: list[str] | None = None
) -> tuple[Reals, dict[str, Reals]]:
    """Velocity (nv,) after, and the impulse of each contact; active as in `contact_dynamics`."""
    state = model.state
    body = Body(state.model, x[: state.nq], x[state.nq :])
    first = {name: float(model.parameters()[name].default) for name in ("restitution", "damping")}
    names = active_at_first(model.impulses) if active is None else active
    jacobians = {name: impulse_rows(model.impulses[name], body) for name in names}
    rows = {name: (J, (1 + first["restitution"]) * (J @ body.v)) for name, J in jacobians.items()}
    change, impulses = solve(body.mass_matrix(), np.zeros(state.nv), rows, first["damping"])
    return body.v + change, {name: impulses.get(name, np.zeros(n)) for name, n in model.impulses.sizes.items()}
