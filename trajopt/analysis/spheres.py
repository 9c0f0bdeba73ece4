"""Spheres of a simulator as feet: their contact points, contact phases and forces."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING

import casadi as ca
import numpy as np
import numpy.typing as npt
import pinocchio as pin

from trajopt.analysis.basics import moving_weight
from trajopt.analysis.feet import Foot, LeggedMotion
from trajopt.robots.frame_index import frame_index
from trajopt.types import Reals

if TYPE_CHECKING:
    from trajopt.actions.base import ActionModelAbstract
    from trajopt.simulator import MDPContact

_TOUCHES = 1e-3  # a contact with a smaller force, relative to the robot's weight, is in the air [-]


def simulated_contacts(models: Sequence[ActionModelAbstract]) -> tuple[MDPContact, ...]:
    """Returns the spheres of the simulator if the first model is one; otherwise empty."""
    if not (models and hasattr(models[0], "simulator")):
        return ()
    from trajopt.simulator import ActionModelSimulator, MDPContact

    contacts = models[0].simulator.contacts if isinstance(models[0], ActionModelSimulator) else ()
    return tuple(contact for contact in contacts if isinstance(contact, MDPContact))


def sphere_motion(
    model: pin.Model,
    contacts: Sequence[MDPContact],
    xs: Reals,
    times: Reals,
    label: str,
    *,
    forces: Mapping[str, Reals],
    friction: Mapping[str, npt.ArrayLike],
    loads: Mapping[str, Reals] | None = None,
) -> LeggedMotion:
    """Returns the motion of spheres that may touch something; a position is the point closest to the surface.

    Args:
        model: The robot.
        contacts: The spheres.
        xs: States (T + 1, nx).
        times: Time of each state (T + 1,) [s].
        label: Label of the time axis.
        forces: Force of each contact by name (T, 3), in world axes [N].
        friction: Friction coefficient by contact name, a number or (T,) [-].
        loads: Sum of the normal forces of all that a contact touches between two states, as vectors and as lengths,
            (T, 4) [N]. The normal of the interval is the direction of these vectors. By default, and without a load, it
            is that of the surface at the state.
    """
    data, T = model.createData(), len(xs) - 1
    centres, com = {c.name: np.empty((T + 1, 3)) for c in contacts}, np.empty((T + 1, 3))
    seen = {c.name: np.empty((T + 1, 3)) for c in contacts}  # centres in the axes of their surfaces
    turns = {c.name: np.tile(np.eye(3), (T + 1, 1, 1)) for c in contacts}
    for t, x in enumerate(xs):
        pin.framesForwardKinematics(model, data, x[: model.nq])
        com[t] = pin.centerOfMass(model, data, x[: model.nq])
        for c in contacts:
            centres[c.name][t] = seen[c.name][t] = data.oMf[frame_index(model, c.frame)].act(c.offset)
            if c.surface.body is not None:
                body = data.oMf[frame_index(model, c.surface.body)]
                turns[c.name][t], seen[c.name][t] = body.rotation, body.actInv(centres[c.name][t])
    weight = moving_weight(model)
    feet = []
    for c in contacts:
        normals = np.einsum("tij,tj->ti", turns[c.name], _normals(c, seen[c.name]))
        if loads:
            normals[:-1] = along_loads(loads[c.name][:, :3], normals[:-1])
        place = centres[c.name] - c.radius * normals
        touches = np.linalg.norm(forces[c.name][:, :3], axis=1) > _TOUCHES * weight
        mu = np.broadcast_to(np.asarray(friction.get(c.name, np.nan), dtype=np.float64), T)
        force = np.where(touches[:, None], forces[c.name][:, :3], np.nan)
        torque = np.where(touches[:, None], np.zeros(3), np.nan)
        measured = {"stands": touches, "forces": force, "torques": torque, "normals": normals[:-1], "mu": mu}
        shares = np.where(touches[:, None], shares_of(force, loads[c.name]), np.nan) if loads else None
        feet.append(Foot.at_points(c.name, c.frame, place, radius=c.radius, shares=shares, **measured))
    return LeggedMotion(
        abscissa=times,
        label=label,
        takes_time=np.ones(T, dtype=np.bool_),
        feet=tuple(feet),
        com=com,
        com_references=np.full((T + 1, 3), np.nan),
        weight=weight,
        ground=_level(contacts),
    )


def along_loads(loads: Reals, normals: Reals) -> Reals:
    """Directions (n, 3) of loads (n, 3), and the normals (n, 3) where a load is zero."""
    size = np.linalg.norm(loads, axis=1, keepdims=True)
    return np.where(size > 0.0, loads / np.where(size > 0.0, size, 1.0), normals)


def shares_of(forces: Reals, loads: Reals) -> Reals:
    """Sums (n, 2) of normal and of tangential forces over all surfaces, of forces (n, 3) with loads (n, 4) [N]."""
    return np.column_stack([loads[:, 3], np.linalg.norm(forces - loads[:, :3], axis=1)])


def _normals(contact: MDPContact, points: Reals) -> Reals:
    """Normals (n, 3) of the contact's surface at points (n, 3), both in its axes."""
    p = ca.SX.sym("p", 3)
    normal = ca.Function("normal", [p], [ca.densify(contact.surface.normal(p))])
    return np.array(normal(points.T)).T


def _level(contacts: Sequence[MDPContact]) -> float | None:
    """Height of the level plane that contacts touch in the world [m]; None without one, or with several."""
    fixed = [c.surface for c in contacts if c.surface.body is None]
    planes = [np.asarray(getattr(surface, "coefficients", np.zeros(4))) for surface in fixed]
    same = bool(planes) and all(np.array_equal(plane, planes[0]) for plane in planes)
    return -float(planes[0][3]) if same and np.allclose(planes[0][:3], [0.0, 0.0, 1.0]) else None
