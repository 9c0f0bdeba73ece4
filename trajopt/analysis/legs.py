"""Legged motion of a solution as arrays: contact phases, positions and forces of each foot."""

from __future__ import annotations

import dataclasses
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, TypeGuard

import numpy as np

from trajopt.actions.differential.reduced import DifferentialActionModelReducedAbstract
from trajopt.analysis.basics import check_solution, moving_weight, robot_of, time_axis
from trajopt.analysis.feet import Foot, LeggedMotion, SupportPhase
from trajopt.analysis.references import com_references, frame_references, knot_values
from trajopt.analysis.spheres import simulated_contacts, sphere_motion
from trajopt.checks import check_array
from trajopt.contacts.stack import parameter_name
from trajopt.contacts.supports import Support
from trajopt.errors import InvalidArgumentError
from trajopt.robots.collisions.foot_balls import foot_ball
from trajopt.robots.frame_index import frame_index
from trajopt.types import Reals

if TYPE_CHECKING:
    from trajopt.robots import Robot
    from trajopt.shooting import ShootingProblem
    from trajopt.simulator import MDPContact
    from trajopt.solution import Solution


__all__ = [
    "Foot",
    "LeggedMotion",
    "SupportPhase",
    "floats_with_contacts",
    "has_contacts",
    "is_free_body",
    "is_legged",
    "legged_motion",
    "motion_of",
]

_UP = (0.0, 0.0, 1.0)


def is_legged(solution: Solution) -> bool:
    """Whether a solution is the motion of a robot with a floating base and contacts; a single free body has no legs."""
    return floats_with_contacts(solution) and not is_free_body(solution)


def floats_with_contacts(solution: Solution) -> bool:
    """Whether a solution is the motion of a robot, or of a single body, with a floating base and contacts."""
    return solution.robot is not None and solution.robot.floating_base and has_contacts(solution)


def is_free_body(solution: Solution) -> bool:
    """Whether a solution's floating base is a single body without limbs whose own points touch something.

    Other bodies may move around it, such as a finger that pushes a block. The single rigid body of a gait stands on
    feet that are no points of it.
    """
    robot = solution.robot
    return lacks_limbs(robot) and has_contacts(solution) and touches_itself(robot, legged_motion(solution))


def lacks_limbs(robot: Robot | None) -> TypeGuard[Robot]:
    """Whether no joint hangs on the floating base of a robot."""
    return robot is not None and robot.floating_base and len(robot.model.subtrees[1]) == 1


def touches_itself(robot: Robot, motion: LeggedMotion) -> bool:
    """Whether the floating base of a robot has no limbs, and contacts that are points of the robot."""
    return lacks_limbs(robot) and any(foot.frame in robot.frame_names for foot in motion.feet)


def has_contacts(solution: Solution) -> bool:
    """Whether a contact or an impulse of a solution acts between the robot and the world."""
    return solution.description.touches


def legged_motion(solution: Solution, sole: Reals | None = None) -> LeggedMotion:
    """Returns the legged motion of a solution.

    Args:
        solution: The solution.
        sole: Length and width (2,) [m] of soles whose size is in no cost term; None treats such soles as points.

    Raises:
        InvalidArgumentError: The solution has no problem, its state has no robot, or no contact touches the world.
    """
    description = check_solution(solution).description
    if description.legs is None:
        robot_of(solution)
    if not description.touches:
        raise InvalidArgumentError(
            "solution: expected a problem with contacts, got one without; pass a ContactStack to its dynamics"
        )
    if sole is None and description.legs is not None:
        return description.legs
    if solution.problem is None:
        raise InvalidArgumentError(
            "sole: expected None for a solution without its problem, got a size; use Solution.load(path, problem)"
        )
    return motion_of(solution, solution.problem, sole)


def touches_world(problem: ShootingProblem) -> bool:
    """Whether a contact or an impulse of a problem acts between the robot and the world."""
    return bool(simulated_contacts(problem.running) or _touches(problem))


def contact_frames(problem: ShootingProblem) -> tuple[str, ...]:
    """Returns the robot's frames of contacts and impulses with the world, in their order."""
    items = {frame: next(iter(each.values())) for frame, each in _touches(problem).items()}
    return tuple(frame for frame, item in items.items() if not isinstance(item, Support))


