"""Drawing of solids on the links of a robot: outlines in a plane, shaded faces in space."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from typing import Any

import numpy as np
import numpy.typing as npt

from trajopt.analysis.basics import robot_of
from trajopt.plotting.scene import Canvas
from trajopt.robots.parameters import PREFIX, is_payload
from trajopt.robots.skeleton import Skeleton
from trajopt.solution import Solution
from trajopt.types import Reals

CLEAR = 0.3  # opacity of a solid [-]
_GONE = 1e-3  # mass of a payload that was let go, relative to its own [-]


def around_solids(skeleton: Skeleton) -> Reals:
    """Returns the corners of bounding boxes around the solids at all knots (n, 3) [m]."""
    boxes = [corner for solid in skeleton.solids for corner in (solid.points.min(axis=1), solid.points.max(axis=1))]
    corners = np.concatenate([np.zeros((0, 3)), *boxes])
    return np.asarray(corners[np.isfinite(corners).all(axis=1)])


def released(solution: Solution, frame: str) -> npt.NDArray[np.bool_]:
    """Whether a payload has been let go at each knot (T + 1,): its mass, a run-time parameter, is nearly zero.

    That is below a thousandth of the payload's own. The end has no step, so it is as the knot before it. Other frames
    are never let go.
    """
    model, T = robot_of(solution), len(solution.us)
    own = [each.inertia.mass for each in model.frames if is_payload(each) and each.name == frame]
    masses = np.ravel(solution.parameters.get(f"{PREFIX}{frame}.mass", ()))[:T]
    if not own or not T or len(masses) < T:
        return np.zeros(T + 1, dtype=np.bool_)
    return np.append(masses, masses[-1]) < _GONE * own[0]


def held_paths(solution: Solution, frames: Sequence[str], paths: Reals) -> Reals:
    """Returns paths of frames (n, T + 1, 3) [m], with NaN for a payload where it has been let go."""
    gone = [released(solution, frame) for frame in frames]
    return np.where(np.reshape(gone, (len(frames), -1, 1)), np.nan, paths) if len(frames) else paths


def without_released(skeleton: Skeleton, solution: Solution) -> Skeleton:
    """Returns the skeleton of a solution's robot, with NaN for a payload where it has been let go."""
    payloads = [frame.name for frame in robot_of(solution).frames if is_payload(frame)]
    solids = list(skeleton.solids)
    for i, name in enumerate(payloads, start=len(solids) - len(payloads)):
        gone = released(solution, name)[:, None, None]
        solids[i] = replace(solids[i], points=np.where(gone, np.nan, solids[i].points))
    return replace(skeleton, solids=solids)


class Hull:
    """A solid in a scene, which can be moved.

    Args:
        scene: The scene.
        points: Initial points (n, 3) whose convex hull is drawn, or triangles (m, 3, 3) of a surface [m].
        color: Its colour.
        zorder: Drawing order; larger numbers are in front [-].
    """

    def __init__(self, scene: Canvas, points: Reals, color: Any, zorder: float = 1.5) -> None:
        from matplotlib.collections import PolyCollection
        from matplotlib.colors import to_rgba
        from mpl_toolkits.mplot3d.art3d import Poly3DCollection

        self._shown = scene.shown
        look: dict[str, Any] = {"facecolor": to_rgba(color, CLEAR), "zorder": zorder, "label": "_solid"}
        if len(scene.shown) == 2 and points.ndim == 3:
            look["facecolor"] = to_rgba(color, CLEAR / 2.0)  # its front and back lie on one another
            self._artist: Any = PolyCollection(self._triangles(points), linewidth=0, **look)
            scene.axes.add_collection(self._artist, autolim=False)
            return
        if len(scene.shown) == 2:
            self._artist = scene.axes.fill(*self._outline(points).T, edgecolor=to_rgba(color, 0.9), **look)[0]
            return
        self._faces = outer_faces(points) if points.ndim == 2 else slice(None)
        look |= {"facecolors": look.pop("facecolor"), "linewidth": 0}
        self._artist = Poly3DCollection(points[self._faces], shade=True, **look)
        scene.axes.add_collection3d(self._artist, autolim=False)

    def move(self, points: Reals) -> None:
        """Moves the solid to new points (n, 3) or triangles (m, 3, 3) [m]; NaN hides it."""
        there = bool(np.isfinite(points).all())
        self._artist.set_visible(there)
        if not there:
            return
        if len(self._shown) == 2 and points.ndim == 3:
            self._artist.set_verts(self._triangles(points))
        elif len(self._shown) == 2:
            self._artist.set_xy(self._outline(points))
        else:
            self._artist.set_verts(points[self._faces])

    def _triangles(self, points: Reals) -> list[Reals]:
        return list(points[..., list(self._shown)])

    def _outline(self, points: Reals) -> Reals:
        from scipy.spatial import ConvexHull

        flat = points[:, list(self._shown)]
        return np.asarray(flat[ConvexHull(flat).vertices])


def draw_solids(scene: Canvas, skeleton: Skeleton, knot: int, color: Any, zorder: float) -> None:
    """Draws the solids at a knot, in their own colours or otherwise in `color`."""
    for solid in skeleton.solids:
        if np.isfinite(solid.points[knot]).all():
            Hull(scene, solid.points[knot], solid.color or color, zorder)


def outer_faces(points: Reals) -> Any:
    """Triangles of the convex hull (n, 3), as indices of points, with outward normals."""
    from scipy.spatial import ConvexHull

    hull = ConvexHull(points)
    faces = hull.simplices.copy()
    a, b, c = (points[faces[:, i]] for i in range(3))
    inwards = np.einsum("ij,ij->i", np.cross(b - a, c - a), hull.equations[:, :3]) < 0
    faces[inwards] = faces[inwards][:, ::-1]
    return faces
