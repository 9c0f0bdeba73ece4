"""Identification: least squares over measured states and controls."""

from __future__ import annotations

import copy
import logging
from collections.abc import Mapping, Sequence
from typing import Any

import casadi as ca
import numpy as np
import numpy.typing as npt

from trajopt.actions.differential.free_fwd_dynamics import DifferentialActionModelFreeFwdDynamics
from trajopt.actions.expression import ActionModelExpression
from trajopt.actions.integrated.rk4 import IntegratedActionModelRK4
from trajopt.actuation import ActuationModelFull
from trajopt.checks import as_numbers, check_instance, check_items, check_mapping, check_texts
from trajopt.costs import CostStack
from trajopt.dynamics.friction import SmoothFriction
from trajopt.errors import InvalidArgumentError, ModelEvaluationError, UnsupportedOperationError, unknown_name
from trajopt.identification.combinations import null_space
from trajopt.identification.coordinates import Coordinates
from trajopt.identification.log import Log
from trajopt.identification.lost import lost
from trajopt.identification.result import Identification
from trajopt.identification.smoother import Smoother
from trajopt.identification.trajectory import LogProblem
from trajopt.robots import Robot
from trajopt.robots.parameters import PREFIX, with_numbers
from trajopt.states import StateMultibody
from trajopt.types import Reals

_LOG = logging.getLogger(__name__)
MAX_ITERATIONS = 30
LONG = 1.0  # a longer time step of a robot is probably a mistake in the unit [s]
STEP = 1e-2  # largest last change, in standard deviations [-]
RANK = 1e-13  # relative eigenvalue of the scaled information of directions that a log does not tell [-]
UNMEASURED = 1e3  # standard deviation of states that are not measured [their unit]
SETTLED = 0.5  # share of χ² that a step of the parameters alone has to take off to be worth a pass [-]
Equations = tuple[list[Smoother], Reals, Reals, Reals]


def identify(
    model: Robot | ActionModelExpression,
    log: Log | Sequence[Log],
    unknown: Sequence[str],
    *,
    noise: Mapping[str, npt.ArrayLike],
    friction: SmoothFriction | str | None = None,
) -> Identification:
    """Finds parameters of a model from measured states and controls, with their uncertainty.

    The states x_t, the controls u_t and the parameters have the least Σ |(x̂_t ⊖ x_t) / σ_x|² + Σ |(û_t - u_t) / σ_u|²
    among those with x_{t+1} = f(x_t, u_t), where x̂ and û are measured. This is the estimate of maximum likelihood for
    independent normal noise of states and of controls; noise of the controls is also that of the process.

    Args:
        model: A robot without contacts, with a motor at each joint; torques are constant between measurements, and
            steps are those of RK4. Or an action model; its time steps become those of the log.
        log: Measurements, or several of them with the same parameters.
        unknown: Names of the parameters: of a robot as in `Robot.with_parameters`, such as "forearm.mass"; of an action
            model as in a problem, such as "robot.forearm.mass" or "length".
        noise: Standard deviations: "x" of states, or "q" and "v" of configurations and velocities, and "u" of controls;
            numbers, or one for each coordinate of the tangent space. inf for a state that is not measured: its column
            of the log has no influence. A velocity then starts at differences of the positions and may be NaN in the
            log; another state starts at the values of the log.
        friction: Friction of the joints of a robot, as in DifferentialActionModelFreeFwdDynamics; "smooth" by default
            if a damping or friction is unknown, and else none. Steps longer than 2.7 inertia · width / friction are
            unstable at low speed: choose a greater width.

    Returns:
        Estimates, covariance, and the combinations of parameters that the log tells.

    Raises:
        InvalidArgumentError: An argument has the wrong type or size, or nothing depends on an unknown.
        UnknownNameError: A parameter does not exist.
        ModelEvaluationError: The model has no finite values at the measurements, or cannot follow them, as in other
            units.
    """
    names = list(dict.fromkeys(check_texts("unknown", unknown)))
    if not names:
        raise InvalidArgumentError("unknown: expected names of parameters, got none; robot.with_parameters lists them")
    action, names = _action(model, names, friction)
    single = isinstance(log, Log)
    logs = [check_instance("log", each, Log) for each in ([log] if single else check_items("log", log, "logs"))]
    if not logs:
        raise InvalidArgumentError("log: expected at least one Log, got none")
    _doubt_times(action, logs)
    sx, su = _noise(action, noise)
    continuous = action.model_parts.differential
    mechanical = "v" in noise or (continuous is not None and continuous.second_order)
    problems = [LogProblem(action, each, names, sx >= UNMEASURED, mechanical=mechanical) for each in logs]
    unmoved = [copy.copy(problem) for problem in problems]
    coordinates = Coordinates(problems[0].unknowns)
    eta = first = coordinates.of(problems[0].theta)
    R, Q = np.minimum(sx, UNMEASURED) ** 2, su**2
    eta, settled, passes = _settled(problems, coordinates, eta, R, Q)
    for iteration in range(passes, MAX_ITERATIONS + 1):
        equations = settled if iteration == passes else _normal_equations(problems, coordinates, eta, R, Q)
        if equations is None:
            raise ModelEvaluationError(lost(unmoved, iteration))
        smoothers, information, null, step = equations
        factor = coordinates.largest_step(eta, step)
        size = float(np.sqrt(max(float(step @ information @ step), 0.0)))
        for problem, smoother in zip(problems, smoothers):
            problem.move(*smoother.changes(factor * step))
        eta = eta + factor * step
        if not np.all(np.isfinite(eta)):
            raise ModelEvaluationError(lost(unmoved, iteration))
        diverged = coordinates.has_diverged(eta, first)
        if diverged or (size < STEP and factor == 1.0):
            break
    chi2 = float(sum(s.chi2 - s.gradient @ step for s in smoothers))
    measured = np.count_nonzero(sx < UNMEASURED)
    count = sum((len(each) * measured - len(sx)) for each in logs)
    theta, before = coordinates.theta(eta), coordinates.theta(first)
    values, guesses = problems[0].shaped(theta), problems[0].shaped(before)
    robot = _robot(action, values)
    if isinstance(model, Robot):  # names as given
        values, guesses = ({name.removeprefix(PREFIX): v for name, v in each.items()} for each in (values, guesses))
    return Identification(
        robot=robot,
        logs=tuple(logs),
        values=values,
        guesses=guesses,
        coordinates=coordinates,
        estimate=eta,
        information=information,
        null_space=null,
        chi2=chi2,
        dof=count - (len(eta) - null.shape[1]),
        iterations=iteration,
        converged=size < STEP and factor == 1.0 and not diverged,
        states=tuple(p.xs for p in problems),
        controls=tuple(p.us for p in problems),
        controls_before=tuple(p.controls_for(before) for p in problems),
        of_robot=isinstance(action.state, StateMultibody),
        **_described(model, action, sx, su),
    )


