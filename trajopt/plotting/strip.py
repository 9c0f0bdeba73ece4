"""Plot of a legged motion as a strip of pictures."""

from __future__ import annotations

import dataclasses
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import numpy as np

from trajopt.analysis.basics import robot_of
from trajopt.analysis.legs import LeggedMotion, is_free_body, legged_motion
from trajopt.analysis.skeleton import Skeleton, skeleton_of
from trajopt.checks import check_count
from trajopt.plotting.ground import draw_ground, gap_to_ground, ground_level, sections_of
from trajopt.plotting.pictures import FLOATS, Knots, airborne, apart, spread, with_peak
from trajopt.plotting.projection import OBLIQUE, SideView, side_view
from trajopt.plotting.style import GREEN, GREY, RAMP, RED, drawing, whole_figure
from trajopt.types import Reals

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure, SubFigure

    from trajopt.solution import Solution


_GAP = 0.12  # gap between two pictures, relative to the width of a picture [-]
_MIDDLE = 0.02  # distance from the middle below which bones belong to no side, relative to a picture's width [-]
_AROUND = 1.15  # height of legend and labels [inch]
_SLIM = 0.5  # smallest width of a picture, relative to the robot's height [-]
_APART = 0.45  # smallest way between two pictures above the same ground, relative to the width of a picture [-]
_POINT = 1e-3  # size at which a point is drawn [m]
_LETTER = 0.09  # width of a letter of a label [inch]
_WEIGHT, _LONGEST = 0.3, 0.5  # length of the weight's and of the longest arrow, relative to the robot's height [-]

_CONTACT: dict[str, Any] = {"color": RED, "marker": "o", "markersize": 4.5, "linewidth": 3.0, "solid_capstyle": "round"}
_ARROW: dict[str, Any] = {
    "angles": "xy",
    "scale_units": "xy",
    "scale": 1.0,
    "units": "inches",
    "width": 0.02,
    "headlength": 4.0,
    "headaxislength": 3.5,
    "minshaft": 2.5,
    "minlength": 0.0,
    "pivot": "tip",
}
_SIDES = {1.0: (GREEN, "left"), 0.0: (GREY, "trunk"), -1.0: (RAMP[2], "right")}
_COM: dict[str, Any] = {"color": "#333333", "marker": "o", "markersize": 5, "markerfacecolor": "white", "linestyle": ""}


def plot_strip(solution: Solution, frames: int = 6, *, figure: Figure | SubFigure | None = None) -> Figure:
    """Draws stick figures of the robot side by side, spaced in time.

    They are seen from the robot's right, or from the front or behind if it moves sideways. One of them is at the knot
    with the largest force, others are moved to a foot in mid-swing near by, and, the longest swing first, to swings
    that no picture shows. Each picture is to scale. On level ground it is centred on the robot's base, and the distance
    between two pictures has no meaning. On terrain and steps the ground is drawn once, with ticks along it, and the
    robot where it is, in fewer pictures where they would hide each other, perhaps without the one of the largest force;
    if it flies, each picture has the ground below the robot. The first flight is shown at its apex, and at lift-off and
    landing if there is room in time. Points on the far side are shifted a little to the right, so that all legs are
    visible; heights are true. Feet in contact are marked, with the force of the ground from below. Level ground is
    drawn at the height of the feet at the start. Numbers give the height of feet in contact above (+) or below (-) it.
    Touch-downs have no duration and are not shown.

    Args:
        solution: Solution to draw; its problem has contacts.
        frames: Largest number of pictures, >= 1 [-].
        figure: Figure or subfigure to draw into; by default a new one.

    Returns:
        The figure; `figure.savefig("strip.png")` writes it.

    Raises:
        InvalidArgumentError: The solution has no problem, its state has no robot, its problem has no contacts, or
            `frames` is not an integer >= 1.
    """
    strip = _strip_of(solution, frames)
    motion = strip.motion
    low, high = strip.heights()
    with drawing(figure, 10.0, strip.height(10.0)) as target:
        inches = np.array([target.bbox.width, target.bbox.height]) / whole_figure(target).dpi - (0.6, _AROUND)
        strip = strip.filling(*inches)
        axes = target.subplots()
        axes.set(aspect="equal", xlim=strip.ends, ylim=(low, high))
        _draw_ground(axes, strip)
        for number, knot in enumerate(strip.knots):
            _draw_robot(axes, strip, number, knot)
        _draw_forces(axes, strip, float(inches[1]))
        _write_gaps(axes, strip)
        digits = ".2f" if motion.label.startswith("time") else "g"
        times = [f"{motion.abscissa[k]:{digits}}" + "\nlargest force" * (k == strip.peak) for k in strip.knots]
        times = _lowered(times, strip.places * float(inches[0]) / float(np.ptp(strip.ends)))
        axes.set_xticks(strip.places, labels=times)
        axes.tick_params(axis="x", length=0)
        axes.grid(False)
        if strip.along is not None:
            _draw_positions(axes, strip)
        seen = "" if strip.view.across == "forward" else f", seen from {strip.view.place}"
        pictures = "" if strip.along is None else f" of each picture, {_axis(strip)} [m] in the ground"
        axes.set(xlabel=motion.label + pictures + seen, ylabel="z [m]")
        _draw_legend(target, axes, strip)
        return whole_figure(target)


