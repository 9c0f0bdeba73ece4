"""States of a motion within its steps, from shorter steps of the same models."""

from __future__ import annotations

import itertools
from functools import cached_property
from typing import TYPE_CHECKING

import numpy as np
import numpy.typing as npt

from trajopt.actions.integrated.base import IntegratedActionModelAbstract
from trajopt.analysis.gaps import CLOSED
from trajopt.shooting.times import steps_of
from trajopt.shooting.values import ProblemDerivatives
from trajopt.types import Ints, Reals

if TYPE_CHECKING:
    from trajopt.shooting.problem import ShootingProblem


class WithinSteps:
    """A trajectory within its steps: a model takes a part of its time step under the control of the knot.

    Args:
        problem: The problem, with the parameters of the solve.
        xs: States (T + 1, nx).
        us: Controls (T, nu).

    Attributes:
        xs: States (T + 1, nx).
        timed: Mask (T,) of the knots that take a time step > 0, a parameter `dt` of their model.
    """

    def __init__(self, problem: ShootingProblem, xs: Reals, us: Reals) -> None:
        self._problem, self.xs, self._us = problem, xs, us
        steps = steps_of(problem.kinds, problem.table, problem.T)
        self.timed = np.zeros(problem.T, dtype=np.bool_)
        for kind in problem.kinds[:-1]:
            self.timed[list(kind.knots)] = "dt" in kind.layout.slices
        self.timed &= True if steps is None else steps > 0.0

    @cached_property
    def at_knots(self) -> ProblemDerivatives:
        """Values and derivatives at the knots."""
        return self._problem.calc_diff(self.xs, self._us)

    def after(self, xs: Reals, begin: float, part: float) -> Reals:
        """States (T, nx) after a part of each step; knots without a time step take their whole step.

        Args:
            xs: States at the beginning of the parts (T, nx).
            begin: Where the parts begin, 0 to 1 of the step [-].
            part: Their length, 0 to 1 of the step [-].
        """
        table = self._problem.table.values
        whole = table.copy()
        try:
            for kind in self._problem.kinds[:-1]:
                if "dt" in kind.layout.slices:
                    table[list(kind.knots), kind.layout.slices["dt"]] *= part
            states = np.concatenate([xs, self.xs[-1:]])
            return self._problem.calc(states, self.controls(begin, part)).xnext
        finally:
            table[:] = whole

    def controls(self, begin: float, part: float) -> Reals:
        """Controls (T, nu) of a part of each step, arguments as in `after`."""
        us = self._us.copy()
        for kind in self._problem.kinds[:-1]:
            set_part_of_controls(us, np.array(kind.knots), kind.model, begin, part)
        return us

    def states(self, share: float) -> Reals:
        """States (T, nx) at a share of each step, 0 to 1.

        They are those of the model where its step leads to the next state, otherwise on the geodesic to the next state.
        """
        state, xs = self._problem.state, self.xs
        pairs = itertools.pairwise(xs)
        straight = [state.integrate_unchecked(a, share * state.difference_unchecked(a, b)) for a, b in pairs]
        return np.where(self._moved[:, None], self.after(xs[:-1], 0.0, share), np.array(straight))

    def auxiliary_controls(self) -> npt.NDArray[np.bool_]:
        """Mask (T, nu) of the controls that continue at the next knot and move nothing.

        Neither the next state nor an equation depends on them. They are held by no motor: a line that separates two
        bodies may turn within a step.
        """
        d, mask = self.at_knots, np.zeros(self._us.shape, dtype=np.bool_)
        equations = np.isfinite(d.lower) & (d.lower == d.upper)
        moving = (d.Fu != 0.0).any(axis=1) | ((d.Cu != 0.0) & equations[:-1, :, None]).any(axis=1)
        for kind in self._problem.kinds[:-1]:
            knots, model = np.array(kind.knots), kind.model
            held = isinstance(model, IntegratedActionModelAbstract) and not model.control.is_constant
            if not held and model.stage_nu == model.nu:
                mask[knots, : model.nu] = ~moving[knots, : model.nu].any(axis=0)
                mask[knots] &= np.isin(knots + 1, knots)[:, None]
        return mask

    @cached_property
    def _moved(self) -> npt.NDArray[np.bool_]:
        """Mask (T,) of the steps that lead to the next state in time."""
        sizes = np.maximum(1.0, np.abs(self.xs[1:]).max(axis=1, initial=0.0))
        return np.asarray(self.timed & (np.abs(self.at_knots.gaps[1:]).max(axis=1, initial=0.0) <= CLOSED * sizes))


def set_part_of_controls(us: Reals, knots: Ints, model: object, begin: float, part: float) -> None:
    """Replaces controls (T, nu) of some knots of a model by those of a part of the step."""
    if isinstance(model, IntegratedActionModelAbstract) and not model.control.is_constant:
        us[knots, : model.nu] = model.control.within(us[knots, : model.nu], begin, part)