def _action(model: Any, names: list[str], friction: Any) -> tuple[ActionModelExpression, list[str]]:
    """The action model, and the names of its unknowns."""
    if isinstance(model, ActionModelExpression):
        known = model.parameters()
        for name in names:
            if name not in known:
                raise unknown_name("unknown: parameter", name, known)
            if name == "dt" or not _moves(model, name):
                why = "follows from the times of the log" if name == "dt" else "the dynamics do not read"
                raise InvalidArgumentError(
                    f"unknown: expected parameters of the dynamics, got {name!r}, which {why}; leave it out"
                )
        if friction is not None:
            raise InvalidArgumentError("friction: expected None for an action model, which has its own, got one")
        return model, names
    robot = check_instance("model", model, Robot, "or pass an action model that is an expression").with_parameters(
        names
    )
    state = StateMultibody(robot)
    if robot.floating_base:
        raise InvalidArgumentError(
            f"model: expected a robot on a fixed base, got {robot.name!r}; pass an action model with its motors and "
            "contacts"
        )
    if friction is None and any(p.quantity in ("damping", "friction") for p in robot.parameters.values()):
        friction = "smooth"
    motors, costs = ActuationModelFull(state), CostStack(state)
    dynamics = DifferentialActionModelFreeFwdDynamics(state, motors, costs, friction=friction)
    return IntegratedActionModelRK4(dynamics, dt=1e-3), [PREFIX + name for name in names]


def _moves(model: ActionModelExpression, name: str) -> bool:
    """Whether the next state depends on a parameter; True where it is no expression, as of an implicit step."""
    try:
        following = model.knot_expressions(terminal=False)[1]["xnext"]
    except UnsupportedOperationError:
        return True
    return bool(ca.depends_on(following, model.layout.columns[name]))


def _doubt_times(action: ActionModelExpression, logs: Sequence[Log]) -> None:
    """Warns of steps of robots that are as long as if their times were in milliseconds."""
    step = max(float(np.median(np.diff(each.times))) for each in logs)
    if step > LONG and isinstance(action.state, StateMultibody):
        _LOG.warning(
            "log: time steps of %g s are long for a robot; if times are in milliseconds, pass times / 1000 [s]", step
        )


def _control_units(model: Any, action: ActionModelExpression) -> tuple[str, ...]:
    """Unit of each control; those of torques and forces if each joint has a motor."""
    if not isinstance(model, Robot):
        return tuple(action.control_units)
    return tuple("N" if unit == "m" else "N m" for unit in action.state.tangent_units[: action.nu])


def _robot(action: ActionModelExpression, values: Mapping[str, Reals]) -> Robot | None:
    """The robot with the estimates; None without robot, or if a mass or friction is out of range."""
    if not isinstance(action.state, StateMultibody):
        return None
    robot, known = action.state.robot, action.state.robot.parameters
    own = {name.removeprefix(PREFIX): value for name, value in values.items() if name.startswith(PREFIX)}
    try:
        checked = {name: known[name].parameter.check(name, value) for name, value in own.items()}
    except InvalidArgumentError:
        return None
    model = with_numbers(robot.model, known, checked)
    return Robot(
        model,
        name=robot.name,
        shapes=robot.shapes,
        distances=robot.distances,
        source=robot.source,
        package_dirs=robot.package_dirs,
    )


