"""Disturbances of a closed loop: pushes on the plant, and measurement noise."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any, cast

import numpy as np
import numpy.typing as npt
import pinocchio as pin

from trajopt.checks import as_numbers, check_array, check_known, check_non_negative, check_text
from trajopt.errors import InvalidArgumentError, function_raised, shown
from trajopt.robots.frame_index import frame_index
from trajopt.states import StateAbstract
from trajopt.types import Reals

Rate = Callable[[float, Reals], Any]
"""Function from a time [s] and a state (nx,) to a rate of change of the state (ndx,) [1/s]."""

ALWAYS = 1e9  # duration of a disturbance that never ends [s]
ROUNDING = 1e-9  # times that differ by less count as equal [s]


@dataclass(frozen=True, kw_only=True, eq=False)
class Push:
    """A disturbance: a jump of the state, a rate of change of the state, or a force on a frame.

    A jump sets x ⊕ value at once. A rate adds x ⊕ value · time while it lasts, on top of the plant's own motion. A
    force acts at the origin of a frame. Simulators include it in their contacts, and so do models of forward dynamics
    with contacts; in any other plant it changes the velocity by M⁻¹ Jᵀ f · time, as for a robot without contacts.

    Attributes:
        time: Time at which it begins, >= 0 [s].
        value: Without duration a jump (ndx,). With a duration a rate (ndx,) [1/s], or a function from time [s] and
            state (nx,) to a rate. With `frame` a force in world axes (3,) [N], or a force and a moment (6,) [N, N m].
        duration: Duration [s]; 0 for a jump.
        frame: Name of the robot frame on which a force acts; None for a jump or a rate.

    Raises:
        InvalidArgumentError: A value is out of range.
    """

    time: float
    value: npt.ArrayLike | Rate
    duration: float = 0.0
    frame: str | None = None

    def __post_init__(self) -> None:
        object.__setattr__(self, "time", check_non_negative("time", self.time, unit="s"))
        object.__setattr__(self, "duration", check_non_negative("duration", self.duration, unit="s"))
        if not callable(self.value):
            value = as_numbers("value", self.value, "numbers, or a function of time and state")
            if value.ndim != 1 or not np.all(np.isfinite(value)):
                raise InvalidArgumentError(f"value: expected a vector of finite numbers, got {shown(self.value)}")
            value.flags.writeable = False
            object.__setattr__(self, "value", value)
        elif self.duration == 0.0:
            raise InvalidArgumentError("duration: expected a time > 0 [s], as value is a function of time, got 0")
        if self.frame is not None:
            check_text("frame", self.frame, such_as="tool0")
            if self.duration == 0.0:
                raise InvalidArgumentError("duration: expected a time > 0 [s] while the force acts, got 0")
            if callable(self.value) or np.shape(self.value) not in ((3,), (6,)):
                raise InvalidArgumentError(f"value: expected a force (3,) or (6,) on {self.frame!r}, got {self._shown}")

    @property
    def _shown(self) -> str:
        return "a function" if callable(self.value) else f"shape {np.shape(self.value)}"

    @property
    def end(self) -> float:
        """Time at which it ends [s]."""
        return self.time + self.duration

    def __repr__(self) -> str:
        value = "a function"
        if not callable(self.value):
            value = f"[{', '.join(f'{number:.4g}' for number in np.asarray(self.value))}]"
        if callable(self.value) and self.duration == ALWAYS:
            return "a function of time and state" + (f" from {self.time:g} s on" if self.time else "")
        more = (f", duration={self.duration:g}" if self.duration else "") + (
            f", frame={self.frame!r}" * bool(self.frame)
        )
        return f"Push(time={self.time:g}{more}, value={value})"


class Disturbance:
    """The pushes of a closed loop; applies them over time intervals.

    Args:
        disturbance: A Push, a list of Push, a function from time and state to a rate (ndx,), or None.
        state: The plant's state.

    Attributes:
        pushes: The pushes; a function becomes one push that never ends.
    """

    def __init__(self, disturbance: Any, state: StateAbstract) -> None:
        self._state = state
        self.pushes = _pushes(disturbance)
        for i, push in enumerate(self.pushes):
            self._check(push, f"disturbance[{i}]")
        self._robot = state.robot
        self._data = None if self._robot is None else self._robot.model.createData()

    def _check(self, push: Push, argument: str) -> None:
        state = self._state
        if push.frame is not None:
            robot = state.robot
            if robot is None:
                raise InvalidArgumentError(
                    f"{argument}: a force needs a frame of a robot, but {state!r} has no robot; leave frame out and "
                    "pass a rate (ndx,)"
                )
            check_known("frame", push.frame, robot.frame_names)
        elif not callable(push.value):
            names = ", ".join(state.tangent_names[:8]) + (", ..." if state.ndx > 8 else "")
            cure = f"one number for each tangent coordinate: {names}; for a force set frame"
            check_array(f"{argument}.value", push.value, (state.ndx,), cure=cure)

    def moved(self, x: Reals, t: float, h: float) -> Reals:
        """State (nx,) after the jumps and rates between t and t + h [s]."""
        for push in self.pushes:
            if push.frame is not None:
                continue
            if push.duration == 0.0:
                if t - ROUNDING <= push.time < t + h - ROUNDING:
                    x = self._state.integrate_unchecked(x, cast(Reals, push.value))
                continue
            time = _overlap(push, t, h)
            if time > 0.0:
                x = self._state.integrate_unchecked(x, time * self._rate(push, max(t, push.time), x))
        return x

    def torque(self, x: Reals, t: float, h: float) -> Reals | None:
        """Generalized force (nv,) of the forces on frames, averaged from t to t + h [s]; None without a force."""
        total: Reals | None = None
        for push in self.pushes:
            time = _overlap(push, t, h) if push.frame is not None else 0.0
            if time > 0.0:
                own = (time / h) * self._generalized(push, x)
                total = own if total is None else total + own
        return total

    def accelerated(self, x: Reals, torque: Reals, h: float, mobility: Reals | None = None) -> Reals:
        """State (nx,) after a generalized force (nv,) acted for a time h [s].

        Args:
            x: State before (nx,).
            torque: The force [N m, N].
            h: The time [s].
            mobility: Derivative (nv, nv) of the acceleration by such forces; by default that without contacts.
        """
        model = self._robot.model  # type: ignore[union-attr]
        if mobility is None:
            mobility = pin.computeMinverse(model, self._data, x[: model.nq])
        dx = np.concatenate([np.zeros(model.nv), h * (mobility @ torque)])
        return self._state.integrate_unchecked(x, dx)

    def _generalized(self, push: Push, x: Reals) -> Reals:
        model = self._robot.model  # type: ignore[union-attr]
        axes = pin.ReferenceFrame.LOCAL_WORLD_ALIGNED
        J = pin.computeFrameJacobian(model, self._data, x[: model.nq], frame_index(model, str(push.frame)), axes)
        force = cast(Reals, push.value)
        torque: Reals = J[: len(force)].T @ force
        return torque

    def _rate(self, push: Push, t: float, x: Reals) -> Reals:
        if not callable(push.value):
            return cast(Reals, push.value)
        rate = called("disturbance", push.value, t, x.copy())
        return check_array(
            "disturbance: result of the function", rate, (self._state.ndx,), cure="one rate for each tangent coordinate"
        )


def _pushes(disturbance: Any) -> tuple[Push, ...]:
    if disturbance is None:
        return ()
    if isinstance(disturbance, Push):
        return (disturbance,)
    if callable(disturbance):
        return (Push(time=0.0, duration=ALWAYS, value=disturbance),)
    if isinstance(disturbance, Sequence) and all(isinstance(each, Push) for each in disturbance):
        return tuple(disturbance)
    raise InvalidArgumentError(
        f"disturbance: expected Push(time=..., value=...), a list of them, or a function of time and state, got "
        f"{shown(disturbance)}"
    )


def _overlap(push: Push, t: float, h: float) -> float:
    """Time between t and t + h [s] during which a push acts [s]."""
    return max(min(push.end, t + h) - max(push.time, t), 0.0)


class Noise:
    """Measurement noise x ⊕ dx.

    Args:
        noise: Standard deviation of each tangent coordinate, a number or (ndx,); or a function from the generator and
            a state to dx (ndx,); None for no noise.
        state: The plant's state.
        rng: Random generator.
    """

    def __init__(self, noise: Any, state: StateAbstract, rng: np.random.Generator) -> None:
        self._state, self._rng = state, rng
        self._function = noise if callable(noise) else None
        self._deviations = None if noise is None or callable(noise) else _deviations(noise, state)

    def measured(self, x: Reals) -> Reals:
        """Noisy measurement (nx,) of a state (nx,)."""
        if self._function is None and self._deviations is None:
            return x.copy()
        if self._deviations is not None:
            return self._state.integrate_unchecked(x, self._deviations * self._rng.standard_normal(self._state.ndx))
        assert self._function is not None
        deviation = called("noise", self._function, self._rng, x.copy())
        cure = "one deviation for each tangent coordinate"
        return self._state.integrate_unchecked(
            x, check_array("noise: result of the function", deviation, (self._state.ndx,), cure=cure)
        )


def called(argument: str, function: Callable[..., Any], *arguments: Any) -> Any:
    """Calls a user's function; an error that it raises names the argument."""
    try:
        return function(*arguments)
    except Exception as error:
        raise function_raised(argument, error) from error


def _deviations(noise: Any, state: StateAbstract) -> Reals:
    values = as_numbers("noise", noise, "standard deviations, or a function of generator and state")
    if values.ndim == 0:
        values = np.full(state.ndx, float(values))
    cure = f"one number, or one for each tangent coordinate: {', '.join(state.tangent_names[:8])}"
    values = check_array("noise", values, (state.ndx,), cure=cure + (", ..." if state.ndx > 8 else ""))
    if np.any(values < 0.0):
        raise InvalidArgumentError(f"noise: expected standard deviations >= 0, got {values.min():g}")
    return values