def _axis(strip: _Strip) -> str:
    """Name of the direction to the right: a world axis, or how the robot moves."""
    exact = np.flatnonzero(strip.right > 1.0 - 1e-6)
    return "xyz"[exact[0]] if len(exact) else strip.view.across


def _lowered(labels: list[str], places: Reals) -> list[str]:
    """Labels at places (n,) [inch], a line lower where they would print over the one to their left."""
    lines, last = [0] * len(labels), -1
    for i in np.argsort(places).tolist():
        width = _LETTER * max(len(line) for line in labels[i].split("\n"))
        if last >= 0 and places[i] - places[last] < width:
            lines[i] = 1 + labels[last].count("\n")
        else:
            last = i
    return ["\n" * line + label for line, label in zip(lines, labels)]


@dataclass(frozen=True, kw_only=True)
class _Strip:
    """Content and layout of a strip.

    Attributes:
        motion: The motion.
        skeleton: Skeleton of the robot.
        knots: Knot of each picture.
        peak: Knot with the largest force; None without forces.
        view: Direction from which the robot is seen.
        middle: Middle of a picture, relative to the base [m].
        width: Width of a picture [m].
        along: Position of the base in each picture, relative to the first one (n,) [m]; None on level ground, where
            pictures are a width apart.
        room: Width of the strip besides the pictures [m].
        scale: Length of an arrow per force [m/N].
        sided: Whether bones of the left, the trunk and the right differ in colour; those of a single body do not.
    """

    motion: LeggedMotion
    skeleton: Skeleton
    knots: tuple[int, ...]
    peak: int | None
    view: SideView
    middle: float
    width: float
    along: Reals | None
    room: float
    scale: float
    sided: bool

    @property
    def right(self) -> Reals:
        """Direction to the right in the pictures (3,) [-]."""
        return np.asarray(self.view.facing[0])

    @property
    def places(self) -> Reals:
        """Position of each picture in the strip (n,) [m]."""
        return self.width * np.arange(float(len(self.knots))) if self.along is None else self.along

    @property
    def ends(self) -> tuple[float, float]:
        """Left and right end of the strip [m]."""
        around = (self.width + self.room) / 2
        return float(self.places.min()) - around, float(self.places.max()) + around

    def seen(self, number: int, points: Reals) -> Reals:
        """Returns the coordinates (n, 2) [m] of world points (n, 3) in picture `number`."""
        around = points - self.skeleton.points[self.knots[number], 1]
        across = around @ (self.view.facing[0] + OBLIQUE * self.view.facing[1])
        return np.column_stack([across - self.middle + self.places[number], points[:, 2]])

    def heights(self) -> tuple[float, float]:
        """Returns the lowest and highest point of robots, arrows and their key [m]."""
        knots, feet = list(self.knots), self.motion.feet
        tails = [foot.positions[knots, 2] - self.scale * np.nan_to_num(foot.forces[knots, 2]) for foot in feet]
        heights = np.concatenate([self.skeleton.points[knots, 1:, 2].ravel(), *tails])
        low, high = float(heights.min()), float(heights.max())
        span = max(high - low, _POINT)
        return low - 0.08 * span, high + 0.04 * span

    def filling(self, wide: float, tall: float) -> _Strip:
        """Returns the strip with pictures so wide, or so much ground, that it fills a panel of this size [inch]."""
        low, high = self.heights()
        more = max((high - low) * wide / tall - float(np.ptp(self.ends)), 0.0)
        if self.along is not None:
            return dataclasses.replace(self, room=more)
        return dataclasses.replace(self, width=self.width + more / len(self.knots))

    def height(self, width: float) -> float:
        """Returns the height of a figure that fits the strip, from the figure's width [inch]."""
        low, high = self.heights()
        return float(np.clip((width - 0.6) * (high - low) / float(np.ptp(self.ends)) + _AROUND, 1.5, 6.0))


def strip_height(solution: Solution, frames: int, width: float) -> float:
    """Returns the height of a figure that fits the strip of a solution, from the figure's width [inch]."""
    return _strip_of(solution, frames).height(width)


