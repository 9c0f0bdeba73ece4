"""Bodies and joints whose numbers are run-time parameters, as expressions for the kinematic tree.

Regrouping of inertias is linear in the ten numbers (m, h, I) of a body about the origin of a frame. A variable body is
therefore a sum of ten constant bodies, each multiplied by an expression.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping

import casadi as ca
import numpy as np
import pinocchio as pin
from casadi import SX

from trajopt.dynamics.rigid_parameters import RigidParameters
from trajopt.dynamics.spatial import Placement, rounded
from trajopt.lie.rotations import exp3
from trajopt.lie.scalars import scalars
from trajopt.robots.parameters import (
    PAYLOAD,
    PLACEMENT_QUANTITIES,
    RobotParameter,
    flat_inertia,
    parts_with_payload,
)

Parameters = Mapping[str, RobotParameter]
Piece = tuple[int, RigidParameters, SX]
"""Index of a joint, a constant body in its frame, and the factor by which it is multiplied."""


def variable_bodies(model: pin.Model, parameters: Parameters) -> dict[int, list[Piece]]:
    """Pieces of the bodies that have parameters, by the index of their joint."""
    own: dict[int, dict[str, RobotParameter]] = {}
    for p in parameters.values():
        if p.of_body:
            own.setdefault(p.joint, {})[p.quantity] = p
    return {
        joint: _with_payload(model, given[PAYLOAD])
        if PAYLOAD in given
        else list(_pieces(model.inertias[joint], joint, given))
        for joint, given in own.items()
    }


def _with_payload(model: pin.Model, parameter: RobotParameter) -> list[Piece]:
    """A body, and its payload, whose inertia scales with its mass."""
    rest, load = parts_with_payload(model, parameter)
    factor = parameter.parameter.symbol / load.mass
    return [(parameter.joint, RigidParameters.of(rest), SX(1)), (parameter.joint, RigidParameters.of(load), factor)]


def _pieces(body: pin.Inertia, joint: int, own: Mapping[str, RobotParameter]) -> Iterator[Piece]:
    symbols = {name: p.parameter.symbol for name, p in own.items()}
    mass = symbols.get("mass", SX(body.mass))
    if list(own) == ["mass"]:
        yield joint, RigidParameters.of(body), mass / body.mass
        return
    placement = pin.SE3(next(iter(own.values())).placement)
    seen = placement.actInv(body)
    com, inertia = symbols.get("com", SX(np.array(seen.lever))), symbols.get("inertia")
    if inertia is None:
        inertia = SX(flat_inertia(seen.inertia)) * (mass / seen.mass if "mass" in own else 1)
    numbers = [mass, *scalars(mass * com), *scalars(inertia + mass * ca.vertcat(*_spread(com)))]
    for unit, factor in zip(np.eye(10), numbers):
        yield joint, unit_body(unit).seen_from(placement), factor


def _spread(c: SX) -> list[SX]:
    """Elements (xx, xy, xz, yy, yz, zz) of |c|² 1 - c cᵀ."""
    x, y, z = scalars(c)
    return [y * y + z * z, -x * y, -x * z, x * x + z * z, -y * z, x * x + y * y]


def unit_body(numbers: np.ndarray) -> RigidParameters:
    """A body of the ten numbers m, h = m c (3,), and I (6,) about the frame's origin, upper triangle row by row."""
    rotational = np.zeros((3, 3))
    rotational[np.triu_indices(3)] = numbers[4:]
    return RigidParameters(float(numbers[0]), numbers[1:4], rotational + np.triu(rotational, 1).T)


def placements(model: pin.Model, parameters: Parameters, *, frames: bool) -> dict[int, Placement]:
    """Placement of joints, or of other frames, in the frames of their parent joints, by their index."""
    found: dict[int, Placement] = {}
    for p in parameters.values():
        if p.quantity not in PLACEMENT_QUANTITIES or (p.frame is not None) is not frames:
            continue
        index = p.joint if p.frame is None else p.frame
        own = model.jointPlacements[index] if p.frame is None else model.frames[index].placement
        here = found.setdefault(index, Placement(SX(rounded(own.rotation)), SX(rounded(own.translation))))
        if p.quantity == "translation":
            found[index] = Placement(here.rotation, p.parameter.symbol)
        else:
            found[index] = Placement(ca.mtimes(here.rotation, exp3(p.parameter.symbol)), here.translation)
    return found


def joint_numbers(model: pin.Model, parameters: Parameters, quantity: str) -> SX:
    """Damping, friction or armature of all velocities, SX (nv,)."""
    values = SX(np.array(getattr(model, quantity)))
    for p in parameters.values():
        if p.quantity == quantity:
            first = model.idx_vs[p.joint]
            values[first : first + p.parameter.size] = p.parameter.symbol
    return values
