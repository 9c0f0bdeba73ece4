"""Monte Carlo rollouts of a solution under random noise, with samples in parallel lanes."""

from __future__ import annotations

import functools
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from functools import cached_property
from pathlib import Path
from typing import TYPE_CHECKING

import numpy as np
import numpy.typing as npt

from trajopt.actions.base import ActionModelAbstract
from trajopt.actions.expression import ActionModelExpression
from trajopt.actions.terminal import ActionModelTerminal
from trajopt.analysis.basics import check_solution
from trajopt.analysis.constraints import Flags
from trajopt.analysis.covariance import gains_of
from trajopt.analysis.feedback import bound_names, control_limits, limiting_rows
from trajopt.analysis.lanes import StateLanes
from trajopt.analysis.noise import factors_of, noise_covariances
from trajopt.checks import as_numbers, check_count, check_flag, check_mapping, is_integer
from trajopt.costs import CostStack
from trajopt.errors import InvalidArgumentError, shown
from trajopt.kernels import KernelCall, Rows, blocks_of, kernel, lane_count, rows
from trajopt.kernels.parallel import ParallelCalls
from trajopt.objects.lazy import above
from trajopt.shooting import ShootingProblem, programs
from trajopt.shooting.arrays import padded
from trajopt.shooting.evaluator import Evaluator
from trajopt.states.base import StateAbstract
from trajopt.types import Reals

if TYPE_CHECKING:
    from matplotlib.figure import Figure

    from trajopt.solution import Solution

CHUNK = 1024  # samples in parallel; limits the memory for their derivatives


@dataclass(frozen=True, kw_only=True)
class MonteCarlo:
    """Sampled rollouts of a motion under noise.

    Attributes:
        solution: The solution.
        xs: States (n, T + 1, nx).
        us: Controls (n, T, nu).
        parameters: Values of the parameters that differ between samples (n, *shape), by name.
        diverged: Whether a state of each sample is NaN or inf (n,).
    """

    solution: Solution
    xs: Reals
    us: Reals
    parameters: Mapping[str, Reals] = field(default_factory=dict)

    @cached_property
    def diverged(self) -> Flags:
        """Whether a state of each sample is NaN or inf (n,), for example with a mass of 0."""
        return np.asarray(~np.isfinite(self.xs).all(axis=(1, 2)))

    def deviations(self, knot: int = -1) -> Reals:
        """Returns the deviations x ⊖ xs of all samples at a knot, shape (n, ndx).

        Args:
            knot: Number of the knot; negative numbers count from the end.

        Raises:
            InvalidArgumentError: There is no such knot.
        """
        knots = self.xs.shape[1]
        if not is_integer(knot) or not -knots <= knot < knots:
            raise InvalidArgumentError(
                f"knot: expected a number from 0 to {knots - 1}, or from -{knots} to -1 from the end, got {shown(knot)}"
            )
        state = self.solution.problem.state  # type: ignore[union-attr]
        apart = StateLanes(state, "difference", min(CHUNK, len(self.xs)))
        parts = np.split(self.xs[:, knot], range(CHUNK, len(self.xs), CHUNK))
        return np.concatenate([apart(self.solution.xs[knot], part) for part in parts])

    def covariance(self, knot: int = -1) -> Reals:
        """Returns the sample covariance of x ⊖ xs at a knot, shape (ndx, ndx), about the mean of the samples.

        Raises:
            InvalidArgumentError: There is only one sample, or a sample diverged.
        """
        if self.diverged.any():
            raise InvalidArgumentError(
                f"samples: expected finite states for a covariance, but {self._lost()}; choose values and noise for "
                "which all motions stay finite"
            )
        if len(self.xs) < 2:
            raise InvalidArgumentError(
                f"n: expected at least 2 samples for a covariance, got {len(self.xs)}; pass a larger n to monte_carlo"
            )
        deviations = self.deviations(knot)
        with np.errstate(over="ignore"):
            return np.cov(deviations, rowvar=False).reshape(deviations.shape[1], deviations.shape[1])

    def within(self, bounds: npt.ArrayLike, knot: int = -1) -> Flags:
        """Returns whether |x ⊖ xs| of each sample is within bounds at a knot, shape (n,); its mean is the success rate.

        Args:
            bounds: Largest deviation, > 0, of all tangent coordinates, or of each (ndx,); inf for one that may be any.
            knot: Number of the knot; negative numbers count from the end.

        Raises:
            InvalidArgumentError: A bound is not > 0, their number differs, or there is no such knot.
        """
        deviations, limits = np.abs(self.deviations(knot)), as_numbers("bounds", bounds)
        if limits.shape not in ((), deviations.shape[1:]) or not np.all(limits > 0.0):
            raise InvalidArgumentError(
                f"bounds: expected a number > 0, or one for each of {deviations.shape[1]} tangent coordinates, got "
                f"{shown(bounds)}"
            )
        return np.asarray(np.all(deviations <= limits, axis=1))

    def plot(
        self,
        path: str | Path | None = None,
        *,
        within: npt.ArrayLike | None = None,
        coordinate: str | None = None,
        knot: int = -1,
    ) -> Figure:
        """Draws success or deviations over the varied parameters, or a histogram; see `trajopt.plotting.plot_samples`.

        Args:
            path: File to write (.png, .pdf or .svg).
            within: Bounds of a success as in `within`; None for deviations alone.
            coordinate: Name of the tangent coordinate whose deviation is drawn; by default the first one.
            knot: Number of the knot; negative numbers count from the end.
        """
        picture = above("plotting.samples.plot_samples")
        return picture(self, path, within=within, coordinate=coordinate, knot=knot)

    def __repr__(self) -> str:
        lost = f", {self._lost()}" if self.diverged.any() else ""
        return f"MonteCarlo({len(self.xs)} samples, {self.xs.shape[1]} knots{lost})"

    def _lost(self) -> str:
        """Text about the samples that diverged, with the parameters of the first one."""
        first = int(np.argmax(self.diverged))
        numbers = ((name, np.ravel(values[first])) for name, values in self.parameters.items())
        values = "; ".join(f"{name} = {', '.join(f'{number:.4g}' for number in flat)}" for name, flat in numbers)
        given = f" with {values}" if values else ""
        return f"{int(self.diverged.sum())} of {len(self.xs)} diverged, the first is sample {first}{given}"


