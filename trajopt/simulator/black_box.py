"""Contacts that are numerical functions of a pose, and the values that programs read of them.

A program reads the columns B₀ at the pose (R₀, p₀) of its state, and their derivative B' by translations and
rotations:

    B(R, p) = B₀ + B' (p - p₀, ½ (R R₀ᵀ - R₀ Rᵀ)ᵛ)

At (R₀, p₀) this has the value and the first derivatives of the function; programs need no others.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import TYPE_CHECKING, Any

import casadi as ca
import numpy as np
import numpy.typing as npt
import pinocchio as pin
from casadi import SX

from trajopt.checks import check_array
from trajopt.errors import InvalidArgumentError, ModelEvaluationError, pass_on_signal, shown
from trajopt.types import Reals

if TYPE_CHECKING:
    from trajopt.simulator.model import SimulatorModel
    from trajopt.simulator.modes import SimulatorMode

_STEP, _BOUND = 1e-5, 1e-5  # of central differences [m, rad], and of their error


class BlackBoxColumns:
    """Columns (6, n) of a contact, as numerical functions of a pose.

    Args:
        name: Name of the contact, for messages.
        columns: Function (R, p) that returns the columns (6, n).
        derivative: Function (R, p) that returns their derivative (6, n, 6) by translations and rotations of the frame,
            in the world's axes.
        rays: Number n of columns [-].
    """

    def __init__(
        self, name: str, columns: Callable[..., Any], derivative: Callable[..., npt.ArrayLike], rays: int
    ) -> None:
        for argument, function in (("columns", columns), ("derivative", derivative)):
            if not callable(function):
                raise InvalidArgumentError(f"{argument}: expected a function, got {shown(function)}")
        self._name, self._rays = name, rays
        self._functions = {"columns": columns, "derivative": derivative}

    @staticmethod
    def size_of(rays: int) -> int:
        """Number of values that a program reads for n columns: B₀, B', R₀ and p₀ [-]."""
        return 42 * rays + 12

    def expression(self, told: SX, R: SX, p: SX) -> SX:
        """The columns, stacked (6 n,), as an expression of the values of `tell` and the pose."""
        n = 6 * self._rays
        slope = ca.reshape(told[n : 7 * n], n, 6)
        turn = R @ ca.reshape(told[7 * n : 7 * n + 9], 3, 3).T
        angles = ca.vertcat(turn[2, 1] - turn[1, 2], turn[0, 2] - turn[2, 0], turn[1, 0] - turn[0, 1]) / 2
        return SX(told[:n] + slope @ ca.vertcat(p - told[7 * n + 9 :], angles))

    def tell(self, R: Reals, p: Reals, parameters: Mapping[str, float], *, derivative: bool) -> Reals:
        """Values that a program reads at a pose; without `derivative`, B' is zero.

        Raises:
            InvalidArgumentError: A function returns another shape, or numbers that are not finite.
            ModelEvaluationError: A function raises an exception.
        """
        n = self._rays
        columns = self._call("columns", (6, n), R, p, parameters).ravel(order="F")
        slope = np.zeros(36 * n)
        if derivative:
            slope = self._call("derivative", (6, n, 6), R, p, parameters).ravel(order="F")
        return np.concatenate([columns, slope, R.ravel(order="F"), p])

    def check_derivative(self, R: npt.ArrayLike, p: npt.ArrayLike, parameters: Mapping[str, float]) -> None:
        """Compares the derivative with central differences; see `ExternalWrench.check_derivative`."""
        rotation, origin = check_array("R", R, (3, 3)), check_array("p", p, (3,))
        shape = (6, self._rays)
        derivative = self._call("derivative", (*shape, 6), rotation, origin, parameters)
        wanted = np.empty((*shape, 6))
        for k, d in enumerate(_STEP * np.eye(6)):
            ends = [
                self._call("columns", shape, pin.exp3(side * d[3:]) @ rotation, origin + side * d[:3], parameters)
                for side in (1, -1)
            ]
            wanted[:, :, k] = (ends[0] - ends[1]) / (2 * _STEP)
        error = np.abs(derivative - wanted) / max(1.0, np.abs(wanted).max())
        if error.max() > _BOUND:
            i, j, k = (int(index) for index in np.unravel_index(np.argmax(error), error.shape))
            raise InvalidArgumentError(
                f"{self._name}.derivative: expected the derivative of columns, {wanted[i, j, k]:.6g} at index "
                f"({i}, {j}, {k}) by central differences, got {derivative[i, j, k]:.6g}"
            )

    def _call(
        self, function: str, shape: tuple[int, ...], R: Reals, p: Reals, parameters: Mapping[str, float]
    ) -> Reals:
        """Result of a user's function, after a check."""
        argument = f"{self._name}.{function}"
        try:
            value = self._functions[function](R.copy(), p.copy(), **parameters)
        except Exception as error:
            pass_on_signal(error)
            raise ModelEvaluationError(
                f"{argument} raised {type(error).__name__}: {error}; the arguments were the frame's rotation and "
                f"origin p = {p.tolist()} in the world" + "".join(f", {k} = {v:g}" for k, v in parameters.items())
            ) from error
        return check_array(argument, value, shape, cure=f"the frame's origin was p = {p.tolist()}")


