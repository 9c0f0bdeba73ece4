"""Margins of constraints and limits in the scene: rings at joints and feet, lines to near obstacles."""

from __future__ import annotations

from typing import Any

import numpy as np
import pinocchio as pin

from trajopt.analysis.approaches import approaches_of
from trajopt.analysis.limits import joint_uses
from trajopt.analysis.obstacles import obstacles_of
from trajopt.display.layers.base import Layer
from trajopt.display.layers.drawing import Color, mixed, torus, turned_up
from trajopt.display.layers.films import size_of
from trajopt.display.timeline import Timeline
from trajopt.solution import Solution
from trajopt.types import Reals

FREE, NEAR, LIMIT = (120, 120, 120), (245, 190, 0), (215, 25, 30)
"""Colours of parts far from their limit, near it, and at it."""

_FROM, _MIDDLE = 0.5, 0.8  # uses of a limit at which grey begins to change, and at which the colour is yellow [-]
_JOINT, _FOOT = 0.12, 0.06  # radii of rings, relative to the robot's size [-]
_REACH = 0.3  # largest distance with a line, relative to the robot's size [-]
_LINE = 4.0  # width of lines [pixel]
_THICK = 0.12  # radius of a ring's tube, relative to the ring's radius [-]
_STEP = 0.02  # smallest change of use that changes a colour [-]
_NO_LIMIT = 1e10  # files write numbers of this size or more for no limit


def margin_color(use: float) -> Color:
    """Returns the colour for a use of a limit: grey up to 0.5, yellow at 0.8, red from 1."""
    if use < _MIDDLE:
        return mixed(FREE, NEAR, max(use - _FROM, 0.0) / (_MIDDLE - _FROM))
    return mixed(NEAR, LIMIT, min((use - _MIDDLE) / (1.0 - _MIDDLE), 1.0))


