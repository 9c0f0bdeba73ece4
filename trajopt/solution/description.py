"""Description of a solved problem: names, units and numbers, from the problem or from a file."""

from __future__ import annotations

import json
import logging
from collections.abc import Callable, Mapping
from functools import cached_property
from typing import TYPE_CHECKING, Any, TypeVar, cast

import numpy as np

from trajopt.actions.base import ActionModelAbstract
from trajopt.analysis.constraints import ConstraintRows, solved_rows, units_of, units_of_rows
from trajopt.analysis.goals import goals_of, pose_goals
from trajopt.analysis.legs import LeggedMotion, contact_frames, is_legged, motion_of, touches_world
from trajopt.analysis.lines import Line, coordinate_units, lines_of
from trajopt.analysis.reached import Reached, gait_reached
from trajopt.analysis.references import Item, items_of, items_of_all, knot_values
from trajopt.analysis.skeleton import model_skeleton
from trajopt.analysis.spheres import simulated_contacts
from trajopt.errors import TrajoptError
from trajopt.robots import Robot
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
    *("contact_forces", "goals", "legs", "robot", "skeleton", "poses", "pose_goals", "reached", "constraints"),
)
"""Attributes that a file keeps."""


class Description:
    """Names, units and numbers of a solved problem.

    With the problem each is computed when it is read. Without it they are those of the file that the solution was
    loaded from; what the file does not keep is None or empty, and coordinates and controls are numbered.

    Args:
        solution: The solution.

    Attributes:
        known: Whether there is a problem, or a file that describes one; files of formats 1 and 2 do not.
        state: The state's manifold; None from a file.
        models: Action models of the knots 0..T; none from a file.
        items: Cost terms and constraints of all knots, one for each name; none from a file.
        terminal_items: Those of the end; none from a file.
        values: Run-time parameters of the solve, see `knot_values`; none from a file.
        schedule: Contact schedule of a gait; None from a file.
        start: Start of the horizon, see `ShootingProblem.start`; "fixed" from a file.
        times: Time of each knot (T + 1,) [s]; None if the problem has no times.
        coordinate_names: Name of each coordinate of a state (nx,).
        coordinate_units: Unit of each (nx,).
        control_names: Name of each control (nu,).
        control_units: Unit of each (nu,); "-" where it is not known.
        lines: States and controls over time with their limits, as `plot_solution` draws them.
        cost_terms: See `Solution.cost_terms`; None where they could not be computed.
        contact_forces: See `Solution.contact_forces`; None likewise.
        torques: See `Solution.torques`.
        violations: See `Solution.violations`.
        prices: See `Solution.prices`.
        constraints: Constraints with values, bounds and multipliers; empty for problems without any.
        constraint_names: Their names.
        constraint_units: Unit of each constraint of states whose rows have one and the same.
        goals: Frame and reference point (3,) [m] of each terminal cost term on a frame's position.
        spheres: Contacts of a simulator that are spheres; none from a file.
        touches: Whether a contact or an impulse touches the world.
        feet: Frames of the feet of a robot with a floating base; none of other solutions.
        legs: Contacts, forces and feet; None without contacts.
        reached: What a gait was asked to do, and did; empty for other problems.
        robot: The robot; None for other states.
        skeleton: Skeleton of a body that is no robot, if its model has one.
        poses: Poses (T + 1, 4, 4) [-, m] of a body whose states are poses; else None.
        pose_goals: Positions that the body is to reach (n, 3) [m].
    """

    def __init__(self, solution: Solution) -> None:
        self._solution, self._problem = solution, cast("ShootingProblem", solution.problem)
        if solution.problem is None:
            vars(self).update(_numbered(solution.xs, solution.us) | dict(solution.described))

    def _solved(self, read: Callable[[ShootingProblem], T]) -> T:
        """Numbers of the problem with the parameters of the solve."""
        with self._solution.as_solved() as problem:
            return read(problem)

    def _along(self, evaluate: Callable[[ShootingProblem, Reals, Reals], T]) -> T:
        """Numbers of the problem along the solution, with the parameters of the solve."""
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
    constraint_names: Lazy[Names] = Lazy(lambda d: d._problem.constraint_names)
    constraint_units: Lazy[dict[str, str]] = Lazy(lambda d: units_of(d._problem))
    goals: Lazy[tuple[tuple[str, Reals], ...]] = Lazy(lambda d: goals_of(d._solution))
    spheres: Lazy[tuple[MDPContact, ...]] = Lazy(lambda d: simulated_contacts(d._problem.running))
    touches: Lazy[bool] = Lazy(lambda d: touches_world(d._problem))
    feet: Lazy[Names] = Lazy(lambda d: contact_frames(d._problem) if is_legged(d._solution) else ())
    legs: Lazy[LeggedMotion | None] = Lazy(lambda d: motion_of(d._solution, d._problem) if d.touches else None)
    reached: Lazy[tuple[Reached, ...]] = Lazy(lambda d: () if d.schedule is None else gait_reached(d.schedule, d.legs))
    robot: Lazy[Robot | None] = Lazy(lambda d: d.state.robot)
    skeleton: Lazy[Skeleton | None] = Lazy(lambda d: None if d.robot else model_skeleton(d._solution, d.models))
    poses: Lazy[Reals | None] = Lazy(lambda d: d.state.body_poses(d._solution.xs))
    pose_goals: Lazy[Reals] = Lazy(lambda d: np.zeros((0, 3)) if d.poses is None else pose_goals(d._solution))


