"""Ellipsoids of uncertainty along a motion, and the one of the present time."""

from __future__ import annotations

from functools import partial
from typing import Any

import numpy as np

from trajopt.analysis import StateCovariance
from trajopt.checks import check_instance
from trajopt.display.layers.base import Layer, LayerKind
from trajopt.display.layers.drawing import ball, merged, quaternion, rgb
from trajopt.display.layers.known import film, has_place, size_of
from trajopt.errors import InvalidArgumentError
from trajopt.plotting.ellipses import MOST
from trajopt.plotting.spread import Ellipsoids, ellipsoids_of
from trajopt.plotting.style import BLUE, RED
from trajopt.solution import Solution

_THIN = 2e-3  # half thickness at least of what is flat, in sizes of the body [-]


class Uncertainty(Layer):
    """Ellipsoids of two standard deviations: twelve along the motion (red), and where it is now (blue).

    Args:
        scene: viser's scene.
        solution: The solution.
        name: Path of the layer in the scene.
        covariance: Its covariances.
    """

    def __init__(self, scene: Any, solution: Solution, name: str, *, covariance: StateCovariance) -> None:
        super().__init__(scene, solution, name)
        self._film, self.ellipsoids = film(solution), ellipsoids_of(covariance)
        self._least = _THIN * size_of(self._film)
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
        """The size in words."""
        return f"{self.ellipsoids.sigmas:g} standard deviations"

    def at(self, time: float) -> None:
        now = Ellipsoids(
            centres=np.array([self._film.between(rows, time) for rows in self.ellipsoids.centres]),
            covariances=np.array([self._film.between(rows, time) for rows in self.ellipsoids.covariances]),
            sigmas=self.ellipsoids.sigmas,
        )
        for handle, center, lengths, turn in zip(self._now, now.centres, *now.axes):
            handle.visible = bool(lengths.max() > self._least)
            handle.position, handle.wxyz = tuple(center), quaternion(turn)
            handle.scale = tuple(np.maximum(lengths, self._least))


def uncertain(covariance: StateCovariance | None, solution: Solution) -> tuple[LayerKind, ...]:
    """Kind of a layer of the uncertainty of a solution; none without covariances.

    Args:
        covariance: Covariances of the first solution that is shown.
        solution: That solution.

    Raises:
        InvalidArgumentError: They are none, those of another solution, or its states have no place in space.
    """
    if covariance is None:
        return ()
    check_instance("covariance", covariance, StateCovariance, "Solution.covariance(noise) makes it")
    if covariance.solution is not solution:
        raise InvalidArgumentError(
            "covariance: expected that of the first solution that is shown, got that of another; write "
            "show(solution, covariance=solution.covariance(noise))"
        )
    if not has_place(solution):
        raise InvalidArgumentError(
            "covariance: expected states with a place in space, got others; name the coordinates of a StateVector x, y "
            "(z, theta), or draw two of them with plotting.plot_ellipses"
        )
    build = partial(Uncertainty, covariance=covariance)
    return (LayerKind(label="uncertainty", applies=lambda solution: True, build=build),)
