"""Trajectories and directions of many problems, one a lane, and the compiled calls that work on them."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING

import numpy as np

from trajopt.actions.expression import ActionModelExpression
from trajopt.kernels import (
    GroupCalls,
    Kernel,
    KernelCall,
    Program,
    Rows,
    compile_together,
    copy_vectors,
    kernel,
    lane_count,
    rows,
)
from trajopt.shooting import programs
from trajopt.shooting.arrays import padded
from trajopt.solvers.riccati import lanes
from trajopt.types import Ints, Reals

if TYPE_CHECKING:
    from trajopt.shooting.problem import ShootingProblem

GUESS = ("xs", "us", "x0", "p")
"""Arrays that a problem brings into its lane."""
DIRECTION = (*GUESS, "K", "k", "f", "Vf")
"""Arrays that a rollout along the direction reads."""


class LaneMemory:
    """Arrays of G groups of W lanes, and calls that run chosen groups.

    Lane n is lane n % W of group n // W. An array (G, T + 1, ..., W) has the numbers of all knots; some of the last
    knot are unused.

    Args:
        problem: The problem.
        groups: Number of groups G [-].
        gaps: Whether a step of length α closes the part α of gaps; if not, each step closes all of them.

    Attributes:
        W: Lanes of a group [-].
        groups: Number of groups G [-].
        arrays: Arrays by name: states and controls `xs`, `us`, initial states `x0`, parameters `p`, direction `K`, `k`,
            gaps `f` and V f `Vf`, trials `xs_try`, `us_try`, `dx`, `costs`, and numbers of a lane (G, 1, 1, W): `rho`,
            `rho_on_value`, `with_gaps`, `alpha`.
        backward: Expansion and backward pass.
        roll_out: Rollout with the step lengths `alpha`.
        measure: Expansion for scales alone.
        scales: Results of `measure` (G, T + 1, s + 2, W), see `lanes.scale_step`.
    """

    def __init__(self, problem: ShootingProblem, groups: int, *, gaps: bool) -> None:
        self.W, self.groups, self._T = lane_count(), groups, problem.T
        n, nx, nu, width = problem.state.ndx, problem.state.nx, problem.nu, problem.table.values.shape[1]
        self._numbers = {"xs": nx, "us": nu, "p": width, "K": nu * n, "k": nu, "f": n, "Vf": n}
        self._numbers |= {"xs_try": nx, "us_try": nu, "dx": n, "costs": 1}
        self.arrays = {name: self._array(size) for name, size in self._numbers.items()}
        self.arrays |= {name: padded((groups, 1, 1, self.W)) for name in ("rho", "rho_on_value", "with_gaps", "alpha")}
        self._numbers["x0"] = nx
        self.arrays["x0"] = padded((groups, 1, nx, self.W))
        self._sums, self.scales = padded((self._T + 1, len(lanes.SUMS), self.W)), self._array(n + nu + 2)
        self._value = padded((self._T + 1, n * n, self.W)), padded((self._T + 1, n, self.W))
        self._totals = padded((groups, 1, len(lanes.SUMS), self.W))
        self._closed = padded((1, n, self.W))
        self._gaps = gaps
        self._kernels = _Kernels(problem)
        compile_together(self._kernels.all)
        self.backward = GroupCalls([self._backward(g) for g in range(groups)])
        self.roll_out = GroupCalls([self._roll_out(g) for g in range(groups)])
        self.measure = GroupCalls([self._measure(g) for g in range(groups)])

    def _array(self, size: int) -> Reals:
        return padded((self.groups, self._T + 1, size, self.W))

    def _of(self, g: int, *names: str) -> list[Rows]:
        """Rows of the arrays of a group; `name+` begins at the next knot, numbers of a lane are the same for all."""
        found = []
        for name in names:
            array = self.arrays[name.removesuffix("+")][g]
            found.append(rows(array, offset=1) if name.endswith("+") else Rows(array, 0) if len(array) == 1 else rows(array))
        return found

    def _backward(self, g: int) -> list[KernelCall]:
        V, v = self._value
        sums, kernels = rows(self._sums), self._kernels
        end = _call(kernels.end, [self._T], [*self._of(g, "xs", "p", "rho_on_value"), rows(V), rows(v), sums])
        later = [rows(V, offset=1), rows(v, offset=1), rows(self._sums, offset=1)]
        inputs = [*self._of(g, "xs", "us", "p", "xs+"), *later, *self._of(g, "rho", "rho_on_value", "with_gaps")]
        outputs = [rows(V), rows(v), sums, *self._of(g, "K", "k", "f+", "Vf+")]
        order = np.arange(self._T)[::-1]
        steps = _call(kernels.backward, order, [*inputs, *outputs], kernels.kinds[order])
        inputs = [*self._of(g, "x0", "xs"), rows(V), rows(v), sums, *self._of(g, "with_gaps")]
        begin = _call(kernels.begin, [0], [*inputs, Rows(self._totals[g], 0), *self._of(g, "f", "Vf")])
        return [end, steps, begin]

    def _roll_out(self, g: int) -> list[KernelCall]:
        gaps = self._of(g, "f", "f+") if self._gaps else [Rows(self._closed, 0)] * 2
        start = _call(self._kernels.start, [0], [*self._of(g, "x0"), gaps[0], *self._of(g, "alpha", "xs_try")])
        inputs = [*self._of(g, "xs_try", "xs", "us", "k", "K"), gaps[1], *self._of(g, "alpha", "p")]
        outputs = self._of(g, "xs_try+", "us_try", "costs", "dx")
        steps = _call(self._kernels.step, np.arange(self._T), [*inputs, *outputs], self._kernels.kinds)
        end = _call(self._kernels.last, [self._T], self._of(g, "xs_try", "xs", "p", "costs", "dx"))
        return [start, steps, end]

    def _measure(self, g: int) -> list[KernelCall]:
        whole = self.scales[g]
        s = whole.shape[1] - 2
        n = self.arrays["f"].shape[2]
        parts = [_part(whole, 0), _part(whole, s), _part(whole, s + 1)]
        steps = _call(
            self._kernels.scale, np.arange(self._T), [*self._of(g, "xs", "us", "p", "xs+"), *parts], self._kernels.kinds
        )
        ends = [_part(whole, 0), _part(whole, s), _part(whole, s + 1)]
        end = _call(self._kernels.scale_end, [self._T], [*self._of(g, "xs", "p"), *ends])
        whole[self._T, n:s] = 0.0
        return [steps, end]

    def totals(self) -> Reals:
        """Sums of the last backward pass in each lane (6, G W), in the order of `lanes.SUMS`."""
        return self._totals[:, 0].transpose(1, 0, 2).reshape(len(lanes.SUMS), -1)

    # Copies between lanes and rows

    def copy(self, names: Sequence[tuple[str, str]], source: Ints, target: Ints) -> None:
        """Copies arrays, pairs of names from and to, from lanes (m,) to other lanes (m,)."""
        table = [_table(self._places(a, source), self._places(b, target), self._size(a), 8 * self.W) for a, b in names]
        if len(source):
            copy_vectors(np.concatenate(table))

    def load(self, name: str, values: Reals, target: Ints) -> None:
        """Writes rows (m, ...) of values to an array of lanes (m,)."""
        held = np.ascontiguousarray(values, dtype=np.float64)
        if len(target):
            starts = int(held.ctypes.data) + np.arange(len(target)) * held.strides[0]
            size = held[0].size
            copy_vectors(_table(starts, self._places(name, target), size, 8, 8 * self.W))

    def read(self, name: str, source: Ints, knots: int) -> Reals:
        """Rows (m, knots, size) of an array of lanes (m,)."""
        values = np.empty((len(source), knots, self._numbers[name]))
        if len(source):
            starts = int(values.ctypes.data) + np.arange(len(source)) * values.strides[0]
            copy_vectors(_table(self._places(name, source), starts, values[0].size, 8 * self.W, 8))
        return values

    def clear(self, name: str, target: Ints) -> None:
        """Writes zeros to an array of lanes (m,)."""
        array = self.arrays[name]
        array[target // self.W, ..., target % self.W] = 0.0

    def _places(self, name: str, chosen: Ints) -> Ints:
        """Address of the first number of an array in each lane."""
        array = self.arrays[name]
        return int(array.ctypes.data) + chosen // self.W * array.strides[0] + chosen % self.W * 8

    def _size(self, name: str) -> int:
        array = self.arrays[name]
        return array.shape[1] * array.shape[2]


class _Kernels:
    """Kernels of a problem, one for each kind of running knot where there are several."""

    def __init__(self, problem: ShootingProblem) -> None:
        W, nu, running, end = lane_count(), problem.nu, problem.kinds[:-1], problem.kinds[-1].model
        models = [kind.model for kind in running]
        assert isinstance(end, ActionModelExpression)

        def each(program: object) -> list[Kernel]:
            return [kernel(program(model), W) for model in models]  # type: ignore[operator]

        def one(program: Program) -> list[Kernel]:
            return [kernel(program, W)]

        self.kinds = np.zeros(problem.T, dtype=np.int64)
        for i, kind in enumerate(running):
            self.kinds[list(kind.knots)] = i
        self.backward = each(lambda model: lanes.backward_step(model, nu))
        self.end, self.begin = one(lanes.backward_end(end)), one(lanes.backward_begin(end))
        self.scale = each(lambda model: lanes.scale_step(model, nu))
        self.scale_end = one(lanes.scale_end(end))
        self.step, self.last = each(programs.step), one(programs.terminal_step(end))
        self.start = one(lanes.start(end))

    @property
    def all(self) -> list[Kernel]:
        """All kernels."""
        several = [self.backward, self.end, self.begin, self.scale, self.scale_end, self.step, self.last, self.start]
        return [each for some in several for each in some]


def _call(kernels: list[Kernel], order: Sequence[int] | Ints, arguments: list[Rows], kinds: Ints | None = None) -> KernelCall:
    """Call at knots in this order."""
    blocks = np.asarray(order, dtype=np.int64).reshape(-1, 1)
    return KernelCall(kernels, np.zeros(len(blocks)) if kinds is None else kinds, blocks, arguments, packed=True)


def _part(array: Reals, first: int) -> Rows:
    """Rows of an array (T + 1, size, W), of which each begins at element `first`."""
    return Rows(array[:, first:], array.strides[0])


def _table(source: Ints, target: Ints, count: int, apart: int, aside: int | None = None) -> Ints:
    """Numbers of copies, see `copy_vectors`."""
    table = np.empty((len(source), 5), dtype=np.int64)
    table[:, 0], table[:, 1], table[:, 2], table[:, 3] = source, target, count, apart
    table[:, 4] = apart if aside is None else aside
    return table
