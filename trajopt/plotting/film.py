"""Content of an animation: skeleton, contacts and paths over time, interpolated between knots."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np
import numpy.typing as npt

from trajopt.analysis.basics import check_solution, time_axis
from trajopt.analysis.goals import shown_goals
from trajopt.analysis.legs import LeggedMotion, has_contacts, is_legged, legged_motion
from trajopt.analysis.obstacles import Obstacle
from trajopt.analysis.skeleton import skeleton_of
from trajopt.analysis.vehicles import in_vertical_plane, outlines_of, seen_along, vehicle_of
from trajopt.analysis.walls import walls_of
from trajopt.errors import InvalidArgumentError
from trajopt.plotting.obstacles import moving_around, obstacles_around, obstacles_to_draw, solids_around
from trajopt.plotting.path import axes_at, axis_length
from trajopt.plotting.projection import OBLIQUE, SideView, side_view
from trajopt.plotting.scene import SceneLines
from trajopt.plotting.sensed import Sensed
from trajopt.plotting.solids import held_paths, without_released
from trajopt.plotting.walls import near_walls
from trajopt.robots.scene import ObstaclesLike
from trajopt.robots.skeleton import Skeleton, Solid
from trajopt.solution import Solution
from trajopt.types import Reals

if TYPE_CHECKING:
    from trajopt.planar import OccupancyGrid, Scan

KNOT = 0.05  # duration of a knot without a time step [s]
_WEIGHT, _LONGEST = 0.25, 0.35  # arrow lengths of the weight, and of large forces, relative to the robot's height [-]


@dataclass(frozen=True, kw_only=True)
class World:
    """Surroundings of a motion, in world axes.

    Attributes:
        lines: Polylines, such as gates.
        sensed: Map, and scans at the knots.
        walls: Boxes (n, 2, 3) that the motion stays in [m].
        planes: Coefficients (a, b, c, d) of planes that contacts may touch.
    """

    lines: SceneLines
    sensed: Sensed
    walls: Reals
    planes: Sequence[tuple[float, ...]]


@dataclass(frozen=True, kw_only=True)
class Film:
    """A motion over time, in view axes: x to the right, y away from the camera, z up.

    Attributes:
        times: Time of each knot (T + 1,) [s].
        label: Label of the times: "time [s]" or "knot [-]".
        skeleton: The skeleton.
        axes: Origin and end of each axis of a body whose states are poses (T + 1, 3, 2, 3) [m]; otherwise empty.
        trails: Paths of the tool, of all feet, or of other points (n, T + 1, 3) [m].
        goals: Target points (n, 3) [m].
        obstacles: Balls (x, y, z, radius), shape (n, 4) [m]; z is NaN for upright cylinders.
        hulls: Points (T + 1, n, 3) around each box, capsule, and obstacle that moves [m]; NaN at knots without it.
        outlines: Outline of a vehicle at each knot (T + 1, n, 3), with gaps at NaN [m]; otherwise empty.
        outline_label: Name of the outline in the legend.
        world: Lines, walls and planes around the motion; None in a side view.
        motion: Contacts; None without contacts.
        side: View of a legged robot from the side; None for other bodies, whose view axes are world axes.
        turn: Map from world axes to view axes (3, 3): a rotation. In a side view it also shifts points on the far side
            to the right, so that the legs do not hide each other. Heights are true.
        facing: The rotation without that shift (3, 3), for forces.
        scale: Length of an arrow per force [m/N].
        view: Elevation and azimuth of the camera of a motion in space [deg]; None for a direction that fits.
        along: Index of the axis along which a motion in a plane is seen, if several are possible.
    """

    times: Reals
    label: str
    skeleton: Skeleton
    axes: Reals
    trails: Reals
    goals: Reals
    obstacles: Reals
    hulls: Sequence[Reals]
    outlines: Reals
    outline_label: str
    world: World | None
    motion: LeggedMotion | None
    side: SideView | None
    turn: Reals
    facing: Reals
    scale: float
    view: tuple[float, float] | None = None
    along: int = 1

    def knot(self, time: float) -> tuple[int, float]:
        """Returns the knot 0..T-1 at a time, and the fraction of the knot that has passed, from 0 to 1.

        At the end it is the last knot with a duration. With T = 0 it is knot 0.
        """
        last = int(np.searchsorted(self.times, self.times[-1])) - 1
        t = max(min(int(np.searchsorted(self.times, time, side="right")) - 1, last), 0)
        step = float(self.times[min(t + 1, len(self.times) - 1)] - self.times[t])
        return t, min((time - float(self.times[t])) / step, 1.0) if step > 0 else 0.0

    def reached(self, time: float) -> int:
        """Returns the last knot 0..T that has begun at a time."""
        t, part = self.knot(time)
        return t + 1 if part >= 1.0 else t

    def between(self, rows: Reals, time: float) -> Reals:
        """Returns points (...) at a time, interpolated linearly between points at the knots (T + 1, ...)."""
        t, part = self.knot(time)
        return np.asarray((1.0 - part) * rows[t] + part * rows[min(t + 1, len(rows) - 1)])

    def forces(self, time: float) -> tuple[Reals, Reals]:
        """Returns tips (n, 3) [m] and arrows (n, 3) [m] of the ground's forces on the feet in contact at a time."""
        feet = [] if self.motion is None else [f for f in self.motion.feet if f.stands[self.knot(time)[0]]]
        t = self.knot(time)[0]
        tips = [f.pressures[t] if np.isfinite(f.pressures[t]).all() else f.positions[t] for f in feet]
        arrows = [self.scale * f.forces[t] for f in feet]
        return np.reshape(tips, (-1, 3)) @ self.turn.T, np.reshape(arrows, (-1, 3)) @ self.facing.T

    def balls(self, time: float) -> list[tuple[Reals, float]]:
        """Returns centre (3,) and radius of each sphere that may touch the ground, at a time [m]."""
        feet = [] if self.motion is None else [foot for foot in self.motion.feet if foot.radius]
        return [(self.turn @ self.between(foot.centres, time), foot.radius) for foot in feet]

    def soles(self, time: float) -> list[Reals]:
        """Returns the corners (n, 3) [m] of each foot in contact at a time."""
        t = self.knot(time)[0]
        feet = [] if self.motion is None else [f for f in self.motion.feet if f.stands[t]]
        return [(f.positions[t] + f.outline[t]) @ self.turn.T for f in feet]


