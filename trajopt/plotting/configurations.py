"""Plot of robot configurations as stick figures, with target points and placements."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, cast

import numpy as np
import numpy.typing as npt

from trajopt.analysis.obstacles import as_obstacles
from trajopt.analysis.skeleton import skeleton_of
from trajopt.checks import as_numbers, check_array, check_instance, check_text
from trajopt.errors import InvalidArgumentError
from trajopt.plotting.motion import draw_base, draw_figures
from trajopt.plotting.obstacles import Surroundings
from trajopt.plotting.path import BODY_AXES
from trajopt.plotting.scene import check_points, scene_of
from trajopt.plotting.solids import around_solids
from trajopt.plotting.style import RED, drawing, whole_figure
from trajopt.robots import Robot
from trajopt.robots.placements import check_placement
from trajopt.robots.scene import ObstaclesLike
from trajopt.types import Reals

if TYPE_CHECKING:
    from matplotlib.figure import Figure, SubFigure

    from trajopt.ik import IKResult

_VIEW = (18.0, -60.0)  # elevation and azimuth of the camera [deg]
_FLAT = 1e-6  # depth relative to its size, below which a robot is drawn in its plane [-]
_ARROW = 0.12  # length of a target's axes, relative to the size of the robot [-]


def plot_configurations(
    robot: Robot,
    configurations: npt.ArrayLike | IKResult,
    *,
    points: npt.ArrayLike = (),
    placements: Any = (),
    obstacles: ObstaclesLike = (),
    view: tuple[float, float] | None = None,
    title: str = "",
    figure: Figure | SubFigure | None = None,
) -> Figure:
    """Draws configurations of a robot, the first one dark, for example those from inverse kinematics.

    Args:
        robot: The robot.
        configurations: Configurations (nq,) or (n, nq), or a result of inverse kinematics, whose `q` is drawn.
        points: Points to mark, (3,) or (n, 3) in the world [m].
        placements: Placements to mark by their axes (x red, y green, z blue): one, or a sequence. Each is a
            pinocchio.SE3, a matrix (4, 4), or position and quaternion xyzw (7,).
        obstacles: A Scene, bodies such as Box, or rows: upright cylinders (x, y, radius), shape (n, 3), or balls
            (x, y, z, radius), shape (n, 4) [m].
        view: Elevation and azimuth of the camera [deg]; by default a planar robot is drawn in its plane.
        title: Text above the picture.
        figure: Figure or subfigure to draw into; by default a new one.

    Returns:
        The figure; `figure.savefig("arm.png")` writes it.

    Raises:
        InvalidArgumentError: An argument has a wrong type, shape or value.
    """
    check_instance("robot", robot, Robot, "such as load_robot('panda')")
    numbers = cast(npt.ArrayLike, getattr(configurations, "q", configurations))
    q = as_numbers("configurations", numbers, f"configurations (n, {robot.nq})")
    if q.shape[-1:] != (robot.nq,) or q.ndim > 2 or not q.size:
        raise InvalidArgumentError(
            f"configurations: expected shape ({robot.nq},) or (n, {robot.nq}) for {robot.name!r}, got {q.shape}"
        )
    check_array("configurations", q, q.shape)
    if view is not None:
        check_array("view", view, (2,), cure="elevation and azimuth [deg]")
    check_text("title", title)
    drawn = as_obstacles(obstacles)
    marks, targets = check_points("points", points), _placements(placements)
    q = q.reshape(-1, robot.nq)[::-1]  # draw the first configuration on top
    skeleton, _ = skeleton_of(robot.model, q, shapes=robot.shapes)
    size = float(np.ptp(skeleton.points.reshape(-1, 3), axis=0).max())
    axes = np.stack([targets[:, :, 3], targets[:, :, 3]], axis=1)[:, None] + np.zeros((len(targets), 3, 2, 3))
    axes[:, :, 1] += _ARROW * size * targets[:, :, :3].swapaxes(1, 2)
    with drawing(figure, 7.2, 6.0) as target:
        around = np.concatenate([marks, axes.reshape(-1, 3)])
        depth = float(np.ptp(np.concatenate([skeleton.points.reshape(-1, 3), around])[:, 1]))
        flat = view is None and depth < _FLAT * size
        beside = Surroundings(drawn, skeleton.points.reshape(-1, 3))
        around = np.concatenate([around, around_solids(skeleton), beside.points])
        scene = scene_of(target, skeleton.points, around, None if flat else view or _VIEW)
        scene.axes.set_title(title)
        beside.draw(scene)
        draw_base(scene, skeleton)
        draw_figures(scene, skeleton, np.arange(len(q)), len(q) - 1)
        for triad in axes:
            for line, (color, _) in zip(triad, BODY_AXES):
                scene.draw(line, color=color, linewidth=2.4, zorder=20, label="_axis")
        stars = np.concatenate([marks, targets[:, :, 3]])
        if len(stars):
            scene.draw(stars, color=RED, marker="*", linestyle="", markersize=12, markeredgecolor="white", zorder=21,
                       label="target" if len(stars) == 1 else "targets")  # fmt: skip
            target.legend(loc="outside upper left")
        return whole_figure(target)


def _placements(values: Any) -> Reals:
    """Converts placements to rotation and position, shape (n, 3, 4)."""
    sequence = list(values) if isinstance(values, (list, tuple)) or np.ndim(values) == 3 else [values]
    return np.array([check_placement(f"placements[{i}]", each) for i, each in enumerate(sequence)]).reshape(-1, 3, 4)
