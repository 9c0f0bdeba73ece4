"""Description of a solved problem: names, units and numbers, from the problem or from a file."""

from __future__ import annotations

import json
import logging
from collections.abc import Callable, Mapping
from functools import cached_property
from typing import TYPE_CHECKING, Any, TypeVar, cast

import numpy as np

from trajopt.actions.base import ActionModelAbstract
from trajopt.analysis.between_knots import ViolatedBetween, violated_between
from trajopt.analysis.constraints import ConstraintRows, solved_rows, units_of, units_of_rows
from trajopt.analysis.contradictions import contradictions
from trajopt.analysis.gaps import sizes_of_gaps
from trajopt.analysis.goals import goals_of, pose_goals
from trajopt.analysis.legs import LeggedMotion, contact_frames, is_legged, motion_of, touches_itself, touches_world
from trajopt.analysis.lines import Line, coordinate_units, lines_of
from trajopt.analysis.obstacles import Obstacle, obstacles_of, planes_of
from trajopt.analysis.reached import Reached, gait_reached
from trajopt.analysis.references import Item, items_of, items_of_all, knot_values
from trajopt.analysis.skeleton import model_skeleton
from trajopt.analysis.spheres import simulated_contacts
from trajopt.analysis.step_errors import StepError, step_error
from trajopt.errors import TrajoptError
from trajopt.robots import Robot
from trajopt.robots.parameters import robot_as_solved
from trajopt.robots.skeleton import Skeleton
from trajopt.shooting import inspection
from trajopt.shooting.checks import Start
from trajopt.solution.plain import pack, unpack
from trajopt.states.base import StateAbstract
from trajopt.types import Reals

if TYPE_CHECKING:
    from trajopt.gaits import ContactSchedule
    from trajopt.shooting import ShootingProblem
    from trajopt.simulator import MDPContact
    from trajopt.solution.solution import Solution

T = TypeVar("T")
Arrays = Mapping[str, Reals]
Names = tuple[str, ...]
Lazy = cached_property
_LOG = logging.getLogger(__name__)
_KEPT = (
    *("times", "coordinate_names", "coordinate_units", "control_names", "control_units", "lines", "cost_terms"),
    *(
        "contact_forces",
        "goals",
        "legs",
        "robot",
        "skeleton",
        "poses",
        "pose_goals",
        "reached",
        "constraints",
        "between",
        "step_error",
        "contradictions",
        "gaps",
        "obstacles",
        "planes",
        "notes",
        "step_unit",
    ),
)
"""Attributes that a file stores."""


