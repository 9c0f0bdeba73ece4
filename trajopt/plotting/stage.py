"""Figure of an animation, with fixed axes and moving parts."""

from __future__ import annotations

from typing import Any

import numpy as np

from trajopt.plotting.film import Film
from trajopt.plotting.ground import draw_ground, draw_planes, draw_relief, ground_level, sections_of
from trajopt.plotting.obstacles import corners, draw_obstacle
from trajopt.plotting.path import BODY_AXES
from trajopt.plotting.scene import Canvas, scene_of
from trajopt.plotting.sensed import READINGS
from trajopt.plotting.solids import Hull, around_solids
from trajopt.plotting.strip import round_down
from trajopt.plotting.style import GREEN, GREY, RAMP, RED, legend_below
from trajopt.plotting.walls import draw_walls, wall_points
from trajopt.plotting.window import new_figure
from trajopt.types import Reals

_WIDE, _TALL = 7.2, 5.4  # largest width and height of the figure [inch]
_LOW, _SLIM = 2.6, 3.6  # smallest height and width [inch]
_NARROW = 4.5  # width below which clock and force scale do not fit beside each other [inch]
_ROOM, _MARGIN = 1.35, 0.75  # room for labels and legend above and below, and for labels at the sides [inch]
_KEY = 0.2  # largest length of the force scale's arrow, relative to the width of the axes [-]
_MIDDLE = 0.02  # distance from the middle below which bones belong to no side, relative to the robot's size [-]
_PEAK = 0.3  # largest room for arrows below the feet, relative to the robot's height; peaks may be cut off [-]
_HEAD = 0.045  # length of an arrow's head, relative to the robot's size [-]
_SHORT = 0.3  # largest length of an arrow's head, relative to the arrow [-]
_SIDES = (GREEN, GREY, RAMP[2])  # left, trunk, right


