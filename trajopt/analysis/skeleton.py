"""Skeleton of a robot: points and the lines between them."""

from __future__ import annotations

import itertools
from collections.abc import Container, Mapping, Sequence
from typing import TYPE_CHECKING, Any, Protocol, runtime_checkable

import numpy as np
import pinocchio as pin

from trajopt.errors import InvalidArgumentError, ModelEvaluationError, pass_on_signal
from trajopt.robots.frame_index import frame_index
from trajopt.robots.payload import payload_shapes
from trajopt.robots.shapes import Shape
from trajopt.robots.skeleton import Skeleton, Solid
from trajopt.types import Reals

if TYPE_CHECKING:
    from trajopt.actions.base import ActionModelAbstract
    from trajopt.solution import Solution


def skeleton_of(
    model: Any, configurations: Reals, tracked: Sequence[int] = (), shapes: Sequence[Shape] = ()
) -> tuple[Skeleton, Reals]:
    """Returns the skeleton of a motion, and paths of the tracked frames, shape (len(tracked), T + 1, 3) [m].

    Args:
        model: The Pinocchio model.
        configurations: Configurations (T + 1, nq).
        tracked: Indices of the frames whose paths to return.
        shapes: Solids on the links; payloads have one by themselves.
    """
    data = model.createData()
    slides = _slides(model)
    ends, shown = ends_of(model), {model.frames[frame_index(model, shape.link)].parentJoint for shape in shapes}
    lone = [j for j in _lone_bodies(model, {joint for joint, _, name in ends if name}) if j not in shown]
    boxes = {j: _box(model.inertias[j]) for j in (*_loose_bodies(model, slides), *lone)}
    ends = [end for end in ends if end[0] not in boxes]
    fixed_points = [(joint, point) for joint, point, _ in ends] + [(j, p) for j, box in boxes.items() for p in box]
    points = np.empty((len(configurations), model.njoints + len(fixed_points), 3))
    paths = np.empty((len(tracked), len(configurations), 3))
    shapes = [*shapes, *payload_shapes(model)]
    on_links = [(frame_index(model, shape.link), shape.points()) for shape in shapes]
    hulls = [np.empty((len(configurations), *hull.shape)) for _, hull in on_links]
    for t, q in enumerate(configurations):
        pin.framesForwardKinematics(model, data, q)
        for j in range(model.njoints):
            points[t, j] = data.oMi[j].translation
        for i, (joint, point) in enumerate(fixed_points):
            points[t, model.njoints + i] = data.oMi[joint].act(point)
        for i, index in enumerate(tracked):
            paths[i, t] = data.oMf[index].translation
        for moved, (index, hull) in zip(hulls, on_links):
            moved[t] = hull @ data.oMf[index].rotation.T + data.oMf[index].translation
    for j in reversed(slides):  # draw massless sliders at the body that they move
        points[:, j] = points[:, list(model.parents).index(j, 1)]
    parents = [(model.parents[j], j) for j in range(1, model.njoints)]
    bones = [(i, j) for i, j in parents if i != 0 and i not in slides]
    bones += [(joint, model.njoints + i) for i, (joint, _, _) in enumerate(ends)]
    first = model.njoints + len(ends)
    bones += [(first + 8 * k + i, first + 8 * k + j) for k in range(len(boxes)) for i, j in _EDGES]
    roots = [j for i, j in parents if i == 0 and j not in slides and j not in boxes]
    still = [j for j in roots if np.ptp(points[:, j], axis=0).max() < 1e-9]
    sliders = [j for j in roots if j not in still and model.joints[j].nv == 1]
    solids = [Solid(points=moved, color=shape.color) for moved, shape in zip(hulls, shapes)]
    fixed = [(0, j) for j in still if model.joints[j].nv < 6]  # a floating base is held by nothing
    return Skeleton(points=points, bones=bones, fixed=fixed, sliders=sliders, solids=solids), paths


_EDGES = [(i, i | bit) for bit in (1, 2, 4) for i in range(8) if not i & bit]
"""Edges of a box with corners in the order of `_box`."""
_LIGHT = 1e-5  # fraction of a model's mass that counts as massless


def _slides(model: Any) -> list[int]:
    """Massless prismatic joints by which a body slides in the world, such as x and z of a block, from the ground up."""
    parents, total = list(model.parents), sum(inertia.mass for inertia in model.inertias)
    sliders: list[int] = []
    for j in range(1, model.njoints):
        light = model.inertias[j].mass <= _LIGHT * total and parents[1:].count(j) == 1
        if _slides_along(model, j) and light and (parents[j] == 0 or parents[j] in sliders):
            sliders.append(j)
    return sliders


