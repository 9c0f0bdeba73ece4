"""A solve that stops while gaps are left has found no motion: reports, explanations and pictures tell that first."""

from __future__ import annotations

import dataclasses
from pathlib import Path

import matplotlib.pyplot as plt
import numpy as np
import pytest

import trajopt
from tests.support.constrained import KNOTS, arm, pendulum, weak_pendulum
from trajopt.analysis import constraints_report, limits_report
from trajopt.analysis.gaps import infeasibility, largest_gap, no_motion, sizes_of_gaps
from trajopt.display.offline import _words
from trajopt.solution import Solution, SolverStatus

JUMP = 1.7  # from knot 49 to knot 50, beyond what the dynamics give [rad]


def torn(solution: Solution, knot: int, size: float, status: SolverStatus = SolverStatus.MAX_ITERATIONS) -> Solution:
    """A solution whose first coordinate jumps before a knot; what its solver said of it is left out."""
    xs = solution.xs.copy()
    xs[knot:, 0] += size
    return dataclasses.replace(solution, xs=xs, status=status)


def guessed() -> Solution:
    """The pendulum at rest upright at all knots but the first, without torque: within all bounds."""
    xs = np.tile([np.pi, 0.0], (KNOTS + 1, 1))
    xs[0] = 0.0
    return dataclasses.replace(pendulum(), xs=xs, us=np.zeros((KNOTS, 1)), status=SolverStatus.STALLED)


def test_the_largest_gap_is_that_of_the_dynamics() -> None:
    solution = torn(arm(), 20, JUMP)
    problem = solution.problem
    assert problem is not None
    expected = np.abs(solution.gaps()).max(axis=1)
    assert sizes_of_gaps(problem, solution.xs, solution.us) == pytest.approx(expected, abs=0.0)
    assert largest_gap(solution) == f"{expected.max():.2g} before knot {expected.argmax()} ({0.025 * 20:.3g} s)"
    assert expected.argmax() == 20


def test_infeasibility_is_the_largest_gap_or_violation_of_what_a_solver_enforces() -> None:
    assert infeasibility(pendulum()) < 1e-6
    worst = max(float(rows.max()) for rows in weak_pendulum().violations().values())
    assert infeasibility(weak_pendulum()) == pytest.approx(worst) != 0.0
    assert infeasibility(torn(pendulum(), 20, JUMP)) >= JUMP
    assert infeasibility(torn(pendulum(), 20, np.nan)) == np.inf


def test_states_that_do_not_follow_are_no_motion_and_keep_no_constraint() -> None:
    text = guessed().explain()
    assert text.splitlines()[1].startswith("no motion yet: largest gap 3.1 before knot 1 (0.03 s): the states do not")
    assert "hold" not in text
    assert "largest multiplier" not in text
    nothing = "no motion yet: largest gap 3.1 before knot 1 (0.03 s)"
    assert constraints_report(guessed()) == {"constraints": nothing}
    assert limits_report(guessed()).get("limits", nothing) == nothing


def test_violations_of_states_that_are_no_motion_are_no_amounts_to_relax() -> None:
    for status in (SolverStatus.INFEASIBLE, SolverStatus.STALLED, SolverStatus.MAX_ITERATIONS):
        solution = torn(weak_pendulum(), KNOTS // 2, JUMP, status)
        text = solution.explain()
        assert "is violated most" in text
        assert "relax '" not in text
        assert "no motion satisfies" not in text


def test_limits_of_states_that_are_no_motion_are_not_kept() -> None:
    assert limits_report(arm())["limits"].startswith("kept")
    solution = torn(arm(), 20, 1e-3)
    assert limits_report(solution) == {"limits": "no motion yet: largest gap 0.001 before knot 20 (0.5 s)"}


def test_the_heading_of_a_picture_tells_it(tmp_path: Path) -> None:
    solution = guessed()
    figure = solution.plot()
    heading = figure.get_suptitle()
    plt.close(figure)
    assert heading.splitlines()[1:] == ["no motion yet: largest gap 3.1 before knot 1 (0.03 s)"]
    assert "hold" not in heading
    loaded = trajopt.Solution.load(solution.save(tmp_path / "torn.npz"))
    assert no_motion(loaded) == no_motion(solution) != ""
    assert loaded.explain().splitlines()[1] == solution.explain().splitlines()[1]


def test_the_line_below_a_page_tells_it() -> None:
    words = _words(guessed())
    assert "; no motion yet: largest gap 3.1 before knot 1 (0.03 s); cost " in words
    assert _words(pendulum()).startswith("SolverSQP: converged; cost ")


def test_motions_and_rounding_are_not_called_so() -> None:
    assert no_motion(pendulum()) == no_motion(torn(arm(), 20, 1e-9)) == ""
    assert no_motion(torn(arm(), 20, 0.1, SolverStatus.UNSOLVED)) == ""
    assert "all constraints hold" in pendulum().explain()
    assert "no motion" not in weak_pendulum().explain()


def test_no_gap_is_before_a_first_knot() -> None:
    """A motion without gaps says so; before, it had one of 0 "before knot 0"."""
    closed = pendulum()
    assert not np.any(closed.gaps())
    assert "  no gaps; steepest control " in closed.explain()
    assert "knot 0 (0 s); steepest" not in closed.explain()
