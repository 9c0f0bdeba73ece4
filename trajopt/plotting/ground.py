"""Ground below the footholds of a motion."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

import numpy as np
import numpy.typing as npt

from trajopt.analysis.legs import Foot, LeggedMotion
from trajopt.analysis.relief import Relief
from trajopt.plotting.projection import OBLIQUE
from trajopt.plotting.scene import Canvas
from trajopt.types import Reals

if TYPE_CHECKING:
    from matplotlib.axes import Axes

_FINE = 2e-3  # distance between points of a section [m]
_LEVEL = 0.03  # largest height difference of footholds on level ground, relative to the height of the CoM [-]
GROUND, EARTH = "#8A8A8A", "#E9E4DC"


def ground_level(motion: LeggedMotion) -> float | None:
    """Returns the height of level ground [m]; None if the ground is not level, or without footholds.

    It is that of the motion if set, otherwise that of the lowest foot that stands at the start, so that a foot that
    lands higher later floats. Without a standing foot it is the height of the lowest foothold.
    """
    if motion.relief is not None:
        return None
    if motion.ground is not None:
        return motion.ground
    heights = np.concatenate([motion.footholds(foot)[:, 2] for foot in motion.feet])
    if not heights.size:
        return None
    reach = float(np.median(motion.com[:, 2])) - float(heights.min())
    if np.ptp(heights) > _LEVEL * abs(reach):
        return None
    first = [float(foot.positions[0, 2]) for foot in motion.feet if foot.on_floor and foot.stands[:1].any()]
    return min(first) if first else float(heights.min())


def gap_to_ground(motion: LeggedMotion, foot: Foot, knot: int) -> float:
    """Returns the height of a foot above the ground [m]; 0 on uneven ground, which is assumed at the feet."""
    level = ground_level(motion)
    return 0.0 if level is None or not foot.on_floor else float(foot.positions[knot, 2]) - level


def draw_ground(axes: Axes, motion: LeggedMotion, footholds: Reals, sections: Sequence[Reals] = ()) -> None:
    """Draws sections of terrain, level ground, or steps that are as high as the footholds, with edges halfway between.

    Args:
        axes: Axes to draw into, with limits set.
        motion: The motion.
        footholds: Horizontal and vertical positions of the footholds (n, 2) [m].
        sections: Horizontal and vertical positions along sections of the motion's terrain (n, 2) [m], the farthest one
            first.
    """
    bottom = axes.get_ylim()[0]
    for i, section in enumerate(sections):
        across, up = np.maximum(section, [-np.inf, bottom]).T
        near = i == len(sections) - 1
        if near:  # a second outline beside it would look like a second step
            axes.plot(across, up, color=GROUND, linewidth=1.2, zorder=1, label="_ground")
        axes.fill_between(across, up, bottom, color=EARTH, alpha=1.0 if near else 0.5, linewidth=0, zorder=0.5 * near,
                          label="_earth")  # fmt: skip
    if sections:
        return
    level = ground_level(motion)
    if level is not None:
        axes.axhline(level, color=GROUND, linewidth=1.2, zorder=1, label="_ground")
        axes.axhspan(bottom, level, color=EARTH, linewidth=0, zorder=0, label="_earth")
        return
    if not len(footholds):
        return
    places, heights = footholds[np.argsort(footholds[:, 0])].T
    edges = np.concatenate([axes.get_xlim()[:1], (places[1:] + places[:-1]) / 2.0, axes.get_xlim()[1:]])
    corners = np.repeat(edges, 2)[1:-1], np.repeat(heights, 2)
    axes.plot(*corners, color=GROUND, linewidth=1.2, zorder=1, label="_ground")
    axes.fill_between(*corners, bottom, color=EARTH, linewidth=0, zorder=0, label="_earth")


def sections_of(motion: LeggedMotion, ends: tuple[float, float], ahead: Reals, origin: Reals) -> list[Reals]:
    """Returns sections of a motion's terrain in an oblique side view, below its left and its right feet.

    Args:
        motion: The motion; without terrain there are no sections.
        ends: Horizontal positions in the picture between which the sections are [m].
        ahead: Horizontal direction to the right in the picture, a unit vector (3,) [-].
        origin: Point (3,) whose horizontal position in the picture is 0 [m].

    Returns:
        Horizontal and vertical positions in the picture (n, 2), the left section first [m].
    """
    if motion.relief is None:
        return []
    left = np.array([-ahead[1], ahead[0], 0.0])
    aside = [float(np.mean((foot.positions - origin) @ left)) for foot in motion.feet]
    across = np.arange(*ends, _FINE)
    sections = []
    for far in dict.fromkeys((max(aside), min(aside))):
        points = origin + (across - OBLIQUE * far)[:, None] * ahead + far * left
        sections.append(np.column_stack([across, motion.relief.heights(points)]))
    return sections


def draw_relief(scene: Canvas, relief: Relief) -> None:
    """Draws boxes and hills of a relief in space, within the limits of the axes; planes are drawn by `draw_planes`."""
    if len(scene.shown) != 3:
        return
    from mpl_toolkits.mplot3d.art3d import Poly3DCollection

    low, high = np.transpose([scene.axes.get_xlim(), scene.axes.get_ylim(), scene.axes.get_zlim()])
    faces = [face for a, b in relief.boxes for face in _faces(np.maximum(a, low), np.minimum(b, high))]
    look: dict[str, Any] = {"facecolors": EARTH, "edgecolors": GROUND, "linewidths": 0.6, "alpha": 0.5, "zsort": "min"}
    if faces:
        scene.axes.add_collection3d(Poly3DCollection(faces, label="_ground", **look), autolim=False)
    for hill in relief.hills:
        inside = np.all((low[:2] <= hill[:, :, :2]) & (hill[:, :, :2] <= high[:2]), axis=2)
        z = np.where(inside, hill[:, :, 2], np.nan)
        scene.axes.plot_surface(hill[:, :, 0], hill[:, :, 1], z, color=EARTH, alpha=0.5, linewidth=0)


def _faces(low: Reals, high: Reals) -> list[Reals]:
    """Corners (4, 3) of the faces of a box, without its bottom; none if the box is empty."""
    if not np.all(low < high):
        return []
    (a, b, c), (x, y, z) = low, high
    top = [(a, b, z), (x, b, z), (x, y, z), (a, y, z)]
    sides = [[p, q, (q[0], q[1], c), (p[0], p[1], c)] for p, q in zip(top, [*top[1:], top[0]])]
    return [np.array(face) for face in (top, *sides)]


def draw_planes(scene: Canvas, planes: Sequence[tuple[float, ...]]) -> None:
    """Draws the planes a x + b y + c z + d = 0 that contacts may touch, with the ground where the sum is negative.

    In a plane view they are sections, in space faces. Steep ones, such as walls, are drawn within the limits only.
    """
    for plane in planes:
        normal, offset = np.array(plane[:3]), float(plane[3])
        if len(scene.shown) == 3:
            _draw_face(scene.axes, normal, offset)
        elif not np.delete(normal, scene.shown).any():
            _draw_section(scene.axes, normal[list(scene.shown)], offset)


def _draw_face(axes: Any, normal: Reals, offset: float) -> None:
    """Draws the part of a plane across the axis to which it is the most upright."""
    from mpl_toolkits.mplot3d.art3d import Poly3DCollection

    limits = np.array([axes.get_xlim(), axes.get_ylim(), axes.get_zlim()])
    axis = 2 if normal[2] > 0.5 * np.linalg.norm(normal) else int(np.argmax(np.abs(normal)))
    others = [i for i in range(3) if i != axis]
    corners = np.empty((4, 3))
    corners[:, others[0]], corners[:, others[1]] = limits[others[0], [0, 1, 1, 0]], limits[others[1], [0, 0, 1, 1]]
    corners[:, axis] = -(corners[:, others] @ normal[others] + offset) / normal[axis]
    low, high = np.sort(limits[axis])
    if (axis == 2 and normal[2] > 0) or ((corners[:, axis] > low) & (corners[:, axis] < high)).any():
        look: dict[str, Any] = {"facecolors": GROUND, "alpha": 0.15, "linewidths": 0.0}
        axes.add_collection3d(Poly3DCollection([corners], label="_ground", **look), autolim=False)


def _draw_section(axes: Any, normal: Reals, offset: float) -> None:
    """Draws the ground behind a line, without a change of the limits of the axes."""
    from matplotlib.patches import Polygon

    limits, size = np.array([axes.get_xlim(), axes.get_ylim()]), float(np.linalg.norm(normal))
    n, middle = normal / size, limits.mean(axis=1)
    foot, far = middle - (n @ middle + offset / size) * n, 10.0 * float(np.ptp(limits, axis=1).sum())
    ends = foot + far * np.array([[-n[1], n[0]], [n[1], -n[0]]])
    corners = np.concatenate([ends, (ends - far * n)[::-1]])
    axes.add_artist(Polygon(corners, facecolor=EARTH, edgecolor=GROUND, linewidth=1.2, zorder=0.4, label="_ground"))


def draw_balls(scene: Canvas, feet: Sequence[Foot], knots: npt.NDArray[np.int_]) -> None:
    """Draws the outlines of feet that are spheres at some knots, in a plane."""
    if len(scene.shown) == 3:
        return
    from matplotlib.patches import Circle

    for foot in (foot for foot in feet if foot.radius):
        for x, y in foot.centres[knots][:, list(scene.shown)].tolist():
            look: dict[str, Any] = {"facecolor": "none", "edgecolor": "#333333", "linewidth": 1.0, "zorder": 3.5}
            scene.axes.add_patch(Circle((x, y), foot.radius, label="_ball", **look))
