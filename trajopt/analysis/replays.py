"""Replay of a solution with feedback and a smaller time step, in the simulator or in any plant."""

from __future__ import annotations

import dataclasses
import itertools
from collections.abc import Callable, Sequence
from typing import TYPE_CHECKING, Any, overload

import numpy as np

from trajopt.analysis.basics import check_solution, problem_of
from trajopt.analysis.feedback import Feedback, usual_kind
from trajopt.analysis.feet import Foot
from trajopt.analysis.legs import legged_motion
from trajopt.analysis.loads import left_out_words, robots_of_knots
from trajopt.analysis.plant_forces import with_forces_of
from trajopt.analysis.references import knot_values
from trajopt.analysis.step_errors import shared_scales
from trajopt.analysis.within_steps import set_part_of_controls
from trajopt.checks import check_count, check_flag, check_known
from trajopt.errors import InvalidArgumentError, ModelEvaluationError
from trajopt.objects.lazy import above
from trajopt.plants import MuJoCoPlant
from trajopt.plants.argument import plant_of
from trajopt.plants.base import PlantAbstract, check_next
from trajopt.simulator import MDPContact, Plane
from trajopt.simulator.end_spheres import corners_of_sole
from trajopt.types import Reals

if TYPE_CHECKING:
    from trajopt.simulator import ActionModelSimulator, Rollout
    from trajopt.solution import Solution

_FRICTION = 0.7  # of feet without a cone [-]
_EVEN = 0.02  # largest difference between the heights of feet that stand on one floor [m]
FIRST = np.zeros(1, dtype=np.int64)
"""Number of the only knot of an array of controls."""


@overload
def replay(
    solution: Solution,
    substeps: int = ...,
    *,
    plant: None = None,
    feedback: str | Feedback | None = ...,
    x0: Reals | None = ...,
    clip: bool = ...,
) -> Rollout | Solution: ...


@overload
def replay(
    solution: Solution,
    substeps: int = ...,
    *,
    plant: Any,
    feedback: str | Feedback | None = ...,
    x0: Reals | None = ...,
    clip: bool = ...,
) -> Solution: ...


def replay(
    solution: Solution,
    substeps: int = 10,
    *,
    plant: Any = None,
    feedback: str | Feedback | None = None,
    x0: Reals | None = None,
    clip: bool = False,
) -> Rollout | Solution:
    """Moves a plant along a solution, with feedback u(t, x) around it.

    Without a plant, it is the simulator of the problem's ActionModelSimulator, with the parameters of the solve. Its
    barrier weight is per time, so that the barriers of smaller steps shrink with the step. A problem with other models
    moves by theirs, in shorter steps of the same integrator; those without a time step take their whole step.

    Args:
        solution: The solution.
        substeps: Number of steps per knot, >= 1 [-]; a plant with a usual step takes at least as small steps.
        plant: "mujoco" for the robot in MuJoCo, with the contacts and the terrain of the solution, where feet stand if
            their forces are within their cones, see MuJoCoPlant; a MuJoCoPlant, a Simulator, another action model, or a
            function (x, u, dt) -> x_next.
        feedback: Kind of feedback: "gains" of the solver, "springs", "gains+springs" or "open"; or a Feedback. By
            default that of a gait in a plant is "gains+springs" if its motors have limits, on terrain "springs"; others
            in a plant have "gains". Without a plant it is "gains" or "open", whichever ends nearer to the plan: where
            contacts begin, gains of the plan may be those without contact, and drive the motion away.
        x0: Initial state (nx,); by default the first state of the solution.
        clip: Whether to clip controls to the limits of models, motors, and hard constraints on single controls.

    Returns:
        With a plant, or by models other than the simulator's, the motion at the knots as a Solution, which pictures,
        views and reports take; it has gaps, as the plant or its steps are others. Its contact forces are those of a
        simulator or of MuJoCo, the mean between two knots; a function does not tell its forces, so its motion has
        none. In the problem's simulator a Rollout.

    Raises:
        InvalidArgumentError: The problem has other models, or the solver has no gains.
        ModelEvaluationError: The plant's state diverged.
    """
    count, clip = check_count("substeps", substeps, least=1), check_flag("clip", clip)
    problem_of(solution)
    if plant is None:
        model = _simulated(solution)

        def moved(kind: str | Feedback) -> Rollout | Solution:
            policy = _policy(solution, kind, clip)
            if model is None:
                return _in_plant(solution, None, policy, count, x0)
            return _in_simulator(solution, model, policy, count, x0)

        return _nearest(solution, moved) if feedback is None else moved(feedback)
    feedback = usual_kind(solution) if feedback is None else feedback
    if isinstance(plant, str):
        plant = {"mujoco": in_mujoco}[check_known("plant", plant, ["mujoco"])](solution)
    return _in_plant(solution, plant, _policy(solution, feedback, clip), count, x0)