class BlackBoxes:
    """The black-box contacts of a simulator, evaluated state by state.

    Args:
        model: The simulator's model.
    """

    def __init__(self, model: SimulatorModel) -> None:
        self._layout, self._model = model.layout, model.state.model
        self._boxes = [(c.name, c.black_box, c.frame) for c in model.black_boxes if c.black_box is not None]
        self._frames = {name: model.state.robot.frame_id(frame) for name, _, frame in self._boxes}
        self._own = {name: self._own_places(name) for name, _, _ in self._boxes}
        self._data = self._model.createData()

    def __bool__(self) -> bool:
        """Whether the simulator has any."""
        return bool(self._boxes)

    def fill(self, qdqs: Reals, parameters: Reals, *, derivative: bool) -> None:
        """Writes the values of the black boxes into the parameters.

        Args:
            qdqs: Inputs of a step (n, size), which begin with q.
            parameters: Run-time parameters of each state (n, size), to be written.
            derivative: Whether derivatives are needed.

        Raises: As in `BlackBoxColumns.tell`; the message contains the state's index.
        """
        for i, (qdq, row) in enumerate(zip(qdqs, parameters)):
            pin.framesForwardKinematics(self._model, self._data, qdq[: self._model.nq])
            try:
                for name, box, _ in self._boxes:
                    pose = self._data.oMf[self._frames[name]]
                    own = {key: float(row[place]) for key, place in self._own[name].items()}
                    values = box.tell(pose.rotation, pose.translation, own, derivative=derivative)
                    row[self._layout.slices[told_name(name)]] = values
            except (InvalidArgumentError, ModelEvaluationError) as error:
                raise type(error)(f"state {i}: {error}") from error.__cause__ or error

    def check_step(self, mode: SimulatorMode, steps_state: bool) -> None:
        """Raises InvalidArgumentError if the steps of a mode need poses other than those of their input."""
        if self and not steps_state:
            raise InvalidArgumentError(
                f"{self._boxes[0][0]}: expected columns as a formula, got a black box; a step of {mode.name} solves "
                "an "
                "equation at unknown poses, which needs a formula; `simulate` computes only the residual"
            )

    def _own_places(self, contact: str) -> dict[str, int]:
        """Positions of a contact's own numerical run-time parameters, by name."""
        first, slices = f"contacts.{contact}.", self._layout.slices
        own = [n for n in slices if n.startswith(first) and n != told_name(contact)]
        return {n.removeprefix(first): slices[n].start for n in own}


def told_name(contact: str) -> str:
    """Returns the name in the parameter layout under which a contact's black box passes its values to the step."""
    return f"contacts.{contact}.(told)"