def film_of(
    solution: Solution,
    obstacles: ObstaclesLike = (),
    lines: Sequence[npt.ArrayLike] = (),
    *,
    grid: OccupancyGrid | None = None,
    scans: Scan | Sequence[Scan] = (),
    aside: bool = True,
    more: bool = False,
    forces: bool = True,
    view: tuple[float, float] | None = None,
) -> Film:
    """Returns the film of a solution.

    Args:
        solution: The solution.
        obstacles: Obstacles of a line drawing, see `as_obstacles`; by default those of costs and constraints.
        lines: Polylines, such as gates, each with points (n, 2) or (n, 3) [m].
        grid: Map of the plane.
        scans: LIDAR scan, or one for each knot.
        aside: Whether it is for a line drawing, with the world around the motion, outlines, and a side view of a legged
            robot; otherwise all axes are world axes.
        more: Whether to draw those of costs and constraints besides `obstacles`.
        forces: Whether to compute contact forces.
        view: Elevation and azimuth of the camera of a line drawing [deg], then also of a legged robot in space; None
            for a direction that fits.

    Raises:
        InvalidArgumentError: A state is not finite; there is no robot, pose or model with `skeleton` to draw; or the
            obstacles have a wrong shape.
    """
    around = SceneLines(lines, (), in_vertical_plane(check_solution(solution)))
    sensed = Sensed(grid, scans, len(solution.xs) - 1)
    drawn = obstacles_to_draw(solution, obstacles, more=more) if aside else []
    skeleton, trails, goals = body_of(solution)
    if aside and solution.robot is not None:
        skeleton = without_released(skeleton, solution)
        trails = list(held_paths(solution, shown_goals(solution)[0], np.array(trails)))
    if not np.all(np.isfinite(skeleton.points)):
        raise InvalidArgumentError(
            "solution: expected finite states, got NaN or inf; solution.explain() says why the solve failed"
        )
    robot = solution.robot
    legged = forces and has_contacts(solution)
    abscissa, label = time_axis(solution)
    outlines = outlines_of(solution) if aside else np.zeros((len(skeleton.points), 0, 3))
    aslant = view is None and aside and robot is not None and is_legged(solution)
    return filmed(
        skeleton,
        legged_motion(solution) if legged else None,
        side=side_view(robot.model, solution.xs[:, : robot.nq]) if robot is not None and aslant else None,
        times=abscissa if label.startswith("time") else KNOT * abscissa,
        label=label,
        axes=_axes(solution, skeleton.points, goals, outlines),
        trails=trails,
        goals=goals,
        obstacles=obstacles_around(drawn),
        hulls=_hulls(drawn, skeleton.points),
        outlines=outlines,
        outline_label=vehicle_of(solution).label if outlines.size else "",
        world=_world(solution, around, sensed, skeleton.points, goals) if aside else None,
        view=view,
        along=seen_along(solution),
    )