def _strip_of(solution: Solution, frames: int) -> _Strip:
    """Strip with `frames` pictures, spread over the knots with a duration, one at the largest force."""
    check_count("frames", frames, least=1)
    motion, model = legged_motion(solution), robot_of(solution)
    skeleton, _ = skeleton_of(model, solution.xs[:, : model.nq])
    view = side_view(model, solution.xs[:, : model.nq])
    timed = np.flatnonzero(motion.takes_time)
    knots, peak = spread(motion, timed, frames)
    feet = [foot.positions[knots][:, None] for foot in motion.feet]
    points = np.concatenate([skeleton.points[knots, 1:], *feet], axis=1)  # without the world's origin
    along = (points - points[:, :1]) @ (view.facing[0] + OBLIQUE * view.facing[1])
    low, high = float(along.min()), float(along.max())
    tall = max(float(np.max(np.ptp(points[:, :, 2], axis=1))), _POINT)
    width, places = (1 + _GAP) * max(high - low, _SLIM * tall), None
    uneven = ground_level(motion) is None and any(len(motion.footholds(foot)) for foot in motion.feet)
    if uneven and not (motion.relief is not None and len(airborne(motion, timed))):
        base = skeleton.points[:, 1]
        way = np.column_stack([base @ (view.facing[0] + OBLIQUE * view.facing[1]), base[:, 2]])
        knots, peak = _clear_of_others(motion, way, timed, frames, _APART * width)
        places = way[knots, 0] - way[knots[0], 0]
    largest = max(float(np.linalg.norm(np.nan_to_num(foot.forces[knots]), axis=1).max()) for foot in motion.feet)
    return _Strip(
        motion=motion,
        skeleton=skeleton,
        knots=tuple(knots.tolist()),
        peak=peak,
        view=view,
        middle=(low + high) / 2,
        width=width,
        along=places,
        room=0.0,
        scale=tall * min(_WEIGHT / max(motion.weight, 1e-9), _LONGEST / max(largest, 1e-9)),
        sided=not is_free_body(solution),
    )


def _clear_of_others(
    motion: LeggedMotion, way: Reals, timed: Knots, frames: int, least: float
) -> tuple[Knots, int | None]:
    """Knots along a way (T + 1, 2), one at the largest force if all stay `least` [m] apart; and that one, or None."""
    even = apart(way, timed, frames, least)
    moved, peak = with_peak(motion, timed, even)
    steps = np.linalg.norm(np.diff(way[moved], axis=0), axis=1)
    if len(moved) == len(even) and np.min(steps, initial=np.inf) >= least:
        return moved, peak
    return even, peak if peak in even else None


def _draw_positions(axes: Axes, strip: _Strip) -> None:
    """Draws ticks along the ground that all pictures share, with the position of the robot's base in the world."""
    start = strip.skeleton.points[strip.knots[0], 1] @ strip.right + strip.middle
    ticks = axes.secondary_xaxis("bottom", functions=(lambda x: x + start, lambda x: x - start))
    ticks.set_zorder(6)  # above the ground
    ticks.tick_params(axis="x", direction="in", length=3, pad=-13, labelsize=7, color="#333333")


def _draw_ground(axes: Axes, strip: _Strip) -> None:
    if strip.along is None and strip.motion.relief is not None:  # below each picture that below its robot
        half, shift = strip.width * (1 - _GAP / 2) / 2, np.array([strip.middle, 0.0])
        ends = strip.middle - half, strip.middle + half
        for knot, place in zip(strip.knots, strip.places):
            sections = sections_of(strip.motion, ends, strip.right, strip.skeleton.points[knot, 1])
            draw_ground(axes, strip.motion, np.empty((0, 2)), [each - shift + [place, 0.0] for each in sections])
        return
    places = np.concatenate([strip.motion.footholds(foot) for foot in strip.motion.feet])
    origin, shift = strip.skeleton.points[strip.knots[0], 1], np.array([strip.middle, 0.0])
    ends = strip.ends[0] + strip.middle, strip.ends[1] + strip.middle
    sections = [each - shift for each in sections_of(strip.motion, ends, strip.right, origin)]
    draw_ground(axes, strip.motion, strip.seen(0, places), sections)