def monte_carlo(
    solution: Solution,
    noise: npt.ArrayLike,
    n: int = 100,
    seed: int = 0,
    *,
    initial: npt.ArrayLike = 0.0,
    feedback: bool = True,
    clip: bool = True,
    parameters: Mapping[str, npt.ArrayLike] | None = None,
    measurement: npt.ArrayLike = 0.0,
) -> MonteCarlo:
    """Samples rollouts of the motion under noise: x⁺ = f(x, us - K (x ⊕ e ⊖ xs)) ⊕ w, with normal w and e.

    Equal seeds give equal samples for any number of threads. A sample may diverge, for example with a mass of 0; the
    text of the result counts such samples and names the parameters of the first one.

    ```python
    masses = np.random.default_rng(0).uniform(0.85, 1.15, 1000)  # [kg]
    samples = solution.monte_carlo(0.0, 1000, parameters={"pole.mass": masses}, measurement=0.005)
    print(samples.within(0.1).mean())  # part of the samples that end within 0.1 of the plan
    ```

    Args:
        solution: The solution, with its problem.
        noise: Noise of the state after each knot, as in `state_covariance`.
        n: Number of samples, >= 1 [-].
        seed: Seed of the random numbers.
        initial: Noise of the first state.
        feedback: True for controls us - K (x ⊖ xs), False for us.
        clip: Whether to clip controls to the models' limits `lower` and `upper`, and to bounds of hard constraints on
            single controls.
        parameters: Values of run-time parameters in each sample, (n, *shape) by name, for all knots that have them: of
            the dynamics, or bounds that `clip` refers to, such as "motor.upper".
        measurement: Noise of the states that the feedback measures, at each knot, as in `state_covariance`.

    Raises:
        UnknownNameError: No knot has such a parameter.
        InvalidArgumentError: The noise has another shape or is not a covariance, a parameter has not one value for each
            sample or has no effect on them, or the solver has no gains.
    """
    count, clip = check_count("n", n, least=1), check_flag("clip", clip)
    rng = np.random.default_rng(check_count("seed", seed))
    with check_solution(solution).as_solved() as problem:
        T, ndx, K = problem.T, problem.state.ndx, gains_of(solution, feedback)
        L = factors_of(noise_covariances("noise", noise, T, ndx))
        L0 = factors_of(noise_covariances("initial", initial, 1, ndx))
        draws = rng.standard_normal((T + 1, count, ndx))
        for each, factor in zip(draws, np.concatenate([L0, L])):
            each[:] = each @ factor.T
        errors = _errors(rng, noise_covariances("measurement", measurement, T, ndx), count)
        xs, us = np.empty((T + 1, count, problem.state.nx)), np.empty((T, count, problem.nu))
        varied = VariedParameters(problem, parameters, count)
        bounds = varied.bounds(solution, clip=clip)
        limits = control_limits(solution) if clip else None
        batches = Batches(problem.state, min(CHUNK, count), varied=bool(parameters))
        for first in range(0, count, CHUNK):
            part = slice(first, min(first + CHUNK, count))
            rows_of = functools.partial(varied.at, part=part)
            e = None if errors is None else errors[:, part]
            if bounds:
                limits = control_limits(solution, {name: values[part] for name, values in bounds.items()})
            _roll_out(solution, problem, K, (draws[:, part], e), xs[:, part], us[:, part], limits, batches, rows_of)
        own = {name: as_numbers("parameters", values) for name, values in (parameters or {}).items()}
        return MonteCarlo(solution=solution, xs=np.swapaxes(xs, 0, 1), us=np.swapaxes(us, 0, 1), parameters=own)