def filmed(
    skeleton: Skeleton,
    motion: LeggedMotion | None,
    *,
    side: SideView | None = None,
    times: Reals,
    label: str,
    axes: Reals | None = None,
    trails: Sequence[Reals] = (),
    goals: Sequence[Reals] = (),
    obstacles: npt.ArrayLike = (),
    hulls: Sequence[Reals] = (),
    outlines: Reals | None = None,
    outline_label: str = "",
    world: World | None = None,
    view: tuple[float, float] | None = None,
    along: int = 1,
) -> Film:
    """Returns the film of a body, with all parts turned from world axes to view axes.

    Args:
        skeleton: The skeleton.
        motion: Contacts of a legged robot; None without contacts.
        side: View of a legged robot from the side; None for other bodies, whose view axes are world axes.
        times: Time of each knot (T + 1,) [s].
        label: Label of the times.
        axes: Origin and end of each axis of a body (T + 1, 3, 2, 3) [m]; None for a body without a pose.
        trails: Paths of points, (T + 1, 3) each [m].
        goals: Target points, (3,) each [m].
        obstacles: Balls (x, y, z, radius), shape (n, 4) [m]; z is NaN for upright cylinders.
        hulls: Points (T + 1, n, 3) around further obstacles [m].
        outlines: Outline of a vehicle at each knot (T + 1, n, 3) [m]; None for other bodies.
        outline_label: Name of the outline in the legend.
        world: Surroundings of the motion; a side view does not show them.
        view: Elevation and azimuth of the camera [deg]; None for a direction that fits.
        along: Axis along which a motion in a plane is seen, see `Film`.
    """
    facing = np.eye(3) if side is None else side.facing
    turn = facing + (OBLIQUE * np.outer([1.0, 0.0, 0.0], facing[1]) if side else 0.0)
    points = skeleton.points @ turn.T
    return Film(
        times=times,
        label=label,
        skeleton=Skeleton(
            points=points,
            bones=skeleton.bones,
            fixed=() if side else skeleton.fixed,
            sliders=skeleton.sliders,
            solids=[Solid(points=solid.points @ turn.T, color=solid.color) for solid in skeleton.solids],
        ),
        axes=np.zeros((len(points), 0, 2, 3)) if axes is None else axes,
        trails=np.reshape(trails, (-1, len(points), 3)) @ turn.T,
        goals=np.reshape(goals, (-1, 3)) @ turn.T,
        obstacles=_turned(np.reshape(obstacles, (-1, 4)), turn),
        hulls=[hull @ turn.T for hull in hulls],
        outlines=np.zeros((len(points), 0, 3)) if outlines is None else outlines,
        outline_label=outline_label,
        world=None if side else world,
        motion=motion,
        side=side,
        turn=turn,
        facing=facing,
        scale=0.0 if motion is None else _scale(motion, points),
        view=view,
        along=along,
    )