def _slides_along(model: Any, joint: int) -> bool:
    """Whether a joint is prismatic."""
    return "JointModelP" in model.joints[joint].shortname() and model.joints[joint].nv == 1


def _loose_bodies(model: Any, slides: Sequence[int]) -> list[int]:
    """Bodies that slide and carry no joints, such as blocks and carts."""
    parents = list(model.parents)
    leaves = [j for j in range(1, model.njoints) if j not in parents[1:] and model.inertias[j].mass > 0]
    on_rails = [j for j in leaves if parents[j] == 0 and _slides_along(model, j)] if slides else []
    return [j for j in leaves if parents[j] in slides or j in on_rails]


def _lone_bodies(model: Any, ended: Container[int]) -> list[int]:
    """Bodies that float and carry neither joints nor frames, such as a box on a free joint."""
    parents = list(model.parents)
    alone = [j for j in range(1, model.njoints) if parents[j] == 0 and j not in parents[1:] and j not in ended]
    return [j for j in alone if model.joints[j].nv == 6 and model.inertias[j].mass > 0]


def _box(inertia: Any) -> Reals:
    """Corners (8, 3) of the homogeneous box with this inertia, in the joint's frame [m]."""
    moments, axes = np.linalg.eigh(inertia.inertia)
    halves = np.sqrt(np.maximum(6 * (moments.sum() - 2 * moments) / inertia.mass, 0.0)) / 2
    corners = np.array(list(itertools.product((-1.0, 1.0), repeat=3))) * halves
    return np.array(inertia.lever) + corners @ axes.T


def ends_of(model: Any) -> list[tuple[int, Reals, str]]:
    """Returns joints without children, each with its end point (3,) [m] in the joint's frame, and the frame there.

    The end point is the origin of the joint's farthest frame, such as tool or foot. If all its frames are at the
    joint, it is the centre of mass, with an empty name. Of several frames at one point, the last one that is not a
    fixed joint is used, such as "tool0".
    """
    ends = []
    for joint in range(1, model.njoints):
        if joint in list(model.parents)[1:]:
            continue
        frames = sorted(
            (f for f in reversed(model.frames) if f.parentJoint == joint), key=lambda f: f.type == pin.FIXED_JOINT
        )
        points = [(np.array(f.placement.translation), f.name) for f in frames]
        candidates = [*points, (np.array(model.inertias[joint].lever), "")]
        off = [(point, name) for point, name in candidates if np.linalg.norm(point) > 1e-6]
        named = [end for end in off if end[1]] or off
        if named:
            ends.append((joint, *max(named, key=lambda end: round(float(np.linalg.norm(end[0])), 9))))
    return ends


@runtime_checkable
class Drawn(Protocol):
    """Interface of a model that has its own skeleton."""

    def skeleton(self, xs: Reals, parameters: Mapping[str, Reals]) -> Skeleton:
        """Returns the skeleton of states (T + 1, nx), with parameter values by name at their first knot."""


def model_skeleton(solution: Solution, models: Sequence[ActionModelAbstract]) -> Skeleton | None:
    """Returns the skeleton of a body that is not a robot, from a solution's first or terminal model; None without one.

    Raises:
        InvalidArgumentError: The model's method `skeleton` returns another type.
        ModelEvaluationError: The method raises an exception.
    """
    for owner in (part for model in (models[0], models[-1]) for part in (model, model.model_parts.differential)):
        if isinstance(owner, Drawn):
            values = {**solution.problem.parameter_values(), **solution.parameters}  # type: ignore[union-attr]
            return _checked(owner, solution.xs, {name: rows[0] for name, rows in values.items() if len(rows)})
    return None


def _checked(owner: Drawn, xs: Reals, parameters: dict[str, Reals]) -> Skeleton:
    """Calls a model's `skeleton` and checks the result."""
    name = f"{type(owner).__name__}.skeleton"
    try:
        result = owner.skeleton(xs, parameters)
    except Exception as error:
        pass_on_signal(error)
        raise ModelEvaluationError(f"{name} raised {type(error).__name__}: {error}") from error
    if not isinstance(result, Skeleton) or np.ndim(result.points) != 3 or result.points.shape[::2] != (len(xs), 3):
        raise InvalidArgumentError(
            f"{name}: expected a trajopt.robots.Skeleton with points of shape ({len(xs)}, n, 3), got {result!r:.200}"
        )
    return result
