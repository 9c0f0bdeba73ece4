"""Display of solutions, closed loops and robots in a notebook."""

from __future__ import annotations

from typing import TYPE_CHECKING

import pinocchio as pin

from trajopt import notebook
from trajopt.analysis.constraints import constraints_report
from trajopt.analysis.legs import is_legged
from trajopt.plotting.configurations import plot_configurations
from trajopt.plotting.strip import plot_strip, strip_height
from trajopt.plotting.trajectory import plot_solution
from trajopt.plotting.window import new_figure
from trajopt.solution.seconds import time_words

if TYPE_CHECKING:
    from matplotlib.figure import Figure

    from trajopt.mpc.log import ClosedLoop
    from trajopt.robots import Robot
    from trajopt.solution.solution import Solution

_WIDTH, _HEIGHT = 10.0, 5.0  # size of the figure [inch]
_NO_LIMIT = 1e10  # files write numbers of this size or more for no limit
_PICTURES = 6  # number of pictures in a strip


def html_of_solution(solution: Solution) -> str:
    """Returns a solution as HTML: a table, and a strip of a legged robot, or states and controls over time."""
    T, times = len(solution.us), solution.times
    rows = {
        "status": str(solution.status),
        "cost": f"{solution.cost:.8g}",
        "iterations": f"{solution.iterations} in {time_words(solution)}",
        "knots": f"T = {T}" + ("" if times is None else f", {times[-1]:.4g} s"),
        "sizes": f"nx = {solution.xs.shape[1]}, nu = {solution.us.shape[1]}",
    }
    if solution.robot is not None:
        rows["robot"] = solution.robot.name
    rows |= constraints_report(solution)
    return notebook.table(f"Solution of {solution.solver}", rows) + notebook.picture(_figure(solution))


def html_of_closed_loop(log: ClosedLoop) -> str:
    """Returns a closed loop as HTML: its report and, if there were steps, its picture."""
    words = notebook.table(f"Closed loop of {log.times[-1]:g} s", log.report())
    return words + (notebook.picture(log.plot()) if len(log) else "")


def html_of_robot(robot: Robot) -> str:
    """Returns a robot as HTML: a picture of its first configuration, sizes, and the limits of its joints."""
    model = robot.model
    name, q = next(iter(robot.configurations.items()), ("neutral", pin.neutral(model)))
    rows = {
        "sizes": f"nq = {robot.nq}, nv = {robot.nv}, {robot.mass:.4g} kg",
        "base": "floating" if robot.floating_base else "fixed",
        "configurations": ", ".join(robot.configurations) or "none",
        "drawn": name,
    }
    figure = plot_configurations(robot, q, figure=new_figure(4.5, 4.0, apart=True))
    heads = ("joint", "coordinates", "position", "velocity", "effort")
    joints = [_joint(model, i) for i in range(1, model.njoints)]
    return notebook.table(f"Robot {robot.name}", rows) + notebook.picture(figure) + notebook.columns(heads, joints)


def _joint(model: pin.Model, i: int) -> tuple[str, ...]:
    """Name, number of coordinates, and limits of a joint; a dash where it has several coordinates or no limit."""
    size, kind = f"{model.nqs[i]}", model.joints[i].shortname().removeprefix("JointModel")
    if model.nqs[i] != 1:
        return model.names[i], f"{size}, {kind}", "-", "-", "-"
    q, v = model.idx_qs[i], model.idx_vs[i]
    slides = kind.startswith("P")
    ends = _limit(model.lowerPositionLimit[q]), _limit(model.upperPositionLimit[q])
    position = "-" if ends == ("-", "-") else f"{ends[0]} to {ends[1]} {'m' if slides else 'rad'}"
    velocity, effort = (_limit(each[v]) for each in (model.upperVelocityLimit, model.upperEffortLimit))
    return (
        model.names[i],
        f"{size}, {kind}",
        position,
        velocity if velocity == "-" else f"{velocity} {'m/s' if slides else 'rad/s'}",
        effort if effort == "-" else f"{effort} {'N' if slides else 'N m'}",
    )


def _limit(value: float) -> str:
    return f"{value:.4g}" if abs(value) < _NO_LIMIT else "-"


def _figure(solution: Solution) -> Figure:
    if is_legged(solution):
        return plot_strip(
            solution, _PICTURES, figure=new_figure(_WIDTH, strip_height(solution, _PICTURES, _WIDTH), apart=True)
        )
    return plot_solution(solution, figure=new_figure(_WIDTH, _HEIGHT, apart=True))