def motion_of(solution: Solution, problem: ShootingProblem, sole: Reals | None = None) -> LeggedMotion:
    """Returns the legged motion of a solution, computed from its problem; see `legged_motion`."""
    if simulated_contacts(problem.running):
        return _simulated(solution, simulated_contacts(problem.running))
    touches, values, forces = _touches(problem), knot_values(solution), solution.contact_forces()
    dynamics = problem.running[0].model_parts.differential
    if isinstance(dynamics, DifferentialActionModelReducedAbstract):
        weight, com, places = _placed(dynamics, solution.xs, values)
    else:
        weight, com, places = _moved(robot_of(solution), solution.xs, touches)
    size = None if sole is None else check_array("sole", sole, (2,), cure="length and width [m]")
    whole = problem.schedule is not None and not isinstance(dynamics, DifferentialActionModelReducedAbstract)
    shared = _Shared(solution, values, forces, size, solution.robot if whole else None)
    feet = [_foot(shared, f, items, places[i]) for i, (f, items) in enumerate(touches.items())]
    abscissa, label = time_axis(solution)
    timed = np.array([m.time_step() != 0.0 for m in problem.running])
    terrain = None if problem.schedule is None else problem.schedule.terrain
    around = np.concatenate([com, *(foot.positions for foot in feet)])
    relief = None if terrain is None else terrain.relief(around.min(axis=0), around.max(axis=0))
    return LeggedMotion(abscissa=abscissa, label=label, takes_time=timed, feet=tuple(feet), com=com, weight=weight,
                        com_references=com_references(solution, values), relief=relief)  # fmt: skip


def _moved(model: Any, xs: Reals, frames: Iterable[str]) -> tuple[float, Reals, Reals]:
    """Weight of a robot [N], its centre of mass (n, 3) [m], and placements of frames (frames, n, 3, 4)."""
    import pinocchio as pin

    data, ids = model.createData(), [frame_index(model, frame) for frame in frames]
    com, places = np.empty((len(xs), 3)), np.empty((len(ids), len(xs), 3, 4))
    for t, x in enumerate(xs):
        pin.framesForwardKinematics(model, data, x[: model.nq])
        com[t] = pin.centerOfMass(model, data, x[: model.nq])
        for i, frame in enumerate(ids):
            places[i, t] = data.oMf[frame].homogeneous[:3]
    return moving_weight(model), com, places


def _placed(
    dynamics: DifferentialActionModelReducedAbstract, xs: Reals, values: Mapping[str, Reals]
) -> tuple[float, Reals, Reals]:
    """The same for a reduced model, whose supports are parameters."""
    places = np.tile(np.eye(3, 4), (len(dynamics.supports.names), len(xs), 1, 1))
    for i, (name, size) in enumerate(dynamics.supports.sizes.items()):
        place = _held(values[parameter_name("contacts", name, "reference")])
        places[i, :, :, slice(3, 4) if size == 3 else slice(0, 4)] = place[:, :, None] if size == 3 else place
    com = np.array([dynamics.centre_of_mass(x) for x in xs])
    return float(np.linalg.norm(dynamics.weight)), com, places


def _simulated(solution: Solution, contacts: Sequence[MDPContact]) -> LeggedMotion:
    """Motion of a simulator's spheres; spheres that never touch anything are left out."""
    times, label = time_axis(solution)
    values = knot_values(solution)
    friction = {c.name: values[f"contacts.{c.name}.friction"][:-1] for c in contacts}
    motion = sphere_motion(
        robot_of(solution), contacts, solution.xs, times, label, forces=solution.contact_forces(), friction=friction
    )
    feet = tuple(foot for foot in motion.feet if foot.stands.any()) or motion.feet
    return dataclasses.replace(motion, feet=feet)


def _touches(problem: ShootingProblem) -> dict[str, dict[tuple[str, str], Any]]:
    """Contact and impulse models by frame, then by kind and name, without loops, which join two frames."""
    touches: dict[str, dict[tuple[str, str], Any]] = {}
    for action in {id(model): model for model in problem.running}.values():
        parts = action.model_parts
        stacks = (("contacts", parts.contacts), ("contacts", parts.supports), ("impulses", parts.impulses))
        for kind, stack in stacks:
            for name, item in [(name, stack[name]) for name in stack.names] if stack is not None else []:
                if len(item.frames) == 1:
                    touches.setdefault(item.frames[0], {}).setdefault((kind, name), item)
    return touches


@dataclass(frozen=True)
class _Shared:
    """Data shared by all feet; see `knot_values`, `Solution.contact_forces` and `legged_motion`.

    The robot is that of a gait, whose feet may have balls; None without a gait.
    """

    solution: Solution
    values: Mapping[str, Reals]
    forces: Mapping[str, Reals]
    sole: Reals | None
    robot: Robot | None


def _foot(shared: _Shared, frame: str, items: dict[tuple[str, str], Any], places: Reals) -> Foot:
    """Builds a foot from the contacts and impulses of its frame, and its placements (T + 1, 3, 4)."""
    rotations, T = places[:, :, :3], len(places) - 1
    wrenches = {kind: np.full((T, 6), np.nan) for kind in ("contacts", "impulses")}
    surface = _surface(shared, items, rotations)
    for (kind, name), item in items.items():
        active = shared.values[parameter_name(kind, name, "active")][:T] > 0
        wrench = _in_world(item, shared.forces[name], rotations[:T])
        wrenches[kind][active] = np.nan_to_num(wrenches[kind][active]) + wrench[active]
    contact, impulse = wrenches["contacts"], wrenches["impulses"]
    ball = (
        None if shared.robot is None or any(item.nc == 6 for item in items.values()) else foot_ball(shared.robot, frame)
    )
    return Foot(
        name=next(iter(items))[1],
        frame=frame,
        positions=places[:, :, 3],
        references=frame_references(shared.solution, frame, shared.values),
        stands=np.isfinite(contact[:, 0]),
        forces=contact[:, :3],
        torques=contact[:, 3:],
        impulses=impulse[:, :3],
        normals=surface.normals,
        mu=surface.mu,
        outline=surface.outline,
        lands=_lands(shared.solution, frame, contact, impulse),
        ball=None if ball is None else places[:, :, 3] + rotations @ np.asarray(ball.center),
    )


