"""Contact forces that a plant measures along a replay, in place of those of the plan's model."""

from __future__ import annotations

import dataclasses
from collections.abc import Mapping
from typing import TYPE_CHECKING, Any

import numpy as np

from trajopt.analysis.basics import time_axis
from trajopt.analysis.constraints import units_of_rows
from trajopt.analysis.feet import Foot, LeggedMotion
from trajopt.analysis.obstacles import planes_of
from trajopt.analysis.spheres import along_loads, shares_of, sphere_motion
from trajopt.plants.base import PlantAbstract
from trajopt.types import Reals

if TYPE_CHECKING:
    from trajopt.solution import Solution


def with_forces_of(
    plant: PlantAbstract, motion: Solution, forces: Mapping[str, Reals], loads: Mapping[str, Reals]
) -> Solution:
    """Returns a replay whose contact forces are those of the plant.

    Constraints on contact forces belong to the plan's model, so the motion has none of them. A plant that does not know
    its forces leaves a motion without contacts.

    Args:
        plant: The plant.
        motion: The replay, with the problem of the plan.
        forces: Force on each sphere by name, the mean between two knots (T, 3), in the world [N].
        loads: Mean `sphere_loads` likewise (T, 4) [N]; zero if the plant does not know them.
    """
    described = motion.description
    if plant.same_contacts or not described.touches:
        return motion
    on_forces = {item.name for item in described.items if hasattr(item.residual, "contact")}
    rows = tuple(each for each in described.constraints if each.name not in on_forces)
    plan = described.legs
    legs = None if plant.spheres is None or plan is None else _legs(plant, motion, plan, forces, loads)
    measured: dict[str, Any] = {
        **motion.measured,
        "legs": legs,
        "touches": legs is not None,
        "planes": planes_of(plant.spheres or ()),
        "contact_forces": {} if legs is None else {foot.name: _wrench(foot) for foot in legs.feet},
        "constraints": rows,
        "constraint_names": tuple(each.name for each in rows),
        "constraint_units": units_of_rows(rows),
        "violations": {each.name: each.violations for each in rows},
        "prices": {},
        "cost_terms": {name: rows for name, rows in (described.cost_terms or {}).items() if name not in on_forces},
    }
    return dataclasses.replace(motion, measured=measured | ({} if legs else {"feet": (), "reached": ()}))


def _legs(
    plant: PlantAbstract,
    motion: Solution,
    plan: LeggedMotion,
    forces: Mapping[str, Reals],
    loads: Mapping[str, Reals],
) -> LeggedMotion:
    """Feet of the plan with the plant's forces; for a simulator's problem its spheres themselves."""
    spheres, robot = plant.spheres or (), motion.robot
    assert robot is not None
    friction = {each.name: float(each.parameters()["friction"].default) for each in spheres}
    times, label = time_axis(motion)
    known = loads if any(each.any() for each in loads.values()) else None
    of_spheres = sphere_motion(
        robot.model, spheres, motion.xs, times, label, forces=forces, friction=friction, loads=known
    )
    if motion.description.spheres:
        return of_spheres
    ground = None if plan.relief is not None else _ground(plan, of_spheres)
    return dataclasses.replace(
        plan, feet=tuple(_foot(foot, of_spheres, known) for foot in plan.feet), ground=ground, measured=True
    )


def _ground(plan: LeggedMotion, of_spheres: LeggedMotion) -> float | None:
    """Height at which the plan's points of the feet stand on level ground, above it by the radius of their spheres."""
    if of_spheres.ground is None:
        return None
    parts = [(foot, [part for part in of_spheres.feet if part.frame == foot.frame]) for foot in plan.feet]
    rises = [foot.positions[:, 2] - own[0].positions[:, 2] for foot, own in parts if len(own) == 1]
    return of_spheres.ground + (float(np.median(rises)) if rises else 0.0)


def _foot(foot: Foot, of_spheres: LeggedMotion, loads: Mapping[str, Reals] | None) -> Foot:
    """A foot with the forces on the spheres of its frame, and their loads."""
    parts = [part for part in of_spheres.feet if part.frame == foot.frame]
    stands = np.any([np.zeros_like(foot.stands), *(part.stands for part in parts)], axis=0)
    force, torque = np.zeros_like(foot.forces), np.zeros_like(foot.torques)
    for part in parts:
        own = np.nan_to_num(part.forces)
        force += own
        torque += np.cross(part.positions[:-1] - foot.positions[:-1], own)
    nowhere = np.full_like(force, np.nan)
    normals, shares = parts[0].normals if parts else foot.normals, None
    if loads is not None and parts:
        load = np.sum([loads[part.name] for part in parts], axis=0)
        normals = along_loads(load[:, :3], normals)
        shares = np.where(stands[:, None], shares_of(force, load), np.nan)
    return dataclasses.replace(
        foot,
        stands=stands,
        forces=np.where(stands[:, None], force, nowhere),
        torques=np.where(stands[:, None], torque, nowhere),
        impulses=nowhere,
        normals=normals,
        mu=parts[0].mu if parts else np.full_like(foot.mu, np.nan),
        lands=False,
        shares=shares,
    )


def _wrench(foot: Foot) -> Reals:
    """Force of a point (T, 3), or force and torque of a sole (T, 6), in the world; 0 in the air."""
    parts = [foot.forces] if foot.outline.shape[1] == 1 else [foot.forces, foot.torques]
    return np.nan_to_num(np.hstack(parts))
