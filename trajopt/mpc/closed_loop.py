"""Closed-loop simulation of a controller and a plant."""

from __future__ import annotations

import contextlib
import math
import time
from collections import deque
from collections.abc import Callable, Iterator, Mapping, Sequence
from itertools import pairwise
from typing import Any

import numpy as np
import numpy.typing as npt

from trajopt.callbacks.bar import progress_bar, time_left
from trajopt.checks import check_flag, check_non_negative, check_positive
from trajopt.errors import InvalidArgumentError, TrajoptError, function_raised, shown
from trajopt.mpc.controller import MPCController
from trajopt.mpc.disturbance import Disturbance, Noise, Push, Rate
from trajopt.mpc.errors import ClosedLoopError
from trajopt.mpc.log import ClosedLoop
from trajopt.mpc.recorder import Recorder
from trajopt.mpc.report import OWN_MODEL
from trajopt.mpc.sensing import Estimate, Measure, Sensing, check_function
from trajopt.mpc.step import MPCStep
from trajopt.plants import Factor
from trajopt.plants.argument import fixed_step, plant_of
from trajopt.plants.base import PlantAbstract, check_next
from trajopt.shooting import ShootingProblem
from trajopt.states.sampling import random_generator
from trajopt.types import Reals

MOST = 10_000_000
"""Largest number of control periods [-]."""
_CHANGES = 4  # changed parameters that are told [-]
_SAME = 1e-9  # tolerance for equal times, as a fraction of a control period


def simulate(
    controller: MPCController,
    plant: Any,
    x0: npt.ArrayLike,
    duration: float,
    *,
    delay: float = 0.0,
    compensate_delay: bool = False,
    feedback: bool = False,
    noise: Any = None,
    measure: Measure | None = None,
    estimator: Estimate | None = None,
    disturbance: Push | Sequence[Push] | Rate | None = None,
    model_error: Mapping[str, Any] | None = None,
    dt_plant: float | None = None,
    seed: int | np.random.Generator = 0,
    progress: bool = False,
    on_step: Callable[[MPCStep], Any] | None = None,
    until: Callable[[float, Reals], Any] | None = None,
) -> ClosedLoop:
    """Simulates a controller in closed loop with a plant.

    In each control period the state is measured, the controller computes a control, and the plant advances. The first
    control acts at once, later ones after the delay. Without a time budget of the controller, equal seeds give
    bit-identical results. Ctrl-C ends the loop and keeps the log.

    Args:
        controller: The controller; it is reset to x0.
        plant: None for the controller's own model, whose parameters move along with its references, but keep the first
            values of what the controller estimates; an action model; a ShootingProblem, whose first knot is used; a
            Simulator, which takes the controls as torques; a MuJoCoPlant; or a function (x, u, dt) -> x_next.
        x0: State at the start (nx,).
        duration: Duration > 0, rounded up to whole control periods [s].
        delay: Time >= 0 from a measurement until its control acts, shorter than the duration [s].
        compensate_delay: True to start each plan from the state that the controller's model predicts after the delay.
        feedback: True to apply u - K (x ⊖ x_plan) at each step of the plant, clipped to the limits of the controls;
            False to hold u.
        noise: Standard deviation of the measurement in each tangent coordinate, a number or (ndx,); or a function from
            a numpy generator and a state to a deviation (ndx,). None for no noise.
        measure: Sensors: a function from the state (nx,), with its noise, to a measurement (ny,), such as the readings
            of encoders; NaN for what is not measured at this time, if there is an estimator. By default, and without
            an estimator, the measurement is a state (nx,).
        estimator: A function, or an object with `__call__`, that estimates the state that the controller receives
            (nx,). Its arguments are the time [s], the measurement, and the control that has acted since the last
            measurement (nu,), None at the first one. If it has a method `reset`, that receives x0 at the start.
        disturbance: A Push, a list of Push, or a function from time [s] and state (nx,) to a rate of change of the
            state (ndx,) [1/s].
        model_error: Other values of the plant model's run-time parameters by name, each a value or a Factor.
        dt_plant: Largest time step of the plant [s]; by default the control period, and 1 ms for a Simulator.
        seed: Seed of the noise, or a numpy generator.
        progress: True to show a progress bar.
        on_step: Function that is called with each MPCStep, such as `CallbackDisplay.show_plan`. An exception that it
            raises ends the loop.
        until: Condition that ends the loop early, a function of time [s] and state (nx,), such as
            `lambda t, x: x[2] < 0.2` for a fall. It is tested at the end of each control period.

    Returns:
        The log of the closed loop.

    Raises:
        InvalidArgumentError: An argument has the wrong type, size or value.
        ClosedLoopError: The plant, the controller or a function raised an error, or a next state is not finite. Its
            `log` has the steps before the error.
    """
    return _Loop(
        controller,
        plant,
        x0,
        delay=delay,
        noise=noise,
        sensors=(measure, estimator),
        disturbance=disturbance,
        model_error=model_error,
        dt_plant=dt_plant,
        seed=seed,
        predicts=check_flag("compensate_delay", compensate_delay),
        feedback=check_flag("feedback", feedback),
        on_step=on_step,
        until=until,
    ).run(check_positive("duration", duration, unit="s"), check_flag("progress", progress))