def _lands(solution: Solution, frame: str, contact: Reals, impulse: Reals) -> bool:
    """Whether a foot that swings at the last knot with a duration touches down at the end.

    The touch-down may be the impulse of the last knot, or the landing at the end of a schedule's last phase.
    """
    hits = np.flatnonzero(np.isfinite(impulse[:, 0]))
    stands = np.flatnonzero(np.isfinite(contact[:, 0]))
    last = len(contact) - 1
    if len(contact) == 0 or (len(stands) and stands[-1] == last):
        return False
    if len(hits) and hits[-1] > stands.max(initial=-1) and hits[-1] == last:
        return True
    schedule = solution.description.schedule
    return schedule is not None and any(swing.foot == frame for swing in schedule.phases[-1].swings)


@dataclass(frozen=True)
class _Surface:
    """Ground below a foot as cost terms describe it; see Foot."""

    normals: Reals
    mu: Reals
    outline: Reals


def _surface(shared: _Shared, items: dict[tuple[str, str], Any], rotations: Reals) -> _Surface:
    """Ground below a frame, from friction cones, wrench cones and pressures in costs and constraints."""
    T, values = len(rotations) - 1, shared.values
    normals, mu, outline = np.tile(_UP, (T, 1)), np.full(T, np.nan), np.zeros((T + 1, 1, 3))
    contacts = {name: item for (kind, name), item in items.items() if kind == "contacts"}
    has_cone = False
    if shared.sole is not None and any(item.nc == 6 for item in contacts.values()):
        outline = _corners(shared.sole, rotations)
    for term in shared.solution.description.items:
        item = contacts.get(getattr(term.residual, "contact", ""))
        if item is None or f"{term.name}.rotation" not in values:
            continue
        turn = values[f"{term.name}.rotation"]
        here = np.isfinite(turn[:T, 0, 0]) & _bounded(values, term.name, T)
        axes = _held(turn) if item.in_world else rotations @ _held(turn)
        rows = here if has_cone else np.full(T, True)  # touch-downs may have no cone, and are on the same ground
        normals[rows], has_cone = axes[:T, :, 2][rows], True
        if f"{term.name}.mu" in values:
            mu[here] = values[f"{term.name}.mu"][:T][here]
        if f"{term.name}.box" in values:
            box = np.nanmax(values[f"{term.name}.box"], axis=0)
            outline = _corners(box, rotations if item.in_world else axes)
    return _Surface(normals, mu, outline)


def _bounded(values: Mapping[str, Reals], name: str, T: int) -> Any:
    """Knots (T,) at which a constraint has a bound; all knots for a cost term."""
    bounds = [values[f"{name}.{key}"][:T] for key in ("lower", "upper") if f"{name}.{key}" in values]
    return np.any([np.isfinite(bound).any(axis=1) for bound in bounds], axis=0) if bounds else np.full(T, True)


def _corners(box: Reals, axes: Reals) -> Reals:
    """Corners (n, 4, 3) of a rectangle with sides (2,), in the x-y planes of the axes (n, 3, 3)."""
    corners = np.array([(1, 1, 0), (-1, 1, 0), (-1, -1, 0), (1, -1, 0)]) * [*(box / 2), 0.0]
    return np.asarray(corners @ np.swapaxes(axes, 1, 2))


def _held(rows: Reals) -> Reals:
    """Replaces each NaN row by the last finite row before it, or at the start by the first finite row."""
    finite = np.flatnonzero(np.isfinite(rows.reshape(len(rows), -1)[:, 0]))
    before = finite[np.maximum(np.searchsorted(finite, np.arange(len(rows)), side="right") - 1, 0)]
    return np.asarray(rows[before])


def _in_world(item: Any, forces: Reals, rotations: Reals) -> Reals:
    """Converts forces of a contact (T, nc) to force and torque in world axes, shape (T, 6) [N, N m]."""
    wrenches = np.zeros((len(forces), 6))
    if item.nc == 1:
        wrenches[:, :3] = forces * item.axis
    elif item.nc == 2:
        wrenches[:, [0, 2]] = forces
    else:
        wrenches[:, : item.nc] = forces
    if not item.in_world:
        wrenches = np.einsum("tij,tkj->tki", rotations, wrenches.reshape(-1, 2, 3)).reshape(-1, 6)
    return wrenches