def _hulls(drawn: Sequence[Obstacle], points: Reals) -> list[Reals]:
    """Points (T + 1, n, 3) around obstacles other than balls and cylinders that stay in place [m]."""
    still = [np.broadcast_to(hull, (len(points), *hull.shape)) for hull in solids_around(drawn)]
    return still + moving_around(drawn, points.reshape(-1, 3))


def _world(solution: Solution, lines: SceneLines, sensed: Sensed, points: Reals, goals: Sequence[Reals]) -> World:
    """Surroundings of a motion with points (T + 1, n, 3) and goals [m]."""
    places = np.concatenate([points.reshape(-1, 3), np.reshape(goals, (-1, 3))])
    walls = near_walls(walls_of(solution), places)
    return World(lines=lines, sensed=sensed, walls=walls, planes=solution.description.planes)


def _turned(bodies: Reals, turn: Reals) -> Reals:
    """Transforms obstacles to view axes; z is the same in both."""
    places = np.column_stack([bodies[:, :2], np.zeros(len(bodies))]) @ turn.T
    return np.column_stack([places[:, :2], bodies[:, 2:]])


def check_body(solution: Solution) -> None:
    """Raises InvalidArgumentError if a solution has no body to draw."""
    body_of(solution)


def body_of(solution: Solution) -> tuple[Skeleton, list[Reals], list[Reals]]:
    """Returns skeleton, paths (T + 1, 3) and goals (3,) in world axes.

    Raises:
        InvalidArgumentError: There is no body to draw.
    """
    if solution.robot is None:
        description = solution.description
        skeleton, poses = description.skeleton, description.poses
        if skeleton is None and poses is not None:
            return Skeleton(points=poses[:, None, :3, 3], bones=()), [poses[:, :3, 3]], [*description.pose_goals]
        if skeleton is None:
            raise InvalidArgumentError(
                "solution: expected a robot, a state with coordinates x and y, or a model with a method "
                "skeleton(xs, parameters) that returns a trajopt.robots.Skeleton, got none of them; add the method, or "
                "use plot_solution"
            )
        return skeleton, [skeleton.points[:, i] for i in skeleton.tracks], []
    model, (frames, goals) = solution.robot.model, shown_goals(solution)
    tracked = [solution.robot.frame_id(name) for name in frames]
    skeleton, paths = skeleton_of(model, solution.xs[:, : model.nq], tracked, solution.robot.shapes)
    return skeleton, list(paths), [point for _, point in goals]


def _axes(solution: Solution, points: Reals, goals: list[Reals], outlines: Reals) -> Reals:
    """Axes of a body, as in `Film`."""
    description = solution.description
    poses = description.poses
    if description.robot is not None or description.skeleton is not None or poses is None:
        return np.zeros((len(points), 0, 2, 3))
    axes = axes_at(
        poses, axis_length(np.concatenate([points.reshape(-1, 3), np.reshape(goals, (-1, 3))]), outlines, 2.0)
    )
    return axes if len(axes) else np.zeros((len(points), 0, 2, 3))


def _scale(motion: LeggedMotion, points: Reals) -> float:
    """Length of an arrow per force [m/N]; the largest tenth of the forces may exceed the longest arrow."""
    lowest = np.min([points[:, 1:, 2].min(axis=1), *(foot.positions[:, 2] for foot in motion.feet)], axis=0)
    tall = float(np.max(points[:, 1:, 2].max(axis=1) - lowest))
    forces = [np.linalg.norm(foot.forces[foot.stands], axis=1) for foot in motion.feet]
    large = float(np.quantile(np.concatenate([np.zeros(1), *forces]), 0.9))
    return tall * min(_WEIGHT / max(motion.weight, 1e-9), _LONGEST / max(large, 1e-9))
