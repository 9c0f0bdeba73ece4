"""Slots of collision rows in arrays of parameters, and the distances that decide which bodies they measure."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence

import numpy as np
import numpy.typing as npt

from trajopt.kernels import KernelCall, kernel, lane_count, rows
from trajopt.model.parameters import ParameterLayout
from trajopt.residuals.collisions import ResidualModelCollisions
from trajopt.types import Ints, Reals

BLOCKS = 8  # most blocks of lanes whose distances are in memory at once [-]


class BodyDistances:
    """Distances of all pairs of bodies of a `ResidualModelCollisions` at many configurations.

    Args:
        residual: The residual.
    """

    def __init__(self, residual: ResidualModelCollisions) -> None:
        self._width = lane_count()
        self._kernels = [kernel(p, self._width) for p in (residual.points_program, residual.distances_program)]
        sizes = [*self._kernels[0].lengths, *self._kernels[1].lengths[1:]]
        self._nq = residual.state.nq
        self._geometry = np.concatenate([np.zeros(0), *(p.flat(p.default) for p in residual.geometry.values())])
        self._q, self._points, self._own, *self._gaps = (np.zeros((BLOCKS * self._width, size)) for size in sizes)
        self._calls: dict[int, list[KernelCall]] = {}

    def __call__(self, q: Reals, obstacles: Reals, geometry: Reals | None = None) -> list[Reals]:
        """Distances (n, pairs) of each kind of pairs [m].

        Args:
            q: States or configurations, which begin with q (n, nq or more), n >= 1.
            obstacles: Parameters of the residual, which begin with those of obstacles (n, size).
            geometry: Values of the residual's `geometry` (n, k); by default those in the robot's model.
        """
        return self._evaluated(q, obstacles, geometry)[1]

    def with_points(self, q: Reals, obstacles: Reals, geometry: Reals | None = None) -> tuple[list[Reals], Reals]:
        """Distances as those of a call, and the ends (n, bodies, 2, 3) of the axes of all bodies in the world [m]."""
        points, gaps = self._evaluated(q, obstacles, geometry)
        return gaps, points.reshape(len(q), -1, 2, 3)

    @property
    def calls(self) -> list[KernelCall]:
        """Calls with the code of all others."""
        return self._calls.get(1) or self._bound(1)

    def _evaluated(self, q: Reals, obstacles: Reals, geometry: Reals | None) -> tuple[Reals, list[Reals]]:
        """Points (n, 6 bodies) and distances (n, pairs) of each kind of pairs."""
        most = len(self._q)
        if len(self._geometry):
            own = np.broadcast_to(self._geometry if geometry is None else geometry, (len(q), len(self._geometry)))
            q = np.concatenate([q[:, : self._nq], own], axis=1)
        parts = [self._block(q[i : i + most], obstacles[i : i + most]) for i in range(0, len(q), most)]
        points, *gaps = parts[0] if len(parts) == 1 else [np.concatenate(some) for some in zip(*parts)]
        return points, gaps

    def _block(self, q: Reals, obstacles: Reals) -> list[Reals]:
        n, blocks = len(q), -(-len(q) // self._width)
        self._q[:n], self._own[:n] = q[:, : self._q.shape[1]], obstacles[:, : self._own.shape[1]]
        for call in self._calls.get(blocks) or self._bound(blocks):
            call()
        return [each[:n].copy() for each in (self._points, *self._gaps)]

    def _bound(self, blocks: int) -> list[KernelCall]:
        indices = np.arange(blocks * self._width).reshape(blocks, self._width)
        arrays = [[self._q, self._points], [self._points, self._own, *self._gaps]]
        self._calls[blocks] = [
            KernelCall([each], np.zeros(blocks, dtype=np.int64), indices, [rows(array) for array in own])
            for each, own in zip(self._kernels, arrays)
        ]
        return self._calls[blocks]


class CollisionSlots:
    """Slots of one constraint with a `ResidualModelCollisions` in rows of parameters.

    Args:
        layout: Layout of the parameters.
        name: Name of the constraint.
        residual: Its residual.
        unknowns: Returns values (n, size) of parameters that are parts of states (n, nx), by name, for these states and
            rows of parameters; none by default.

    Attributes:
        columns: Columns of the residual's parameters.
        filled_columns: Those of slots, which are the last.
        deciding_columns: Those of obstacles, and those that say which bodies slots measure; others follow from them.
        distances: Distances of all its pairs of bodies.
    """

    def __init__(
        self,
        layout: ParameterLayout,
        name: str,
        residual: ResidualModelCollisions,
        unknowns: Callable[[Reals, Reals], Mapping[str, Reals]] | None = None,
    ) -> None:
        self.name, self.residual, self._unknowns = name, residual, unknowns
        self._places = {key: layout.slices[key] for key in residual.geometry if key in layout.slices}
        self._bounds = [layout.slices[f"{name}.{side}"] for side in ("lower", "upper")]
        slices = {key: layout.slices[f"{name}.{key}"] for key in residual.parameters()}
        first, end = min(each.start for each in slices.values()), max(each.stop for each in slices.values())
        self.columns = slice(first, end)  # those of a residual follow one another
        self._slices = {key: slice(each.start - first, each.stop - first) for key, each in slices.items()}
        self.filled_columns = slice(first + residual.obstacle_size, end)
        bodies = [slice(slices[key].start, slices[key].stop, width) for key, width in residual.widths.items()]
        self.deciding_columns = [slice(first, self.filled_columns.start), *bodies]
        self.distances = BodyDistances(residual)

    def geometry(self, states: Reals, parameters: Reals) -> Reals:
        """Values of the residual's `geometry` (n, k), for states or configurations and rows of parameters (n, np)."""
        values = {key: parameters[:, where] for key, where in self._places.items()}
        if self.residual.geometry and self._unknowns is not None:
            values |= self._unknowns(states, parameters)
        defaults = {key: p.flat(p.default) for key, p in self.residual.geometry.items()}
        parts = [np.broadcast_to(values.get(key, own), (len(states), len(own))) for key, own in defaults.items()]
        return np.concatenate([np.zeros((len(states), 0)), *parts], axis=1)

    def gaps(self, states: Reals, parameters: Reals) -> list[Reals]:
        """Distances (n, pairs) of each kind of pairs [m], for states and rows of parameters as in `geometry`."""
        return self.distances(states, parameters[:, self.columns], self.geometry(states, parameters))

    def named(self, values: Reals) -> dict[str, Reals]:
        """The residual's parameters (n, size) by name."""
        return {key: values[:, where] for key, where in self._slices.items()}

    def switch_off(self, parameters: Reals) -> None:
        """Makes the slots in all rows of the parameters measure nothing."""
        self._write(parameters, slice(None), self.residual.off())

    def too_near(self, parameters: Reals, gaps: Sequence[Reals], tolerance: float) -> npt.NDArray[np.bool_]:
        """Mask (n,) of the configurations in which two bodies are nearer than the bounds of the rows allow.

        Args:
            parameters: Their parameters (n, size).
            gaps: Results of `gaps`, n rows each [m].
            tolerance: Violation that counts as zero [m].
        """
        least = np.min([each.min(axis=1) for each in gaps], axis=0)
        lower, upper = (parameters[:, where] for where in self._bounds)
        return np.asarray((least < lower.max(axis=1) - tolerance) | np.isfinite(upper).any(axis=1))

    def fill(self, parameters: Reals, chosen: Ints, gaps: Sequence[Reals]) -> npt.NDArray[np.bool_]:
        """Fills the slots in some rows of the parameters with the nearest bodies; returns a mask of those that change.

        Args:
            parameters: Values of the parameters.
            chosen: Indices (n,) of the rows to fill.
            gaps: Results of `gaps` there, n rows each [m].
        """
        if not len(chosen):
            return np.zeros(0, np.bool_)
        before = parameters[chosen, self.columns]
        self._write(parameters, chosen, self.residual.filled(gaps, self.named(before)))
        return np.asarray((parameters[chosen, self.columns] != before).any(axis=1))

    def copy_other_bodies(self, source: Reals, target: Reals) -> None:
        """Copies to a row of parameters (size,) those slots of another row that measure other bodies."""
        for key, width in self.residual.widths.items():
            where = self._slices[key]
            columns = slice(self.columns.start + where.start, self.columns.start + where.stop)
            new, old = source[columns].reshape(-1, width), target[columns].reshape(-1, width)
            others = new[:, 0] != old[:, 0]
            old[others] = new[others]

    def _write(self, parameters: Reals, chosen: Ints | slice, numbers: Mapping[str, Reals]) -> None:
        for key, own in numbers.items():
            where = self._slices[key]
            parameters[chosen, self.columns.start + where.start : self.columns.start + where.stop] = own