def in_mujoco(solution: Solution) -> MuJoCoPlant:
    """Returns the robot of a solution in MuJoCo; its feet, or the contacts of its simulator, touch the ground.

    Feet are points at their frames, or the corners of their soles, on a floor at the height of the lowest one. On the
    terrain of a schedule they are balls that touch it at the start. Soles have the size of the robot's collision
    shapes; without any, that of the cones in costs and constraints. Friction is that with which contacts were
    constructed, for feet that of their cones in costs and constraints, or 0.7.

    Raises:
        InvalidArgumentError: The solution has no robot, or no terrain below footholds of different heights.
        UnsupportedOperationError: The terrain has hills, which MuJoCo does not have.
    """
    robot, problem = solution.robot, solution.problem
    if robot is None or problem is None:
        raise InvalidArgumentError("solution: expected one of a robot (StateMultibody), with its problem")
    model = problem.running[0]
    contacts = getattr(getattr(model, "simulator", None), "contacts", None)
    if contacts is None:
        contacts = _feet(solution) if solution.description.touches else ()
    return MuJoCoPlant(robot, contacts, actuation=model.model_parts.actuation)


def _feet(solution: Solution) -> list[MDPContact]:
    feet, robot, schedule = legged_motion(solution).feet, solution.robot, problem_of(solution).schedule
    assert robot is not None
    terrain = None if schedule is None else schedule.terrain
    q, contacts = solution.xs[0, : robot.nq], list[MDPContact]()
    floor = Plane((0.0, 0.0, 1.0, -_level(feet))) if terrain is None else terrain.surface
    for foot in feet:
        offsets = foot.outline[0] @ robot.placement(q, foot.frame)[:3, :3]
        if len(offsets) > 1 and robot.source is not None:
            sole = corners_of_sole(robot, robot.source, foot.frame)
            offsets = sole if len(sole) else offsets
        points = offsets @ robot.placement(q, foot.frame)[:3, :3].T + foot.positions[0]
        radii = np.zeros(len(points)) if terrain is None else np.maximum(terrain.distances(points), 0.0)
        mu = float(np.max(foot.mu, where=np.isfinite(foot.mu), initial=0.0)) or _FRICTION
        contacts += [
            MDPContact(foot.frame, offset, radius, floor, friction=mu, name=f"{foot.frame}_{i}")
            for i, (offset, radius) in enumerate(zip(offsets, radii.tolist()))
        ]
    return contacts


def _level(feet: Sequence[Foot]) -> float:
    """Height of the floor below the lowest foot at the start [m]."""
    heights = np.concatenate([foot.positions[:-1, 2][foot.stands] for foot in feet])
    if len(heights) and np.ptp(heights) > _EVEN:
        raise InvalidArgumentError(
            f"solution: expected feet that stand on one floor, got heights that differ by {np.ptp(heights):.3g} m, "
            "without terrain; put the gait on it, schedule.on(gaits.Terrain(...)), or pass plant=MuJoCoPlant(robot, "
            "contacts)"
        )
    return min(float(foot.positions[0, 2]) for foot in feet)


def _nearest(solution: Solution, moved: Callable[[str], Rollout | Solution]) -> Rollout | Solution:
    """The motion by gains or without feedback that ends nearer to the plan, relative to the ranges of coordinates."""
    state, xs = problem_of(solution).state, solution.xs
    scale = shared_scales(np.ptp(_path(solution), axis=0), state.tangent_units)

    def missed(motion: Rollout | Solution) -> float:
        return float(np.max(np.abs(state.difference_unchecked(xs[-1], motion.xs[-1])) / scale))

    motions: list[Rollout | Solution] = []
    failures: list[ModelEvaluationError] = []
    for kind in ("gains", "open"):
        try:
            motions.append(moved(kind))
        except ModelEvaluationError as error:  # the motion diverged
            failures.append(error)
    if not motions:
        raise failures[0]
    return min(motions, key=missed)


def _policy(solution: Solution, feedback: str | Feedback, clip: bool) -> Feedback:
    if isinstance(feedback, Feedback):
        return feedback
    return Feedback(solution, feedback, clip=clip)


def _in_simulator(
    solution: Solution, model: ActionModelSimulator, policy: Feedback, count: int, x0: Reals | None
) -> Rollout:
    values, simulator = knot_values(solution), model.make_simulator()
    for name in simulator.model.parameters():
        if name != "dt":
            simulator.set_parameter(name, values[name][0])
    dt = float(values["dt"][0])

    def torque(time: float, x: Reals) -> Reals:
        return model.actuation.joint_torques(policy(time, x))

    start = solution.xs[0] if x0 is None else x0
    return simulator.rollout(start, torque, count * len(solution.us), dt / count)


