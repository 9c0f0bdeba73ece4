"""Pairs of bodies that may touch, and why the others are left out."""

from __future__ import annotations

import itertools
import xml.etree.ElementTree as ElementTree
from collections.abc import Sequence
from pathlib import Path

import numpy as np
import pinocchio as pin

from trajopt.errors import InvalidArgumentError
from trajopt.robots.collisions.collision_shapes import CollisionShapes
from trajopt.robots.collisions.distances import body_distances
from trajopt.robots.collisions.samples import random_configurations
from trajopt.robots.round_bodies import Capsule, Sphere

SAMPLES, BLOCK = 1000, 50  # configurations, and how many are evaluated at once
FEW = 0.05  # share of configurations without overlap up to which bodies count as always touching [-]
REACH = 0.05  # pairs never nearer are left out [m]
NEAR = 0.01  # at a reference configuration; nearer pairs are left out [m]
REASONS = ("neighbours", "disabled", "always", "reference", "never")


def with_pairs(
    model: pin.Model, bodies: Sequence[Sphere | Capsule], disabled: frozenset[frozenset[str]] = frozenset()
) -> CollisionShapes:
    """Returns bodies of a robot with the pairs of them that may touch.

    Args:
        model: Model of the robot.
        bodies: Spheres and capsules on its frames.
        disabled: Pairs of names of frames that are left out.
    """
    joints = [0 if body.frame is None else model.frames[model.getFrameId(body.frame)].parentJoint for body in bodies]
    left: dict[str, list[tuple[int, int]]] = {reason: [] for reason in REASONS}
    candidates = []
    for i, j in itertools.combinations(range(len(bodies)), 2):
        if joints[i] == joints[j]:
            continue
        if joints[i] == model.parents[joints[j]] or joints[j] == model.parents[joints[i]]:
            left["neighbours"].append((i, j))
        elif frozenset((str(bodies[i].frame), str(bodies[j].frame))) in disabled:
            left["disabled"].append((i, j))
        else:
            candidates.append((i, j))
    nearest, apart = np.full(len(candidates), np.inf), np.zeros(len(candidates))
    configurations = random_configurations(model, SAMPLES)
    for first in range(0, SAMPLES, BLOCK):
        undecided = np.flatnonzero((nearest > REACH) | (apart <= FEW * SAMPLES))
        if not len(undecided):
            break
        rows = configurations[first : first + BLOCK]
        distances = body_distances(model, bodies, [candidates[k] for k in undecided], rows)
        nearest[undecided] = np.minimum(nearest[undecided], distances.min(axis=0))
        apart[undecided] += (distances >= 0.0).sum(axis=0)
    references = [np.array(entry.data()) for entry in model.referenceConfigurations]
    touching = np.zeros(len(candidates), dtype=bool)
    if references and candidates:
        touching = body_distances(model, bodies, candidates, np.array(references)).min(axis=0) < NEAR
    always, never = apart <= FEW * SAMPLES, nearest > REACH
    for reason, out in (("always", always), ("reference", touching & ~always), ("never", never & ~touching)):
        left[reason] = list(itertools.compress(candidates, out))
    pairs = tuple(itertools.compress(candidates, ~(always | touching | never)))
    left_out = {reason: tuple(each) for reason, each in left.items()}
    return CollisionShapes(bodies=tuple(bodies), pairs=pairs, left_out=left_out)


def disabled_pairs(path: Path) -> frozenset[frozenset[str]]:
    """Pairs of links between which an SRDF disables collisions.

    Raises:
        InvalidArgumentError: The file cannot be read.
    """
    try:
        entries = ElementTree.parse(path).getroot().iter("disable_collisions")
    except (OSError, ElementTree.ParseError) as error:
        raise InvalidArgumentError(f"srdf: expected an SRDF that can be read in {str(path)!r}, got: {error}") from error
    return frozenset(frozenset((entry.get("link1", ""), entry.get("link2", ""))) for entry in entries)