def _errors(rng: np.random.Generator, Q: Reals, count: int) -> Reals | None:
    """Errors of measurements (T, n, ndx) with covariances Q (T, ndx, ndx); None if all are 0."""
    if not Q.any():
        return None
    errors = rng.standard_normal((len(Q), count, Q.shape[1]))
    return np.asarray(errors @ np.swapaxes(factors_of(Q), 1, 2))


def _roll_out(
    solution: Solution,
    problem: ShootingProblem,
    K: Reals,
    noise: tuple[Reals, Reals | None],
    xs: Reals,
    us: Reals,
    limits: tuple[Reals, Reals] | None,
    batches: Batches,
    rows_of: Callable[[int], Reals],
) -> None:
    """Fills states xs (T + 1, m, nx) and controls us (T, m, nu) of some samples.

    Their noise is that of states (T + 1, m, ndx) and of measurements (T, m, ndx), None without.
    """
    w, errors = noise
    xs[0] = x = batches.integrate(solution.xs[0], w[0])
    for t, model in enumerate(problem.running):
        measured = x if errors is None else batches.integrate(x, errors[t])
        with np.errstate(invalid="ignore", over="ignore"):  # of samples that have diverged
            u = solution.us[t] - batches.difference(solution.xs[t], measured) @ K[t].T
        us[t] = u = u if limits is None else np.clip(u, limits[0][..., t, :], limits[1][..., t, :])
        after = batches.of(model).step(rows_of(t), x, u)
        xs[t + 1] = x = batches.integrate(after, w[t + 1])


class VariedParameters:
    """Parameters of a problem at each knot, some of which differ between samples.

    Args:
        problem: The problem.
        parameters: Values (n, *shape) of parameters by name; None for none.
        count: Number n of samples [-].
    """

    def __init__(self, problem: ShootingProblem, parameters: Mapping[str, npt.ArrayLike] | None, count: int) -> None:
        self._values, self._places = problem.table.values, dict[int, list[tuple[slice, Reals]]]()
        self._dynamics = {name for kind in problem.kinds[:-1] for name in kind.model.dynamics_parameters}
        self._others = dict[str, Reals]()
        for name, values in check_mapping("parameters", parameters or {}, "such as {'pole.mass': masses}").items():
            places, given = problem.table.places(name), as_numbers(f"parameters[{name!r}]", values)
            if given.ndim == 0 or len(given) != count:
                raise InvalidArgumentError(
                    f"parameters[{name!r}]: expected a value for each of {count} samples, got shape {given.shape}"
                )
            flat = np.array([problem.table.check(name, value, f"parameters[{name!r}]") for value in given])
            if name not in self._dynamics:
                self._others[name] = flat
            for knots, columns in places:
                for t in knots:
                    self._places.setdefault(t, []).append((columns, flat))

    def bounds(self, solution: Solution, *, clip: bool) -> dict[str, Reals]:
        """Bounds of controls in each sample (n, rows), by name.

        Raises:
            InvalidArgumentError: A parameter is neither one of the dynamics nor such a bound.
        """
        known = [name for rows, _, _ in limiting_rows(solution) for name in bound_names(rows)] if clip else []
        for name in self._others:
            if name not in known:
                names = ", ".join(sorted({*self._dynamics, *known})) or "none"
                raise InvalidArgumentError(
                    "parameters: expected parameters of the dynamics, or bounds of hard constraints on single "
                    f"controls with clip=True, got {name!r}, which changes no sample; known: {names}. Other costs or "
                    "constraints give other plans: solve again, for instance in a sweep"
                )
        return self._others

    def at(self, t: int, part: slice) -> Reals:
        """Values at a knot, (size,), or (m, size) for these samples if any differ."""
        row = self._values[t]
        if not self._places:
            return row
        result = np.tile(row, (part.stop - part.start, 1))
        for columns, flat in self._places.get(t, ()):
            result[:, columns] = flat[part]
        return result