def _in_plant(solution: Solution, plant: Any, policy: Feedback, count: int, x0: Reals | None) -> Solution:
    """Motion of a plant, or of the problem's own models, at the knots."""
    problem, times, own = problem_of(solution), policy.times, plant is None
    moved = plant_of(plant, problem, None, float(np.diff(times).max()))
    x = problem.state.check(solution.xs[0] if x0 is None else x0, "x0")
    xs, us = [x], np.zeros_like(solution.us)
    forces, loads = ({each.name: np.zeros((len(us), n)) for each in moved.spheres or ()} for n in (3, 4))
    with solution.as_solved() as solved:
        rows = solved.table.values.copy()
    robots, carried = robots_of_knots(solution), True
    for t, (begin, duration) in enumerate(zip(times, np.diff(times))):
        if own or duration > 0.0:
            model = problem.running[t]
            moved.follow(model, rows[t])
            carried = own or not robots or (moved.carry(robots[t]) and carried)
            us[t, : model.nu] = policy(begin, x)[: model.nu]
            steps = _steps(moved, count, duration, divided=not own or "dt" in model.parameters())
            for i in range(steps):
                now = begin + duration * i / steps
                u = policy(now, x)[None]
                if own:
                    set_part_of_controls(u, FIRST, model, i / steps, 1.0 / steps)
                try:
                    x = check_next(moved.step(x, u[0], duration / steps, None), problem.state)
                except ModelEvaluationError as error:
                    raise _diverged(solution, t, now, error) from error
                for name, force in moved.sphere_forces().items():
                    forces[name][t] += force / steps
                for name, load in moved.sphere_loads().items():
                    loads[name][t] += load / steps
        xs.append(x)
    if robots:
        moved.begin()
    with solution.as_solved() as solved:
        moved_along: Solution = above("solution.solution.motion_solution")(solved, np.array(xs), us, solver="replay")
        notes = (_end_words(solution, x), *(() if carried else (left_out_words(solution),)))
        moved_along = dataclasses.replace(moved_along, measured={"notes": notes})
        return with_forces_of(moved, moved_along, forces, loads)


def _end_words(plan: Solution, x: Reals) -> str:
    """Text for the largest difference in each unit of the last state x (nx,) of a replay from that of the plan."""
    state, units = problem_of(plan).state, problem_of(plan).state.tangent_units
    missed = np.abs(state.difference_unchecked(plan.xs[-1], x))
    shares = missed / shared_scales(np.ptp(_path(plan), axis=0), units)
    words = list[str]()
    for unit in dict.fromkeys(units):
        worst = max((i for i, own in enumerate(units) if own == unit), key=lambda i: shares[i])
        distance = f"{missed[worst]:.2g} {unit}".removesuffix(" -")
        words.append(f"{distance}{'' if words else ' from the plan'} in {state.tangent_names[worst]}")
    return f"ends {', '.join(words)}"


def _path(solution: Solution) -> Reals:
    """Way of each coordinate from the first state on (T + 1, ndx), in the tangent space."""
    state, xs = problem_of(solution).state, solution.xs
    steps = np.array([state.difference_unchecked(*pair) for pair in itertools.pairwise(xs)])
    return np.concatenate([np.zeros((1, state.ndx)), np.cumsum(steps.reshape(-1, state.ndx), axis=0)])


def _steps(plant: PlantAbstract, count: int, duration: float, *, divided: bool) -> int:
    """Number of steps of a plant in a knot [-]; an impulse or a model without a time step takes one."""
    if not divided or duration == 0.0:
        return 1
    return max(count, int(np.ceil(duration / (plant.usual_step or duration) - 1e-6)))


def _diverged(solution: Solution, knot: int, time: float, error: ModelEvaluationError) -> ModelEvaluationError:
    """Error of a step that failed at a time [s]; it says so if a solver has not converged."""
    poor = "" if solution.status.name in ("CONVERGED", "UNSOLVED") else " of a solution that did not converge"
    return ModelEvaluationError(f"plant: the replay{poor} failed at knot {knot} ({time:.3g} s): {error}")


def _simulated(solution: Solution) -> ActionModelSimulator | None:
    """Returns the model of the simulator that all knots share; None if no knot has one."""
    from trajopt.simulator import ActionModelSimulator

    running = check_solution(solution).description.models[:-1]
    if not any(isinstance(model, ActionModelSimulator) for model in running):
        return None
    first = running[0]
    if not isinstance(first, ActionModelSimulator) or any(model is not first for model in running):
        raise InvalidArgumentError("solution: expected a problem with one model at all knots, such as [model] * T")
    return first
