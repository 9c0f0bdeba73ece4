"""Text that says whether a robot could execute a motion."""

from __future__ import annotations

from collections.abc import Iterator
from typing import TYPE_CHECKING

import numpy as np

from trajopt.inverse_dynamics.kinetics import motors
from trajopt.types import Reals

if TYPE_CHECKING:
    from trajopt.inverse_dynamics.result import ContactInverseDynamics

SLIGHT = 0.02  # a force below this fraction of the weight is an error of finite differences
BESIDE = 0.1  # so is the torque of a weight that is beside its support by less than this fraction of a foot's distance


def explained(result: ContactInverseDynamics) -> str:
    """Lines on missing base forces, torques and their limits, friction, and pulling contacts."""
    lines = [f"{type(result).__name__}({result.title})", *_base(result), *_torques(result), *_contacts(result)]
    if not result.optimal:
        lines.append("the quadratic program of the cones stopped early: the wrenches may not have the least cost")
    return "\n".join(lines)


def _base(result: ContactInverseDynamics) -> Iterator[str]:
    residual, weight = result.base_residual, result.motion.robot.weight
    force, torque = (np.linalg.norm(residual[:, part], axis=1) for part in (slice(0, 3), slice(3, 6)))
    parts = np.maximum(force / (SLIGHT * weight), torque / (BESIDE * weight * _lever(result)))
    worst = int(parts.argmax())
    flying = np.flatnonzero(~result.stands.any(axis=1))
    if parts.max() < 1.0:
        left = f"{force.max():.3g} N and {torque.max():.3g} N m"
        yield f"base       explained by the contacts: the missing force is at most {left}"
    else:
        missing = int(np.sum(parts >= 1.0))
        share, time = 100 * force[worst] / weight, result.motion.times[worst]
        where = f"{force[worst]:.3g} N ({share:.0f} % of the weight) and {torque[worst]:.3g} N m at {time:.3g} s"
        yield f"base       not explained at {missing} of {len(force)} times: up to {where} are missing"
    if flying.size:
        left = np.linalg.norm(residual[flying, :3], axis=1).max()
        yield f"flight     {flying.size} times without a contact: up to {left:.3g} N are missing"


def _lever(result: ContactInverseDynamics) -> float:
    """Largest distance of a contact from the base at the start, at least 5 cm [m]."""
    robot, q = result.motion.robot, result.motion.positions[0]
    away = [robot.placement(q, each.frame)[:3, 3] - q[:3] for each in result.contacts]
    return max(0.05, float(np.linalg.norm(away, axis=1).max()))


def _torques(result: ContactInverseDynamics) -> Iterator[str]:
    driven, torques = motors(result.motion.robot), result.torques[:, 6:]
    limits, names = driven.upper, [name.removeprefix("u:") for name in driven.names]
    limited = np.isfinite(limits)
    if not limited.any():
        yield f"torques    at most {np.abs(torques).max(initial=0.0):.3g} N m; the robot's file has no limits"
        return
    use = np.abs(torques[:, limited]) / limits[limited]
    time, joint = np.unravel_index(int(use.argmax()), use.shape)
    name, over = np.array(names)[limited][joint], int(np.sum((use > 1.0 + 1e-6).any(axis=1)))
    words = "within limits" if not over else f"beyond limits at {over} of {len(use)} times"
    yield f"torques    {words}: at most {100 * use.max():.0f} %, of {name} at {result.motion.times[time]:.3g} s"


def _contacts(result: ContactInverseDynamics) -> Iterator[str]:
    forces = result.forces
    for j, contact in enumerate(result.contacts):
        on = result.stands[:, j]
        if not on.any():
            yield f"{contact.frame}: never in contact"
            continue
        normal, along = forces[on, j, 2], np.linalg.norm(forces[on, j, :2], axis=1)
        words = _pushes(normal, along, result.motion.robot.weight)
        yield f"{contact.frame}: in contact {100 * on.mean():.0f} % of the time, {words}"


def _pushes(normal: Reals, along: Reals, weight: float) -> str:
    loaded = normal > 0.05 * weight  # the friction ratio of a foot with little load is meaningless
    parts = [f"at most {normal.max():.3g} N"]
    if loaded.any():
        parts.append(f"needs friction of {np.max(along[loaded] / normal[loaded]):.2f}")
    if normal.min() < -1e-3 * weight:
        parts.append(f"pulls with up to {-normal.min():.3g} N at {np.sum(normal < -1e-3 * weight)} times")
    return ", ".join(parts)