def _numbered(xs: Reals, us: Reals) -> dict[str, Any]:
    """Description of a trajectory of which nothing else is known."""
    states, controls = (tuple(f"{letter}{i}" for i in range(rows.shape[1])) for letter, rows in (("x", xs), ("u", us)))
    columns = [*(("state", *each) for each in zip(states, xs.T)), *(("control", *each) for each in zip(controls, us.T))]
    lines = tuple(Line(group=group, quantity=group, name=name, values=values) for group, name, values in columns)
    empty = [*("models", "items", "terminal_items", "spheres", "constraints", "constraint_names", "goals", "feet")]
    facts: dict[str, Any] = {"known": False, "touches": False, "start": "fixed", "values": {}, "constraint_units": {}}
    names = {"coordinate_names": states, "control_names": controls, "pose_goals": np.zeros((0, 3)), "lines": lines}
    units = {"coordinate_units": ("-",) * len(states), "control_units": ("-",) * len(controls)}
    return dict.fromkeys(Description.__annotations__) | dict.fromkeys((*empty, "reached"), ()) | facts | names | units


def _prices(problem: ShootingProblem, multipliers: Arrays) -> Arrays:
    """Multipliers of each constraint by name (T + 1, n); none of solvers without any."""
    y = multipliers.get("constraints")
    return {} if y is None else inspection.rows_by_name(problem, y)


def written(solution: Solution, arrays: dict[str, Reals]) -> str:
    """Text of a solution's description for a file, whose arrays are added to `arrays`.

    What can't be computed, such as of a black box that fails on the trajectory of a failed solve, is left out.
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
        _LOG.warning("the file lacks what pictures need: %s", failure)
    return json.dumps({"class": "Description", "fields": fields})


def read(text: str, arrays: Mapping[str, Reals]) -> dict[str, Any]:
    """Attributes of a description from a file's text and arrays; none from files of formats 1 and 2."""
    tree = json.loads(text)
    return completed({name: unpack(value, arrays) for name, value in tree["fields"].items()}) if tree else {}


def completed(fields: Mapping[str, Any]) -> dict[str, Any]:
    """Attributes that a file keeps, with those that follow from them."""
    constraints, legs, robot = fields.get("constraints", ()), fields.get("legs"), fields.get("robot")
    efforts = [line for line in fields.get("lines", ()) if line.quantity in ("torque", "force")]
    prices = {rows.name: np.nan_to_num(rows.multipliers) for rows in constraints if rows.multipliers is not None}
    return {
        **{name: value for name, value in fields.items() if name in _KEPT},
        "known": True,
        "torques": {line.name: line.values for line in efforts},
        "violations": {rows.name: rows.violations for rows in constraints},
        "prices": prices,
        "constraint_names": tuple(rows.name for rows in constraints),
        "constraint_units": units_of_rows(constraints),
        "touches": legs is not None,
        "feet": tuple(foot.frame for foot in legs.feet) if legs is not None and robot and robot.floating_base else (),
    }