class FilmStage:
    """Figure of a film, which shows it at any time.

    Args:
        film: The film.

    Attributes:
        figure: The figure, without a window.
        canvas: Canvas with the pixels of the figure.
    """

    def __init__(self, film: Film) -> None:
        self.film = film
        from matplotlib.backends.backend_agg import FigureCanvasAgg

        self.figure = new_figure(_TALL, _TALL, apart=True)
        self.canvas = FigureCanvasAgg(self.figure)
        self._axes, self._shown = self._side() if film.side else self._anywhere()
        self._fit()
        self._eye = np.eye(3)[1] if film.side else self._line_of_sight()
        points = film.skeleton.points[:, 1 if film.side else 0 :]  # for a legged robot without the world's origin
        self._size = float(np.ptp(points.reshape(-1, 3), axis=0).max())
        self._groups = self._sides(film.skeleton.points[0])
        self._draw_still()
        scene = Canvas(self._axes, self._shown)
        self._around = [Hull(scene, hull[_first(hull)], GREY) for hull in film.hulls]
        solids = [solid for solid in film.skeleton.solids if np.isfinite(solid.points).any()]
        looks = [(solid.points[_first(solid.points)], solid.color or RAMP[2]) for solid in solids]
        self._solids = [(solid, Hull(scene, *look)) for solid, look in zip(solids, looks)]
        path = _path_look(film)
        self._trails = [self._curve(zorder=1.5 if film.side else 4, **path) for _ in film.trails]
        self._body = self._curve(color=RAMP[2], marker="o", markersize=8, linestyle="", zorder=6)
        bone: dict[str, Any] = {"marker": "o", "solid_capstyle": "round", "linewidth": 3.2, "markersize": 4.5}
        self._bones = [self._curve(color=color, zorder=2 + i, **bone) for i, color in enumerate(_SIDES)]
        self._readings = self._curve(zorder=1.6, **READINGS)
        self._vehicle = self._curve(color=RAMP[2], linewidth=1.6, zorder=4.8)
        self._axes_of_body = [self._curve(color=color, linewidth=2.4, zorder=5) for color, _ in BODY_AXES]
        self._sliders = self._curve(color=RAMP[2], marker="s", markersize=14, linestyle="", zorder=3)
        self._com = self._curve(
            color="#333333", marker="o", markersize=6, markerfacecolor="white", linestyle="", zorder=6
        )
        self._balls = self._curve(color="#333333", linewidth=1.0, zorder=4.5)
        self._soles = self._curve(color=RED, marker="o", markersize=5, linewidth=3.2, zorder=7)
        self._arrows = self._curve(color=RED, linewidth=1.8, zorder=8, solid_joinstyle="miter")
        above = 18.0 if self.figure.get_figwidth() < _NARROW else None  # the force scale is below the clock
        self._clock = self._axes.set_title(
            " ", loc="left", pad=above, fontweight="normal", fontsize=10, color="#222222"
        )
        self._draw_key()
        self._draw_legend()
        self.canvas.draw()  # computes the layout once
        self.figure.set_layout_engine("none")

    def show(self, time: float, clock: str) -> None:
        """Draws the motion at a time [s], with the text `clock` in the corner."""
        film = self.film
        points, knot = film.between(film.skeleton.points, time), film.knot(time)[0]
        self._move(self._body, np.zeros((0, 3)) if film.skeleton.bones or film.skeleton.solids else points)
        self._move(self._sliders, points[list(film.skeleton.sliders)])
        for bones, group in zip(self._bones, self._groups):
            self._move(bones, _broken([points[list(pair)] for pair in group]))
        for hull, around in zip(self._around, film.hulls):
            hull.move(film.between(around, time))
        for solid, hull in self._solids:
            hull.move(film.between(solid.points, time))
        if film.world is not None:
            self._move(self._readings, film.world.sensed.readings(film.reached(time)))
        self._move(self._vehicle, film.between(film.outlines, time))
        for curve, axis in zip(self._axes_of_body, film.between(film.axes, time)):
            self._move(curve, axis)
        for curve, trail in zip(self._trails, film.trails):
            self._move(curve, np.vstack([trail[: knot + 1], film.between(trail, time)]))
        if film.motion is not None:
            self._move(self._com, film.between(film.motion.com @ film.turn.T, time)[None])
            self._move(self._balls, _broken([self._ring(*ball) for ball in film.balls(time)]))
            self._move(self._soles, _broken([self._outline(sole) for sole in film.soles(time)]))
            self._move(self._arrows, _broken([self._arrow(*pair) for pair in zip(*film.forces(time))]))
        self._clock.set_text(clock)

    def _side(self) -> tuple[Any, tuple[int, ...]]:
        """Axes for a legged robot, seen across its motion and slightly aslant, with the ground."""
        film = self.film
        assert film.motion is not None
        assert film.side is not None
        points = film.skeleton.points[:, 1:].reshape(-1, 3)  # without the world's origin
        tails = np.concatenate([np.subtract(*film.forces(float(time)))[:, 2] for time in film.times[:-1]])
        around = [corners(film.obstacles, points), around_solids(film.skeleton), _corners(film)]
        shown = np.concatenate([points, film.goals, *around])[:, [0, 2]]
        low, high = shown.min(axis=0), shown.max(axis=0)
        tall = float(high[1] - low[1])
        low[1] = np.maximum(tails, low[1] - _PEAK * tall).min(initial=low[1])
        margin = tall * np.array([0.25, 0.08])
        low, high = low - margin, high + margin
        axes = self.figure.add_subplot(aspect="equal", xlim=(low[0], high[0]), ylim=(low[1], high[1]))
        axes.grid(False)
        axes.set(xlabel=f"{film.side.across} [m]", ylabel="z [m]")
        places = np.concatenate([film.motion.footholds(foot) for foot in film.motion.feet]) @ film.turn.T
        ends = (float(low[0]), float(high[0]))
        draw_ground(axes, film.motion, places[:, [0, 2]], sections_of(film.motion, ends, film.facing[0], np.zeros(3)))
        return axes, (0, 2)

    def _anywhere(self) -> tuple[Any, tuple[int, ...]]:
        """Axes in a plane or in space, as in `plot_motion`."""
        film = self.film
        around = np.concatenate([corners(film.obstacles, film.skeleton.points.reshape(-1, 3)), _corners(film)])
        trails = film.trails[np.isfinite(film.trails).all(axis=2)]
        more = np.concatenate([trails, film.axes.reshape(-1, 3), film.goals, around])
        world, outlines = film.world, film.outlines.reshape(-1, 3)
        more = np.concatenate([more, around_solids(film.skeleton), outlines[np.isfinite(outlines).all(axis=1)]])
        if world is not None:
            places = film.skeleton.points.reshape(-1, 3)
            more = np.concatenate([more, world.lines.points, wall_points(world.walls, places)])
            more = np.concatenate([more, world.sensed.points(places)])
        scene = scene_of(self.figure, film.skeleton.points, more, film.view, film.along)
        if len(scene.shown) == 2:
            scene.axes.set(xlim=scene.axes.get_xlim(), ylim=scene.axes.get_ylim())
            scene.axes.set_aspect(scene.axes.get_aspect(), adjustable="box")  # the figure gets the shape of the axes
        level = None if film.motion is None else ground_level(film.motion)
        if world is not None:
            draw_walls(scene, world.walls)
            world.sensed.draw_map(scene)
            world.lines.draw(scene)
        planes = [] if world is None else list(world.planes)
        draw_planes(scene, planes or ([] if level is None else [(0.0, 0.0, 1.0, -level)]))
        if film.motion is not None and film.motion.relief is not None:
            draw_planes(scene, [tuple(row) for row in film.motion.relief.planes.tolist()])
            draw_relief(scene, film.motion.relief)
        return scene.axes, scene.shown

    def _fit(self) -> None:
        """Sets the figure's shape to that of plane axes, with room for labels and clock; in space it stays square."""
        if len(self._shown) == 3:
            return
        stretch = 1.0 if self.film.side else float(self._axes.get_aspect())
        ratio = stretch * float(np.ptp(self._axes.get_ylim()) / np.ptp(self._axes.get_xlim()))
        height = float(np.clip(ratio * (_WIDE - _MARGIN) + _ROOM, _LOW, _TALL))
        width = float(np.clip((height - _ROOM) / ratio + _MARGIN, _SLIM, _WIDE))
        self.figure.set_size_inches(0.02 * round(width / 0.02), 0.02 * round(height / 0.02))  # even pixels, for videos

    def _line_of_sight(self) -> Reals:
        """Viewing direction, away from the camera (3,) [-]."""
        hidden = [i for i in range(3) if i not in self._shown]
        if hidden:
            return np.eye(3)[hidden[0]]
        up, around = np.radians([self._axes.elev, self._axes.azim])
        return -np.array([np.cos(up) * np.cos(around), np.cos(up) * np.sin(around), np.sin(up)])

    def _draw_still(self) -> None:
        """Draws what does not move: base, rails, goals, obstacles."""
        skeleton = self.film.skeleton
        around = np.concatenate([skeleton.points.reshape(-1, 3), self.film.goals])
        for body in self.film.obstacles:
            draw_obstacle(Canvas(self._axes, self._shown), body, around)
        for slider in skeleton.sliders:
            track = skeleton.points[:, slider]
            rail = np.stack([track.min(axis=0), track.max(axis=0)])
            self._move(self._curve(color=GREY, linewidth=1.5, zorder=1), rail)
        for bone in skeleton.fixed:
            base = self._curve(color=GREY, linewidth=3.2, marker="s", markersize=6, zorder=1)
            self._move(base, skeleton.points[0, list(bone)])
        if len(self.film.goals):
            goals = self._curve(color=RED, marker="*", linestyle="", markersize=13, markeredgecolor="white", zorder=5)
            self._move(goals, self.film.goals)

    def _draw_key(self) -> None:
        """Draws an arrow above the axes as the scale of forces, with its value."""
        film = self.film
        if film.motion is None or len(self._shown) == 3 or not film.scale > 0.0:
            return
        (left, right), (low, high) = self._axes.get_xlim(), self._axes.get_ylim()
        largest = max(
            float(np.linalg.norm(film.forces(float(time))[1], axis=1).max(initial=0.0)) for time in film.times
        )
        if not largest > 0.0:
            return
        force = round_down(min(_KEY * (right - left), largest) / film.scale)
        tip, level = right - 0.01 * (right - left), high + 0.045 * (high - low)
        line = np.array([tip, 0.0, level])
        key = self._curve(color=RED, linewidth=1.8, solid_joinstyle="miter", clip_on=False)
        self._move(key, self._arrow(line, film.scale * force * np.eye(3)[0]))
        self._axes.annotate(f"contact force: {force:g} N", (tip - film.scale * force, level), (-5, 0), ha="right",
                            va="center", textcoords="offset points", fontsize=8, annotation_clip=False)  # fmt: skip

    def _draw_legend(self) -> None:
        """Draws the legend: sides of a legged robot, axes of a body, contacts, path, target."""
        from matplotlib.lines import Line2D

        film, entries = self.film, []
        if film.side:
            used = [bool(group) for group in self._groups]
            named = [*zip(_SIDES, ("left", "trunk", "right"), used)]
            entries += [
                Line2D([], [], color=c, linewidth=3.0, label=name) for c, name, there in reversed(named) if there
            ]
        if film.motion is not None:
            entries.append(Line2D([], [], color=RED, marker="o", markersize=5, linewidth=3.0, label="in contact"))
            com: dict[str, Any] = {"color": "#333333", "marker": "o", "markerfacecolor": "white", "linestyle": ""}
            entries.append(Line2D([], [], label="centre of mass", **com))
        for i, (color, name) in enumerate(BODY_AXES[: film.axes.shape[1]]):
            if np.ptp(film.axes[:, i][..., list(self._shown)], axis=1).max(initial=0.0) > 1e-9:
                entries.append(Line2D([], [], color=color, linewidth=2.4, label=f"body {name}"))
        if film.outlines.size:
            entries.append(Line2D([], [], color=RAMP[2], linewidth=1.6, label=film.outline_label))
        if len(film.trails):
            feet = film.side and film.motion is not None and len(film.trails) == len(film.motion.feet)
            entries.append(Line2D([], [], label="paths of the feet" if feet else "path", **_path_look(film)))
        if len(film.goals):
            name = "target" if len(film.goals) == 1 else "targets"
            star: dict[str, Any] = {
                "color": RED,
                "marker": "*",
                "markersize": 10,
                "markeredgecolor": "white",
                "linestyle": "",
            }
            entries.append(Line2D([], [], label=name, **star))
        entries += [] if film.world is None else film.world.sensed.entries()
        if entries:
            legend_below(self.figure, entries)

    def _sides(self, points: Reals) -> list[list[tuple[int, int]]]:
        """Groups bones by side of the robot: left, middle, right; all are right unless it is seen from the side.

        Args:
            points: Points at the first knot (n, 3), in view axes [m].
        """
        film, groups = self.film, list[list[tuple[int, int]]]([[], [], []])
        if film.side is None:
            return [[], [], list(film.skeleton.bones)]
        left = np.linalg.solve(film.turn.T, film.side.left)
        for bone in film.skeleton.bones:
            place = float((points[list(bone)].mean(axis=0) - points[1]) @ left) / (_MIDDLE * self._size)
            groups[1 if abs(place) < 1 else 0 if place > 0 else 2].append(bone)
        return groups

    def _ring(self, centre: Reals, radius: float) -> Reals:
        """Circle (n, 3) around a ball as seen by the camera."""
        angles = np.linspace(0.0, 2.0 * np.pi, 25)[:, None]
        up = np.eye(3)[2] - self._eye[2] * self._eye
        up = np.eye(3)[1] if np.linalg.norm(up) < 1e-6 else up / np.linalg.norm(up)
        return np.asarray(centre + radius * (np.cos(angles) * up + np.sin(angles) * np.cross(self._eye, up)))

    def _outline(self, sole: Reals) -> Reals:
        """Closed outline of a sole, whose corners are in order; a sole may be tilted."""
        return np.vstack([sole, sole[:1]])

    def _arrow(self, tip: Reals, arrow: Reals) -> Reals:
        """Polyline (n, 3) of an arrow's shaft and head."""
        length = float(np.linalg.norm(arrow))
        if length < 1e-9:
            return np.zeros((0, 3))
        along, tail = arrow / length, tip - arrow
        across = np.cross(along, self._eye)
        head = min(_HEAD * self._size, _SHORT * length)
        wings = [tip - head * (along + side * 0.45 * across) for side in (1.0, -1.0)]
        return np.array([tail, tip, wings[0], tip, wings[1]])

    def _curve(self, **look: Any) -> Any:
        """Creates a curve without points."""
        return self._axes.plot(*([] for _ in self._shown), **look)[0]

    def _move(self, curve: Any, points: Reals) -> None:
        """Sets the points (n, 3) of a curve."""
        columns = [points[:, i] for i in self._shown]
        curve.set_data(*columns) if len(columns) == 2 else curve.set_data_3d(*columns)


def _first(hull: Reals) -> int:
    """First knot with finite points of a hull (T + 1, n, 3)."""
    return int(np.flatnonzero(np.isfinite(hull).all(axis=(1, 2)))[0])


def _corners(film: Film) -> Reals:
    """Points around the hulls of a film at all knots (n, 3) [m]."""
    every = np.concatenate([np.zeros((0, 3)), *(hull.reshape(-1, 3) for hull in film.hulls)])
    return np.asarray(np.unique(every[np.isfinite(every).all(axis=1)], axis=0))


def _path_look(film: Film) -> dict[str, Any]:
    """Style of paths: thin for feet; grey for feet, and for a body, which has a red axis."""
    return {"color": GREY if film.axes.size or film.side else RED, "linewidth": 0.9 if film.side else 1.3}


def _broken(lines: list[Reals]) -> Reals:
    """Joins lines (n, 3) with gaps between them."""
    gap = np.full((1, 3), np.nan)
    return np.concatenate([part for line in lines for part in (line, gap)] or [np.zeros((0, 3))])
