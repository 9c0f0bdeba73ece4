"""Checks of the arguments of a simulator's steps."""

from __future__ import annotations

from typing import Any, TypeGuard

import numpy as np

from trajopt.checks import all_finite, check_array, check_items
from trajopt.errors import InvalidArgumentError
from trajopt.simulator.model import SimulatorModel
from trajopt.simulator.steps import StepAbstract
from trajopt.types import Reals


class Arguments:
    """Checks the arguments of a simulator's mode, and raises InvalidArgumentError for a wrong size or content.

    Args:
        model: The simulator's model.
        step: The step of its mode.
    """

    def __init__(self, model: SimulatorModel, step: StepAbstract) -> None:
        self._model, self._size, self._with_torque = model, step.input_size, step.with_torque
        more = {0: "(q, v)", 1: "(q, v, v̇)"}[step.accelerations]
        more = "(q₊, v₊, v)" if "BACKWARD" in model.mode.name else more
        self._cure = f"{model.mode.name} takes {more} with nq = {model.nq} and nv = {model.nv}"

    def one_input(self, qdq: Any, argument: str = "qdq") -> Reals:
        """Checks the input of a single step and returns it as a row (1, size).

        Args:
            qdq: (q, v), in inverse modes (q, v, v̇), in backward modes (q₊, v₊, v); shape (size,).
            argument: Name of the argument, for messages.
        """
        checked = check_array(argument, qdq, (self._size,), cure=self._cure)
        self._model.state.check(checked[: self._model.state.nx], argument)
        return checked[None]

    def inputs(self, qdqs: Any) -> Reals:
        """Checks the inputs of n steps, as in `one_input`, and returns them as an array (n, size)."""
        is_array = isinstance(qdqs, np.ndarray) and qdqs.ndim > 0
        rows = qdqs if is_array else check_items("qdqs", qdqs, "states, one for each step")
        if not len(rows):
            raise InvalidArgumentError("qdqs: expected at least one state, got none")
        if self._are_inputs(rows):
            return np.asarray(rows)
        return np.concatenate([self.one_input(row, f"qdqs[{i}]") for i, row in enumerate(rows)])

    def _are_inputs(self, rows: Any) -> bool:
        """Whether all rows of an array would pass `one_input`; a fast test."""
        if not _is_plain(rows) or rows.shape[1:] != (self._size,):
            return False
        size = self._model.state.nx
        return (self._size == size or all_finite(rows)) and self._model.state.are_states(rows[:, :size])

    def one_torque(self, tau: Any, argument: str = "tau") -> Reals:
        """Checks the torques of a single step and returns them (nv,) [N m, N]."""
        if not self._with_torque:
            raise InvalidArgumentError(f"{argument}: expected None, got torques; {self._model.mode.name} computes them")
        return check_array(argument, tau, (self._model.nv,), cure="pass one for each velocity, including the base")

    def torques(self, taus: Any, size: int) -> Reals:
        """Returns checked torque vectors (n, nv) [N m, N]."""
        items = "torque vectors (nv,), one for each row of qdqs"
        rows = taus if isinstance(taus, np.ndarray) else check_items("taus", taus, items)
        if isinstance(rows, np.ndarray) and rows.ndim == 0:
            raise InvalidArgumentError(f"taus: expected {size} {items}, got a number")
        if len(rows) != size:
            raise InvalidArgumentError(f"taus: expected {size} {items}, got {len(rows)}")
        if self._with_torque and _is_plain(rows) and rows.shape[1:] == (self._model.nv,) and all_finite(rows):
            return np.asarray(rows)
        return np.array([self.one_torque(row, f"taus[{i}]") for i, row in enumerate(rows)])


def _is_plain(rows: Any) -> TypeGuard[Reals]:
    """Whether these are unmasked numpy doubles."""
    return type(rows) is np.ndarray and rows.dtype == np.float64