class MarginsInScene(Layer):
    """Rings around joints coloured by the use of their limits, rings around feet by friction, lines to obstacles.

    A joint's ring has the colour of its largest use of limits of position, velocity, and torque or force, including
    tighter bounds of constraints. A line joins a body with the nearest obstacle within 0.3 of the robot's size. It is
    red at zero margin, and grey from half of that distance on.
    """

    legend = f"linear-gradient(90deg, rgb{FREE}, rgb{NEAR}, rgb{LIMIT})"

    def __init__(self, scene: Any, solution: Solution, name: str) -> None:
        super().__init__(scene, solution, name)
        self._timeline = Timeline(solution)
        size = size_of(self.film)
        self._model = None if solution.robot is None else solution.robot.model
        self._axes = {} if self._model is None else joint_axes(self._model)
        self.joints = {joint: uses for joint, uses in joint_uses(solution).items() if joint in self._axes}
        feet = () if self.film.motion is None else self.film.motion.feet
        self.feet = [(foot, uses) for foot in feet if np.isfinite(uses := foot.cone_use).any()]
        self.approaches, self._reach = approaches_of(solution), _REACH * size
        self._sizes = size * np.array([_JOINT] * len(self.joints) + [_FOOT] * len(self.feet), dtype=np.float32)
        self._rings = self._add_rings() if len(self._sizes) else None
        self._lines = self.add_lines("lines", np.zeros((1, 2, 3)), FREE, _LINE)
        self.at(0.0)

    def _add_rings(self) -> Any:
        """Adds all rings as one batch to the scene."""
        count = len(self._sizes)
        return self.scene.add_batched_meshes_simple(
            f"{self.name}/rings",
            *torus(_THICK),
            batched_wxyzs=np.tile([1.0, 0.0, 0.0, 0.0], (count, 1)),
            batched_positions=np.zeros((count, 3)),
            batched_scales=self._sizes,
            batched_colors=np.tile(FREE, (count, 1)).astype(np.uint8),
            cast_shadow=False,
            lod="off",
        )

    def uses(self, time: float) -> Reals:
        """Returns the use of limits of each joint, then of friction of each foot, at a time [s], (n,) [-].

        It is NaN without a limit or friction. For joints it is interpolated linearly between knots.
        """
        t, part = self.film.knot(time)
        with np.errstate(invalid="ignore"):
            rows = [np.array([uses[t], uses[min(t + 1, len(uses) - 1)]]) for uses in self.joints.values()]
            joints = [(1.0 - part) * a + part * b if np.isfinite([a, b]).all() else a for a, b in rows]
        return np.array([*joints, *(uses[t] for _, uses in self.feet)])

    def at(self, time: float) -> None:
        if self._rings is not None:
            self._place_rings(self._rings, time)
        t, part = self.film.knot(time)
        k = t + 1 if part >= 1.0 else t
        pairs, colors = [], []
        for each in self.approaches:
            place = np.array([self.film.between(each.starts, time), self.film.between(each.ends, time)])
            margin = float(self.film.between(each.margins, time))
            if not np.isfinite(margin):  # a neighbouring knot lacks this term
                place, margin = np.array([each.starts[k], each.ends[k]]), float(each.margins[k])
            if margin <= self._reach:
                pairs.append(place)
                colors.append(margin_color(1.0 - margin / self._reach))
        self._lines.visible = bool(pairs)
        if pairs:
            self._lines.points = np.array(pairs, dtype=np.float32)
            self._lines.colors = np.repeat(np.array(colors, dtype=np.uint8)[:, None], 2, axis=1)

    def _place_rings(self, rings: Any, time: float) -> None:
        places, normals = [], []
        if self._model is not None and self.joints:
            joints = [self._model.getJointId(joint) for joint in self.joints]
            state = self._timeline.states(self.solution.xs, time)[0, : self._model.nq]
            pin.forwardKinematics(self._model, data := self._model.createData(), state)
            places += [np.array(data.oMi[joint].translation) for joint in joints]
            normals += [data.oMi[joint].rotation @ self._axes[name] for joint, name in zip(joints, self.joints)]
        t = self.film.knot(time)[0]
        places += [self.film.between(foot.positions, time) for foot, _ in self.feet]
        normals += [foot.normals[t] for foot, _ in self.feet]
        uses = self.uses(time)
        shown = ~np.isnan(uses)
        rings.batched_positions = np.array(places, dtype=np.float32)
        rings.batched_wxyzs = np.array([turned_up(normal) for normal in normals], dtype=np.float32)
        _set(rings, "batched_scales", np.where(shown, self._sizes, 0.0).astype(np.float32))
        steps = np.round(np.where(shown, uses, 0.0) / _STEP) * _STEP
        _set(rings, "batched_colors", np.array([margin_color(float(use)) for use in steps], dtype=np.uint8))


def joint_axes(model: pin.Model) -> dict[str, Reals]:
    """Returns the unit axis (3,) of each joint with one degree of freedom, in the joint's axes, by joint name.

    Args:
        model: The Pinocchio model.
    """
    data, axes = model.createData(), {}
    q = pin.neutral(model)
    for joint in range(1, model.njoints):
        if model.joints[joint].nv == 1:
            column = pin.computeJointJacobian(model, data, q, joint)[:, model.joints[joint].idx_v]
            turn = column[3:] if np.linalg.norm(column[3:]) > 1e-9 else column[:3]
            axes[model.names[joint]] = turn / np.linalg.norm(turn)

    return axes


def has_margins(solution: Solution) -> bool:
    """Whether there is a joint limit, or an obstacle in costs or constraints; evaluates nothing."""
    model = None if solution.robot is None else solution.robot.model
    if model is not None:
        room = model.lowerPositionLimit < model.upperPositionLimit
        ends = [model.lowerPositionLimit[room], model.upperPositionLimit[room], model.velocityLimit, model.effortLimit]
        if any((np.isfinite(each) & (np.abs(each) < _NO_LIMIT)).any() for each in ends):
            return True
    return bool(obstacles_of(solution))


def _set(handle: Any, name: str, values: Any) -> None:
    """Sets an array of an object in the scene only if it changes, as each change sends a message."""
    if not np.array_equal(getattr(handle, name), values):
        setattr(handle, name, values)
