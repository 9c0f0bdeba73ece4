"""Covariance ellipsoids along a motion and at the current time."""

from __future__ import annotations

from functools import partial
from typing import Any

import numpy as np

from trajopt.analysis import StateCovariance
from trajopt.checks import check_instance
from trajopt.display.layers.base import Layer, LayerKind
from trajopt.display.layers.drawing import ball, merged, quaternion, rgb
from trajopt.display.layers.films import has_place, size_of
from trajopt.errors import InvalidArgumentError
from trajopt.plotting.ellipses import MOST
from trajopt.plotting.spread import Ellipsoids, ellipsoids_of
from trajopt.plotting.style import BLUE, RED
from trajopt.solution import Solution

_THIN = 2e-3  # smallest half thickness of an ellipsoid, relative to the size of the body [-]


class Uncertainty(Layer):
    """Ellipsoids of two standard deviations: twelve along the motion (red), and one at the current time (blue).

    Args:
        scene: viser's scene.
        solution: The solution.
        name: Path of the layer in the scene.
        covariance: Covariances of the solution.
    """

    legend = RED

    def __init__(self, scene: Any, solution: Solution, name: str, *, covariance: StateCovariance) -> None:
        super().__init__(scene, solution, name)
        self.ellipsoids = ellipsoids_of(covariance)
        self._least = _THIN * size_of(self.film)
        self._axes = self.ellipsoids.axes
        points, faces = ball()
        solids, knots = [], np.unique(np.linspace(0, len(solution.xs) - 1, MOST).round().astype(int))
        for centres, lengths, turns in zip(self.ellipsoids.centres, *self._axes):
            for t in knots:
                if lengths[t].max() > self._least:
                    sides = np.maximum(lengths[t], self._least)
                    solids.append((centres[t] + (points * sides) @ turns[t].T, faces))
        look: dict[str, Any] = {"cast_shadow": False}
        if solids:
            every, corners = merged(solids)
            scene.add_mesh_simple(
                f"{name}/along",
                every.astype(np.float32),
                corners.astype(np.uint32),
                color=rgb(RED),
                opacity=0.35,
                **look,
            )
        self._now = [
            scene.add_mesh_simple(f"{name}/now{i}", points, faces, color=rgb(BLUE), opacity=0.45, **look)
            for i in range(len(self.ellipsoids.centres))
        ]
        self.at(0.0)

    @property
    def note(self) -> str:
        """Size of the ellipsoids as text, such as "2 standard deviations"."""
        return f"{self.ellipsoids.sigmas:g} standard deviations"

    def at(self, time: float) -> None:
        now = Ellipsoids(
            centres=np.array([self.film.between(rows, time) for rows in self.ellipsoids.centres]),
            covariances=np.array([self.film.between(rows, time) for rows in self.ellipsoids.covariances]),
            sigmas=self.ellipsoids.sigmas,
        )
        for handle, center, lengths, turn in zip(self._now, now.centres, *now.axes):
            handle.visible = bool(lengths.max() > self._least)
            handle.position, handle.wxyz = tuple(center), quaternion(turn)
            handle.scale = tuple(np.maximum(lengths, self._least))


def uncertain(covariance: StateCovariance | None, solution: Solution) -> tuple[LayerKind, ...]:
    """Returns the kind of the layer for a solution's covariance; empty without covariances.

    Args:
        covariance: Covariances of the first displayed solution; None for no layer.
        solution: The first displayed solution.

    Raises:
        InvalidArgumentError: The argument is not a StateCovariance or belongs to another solution, or the states have
            no position in space.
    """
    if covariance is None:
        return ()
    check_instance("covariance", covariance, StateCovariance, "such as Solution.covariance(noise)")
    if covariance.solution is not solution:
        raise InvalidArgumentError(
            "covariance: expected that of the first displayed solution, got that of another; use "
            "show(solution, covariance=solution.covariance(noise))"
        )
    if not has_place(solution):
        raise InvalidArgumentError(
            "covariance: expected states with a position in space, got others; name the coordinates of a StateVector "
            "x, y (z, theta), or use plotting.plot_ellipses for two coordinates"
        )
    build = partial(Uncertainty, covariance=covariance)
    return (LayerKind(label="uncertainty", applies=lambda solution: True, build=build),)