def _noise(action: ActionModelExpression, noise: Mapping[str, npt.ArrayLike]) -> tuple[Reals, Reals]:
    """Standard deviations of states (ndx,) > 0 and of controls (nu,) >= 0."""
    given = dict(check_mapping("noise", noise, 'write {"q": 1e-4, "v": 1e-3, "u": 0.1}'))
    ndx, half = action.state.ndx, action.state.ndx // 2
    wanted = ("x", "u") if "x" in given or not action.state.has_velocities else ("q", "v", "u")
    for name in given:
        if name not in wanted:
            raise unknown_name("noise of", name, wanted)
    missing = [name for name in wanted if name not in given]
    if missing:
        raise InvalidArgumentError(
            f"noise: expected standard deviations of {', '.join(wanted)}, got none of {missing[0]}"
        )
    sizes = {"x": ndx, "q": half, "v": half, "u": action.nu}
    parts = {name: _deviations(f"noise[{name!r}]", given[name], sizes[name], zero=name == "u") for name in wanted}
    return np.concatenate([parts[name] for name in wanted[:-1]]), parts["u"]


def _described(model: Any, action: ActionModelExpression, sx: Reals, su: Reals) -> dict[str, Any]:
    """Names, units and standard deviations of states and controls by attribute of the result."""
    state, known = action.state, dict(zip(action.state.tangent_names, sx))
    return {
        "state_names": tuple(state.coordinate_names),
        "state_units": tuple(state.coordinate_units),
        "state_noise": np.array([known.get(name, np.nan) for name in state.coordinate_names]),
        "control_names": tuple(name.removeprefix("u:") for name in action.control_names),
        "control_units": _control_units(model, action),
        "control_noise": su,
    }


def _deviations(argument: str, value: npt.ArrayLike, size: int, *, zero: bool) -> Reals:
    numbers = as_numbers(argument, value)
    if numbers.shape not in ((), (size,)):
        raise InvalidArgumentError(f"{argument}: expected a number or shape ({size},), got shape {numbers.shape}")
    if not np.all((numbers > 0.0) | ((numbers == 0.0) & zero)) or (zero and np.any(numbers == np.inf)):
        raise InvalidArgumentError(
            f"{argument}: expected standard deviations {'>= 0' if zero else '> 0'}, got {numbers.min()}"
        )
    return np.array(np.broadcast_to(numbers, (size,)))


def _settled(
    problems: Sequence[LogProblem], coordinates: Coordinates, eta: Reals, R: Reals, Q: Reals
) -> tuple[Reals, Equations | None, int]:
    """Parameters with about the least χ² around the measurements, the equations there, and the number of passes.

    Around states and controls that do not move, χ² is a function of the parameters alone, so that a step which raises
    it is known, and shortened.
    """
    best, least, trial, part, passes = None, np.inf, eta, 1.0, 0
    while passes < MAX_ITERATIONS // 2:
        passes += 1
        equations = _normal_equations(problems, coordinates, trial, R, Q)
        chi2 = np.inf if equations is None else sum(s.chi2 for s in equations[0])
        if chi2 < least:
            best, least, eta, part = equations, chi2, trial, min(1.0, 2.0 * part)
        else:
            part /= 4.0
        if best is None or sum(s.gradient @ best[3] for s in best[0]) < SETTLED * least:
            break
        trial = eta + part * coordinates.largest_step(eta, best[3]) * best[3]
    return eta, best, passes


def _normal_equations(
    problems: Sequence[LogProblem], coordinates: Coordinates, eta: Reals, R: Reals, Q: Reals
) -> Equations | None:
    """Smoothers of the logs, information (k, k), directions that the logs do not tell (k, m), and the step of η.

    None where numbers are beyond those of doubles.
    """
    slope, scales = coordinates.slope(eta), coordinates.scales(eta)
    try:
        smoothers = [Smoother(p.linear(coordinates.theta(eta), slope), R, Q) for p in problems]
        information = np.asarray(np.sum([s.information for s in smoothers], axis=0))
        gradient = np.asarray(np.sum([s.gradient for s in smoothers], axis=0))
        null = null_space(information, scales, RANK)
        return smoothers, information, null * scales[:, None], _step(information, gradient, scales, null)
    except np.linalg.LinAlgError:
        return None


def _step(information: Reals, gradient: Reals, scales: Reals, null: Reals) -> Reals:
    """Gauss-Newton step of η without a component in the directions that the log does not tell."""
    S, b = information * np.outer(scales, scales), scales * gradient
    weight = float(np.trace(S)) / len(S) or 1.0
    solved = np.linalg.solve(S + weight * null @ null.T, b - null @ (null.T @ b))
    return np.asarray(scales * (solved - null @ (null.T @ solved)))
