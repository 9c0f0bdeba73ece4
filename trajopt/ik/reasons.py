"""Text for why inverse kinematics failed: misses, causes, targets out of reach, and bodies in the way."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Iterator, Mapping
from typing import TYPE_CHECKING, Any

import numpy as np

from trajopt.types import Reals

if TYPE_CHECKING:
    from trajopt.ik.result import TaskResidual

COSTLY, OUT_OF_REACH = "costs could still be lowered", "out of reach"


def misses(residuals: Mapping[str, TaskResidual], failed: Iterable[str], row: Any = ...) -> list[str]:
    """Text for the violation of each task that failed, of one row of a batch or of a single target."""
    return [f"{name} by {miss(residuals[name].violation[row], residuals[name].unit)}" for name in failed]


def miss(violation: Reals, unit: str) -> str:
    """Largest violation of rows (nr,), or the norms of two parts with a unit each, such as position and rotation."""
    units = unit.split(", ")
    if len(units) == 1 or len(violation) % len(units):
        return f"up to {np.max(np.abs(violation)):.3g} {unit}"
    norms = np.linalg.norm(violation.reshape(len(units), -1), axis=1)
    return " and ".join(f"{norm:.3g} {each}" for norm, each in zip(norms, units, strict=True))


def why_failed(
    residuals: Mapping[str, TaskResidual],
    causes: tuple[str, ...],
    failed: tuple[str, ...],
    limits: tuple[str, ...],
    starts: int,
    row: int = 0,
) -> list[str]:
    """Text for why a target failed: the constraints that have to give way, and joints at limits or the reach.

    Args:
        residuals: Residuals of the tasks.
        causes: Constraints without any one of which all others hold.
        failed: Constraints that do not hold.
        limits: Coordinates at a limit.
        starts: Number of starts [-].
        row: Number of the target [-].
    """
    if far := too_far(residuals, failed, row):
        return far
    words = cause_words(residuals, causes, failed, starts)
    if limits:
        return [*words, f"at limits: {', '.join(limits)}"]
    collided = any(residuals[name].bodies for name in causes or failed)
    return words if collided else [*words, f"{OUT_OF_REACH}: no joint is at a limit"]


def unchecked(residuals: Mapping[str, TaskResidual]) -> list[str]:
    """Text for links that collisions leave out although they might touch."""
    return [f"not checked by {name}: {each.unchecked}" for name, each in residuals.items() if each.unchecked]


def cause_words(
    residuals: Mapping[str, TaskResidual], causes: tuple[str, ...], failed: tuple[str, ...], starts: int
) -> list[str]:
    """Text for the causes of a target out of reach; empty if a single constraint fails, which says it already.

    A search from some starts does not prove that every configuration at a target is in collision.
    """
    collided = [name for name in causes if residuals[name].bodies]
    if collided:
        search = f"no collision-free configuration was found from {starts} start{'s' * (starts != 1)}"
        return [f"{search}: all others hold without {' or without '.join(collided)}"]
    if causes:
        return [f"all others hold without {' or without '.join(causes)}"]
    return ["more than one has to give way"] if len(failed) > 1 else []


def less_margin(residuals: Mapping[str, TaskResidual], causes: Iterable[tuple[int, tuple[str, ...]]]) -> Iterator[str]:
    """Advice on targets, by number, that are reached only with collisions: the bodies in the way, and their margin."""
    every = list(causes)
    for name in [name for name, each in residuals.items() if each.touching]:
        targets = [residuals[name].touching[i] for i, own in every if name in own]
        if not targets:
            continue
        pairs = Counter(target for target in targets if target[0])
        (bodies, margin), count = (*pairs.most_common(1), (targets[0], 0))[0]
        often = f", most often, at {count} of {len(targets)} targets" if len(targets) > 1 else ""
        way = f"{bodies} are in the way{often}: " if bodies else ""
        smaller = f"a smaller margin (now {margin:g} m) or " if margin > 0.0 else ""
        yield f"{way}{smaller}more starts may find configurations without collision"


def exceeding(worst: dict[str, float], tolerance: float) -> tuple[str, ...]:
    """Names of the tasks with a violation larger than the tolerance, the largest first."""
    return tuple(sorted((name for name in worst if worst[name] > tolerance), key=lambda name: -worst[name]))


def too_far(residuals: Mapping[str, TaskResidual], failed: Iterable[str], row: int = 0) -> list[str]:
    """Text for each failed task whose target no posture reaches."""
    return [
        f"{name}: {residuals[name].far[row]}" for name in failed if residuals[name].far and residuals[name].far[row]
    ]