class Description:
    """Names, units and numbers of a solved problem.

    With a problem, each attribute is computed when it is first read, once for each solution. Without one, the
    attributes are those of the file that the solution was loaded from. An attribute that the file does not store is
    None or empty, and coordinates and controls without names are numbered.

    Args:
        solution: The solution.
        computed: Attributes that have been computed for this solution, by name; new ones are added.

    Attributes:
        known: Whether there is a problem, or a file that describes one; files of formats 1 and 2 do not.
        state: Manifold of the states; None from a file.
        models: Action models of the knots 0..T; empty from a file.
        items: Cost terms and constraints of all knots, one for each name; empty from a file.
        terminal_items: Cost terms and constraints of the last knot; empty from a file.
        values: Run-time parameters of the solve, see `knot_values`; empty from a file.
        schedule: Contact schedule of a gait; None from a file.
        start: Start of the horizon, see `ShootingProblem.start`; "fixed" from a file.
        times: Time of each knot (T + 1,) [s]; None if the problem has no times.
        step_unit: Unit of these times if they are no times, see `ShootingProblem`; "s" otherwise.
        coordinate_names: Name of each coordinate of a state (nx,).
        coordinate_units: Unit of each coordinate of a state (nx,).
        control_names: Name of each control (nu,); "u:JOINT" for the torque or force of a robot's motor, "a:JOINT" for
            an acceleration.
        control_units: Unit of each control (nu,); "-" if it is unknown.
        lines: States and controls over time with their limits, as `plot_solution` draws them.
        cost_terms: See `Solution.cost_terms`; None if a file does not store them.
        contact_forces: See `Solution.contact_forces`; None if a file does not store them.
        torques: See `Solution.torques`.
        violations: See `Solution.violations`.
        prices: See `Solution.prices`.
        constraints: Constraints with values, bounds and multipliers; empty for problems without constraints.
        between: Constraints that are violated between knots, the worst first.
        step_error: Error of the integrator, if it matters for the motion; otherwise None.
        contradictions: Sentences on linear rows of a knot that exclude each other; empty if there are none.
        gaps: Largest element of the gap before each knot (T + 1,) [-]; None if it is unknown.
        constraint_names: Names of the constraints.
        constraint_units: Unit by constraint name, for constraints of states whose rows share one unit.
        goals: Frame and reference point (3,) [m] of each terminal cost term on a frame's position.
        spheres: Spherical contacts of a simulator; empty from a file.
        touches: Whether a contact or an impulse acts between the robot and the world.
        feet: Frames of the feet of a robot with a floating base; empty for other solutions.
        legs: Contacts, forces and feet; None without contacts.
        reached: Targets of a gait and what the motion achieved; empty for other problems.
        robot: The robot, with its parameters as in the solve; None for states without a robot.
        skeleton: Skeleton of a body that is not a robot, if its model has one.
        poses: Poses (T + 1, 4, 4) [-, m] of a body whose states are poses; otherwise None.
        pose_goals: Target positions of this body (n, 3) [m].
        obstacles: Obstacles of distance costs and constraints at each knot.
        notes: Lines of `Solution.explain` about a motion without a problem, by whoever computed it.
        planes: Coefficients (a, b, c, d) of the planes in the world that contacts of a simulator may touch.
    """

    __slots__ = ("__dict__", "_problem", "_solution")

    def __init__(self, solution: Solution, computed: dict[str, Any]) -> None:
        self.__dict__ = computed  # which does not refer to the solution, whose life it shares
        self._solution, self._problem = solution, cast("ShootingProblem", solution.problem)
        if solution.problem is None and not computed:
            vars(self).update(_numbered(solution.xs, solution.us) | dict(solution.described))
        vars(self).update(solution.measured)

    def _solved(self, read: Callable[[ShootingProblem], T]) -> T:
        """Evaluates a function of the problem, with the parameters of the solve."""
        with self._solution.as_solved() as problem:
            return read(problem)

    def _along(self, evaluate: Callable[[ShootingProblem, Reals, Reals], T]) -> T:
        """Evaluates a function of the problem, states and controls, with the parameters of the solve."""
        return self._solved(lambda problem: evaluate(problem, self._solution.xs, self._solution.us))

    known: Lazy[bool] = Lazy(lambda d: True)
    state: Lazy[StateAbstract | None] = Lazy(lambda d: d._problem.state)
    models: Lazy[tuple[ActionModelAbstract, ...]] = Lazy(lambda d: (*d._problem.running, d._problem.terminal))
    items: Lazy[tuple[Item, ...]] = Lazy(lambda d: items_of_all(d._problem))
    terminal_items: Lazy[tuple[Item, ...]] = Lazy(lambda d: items_of(d._problem.terminal))
    values: Lazy[Arrays] = Lazy(lambda d: knot_values(d._solution))
    schedule: Lazy[ContactSchedule | None] = Lazy(lambda d: d._problem.schedule)
    start: Lazy[Start] = Lazy(lambda d: d._problem.start)
    times: Lazy[Reals | None] = Lazy(lambda d: d._solved(lambda problem: problem.times))
    step_unit: Lazy[str] = Lazy(lambda d: d._problem.step_unit)
    coordinate_names: Lazy[Names] = Lazy(lambda d: tuple(d.state.coordinate_names))
    coordinate_units: Lazy[Names] = Lazy(lambda d: coordinate_units(d.state))
    control_names: Lazy[Names] = Lazy(lambda d: inspection.controls(d._problem).names)
    control_units: Lazy[Names] = Lazy(lambda d: tuple(line.unit or "-" for line in d.lines if line.group == "control"))
    lines: Lazy[tuple[Line, ...]] = Lazy(lambda d: lines_of(d._solution, d._problem))
    cost_terms: Lazy[Arrays | None] = Lazy(lambda d: d._along(inspection.cost_terms))
    contact_forces: Lazy[Arrays | None] = Lazy(lambda d: d._along(inspection.contact_forces))
    torques: Lazy[Arrays | None] = Lazy(lambda d: d._along(inspection.torques))
    violations: Lazy[Arrays | None] = Lazy(lambda d: d._along(inspection.violations))
    prices: Lazy[Arrays | None] = Lazy(lambda d: d._solved(lambda problem: _prices(problem, d._solution.multipliers)))
    constraints: Lazy[tuple[ConstraintRows, ...]] = Lazy(lambda d: solved_rows(d._solution, d._problem))
    between: Lazy[tuple[ViolatedBetween, ...]] = Lazy(lambda d: d._solved(lambda p: violated_between(d._solution, p)))
    step_error: Lazy[StepError | None] = Lazy(lambda d: d._solved(lambda p: step_error(d._solution, p)))
    contradictions: Lazy[Names] = Lazy(lambda d: contradictions(d._solution))
    gaps: Lazy[Reals | None] = Lazy(lambda d: d._along(sizes_of_gaps))
    constraint_names: Lazy[Names] = Lazy(lambda d: d._problem.constraint_names)
    constraint_units: Lazy[dict[str, str]] = Lazy(lambda d: units_of(d._problem))
    goals: Lazy[tuple[tuple[str, Reals], ...]] = Lazy(lambda d: goals_of(d._solution))
    spheres: Lazy[tuple[MDPContact, ...]] = Lazy(lambda d: simulated_contacts(d._problem.running))
    touches: Lazy[bool] = Lazy(lambda d: touches_world(d._problem))
    feet: Lazy[Names] = Lazy(lambda d: contact_frames(d._problem) if is_legged(d._solution) else ())
    legs: Lazy[LeggedMotion | None] = Lazy(lambda d: motion_of(d._solution, d._problem) if d.touches else None)
    reached: Lazy[tuple[Reached, ...]] = Lazy(lambda d: () if d.schedule is None else gait_reached(d.schedule, d.legs))
    robot: Lazy[Robot | None] = Lazy(lambda d: robot_as_solved(d.state.robot, d._solution.parameters))
    skeleton: Lazy[Skeleton | None] = Lazy(lambda d: None if d.robot else model_skeleton(d._solution, d.models))
    poses: Lazy[Reals | None] = Lazy(lambda d: d.state.body_poses(d._solution.xs))
    notes: Lazy[Names] = Lazy(lambda d: ())
    obstacles: Lazy[tuple[Obstacle, ...]] = Lazy(lambda d: tuple(obstacles_of(d._solution)))
    planes: Lazy[tuple[tuple[float, ...], ...]] = Lazy(lambda d: planes_of(d.spheres))
    pose_goals: Lazy[Reals] = Lazy(lambda d: np.zeros((0, 3)) if d.poses is None else pose_goals(d._solution))


