"""Choice of each link's frame along the axis of its joint, such that many coordinates of the placements are zero."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
import pinocchio as pin

from trajopt.types import Reals

_SLIDING = ("revolute", "prismatic", "helical")


@dataclass(frozen=True)
class Branch:
    """A link before its frame is chosen: parent index (-1 for the world), joint type, placement in the parent."""

    parent: int
    kind: str
    before: pin.SE3


def choose_slides(branches: list[Branch]) -> list[float]:
    """Distance along z by which to move the frame of each link [m]; nonzero only for joints about or along z.

    A frame that slides along its own axis does not change the joint, only the constant placements around it:
    p becomes p + R (0, 0, s) before the joint and p_z - s for each child. Every zero coordinate saves operations in
    each recursion. The method is coordinate descent over the distances that make a coordinate zero.
    """
    slides = [0.0] * len(branches)
    for _ in range(4 if branches else 0):
        before = list(slides)
        for i in reversed(range(len(branches))):
            if branches[i].kind in _SLIDING:
                tries = [_moved(branches, slides, i, distance) for distance in _distances(branches, slides, i)]
                slides = min([slides, *tries], key=lambda tried: _cost(branches, tried))
        if slides == before:
            break
    return slides


def slid(branches: list[Branch], slides: list[float], i: int) -> pin.SE3:
    """Placement of a link's joint frame in its parent's frame after both have moved."""
    branch = branches[i]
    above = slides[branch.parent] if branch.parent >= 0 else 0.0
    return along_z(-above) * branch.before * along_z(slides[i])


def along_z(distance: float) -> pin.SE3:
    """Translation along z."""
    return pin.SE3(np.eye(3), np.array([0.0, 0.0, distance]))


def _distances(branches: list[Branch], slides: list[float], i: int) -> list[float]:
    """Candidate distances that make a coordinate of link i's placement, or the z of a child's placement, zero."""
    translations = _translations(branches, slides)
    axis = branches[i].before.rotation[:, 2]
    result = [float(-translations[i, k] / axis[k]) for k in range(3) if abs(axis[k]) > 0.5]
    return result + [float(translations[j, 2]) for j, branch in enumerate(branches) if branch.parent == i]


def _moved(branches: list[Branch], slides: list[float], i: int, distance: float) -> list[float]:
    """Slides with link i moved further, together with the following links on parallel axes."""
    result = list(slides)
    result[i] += distance
    shift = {i: distance}
    for j, branch in enumerate(branches):
        cosine = branch.before.rotation[2, 2]
        if branch.parent in shift and branch.kind in _SLIDING and abs(abs(cosine) - 1) < 1e-12:
            shift[j] = shift[branch.parent] * cosine
            result[j] += shift[j]
    return result


def _cost(branches: list[Branch], slides: list[float]) -> float:
    """Number of nonzero coordinates; those at the root count less, as they only affect positions."""
    translations = _translations(branches, slides)
    weights = np.array([1.0 if branch.parent >= 0 else 0.3 for branch in branches])
    return float(weights @ np.count_nonzero(np.abs(translations) > 1e-12, axis=1))


def _translations(branches: list[Branch], slides: list[float]) -> Reals:
    """Translations of all links after the slides, see `slid`, (n, 3)."""
    above = np.array([slides[branch.parent] if branch.parent >= 0 else 0.0 for branch in branches])
    origins = np.array([branch.before.translation for branch in branches])
    axes = np.array([branch.before.rotation[:, 2] for branch in branches])
    return origins + axes * np.array(slides)[:, None] - above[:, None] * np.array([0.0, 0.0, 1.0])