class _Loop:
    """One closed loop."""

    def __init__(
        self,
        controller: MPCController,
        plant: Any,
        x0: npt.ArrayLike,
        *,
        delay: float,
        noise: Any,
        sensors: tuple[Measure | None, Estimate | None],
        disturbance: Any,
        model_error: Any,
        dt_plant: float | None,
        seed: Any,
        predicts: bool,
        feedback: bool,
        on_step: Callable[[MPCStep], Any] | None,
        until: Callable[[float, Reals], Any] | None,
    ) -> None:
        if not all(hasattr(controller, name) for name in ("problem", "feedback", "prepare", "reset")):
            raise InvalidArgumentError(f"controller: expected an MPCController(problem), got {shown(controller)}")
        self._controller, self._problem = controller, controller.problem
        self._state = self._problem.state
        self._dt = float(controller.dt)
        self._x0 = self._state.check(x0, "x0")
        self._delay = check_non_negative("delay", delay, unit="s")
        known = getattr(controller, "estimator", None)
        if known is not None:
            known.begin(np.ones(self._problem.nu))  # the plant does not begin with the estimates of the last loop
        self._plant = plant_of(plant, self._problem, model_error, self._dt, known.parameters if known else ())
        self._dt_plant = self._plant_step(dt_plant)
        self._noise = Noise(noise, self._state, _generator(seed))
        self._sensing = Sensing(self._noise, *sensors, self._state)
        if feedback and sensors != (None, None):
            raise InvalidArgumentError(
                "feedback: expected False with measure or estimator, which give no state between two measurements"
            )
        self._disturbance = Disturbance(disturbance, self._state)
        self._predicts, self._feedback = predicts and self._delay > 0.0, feedback
        self._model_step = self._prediction_step() if self._predicts else self._dt
        check_function("on_step", on_step, (None,), "one argument, an MPCStep")
        check_function("until", until, (0.0, None), "time [s] and state (nx,)")
        self._until = until
        self._on_step = on_step
        self._coming: deque[tuple[float, MPCStep]] = deque()
        self._facts = {
            "delay": self._delay,
            "delay_compensated": self._predicts,
            "seed": None if isinstance(seed, np.random.Generator) else int(seed),
            "plant": _words(plant, self._plant) + _change_words(model_error or {}, self._problem, own=plant is None),
            "sensing": self._sensing.words(noise, seed),
            "solver": _solver_words(controller),
            "time_budget": controller.options.time_budget,
        }

    def _plant_step(self, dt_plant: float | None) -> float:
        """Largest time step of the plant [s]."""
        plant = self._plant
        fixed = plant.fixed_step
        step = dt_plant if dt_plant is not None else fixed or plant.usual_step or self._dt
        step = check_positive("dt_plant", step, unit="s")
        if self._dt / step > MOST:
            raise InvalidArgumentError(f"dt_plant: expected at least {self._dt / MOST:g} s, got {step:g} s")
        if fixed is None:
            return min(step, self._dt)
        if abs(step - fixed) > _SAME * fixed or abs(self._dt / fixed - round(self._dt / fixed)) > 1e-6:
            raise InvalidArgumentError(
                f"dt_plant: the plant's model has a fixed step of {fixed:g} s, got {step:g} s with a control period of "
                f"{self._dt:g} s; leave dt_plant out, and make the control period a multiple of {fixed:g} s"
            )
        self._check_delay(fixed, "the plant's")
        return fixed

    def _prediction_step(self) -> float:
        """Largest time step of the prediction [s]; with feedback the control changes at each step of the plant."""
        fixed = fixed_step(self._problem.running[0], self._dt)
        if fixed is None:
            return self._dt_plant if self._feedback else self._dt
        self._check_delay(fixed, "the controller's model's")
        return fixed

    def _check_delay(self, fixed: float, whose: str) -> None:
        if abs(self._delay / fixed - round(self._delay / fixed)) > 1e-6:
            raise InvalidArgumentError(
                f"delay: expected a multiple of {whose} step {fixed:g} s, got {self._delay:g} s; round the delay"
            )

    def run(self, duration: float, progress: bool) -> ClosedLoop:
        """Runs the loop for a duration [s] and returns the log."""
        if duration / self._dt > MOST:
            raise InvalidArgumentError(
                f"duration: expected at most {MOST} control periods of {self._dt:g} s, got {duration:g} s"
            )
        if self._delay >= duration:
            raise InvalidArgumentError(
                f"delay: expected a time in seconds, less than the duration of {duration:g} s, got {self._delay:g} s; "
                "only the first control would ever act"
            )
        periods = max(1, math.ceil(duration / self._dt - 1e-6))
        pushes = self._disturbance.pushes
        recorder = Recorder(self._controller, self._dt, periods, self._facts, pushes, self._sensing.error_words)
        self._recorder, self._periods = recorder, periods
        first = self._delay if self._predicts else 0.0
        self._controller.check_references(0.0, first + (periods - 1) * self._dt)
        begun = time.perf_counter()
        self._controller.reset(self._x0, t=first)
        recorder.start(self._x0, time.perf_counter() - begun)
        self._sensing.begin(self._x0)
        x, stopped = self._x0, ""
        try:
            with progress_bar("simulating", periods, wanted=progress) as show:
                for k in range(1, periods + 1):
                    with self._reporting(k - 1):
                        x = self._period(k - 1, x)
                    left = time_left(k, periods, time.perf_counter() - begun)
                    show(k, f"{k * self._dt:.2f} of {periods * self._dt:g} s, {left}")
                    if self._ended(k, x):
                        stopped = f"the condition `until` held at {recorder.time:.4g} s"
                        break
        except KeyboardInterrupt:
            stopped = f"interrupted at {recorder.time:.4g} s"
        return recorder.log(stopped)

    def _ended(self, k: int, x: Reals) -> bool:
        """Whether the condition `until` holds at the end of period k - 1."""
        if self._until is None:
            return False
        with self._reporting(k):
            try:
                return bool(self._until(k * self._dt, x.copy()))
            except Exception as error:
                raise function_raised("until", error) from error

    @contextlib.contextmanager
    def _reporting(self, k: int) -> Iterator[None]:
        """Converts an error to a ClosedLoopError with the time and the log so far."""
        self._now = k * self._dt
        try:
            yield
        except TrajoptError as error:
            raise ClosedLoopError(f"at {self._now:.6g} s: {error}", log=self._recorder.log(str(error))) from error

    def _period(self, k: int, x: Reals) -> Reals:
        """Runs one control period: measures, computes the control, advances the plant."""
        t, controller, recorder = k * self._dt, self._controller, self._recorder
        model, row = self._problem.running[0], self._row(t)
        recorder.knot_of(model)
        measured = self._sensing.measured(x)
        estimate = self._sensing.estimated(t, measured, recorder.last_control)
        seen = self._predicted(estimate, t, row) if self._predicts and k else estimate
        step = controller.feedback(seen, t + self._delay if self._predicts else t)
        recorder.take(x, (measured, estimate), step, model, row)
        if self._on_step is not None:
            self._on_step(step)
        self._bounds = recorder.limits()
        self._plant.follow(model, row)
        self._coming.append((t + self._delay if k else t, step))
        x = self._moved(k, x)
        recorder.finish_period(x)
        if k + 1 < self._periods:  # a reference may end with the last period
            controller.prepare()
        return x

    def _row(self, t: float) -> Reals:
        """Parameters of the first knot at a time [s]; with delay compensation the window itself begins later."""
        window, values = self._controller._window, self._problem.table.values
        if not self._predicts:
            return window.first_row(t)
        ahead = values.copy()
        window.move(t)
        row = window.first_row(t)
        values[:] = ahead
        return row

    def _moved(self, k: int, x: Reals) -> Reals:
        """State at the end of control period k, from its state at the begin."""
        begin, end = k * self._dt, (k + 1) * self._dt
        for a, b in self._parts(begin, end):
            count = max(1, math.ceil((b - a) / self._dt_plant - 1e-6))
            h = (b - a) / count
            for i in range(count):
                x = self._stepped(x, a + i * h, h)
        return x

    def _parts(self, begin: float, end: float) -> list[tuple[float, float]]:
        """Splits a time interval where another control starts to act."""
        same = _SAME * self._dt
        cuts = [t for t, _ in self._coming if begin + same < t < end - same]
        edges = [begin, *cuts, end]
        return list(pairwise(edges))

    def _in_force(self, t: float) -> MPCStep:
        """Step whose control acts at a time [s]; earlier steps are dropped."""
        coming, same = self._coming, _SAME * self._dt
        while len(coming) > 1 and coming[1][0] <= t + same:
            coming.popleft()
        return coming[0][1]

    def _stepped(self, x: Reals, t: float, h: float) -> Reals:
        """State after one step of the plant."""
        self._now, disturbance, plant = t, self._disturbance, self._plant
        if disturbance.pushes:
            x = disturbance.moved(x, t, h)
        u = self._control(t, x)
        torque = disturbance.torque(x, t, h) if disturbance.pushes else None
        if torque is not None and not plant.takes_torques:
            x, torque = disturbance.accelerated(x, torque, h, plant.mobility(x)), None
        self._recorder.applied(u, h)
        return check_next(plant.step(x, u, h, torque), self._state)

    def _control(self, t: float, x: Reals) -> Reals:
        """Control that the plant receives at a time [s], shape (nu,)."""
        return self._policy(self._in_force(t), t, self._noise.measured(x) if self._feedback else x)

    def _policy(self, step: MPCStep, t: float, x: Reals) -> Reals:
        """Control (nu,) of a step at a time [s], for a measured state."""
        if not self._feedback:
            return step.u
        part = np.clip((t - step.times[0]) / (step.times[1] - step.times[0]), 0.0, 1.0)
        way = self._state.difference_unchecked(step.xs[0], step.xs[1])
        planned = self._state.integrate_unchecked(step.xs[0], part * way)
        u = step.us[0] - step.K @ self._state.difference_unchecked(planned, x)
        return np.clip(u, *self._bounds)

    def _predicted(self, x: Reals, t: float, row: Reals) -> Reals:
        """State after the delay, predicted by the controller's model."""
        knot = self._recorder.knot_of(self._problem.running[0])
        knot.parameters[:] = row[: len(knot.parameters)]
        edges = [t, *(s for s, _ in self._coming if t < s < t + self._delay), t + self._delay]
        for a, b in pairwise(edges):
            count = max(1, math.ceil((b - a) / self._model_step - 1e-6))
            knot.set_time_step((b - a) / count)
            for i in range(count):
                at = a + i * (b - a) / count
                step = [each for since, each in self._coming if since <= at + _SAME * self._dt][-1]
                x = knot.next_state(x, self._policy(step, at, x)[: knot.model.nu])
        return check_next(x, self._state)


