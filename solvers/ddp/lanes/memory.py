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

GUESS = tuple((name, name) for name in ("xs", "us", "x0", "p"))
"""Arrays that a problem brings into its lane, as pairs of names for `LaneMemory.copy`."""
DIRECTION = (*GUESS, *((name, name) for name in ("K", "k", "f", "Vf")))
"""Arrays that a rollout along the direction reads."""
TRIAL = (("xs_try", "xs_try"), ("us_try", "us_try"))
ACCEPTED = (("xs_try", "xs"), ("us_try", "us"))


class LaneMemory:
    """Arrays of G groups of W lanes, and calls that run chosen groups.

    Lane n is lane n % W of group n // W. An array (G, T + 1, ..., W) has the numbers of all knots; some of the last
    knot are unused.

    Args:
        problem: The problem.
        groups: Number of groups G [-].
        gaps: Whether a step of length α closes the part α of gaps; if not, each step closes all of them.
        varied: Whether parameters differ between lanes; if not, all groups share them.

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

    def __init__(self, problem: ShootingProblem, groups: int, *, gaps: bool, varied: bool) -> None:
        self.W, self.groups, self._T = lane_count(), groups, problem.T
        n, nx, nu, width = problem.state.ndx, problem.state.nx, problem.nu, problem.table.values.shape[1]
        self._numbers = {"xs": nx, "us": nu, "p": width, "K": nu * n, "k": nu, "f": n, "Vf": n}
        self._numbers |= {"xs_try": nx, "us_try": nu, "dx": n, "costs": 1}
        shared = {"p": not varied, "f": not gaps, "Vf": not gaps, "dx": not gaps}  # or of no use behind a call
        self.arrays = {name: self._array(size, shared.get(name, False)) for name, size in self._numbers.items()}
        self.arrays |= {name: padded((groups, 1, 1, self.W)) for name in ("rho", "rho_on_value", "with_gaps", "alpha")}
        self._numbers["x0"] = nx
        self.arrays["x0"] = padded((groups, 1, nx, self.W))
        self._sums, self.scales = padded((self._T + 1, len(lanes.SUMS), self.W)), self._array(n + nu + 2)
        lane = np.arange(groups * self.W)
        self._address = {name: _addresses(array, lane // self.W, lane % self.W) for name, array in self.arrays.items()}
        self._pairs: dict[tuple[tuple[str, str], ...], tuple[Ints, Ints, Ints]] = {}
        self._value = padded((self._T + 1, n * n, self.W)), padded((self._T + 1, n, self.W))
        self._totals = padded((groups, 1, len(lanes.SUMS), self.W))
        self._closed = padded((1, n, self.W))
        self._gaps = gaps
        self._kernels = _Kernels(problem)
        compile_together(self._kernels.all)
        self.backward = GroupCalls([self._backward(g) for g in range(groups)])
        self.roll_out = GroupCalls([self._roll_out(g) for g in range(groups)])
        self.measure = GroupCalls([self._measure(g) for g in range(groups)])

    def _array(self, size: int, shared: bool = False) -> Reals:
        return padded((1 if shared else self.groups, self._T + 1, size, self.W))

    def _of(self, g: int, *names: str) -> list[Rows]:
        """Rows of the arrays of a group; `name+` begins at the next knot, numbers of a lane are the same for all."""
        found = []
        for name in names:
            whole = self.arrays[name.removesuffix("+")]
            array = whole[g if len(whole) > 1 else 0]
            found.append(
                rows(array, offset=1) if name.endswith("+") else Rows(array, 0) if len(array) == 1 else rows(array)
            )
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

    def copy(self, names: tuple[tuple[str, str], ...], source: Ints, target: Ints) -> None:
        """Copies arrays, pairs of names from and to, from lanes (m,) to other lanes (m,)."""
        if not len(source):
            return
        if names not in self._pairs:
            own = [(a, b) for a, b in names if len(self.arrays[a]) == self.groups]
            sizes = np.array([self.arrays[a][0].size // self.W for a, _ in own], dtype=np.int64)
            froms, tos = (np.array([self._address[pair[i]] for pair in own]) for i in (0, 1))
            self._pairs[names] = froms, tos, sizes
        froms, tos, sizes = self._pairs[names]
        table = np.empty((len(sizes), len(source), 5), dtype=np.int64)
        table[:, :, 0], table[:, :, 1], table[:, :, 2] = froms[:, source], tos[:, target], sizes[:, None]
        table[:, :, 3:] = 8 * self.W
        copy_vectors(table.reshape(-1, 5))

    def load(self, name: str, values: Reals, target: Ints) -> None:
        """Writes rows (m, ...) of values to an array of lanes (m,); what all groups share is set to the first row."""
        if not len(target):
            return
        if len(self.arrays[name]) < self.groups:
            self.arrays[name][0] = values[0][:, :, None]
            return
        held = np.ascontiguousarray(values, dtype=np.float64)
        starts = int(held.ctypes.data) + np.arange(len(target)) * held.strides[0]
        copy_vectors(_table(starts, self._address[name][target], held[0].size, 8, 8 * self.W))

    def read(self, name: str, source: Ints, knots: int) -> Reals:
        """Rows (m, knots, size) of an array of lanes (m,)."""
        values = np.empty((len(source), knots, self._numbers[name]))
        if len(source):
            starts = int(values.ctypes.data) + np.arange(len(source)) * values.strides[0]
            copy_vectors(_table(self._address[name][source], starts, values[0].size, 8 * self.W, 8))
        return values

    def clear(self, name: str, target: Ints) -> None:
        """Writes zeros to an array of lanes (m,)."""
        array = self.arrays[name]
        if len(array) == self.groups:
            array[target // self.W, ..., target % self.W] = 0.0

    def groups_of(self, places: Ints) -> Ints:
        """Groups of lanes (m,), ascending."""
        return np.flatnonzero(np.bincount(places // self.W))


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


def _call(
    kernels: list[Kernel], order: Sequence[int] | Ints, arguments: list[Rows], kinds: Ints | None = None
) -> KernelCall:
    """Call at knots in this order."""
    blocks = np.asarray(order, dtype=np.int64).reshape(-1, 1)
    return KernelCall(kernels, np.zeros(len(blocks)) if kinds is None else kinds, blocks, arguments, packed=True)


def _part(array: Reals, first: int) -> Rows:
    """Rows of an array (T + 1, size, W), of which each begins at element `first`."""
    return Rows(array[:, first:], array.strides[0])


def _addresses(array: Reals, group: Ints, lane: Ints) -> Ints:
    """Address of the first number of an array (G, ...) in lanes (m,); all groups may share it."""
    stride = array.strides[0] if len(array) > 1 else 0
    return int(array.ctypes.data) + group * stride + lane * 8


def _table(source: Ints, target: Ints, count: int, apart: int, aside: int) -> Ints:
    """Numbers of copies, see `copy_vectors`."""
    table = np.empty((len(source), 5), dtype=np.int64)
    table[:, 0], table[:, 1], table[:, 2], table[:, 3], table[:, 4] = source, target, count, apart, aside
    return table
