"""Pairs of bodies that may touch, and why the others are left out."""

from __future__ import annotations

import itertools
import xml.etree.ElementTree as ElementTree
from collections.abc import Mapping, Sequence
from pathlib import Path

import numpy as np
import pinocchio as pin

from trajopt.errors import InvalidArgumentError
from trajopt.robots.collisions.collision_shapes import CollisionShapes
from trajopt.robots.collisions.distances import pair_distances, world_axes
from trajopt.robots.collisions.samples import random_configurations
from trajopt.robots.frame_index import frame_index
from trajopt.robots.round_bodies import Capsule, Sphere
from trajopt.types import Reals

SAMPLES, BLOCK = 5000, 50  # configurations, and how many are evaluated at once; 1000 left out hands that meet
FEW = 0.05  # share of configurations without overlap up to which bodies count as always touching [-]
REACH = 0.05  # pairs never nearer are left out [m]
NEAR = 0.01  # at a reference configuration; nearer pairs are left out [m]
EXCESS = 0.02  # by which shapes exceed links: nearer ones cannot be told from those that touch [m]
REASONS = ("neighbours", "disabled", "always", "reference", "never")
JUDGED = ("Default", "")
"""Reasons in an SRDF that say nothing about most postures: that links touch in the default one, or none at all. With a
Panda's, links 5 and 7 and the hand are such: without them, two of 143 solutions of inverse kinematics collided. Rows of
link 5 and the hand prevent these; those of links 5 and 7, whose shapes are never 2 cm apart, would reject all with a
margin of 2 cm, and find nothing else in 3,000 random configurations with a margin of 1 cm. A UR5's forearm and wrists
have no reason: without them, 14 of 150 solutions collided."""
OF_SRDF = {"Adjacent": "neighbours", "Never": "never", "Always": "always"}


def with_pairs(
    model: pin.Model, bodies: Sequence[Sphere | Capsule], disabled: Mapping[frozenset[str], str] | None = None
) -> CollisionShapes:
    """Returns bodies of a robot with the pairs of them that may touch.

    Args:
        model: Model of the robot.
        bodies: Spheres and capsules on its frames.
        disabled: Reasons why an SRDF disables pairs, by the names of two frames; none by default.
    """
    disabled = {} if disabled is None else disabled
    joints = [0 if body.frame is None else model.frames[frame_index(model, body.frame)].parentJoint for body in bodies]
    left: dict[str, list[tuple[int, int]]] = {reason: [] for reason in REASONS}
    candidates, touched = [], dict[frozenset[str], list[tuple[int, int]]]()
    for i, j in itertools.combinations(range(len(bodies)), 2):
        if joints[i] == joints[j]:
            continue
        links = frozenset((str(bodies[i].frame), str(bodies[j].frame)))
        if joints[i] == model.parents[joints[j]] or joints[j] == model.parents[joints[i]]:
            left["neighbours"].append((i, j))
        elif links not in disabled:
            candidates.append((i, j))
        elif disabled[links] in JUDGED:
            touched.setdefault(links, []).append((i, j))
        else:
            left[OF_SRDF.get(disabled[links], "disabled")].append((i, j))
    axes = world_axes(model, bodies, random_configurations(model, SAMPLES))
    references = world_axes(model, bodies, np.array([entry.data() for entry in model.referenceConfigurations]))
    for pairs in touched.values():
        reason = _too_near(bodies, pairs, axes, references)
        (left[reason] if reason else candidates).extend(pairs)
    for reason, pairs in _judged(bodies, sorted(candidates), axes, references).items():
        left[reason] = sorted([*left[reason], *pairs])
    out = {pair for pairs in left.values() for pair in pairs}
    left_out = {reason: tuple(each) for reason, each in left.items()}
    return CollisionShapes(bodies=tuple(bodies), pairs=tuple(sorted(set(candidates) - out)), left_out=left_out)


def _too_near(
    bodies: Sequence[Sphere | Capsule], pairs: Sequence[tuple[int, int]], axes: Reals, references: Reals
) -> str:
    """Reason why shapes cannot measure the distance of two links, if an SRDF disables them; "" if they can."""
    if (pair_distances(bodies, pairs, axes).min(axis=1) >= EXCESS).mean() <= FEW:
        return "always"
    touch = len(references) and pair_distances(bodies, pairs, references).min() < NEAR
    return "reference" if touch else ""


def _judged(
    bodies: Sequence[Sphere | Capsule], candidates: Sequence[tuple[int, int]], axes: Reals, references: Reals
) -> dict[str, list[tuple[int, int]]]:
    """Those candidates that always, in reference configurations, or never touch, by these reasons."""
    nearest, apart = np.full(len(candidates), np.inf), np.zeros(len(candidates))
    for first in range(0, SAMPLES, BLOCK):
        undecided = np.flatnonzero((nearest > REACH) | (apart <= FEW * SAMPLES))
        if not len(undecided):
            break
        rows = axes[first : first + BLOCK]
        distances = pair_distances(bodies, [candidates[k] for k in undecided.tolist()], rows)
        nearest[undecided] = np.minimum(nearest[undecided], distances.min(axis=0))
        apart[undecided] += (distances >= 0.0).sum(axis=0)
    touching = np.zeros(len(candidates), dtype=bool)
    if len(references) and candidates:
        touching = pair_distances(bodies, candidates, references).min(axis=0) < NEAR
    always, never = apart <= FEW * SAMPLES, nearest > REACH
    reasons = {"always": always, "reference": touching & ~always, "never": never & ~touching & ~always}
    return {reason: list(itertools.compress(candidates, out)) for reason, out in reasons.items()}


def disabled_pairs(path: Path) -> dict[frozenset[str], str]:
    """Reasons why an SRDF disables collisions, by the names of two links; "" for one without a reason.

    Raises:
        InvalidArgumentError: The file cannot be read.
    """
    try:
        entries = ElementTree.parse(path).getroot().iter("disable_collisions")
    except (OSError, ElementTree.ParseError) as error:
        raise InvalidArgumentError(f"srdf: expected an SRDF that can be read in {str(path)!r}, got: {error}") from error
    return {frozenset((entry.get("link1", ""), entry.get("link2", ""))): entry.get("reason", "") for entry in entries}