def _generator(seed: Any) -> np.random.Generator:
    try:
        return random_generator(seed)
    except InvalidArgumentError:
        raise InvalidArgumentError(
            f"seed: expected an integer >= 0 or a numpy.random.Generator, got {shown(seed)}"
        ) from None


def _words(argument: Any, plant: PlantAbstract) -> str:
    """Description of a plant for the log."""
    if argument is None:
        return OWN_MODEL
    name = getattr(argument, "__name__", type(argument).__name__)
    return f"function {name}" if type(plant).__name__ == "FunctionPlant" else name


def _change_words(model_error: Mapping[str, Any], problem: ShootingProblem, *, own: bool) -> str:
    """Text about changed parameters of a plant's model; `own` says that the others are the controller's."""
    known, words = problem.table.at(0) if own else {}, list[str]()
    for name, value in list(model_error.items())[:_CHANGES]:
        if isinstance(value, Factor):
            words.append(f"{name} times {value.value:g}")
        elif np.size(value) == 1:
            before = f" instead of {np.ravel(known[name])[0]:g}" if name in known else ""
            words.append(f"{name} {np.ravel(value)[0]:g}{before}")
        else:
            words.append(f"other {name}")
    more = ", ..." if len(model_error) > _CHANGES else ""
    return f" with {', '.join(words)}{more}" if words else ""


def _solver_words(controller: MPCController) -> str:
    """Description of a controller for the log."""
    T, offsets = controller.problem.T, controller.offsets
    return f"{controller.options.mode}, {T} knots over {offsets[-1]:g} s"
