"""Missed goals: terminal costs and equations on a frame's position with a large remaining distance."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import numpy as np

from trajopt.analysis.advice.facts import more_time
from trajopt.analysis.reach import beyond_reach
from trajopt.costs.cost_stack import CostTerm
from trajopt.residuals.multibody import ResidualModelMultibody
from trajopt.solution.record import SolverStatus
from trajopt.solution.solution import Solution
from trajopt.types import Reals

LEFT = 0.1  # fraction of the initial distance from which a goal counts as missed [-]
LEAST = 0.02  # distance from which a goal counts as missed [m]
REPLAY = "replay"

_MISSING = (SolverStatus.INFEASIBLE, SolverStatus.STALLED, SolverStatus.MAX_ITERATIONS)


def headline(solution: Solution) -> str:
    """Returns the status; without advice or a question of its own where `explain` answers it below."""
    stopped = str(solution.status).partition(":")[0]
    if solution.status in _MISSING and solution.description.contradictions:
        return f"{stopped}: constraints exclude each other (proof below)"
    hard = [rows for rows in solution.description.constraints if not rows.soft]
    missed = any((rows.violated & rows.enforced).any() for rows in hard)
    if solution.status not in _MISSING or not missed or not out_of_reach(solution):
        return stopped if solution.status is SolverStatus.INDEFINITE_QUU else str(solution.status)
    return f"{stopped}: a goal is out of reach (below)"


def misses(solution: Solution) -> list[str]:
    """Returns a sentence with advice for each missed goal of a frame's position; empty without missed goals."""
    return [f"{distance}: {cure}" for _, distance, cure in _missed(solution)]


def distances_left(solution: Solution) -> list[str]:
    """Returns text on the distance from each missed goal within reach, without advice."""
    return [distance for far, distance, _ in _missed(solution) if not far]


def far_goals(solution: Solution) -> list[str]:
    """Returns a sentence for each missed goal that is out of reach."""
    return [f"{distance}: {cure}" for far, distance, cure in _missed(solution) if far]


def _missed(solution: Solution) -> list[tuple[bool, str, str]]:
    """Whether it is out of reach, distance in words, and advice, for each missed goal."""
    if solution.robot is None or not np.all(np.isfinite(solution.xs)):
        return []
    model, goals = solution.robot.model, solution.description.goals
    return [words for frame, point in goals for words in _miss(solution, model, frame, point)]


def _miss(solution: Solution, model: Any, frame: str, point: Reals) -> Iterator[tuple[bool, str, str]]:
    distances = np.linalg.norm(solution.frame_path(frame) - point, axis=1)
    first, last = float(distances[0]), float(distances[-1])
    if last <= max(LEAST, LEFT * first):
        return
    term = _term(solution, frame)
    called = f"residual of {term!r}" if term else f"distance of frame {frame!r} from its goal"
    cure = f"{'raise its weight, ' if term else ''}{more_time(solution)}check that the robot can reach it"
    if solution.solver == REPLAY:
        cure = (
            'the plant left the plan: compare the kinds of feedback, replay(..., feedback="gains"), "springs" and '
            '"gains+springs", or check that the plan itself reaches it'
        )
    far = beyond_reach(model, frame, point)
    yield bool(far), f"{called} is still {last:.3g} m at the end, {first:.3g} m at the start", far or cure


def out_of_reach(solution: Solution) -> bool:
    """Whether the goal of a frame is out of reach in any posture."""
    robot = solution.robot
    return robot is not None and any(beyond_reach(robot.model, *goal) for goal in solution.description.goals)


def _term(solution: Solution, frame: str) -> str:
    """Name of the terminal cost term on a frame; empty if it is a constraint, or unknown from a file."""
    for term in solution.description.terminal_items:
        on_frame = isinstance(term.residual, ResidualModelMultibody) and term.residual.frame == frame
        if isinstance(term, CostTerm) and on_frame and f"{term.name}.reference" in solution.parameters:
            return term.name
    return ""