class Batches:
    """Evaluates models and state operations at many points.

    Args:
        state: The state.
        size: Largest number of points.
        varied: Whether parameters differ between points.
    """

    def __init__(self, state: StateAbstract, size: int, *, varied: bool = False) -> None:
        self.integrate, self.difference = (StateLanes(state, name, size) for name in ("integrate", "difference"))
        self._size, self._varied, self._models = size, varied, dict[ActionModelAbstract, StepBatch]()

    def of(self, model: ActionModelAbstract) -> StepBatch:
        """Returns the batch of a model."""
        if model not in self._models:
            self._models[model] = StepBatch(model, self._size, varied=self._varied)
        return self._models[model]


class StepBatch:
    """Evaluates x⁺ = f(x, u) of an action model at many points in parallel lanes.

    Args:
        model: The model.
        size: Largest number of points.
        varied: Whether parameters differ between points.
    """

    def __init__(self, model: ActionModelAbstract, size: int, *, varied: bool) -> None:
        self._model, self._size = model, size
        self._steps = CompiledSteps(model, size, varied=varied) if isinstance(model, ActionModelExpression) else None

    def step(self, parameters: Reals, xs: Reals, us: Reals) -> Reals:
        """Next states (m, nx) of states (m, nx) and controls (m, nu), with parameters (size,) or (m, size)."""
        us = us[:, : self._model.nu]
        xnext = None if self._steps is None else self._steps(parameters, xs, us)
        return self._expanded(parameters, xs, us) if xnext is None else xnext

    @cached_property
    def _evaluator(self) -> Evaluator:
        end = ActionModelTerminal(CostStack(self._model.state))
        return Evaluator(ShootingProblem(self._model.state.zero(), [self._model] * self._size, end))

    def _expanded(self, parameters: Reals, xs: Reals, us: Reals) -> Reals:
        """Next states of a black box, or the error of a step that fails."""
        e, m = self._evaluator, len(xs)
        size = e.running[0].layout.size
        e.parameters[:m, :size] = parameters[..., :size]
        e.parameters[m:-1, :size] = e.parameters[m - 1, :size]
        e.xs[:m], e.us[:m] = xs, us
        e.xs[m:], e.us[m:] = xs[-1], us[-1]
        e.expand(None)
        return e.xnext[:m].copy()


class CompiledSteps:
    """Evaluates x⁺ = f(x, u) of an expression at up to `size` points by the steps of rollouts, without derivatives."""

    def __init__(self, model: ActionModelExpression, size: int, *, varied: bool) -> None:
        state, nu = model.state, model.nu
        self._xs, self._us, self._xnext = padded((size, state.nx)), padded((size, nu)), padded((size, state.nx))
        self._costs, self._parameters = padded((size,)), padded((size if varied else 1, model.layout.size))
        self._xs[:] = state.zero()
        zeros = [Rows(padded((1, n)), 0) for n in (nu, nu * state.ndx, state.ndx)]  # of k, K and the gap
        inputs = [rows(self._xs), Rows(state.zero()[None], 0), rows(self._us), *zeros, Rows(np.ones((1, 1)), 0)]
        inputs.append(rows(self._parameters) if varied else Rows(self._parameters, 0))
        unused = [rows(padded((size, n))) for n in (nu, state.ndx, *([model.nc] if model.nc else []))]
        outputs = [rows(self._xnext), unused[0], rows(self._costs), *unused[1:]]
        blocks = blocks_of(range(size), lane_count())
        code = kernel(programs.step(model, model.nc), lane_count())
        self._run = ParallelCalls([KernelCall([code], np.zeros(len(blocks)), blocks, inputs + outputs)])

    def __call__(self, parameters: Reals, xs: Reals, us: Reals) -> Reals | None:
        """Next states (m, nx), or None if a step may have failed, whose cost is infinite."""
        m, width = len(xs), self._parameters.shape[1]
        count = min(m, len(self._parameters))
        self._parameters[:count] = parameters[..., :width]
        self._parameters[count:] = self._parameters[count - 1]
        self._xs[:m], self._us[:m] = xs, us
        self._xs[m:], self._us[m:] = xs[-1], us[-1]
        self._run()
        return self._xnext[:m].copy() if np.isfinite(self._costs).all() else None