def _numbered(xs: Reals, us: Reals) -> dict[str, Any]:
    """Description of a trajectory without a problem: coordinates x0, x1, ... and controls u0, u1, ..."""
    states, controls = (tuple(f"{letter}{i}" for i in range(rows.shape[1])) for letter, rows in (("x", xs), ("u", us)))
    columns = [*(("state", *each) for each in zip(states, xs.T)), *(("control", *each) for each in zip(controls, us.T))]
    lines = tuple(Line(group=group, quantity=group, name=name, values=values) for group, name, values in columns)
    empty = [*("models", "items", "terminal_items", "spheres", "constraints", "constraint_names", "goals", "feet")]
    facts: dict[str, Any] = {"known": False, "touches": False, "start": "fixed", "values": {}, "constraint_units": {}}
    facts["step_unit"] = "s"
    names = {"coordinate_names": states, "control_names": controls, "pose_goals": np.zeros((0, 3)), "lines": lines}
    units = {"coordinate_units": ("-",) * len(states), "control_units": ("-",) * len(controls)}
    return (
        dict.fromkeys(Description.__annotations__)
        | dict.fromkeys((*empty, "reached", "obstacles", "planes", "contradictions", "between", "notes"), ())
        | facts
        | names
        | units
    )


def _prices(problem: ShootingProblem, multipliers: Arrays) -> Arrays:
    """Multipliers (T + 1, n) of each constraint by name; empty if the solver has no multipliers."""
    y = multipliers.get("constraints")
    return {} if y is None else inspection.rows_by_name(problem, y)


def written(solution: Solution, arrays: dict[str, Reals]) -> str:
    """Returns the description of a solution as text for a file, and adds its arrays to `arrays`.

    An attribute that cannot be computed is left out with a warning. For example, a black box may fail on the
    trajectory of a failed solve.
    """
    description, fields = solution.description, dict[str, Any]()
    if not description.known:
        return json.dumps(None)
    failures = set[str]()
    for name in _KEPT:
        try:
            fields[name] = pack(getattr(description, name), arrays)
        except TrajoptError as error:
            failures.add(str(error))
    for failure in sorted(failures):
        _LOG.warning("this part of the description is not saved, so plots from the file will lack it: %s", failure)
    return json.dumps({"class": "Description", "fields": fields})


def read(text: str, arrays: Mapping[str, Reals]) -> dict[str, Any]:
    """Reads attributes of a description from a file's text and arrays; empty for files of formats 1 and 2."""
    tree = json.loads(text)
    return completed({name: unpack(value, arrays) for name, value in tree["fields"].items()}) if tree else {}


def completed(fields: Mapping[str, Any]) -> dict[str, Any]:
    """Adds to the stored attributes those that are derived from them."""
    constraints, legs, robot = fields.get("constraints", ()), fields.get("legs"), fields.get("robot")
    efforts = [line for line in fields.get("lines", ()) if line.quantity in ("torque", "force")]
    walks = robot and robot.floating_base and not (legs and touches_itself(robot, legs))
    feet = tuple(foot.frame for foot in legs.feet) if legs is not None and walks else ()
    prices = {rows.name: np.nan_to_num(rows.multipliers) for rows in constraints if rows.multipliers is not None}
    return {
        **{name: value for name, value in fields.items() if name in _KEPT},
        "known": True,
        "step_unit": fields.get("step_unit", "s"),
        "between": fields.get("between", ()),
        "step_error": fields.get("step_error"),
        "gaps": fields.get("gaps"),
        "notes": fields.get("notes", ()),
        "torques": {line.name: line.values for line in efforts},
        "violations": {rows.name: rows.violations for rows in constraints},
        "prices": prices,
        "constraint_names": tuple(rows.name for rows in constraints),
        "constraint_units": units_of_rows(constraints),
        "touches": legs is not None,
        "feet": feet,
    }