def _draw_robot(axes: Axes, strip: _Strip, number: int, knot: int) -> None:
    """Draws the bones, those of the left side first and those of the right one last, and the centre of mass.

    A bone belongs to the side where it is at the first knot.
    """
    points = strip.skeleton.points[knot]
    flat, start = strip.seen(number, points), strip.skeleton.points[0]
    place = (start - start[1]) @ strip.view.left
    groups: dict[float, list[Reals]] = {1.0: [], 0.0: [], -1.0: []}
    for a, b in strip.skeleton.bones:
        side = (place[a] + place[b]) / 2 / (_MIDDLE * strip.width)
        side = -1.0 if not strip.sided else 0.0 if abs(side) < 1 else float(np.sign(side))
        groups[side] += [flat[a], flat[b], np.full(2, np.nan)]
    for order, (side, bones) in enumerate(groups.items()):
        if bones:
            axes.plot(*np.array(bones[:-1]).T, color=_SIDES[side][0], linewidth=2.2, marker="o", markersize=3.0,
                      solid_capstyle="round", zorder=2 + 0.1 * order, label="_bones")  # fmt: skip
    for foot in strip.motion.feet:
        if foot.radius:
            draw_ball(axes, strip.seen(number, foot.centres[knot : knot + 1])[0], foot.radius)
    com = strip.seen(number, strip.motion.com[knot : knot + 1])
    axes.plot(*com.T, label="_com", zorder=3, **_COM)


def _draw_forces(axes: Axes, strip: _Strip, tall: float) -> None:
    """Draws the feet in contact, and the forces of the ground on them, in a panel that is `tall` [inch]."""
    tails, arrows = [], []
    for number, knot in enumerate(strip.knots):
        for foot in strip.motion.feet:
            if not foot.stands[knot]:
                continue
            sole = strip.seen(number, foot.positions[knot] + foot.outline[knot])
            axes.plot(*np.vstack([sole, sole[:1]]).T, label="_contact", zorder=4, **_CONTACT)
            pressed = np.isfinite(foot.pressures[knot]).all()
            origin = foot.pressures[knot] if pressed else foot.positions[knot]
            tails.append(strip.seen(number, origin[None])[0])
            arrows.append(strip.scale * np.array([foot.forces[knot] @ strip.right, foot.forces[knot, 2]]))
    if not arrows:
        return
    quiver = axes.quiver(*np.array(tails).T, *np.array(arrows).T, color=RED, zorder=5, **_ARROW)
    force = round_down(float(np.linalg.norm(arrows, axis=1).max()) / strip.scale)
    length = strip.scale * force / float(np.ptp(axes.get_xlim()))  # of the panel
    above = 1 + 0.16 / tall  # between the panel and the legend
    axes.quiverkey(
        quiver, 0.99 - length, above, strip.scale * force, f"contact force: {force:g} N", labelpos="W", labelsep=0.05
    )


def _write_gaps(axes: Axes, strip: _Strip) -> None:
    """Writes the heights of feet in contact above the ground; of two close feet that of the higher one."""
    for number, knot in enumerate(strip.knots):
        standing = [foot for foot in strip.motion.feet if foot.stands[knot]]
        gaps = [(gap_to_ground(strip.motion, foot, knot), foot) for foot in standing]
        places: list[float] = []
        for gap, foot in sorted(gaps, key=lambda item: -abs(item[0])):
            sole = strip.seen(number, foot.positions[knot] + foot.outline[knot])
            place = float(sole[:, 0].max())
            if abs(gap) > FLOATS and all(abs(place - other) > 0.4 * strip.width for other in places):
                places.append(place)
                axes.annotate(f"{1e3 * gap:+.0f} mm", (place, float(sole[:, 1].mean())), (3, -5), color=RED,
                              label="_gap", textcoords="offset points", fontsize=7, va="top")  # fmt: skip


def draw_ball(axes: Axes, centre: Reals, radius: float) -> None:
    """Draws the outline of a foot's sphere."""
    from matplotlib.patches import Circle

    look: dict[str, Any] = {"facecolor": "white", "edgecolor": "#333333", "linewidth": 1.0}
    axes.add_patch(Circle((float(centre[0]), float(centre[1])), radius, label="_ball", zorder=2.5, **look))


def round_down(value: float) -> float:
    """Returns the largest of 1, 2, 5, 10, 20, ... up to a value > 0."""
    power = 10.0 ** np.floor(np.log10(value))
    return float(max(step * power for step in (1, 2, 5) if step * power <= value * (1 + 1e-9)))


def _draw_legend(target: Figure | SubFigure, axes: Axes, strip: _Strip) -> None:
    from matplotlib.lines import Line2D

    used = {line.get_color() for line in axes.get_lines() if line.get_label() == "_bones"}
    sides = [(color, name) for color, name in _SIDES.values() if color in used and strip.sided]
    entries = [Line2D([], [], color=color, linewidth=2.2, label=name) for color, name in reversed(sides)]
    entries += [Line2D([], [], label="in contact", **_CONTACT), Line2D([], [], label="centre of mass", **_COM)]
    if any(text.get_label() == "_gap" for text in axes.texts):
        mark: dict[str, Any] = {"color": RED, "marker": "$±$", "markersize": 7, "markeredgewidth": 0.2, "linestyle": ""}
        entries.append(Line2D([], [], label="height above (+) or below (-) the ground", **mark))
    target.legend(handles=entries, loc="outside upper left", ncols=6)
