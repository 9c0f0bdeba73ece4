"""Callbacks: what they draw, what they keep, what they import."""

import io
import json
import re
import subprocess
import sys
from types import SimpleNamespace

import numpy as np
import pytest
from rich.console import Console

from tests.support.constrained import pendulum_problem
from trajopt.callbacks import Callback, CallbackLogger, CallbackVerbose
from trajopt.errors import InvalidArgumentError
from trajopt.solution import IterationRecord, Solution, SolverStatus
from trajopt.solvers import SolverSQP

PROBLEM = SimpleNamespace(T=100, nu=7, state=SimpleNamespace(nx=14))


def record(iteration: int, **changes) -> IterationRecord:
    values = {
        "iteration": iteration,
        "cost": 12.5 / iteration,
        "stop": 3.25e-7 * iteration,
        "step_length": 0.5 ** (iteration - 1),
        "accepted": True,
        "regularization": 10.0 ** (min(iteration, 20) - 10),
        "gap_norm": 0.125 / iteration,
        "expected_decrease": 2.0**-iteration,
        "decrease": -(3.0**-iteration),
        "feasible": iteration > 2,
        "seconds": 0.25 * iteration,
    }
    return IterationRecord(**{**values, **changes})


def solution(history=(), status=SolverStatus.CONVERGED) -> Solution:
    empty = np.zeros((0, 0))
    return Solution(
        xs=empty, us=empty, K=empty, k=empty, Vx=empty, Vxx=empty, cost=0.03125, status=status,
        iterations=len(history), history=tuple(history), solver="SolverFDDP", seconds=1.5, x0=np.zeros(0),
    )  # fmt: skip


def drawn(callback_options=None, records=(), *, terminal=False, status=SolverStatus.CONVERGED) -> str:
    text = io.StringIO()
    console = Console(file=text, force_terminal=terminal, color_system="standard" if terminal else None)
    callback = CallbackVerbose(console=console, **(callback_options or {}))
    callback.start(PROBLEM, "SolverFDDP")
    for item in records:
        assert not callback(item), "drawing must not stop a solve"
    callback.finish(solution(records, status))
    return text.getvalue()


def table_rows(text: str) -> list[list[str]]:
    return [line.split() for line in text.splitlines() if re.match(r" *\d+ ", line)]


def test_verbose_draws_the_numbers_of_the_record():
    text = drawn(records=[record(3), record(4, regularization=0.0, gap_norm=0.0)])
    assert text.splitlines()[0] == "SolverFDDP: T = 100 knots, nx = 14, nu = 7"
    header = text.splitlines()[1].split()
    assert header == ["iter", "cost", "stop", "step", "hes", "reg", "gap", "exp.dV", "dV", "feas", "s"]
    assert table_rows(text) == [
        ["3", "4.16667e+00", "9.7e-07", "0.25", "-", "1e-07", "4.2e-02", "1.2e-01", "-3.7e-02", "yes", "0.750"],
        ["4", "3.12500e+00", "1.3e-06", "0.125", "-", "0", "0", "6.2e-02", "-1.2e-02", "yes", "1.000"],
    ]


def test_verbose_shows_the_hessian_of_each_step():
    steps = [(0.0, False), (0.0, True), (1.0, False), (1 / 32, False)]
    rows = table_rows(drawn(records=[record(i + 1, blend=blend, bent=bent) for i, (blend, bent) in enumerate(steps)]))
    assert [row[4] for row in rows] == ["gn", "gn~", "H", "/32"]


def test_verbose_columns_are_aligned_and_fit_80_characters():
    small = {"stop": 1e-99, "step_length": 1e-12, "expected_decrease": -1e-99, "decrease": -1e-99, "seconds": 123456.0}
    broken = {"cost": np.nan, "stop": np.inf, "gap_norm": np.inf, "decrease": -np.inf, "regularization": 1e9}
    extreme = [record(9999, cost=-1.25e99, regularization=1e-99, **small), record(13, **broken)]
    header, *lines = drawn({"closing": False}, [record(1), record(12), *extreme]).splitlines()[1:]
    assert len(lines) == 4
    ends = [match.end() for match in re.finditer(r"\S+", header)]
    for line in lines:
        assert [match.end() for match in re.finditer(r"\S+", line)] == ends
    assert len(header) <= 80


def test_verbose_shows_feasibility_of_solvers_that_record_it():
    found = {"constraint_violation": 3.5e-3, "complementarity": 0.0}
    text = drawn(records=[record(3, **found), record(9999, cost=-1.25e99, seconds=123456.0, **found)])
    header, *lines = text.splitlines()[1:4]
    assert header.split() == ["iter", "cost", "station", "violated", "compl", "gap", "step", "reg", "feas", "s"]
    assert lines[0].split() == [
        "3", "4.16667e+00", "9.75e-07", "3.50e-03", "0", "4.17e-02", "0.25", "1e-07", "yes", "0.750",
    ]  # fmt: skip
    ends = [[match.end() for match in re.finditer(r"\S+", line)] for line in (header, *lines)]
    assert ends[0] == ends[1] == ends[2]
    assert len(header) <= 80


def test_verbose_of_a_solve_with_constraints():
    text = io.StringIO()
    solved = SolverSQP(pendulum_problem(), callbacks=[CallbackVerbose(console=Console(file=text))]).solve()
    rows = table_rows(text.getvalue())
    assert len(rows) == solved.iterations
    for row, item in zip(rows, solved.history):
        assert float(row[2]) == pytest.approx(item.stop, rel=1e-2)
        assert float(row[3]) == pytest.approx(item.constraint_violation, rel=1e-2)
        assert float(row[4]) == pytest.approx(item.complementarity, rel=1e-2)


def test_verbose_shows_a_dash_for_missing_numbers():
    missing = dict.fromkeys(("stop", "step_length", "regularization", "gap_norm", "decrease"), np.nan)
    ((_, _, *cells),) = table_rows(drawn(records=[record(3, **missing)]))
    assert cells == ["-", "-", "-", "-", "-", "1.2e-01", "-", "yes", "0.750"]


def test_verbose_says_refused_and_infeasible():
    refused, infeasible = table_rows(drawn(records=[record(5, accepted=False), record(1)]))
    assert refused[3] == "refused"
    assert refused[9] == "yes"
    assert infeasible[3] == "1"
    assert infeasible[9] == "no"


def test_verbose_repeats_the_header_every_20_lines():
    lines = drawn(records=[record(i) for i in range(1, 46)]).splitlines()
    headers = [i for i, line in enumerate(lines) if line.split()[:2] == ["iter", "cost"]]
    assert headers == [1, 22, 43]


@pytest.mark.parametrize(("every", "expected"), [(1, [1, 2, 3, 4, 5, 6, 7]), (3, [3, 6, 7]), (7, [7]), (100, [7])])
def test_verbose_draws_each_nth_iteration_and_the_last(every, expected):
    rows = table_rows(drawn({"every": every}, [record(i) for i in range(1, 8)]))
    assert [int(row[0]) for row in rows] == expected


def test_verbose_closes_with_the_status_and_the_totals():
    closing = drawn(records=[record(1)]).splitlines()[-2:]
    assert closing == ["converged", "cost 0.03125 after 1 iteration in 1.5 s"]
    closing = drawn(records=[record(1), record(2)], status=SolverStatus.MAX_ITERATIONS).splitlines()[-2:]
    assert closing[0] == SolverStatus.MAX_ITERATIONS.value
    assert "after 2 iterations in" in closing[1]
    assert "converged" not in drawn({"closing": False}, [record(1)])


def test_verbose_draws_no_control_characters_in_a_pipe_and_colours_in_a_terminal():
    records = [record(1), record(2, accepted=False)]
    plain = drawn(records=records)
    assert re.fullmatch(r"[\x20-\x7e\n]*", plain)
    coloured = drawn(records=records, terminal=True)
    assert "\x1b[33m" in coloured  # yellow: refused
    assert re.sub(r"\x1b\[[0-9;]*m", "", coloured) == plain


def test_verbose_begins_a_new_table_for_each_solve():
    text = io.StringIO()
    callback = CallbackVerbose(every=2, console=Console(file=text))
    for _ in range(2):
        callback.start(PROBLEM, "SolverDDP")
        callback(record(1))
        callback.finish(solution([record(1)]))
    assert [line.split()[0] for line in text.getvalue().splitlines()] == [
        "SolverDDP:",
        "iter",
        "1",
        "converged",
        "cost",
    ] * 2


def test_verbose_does_not_break_lines_where_the_console_is_narrow():
    text = io.StringIO()
    CallbackVerbose(console=Console(file=text, width=30))(record(1))
    assert len(text.getvalue().splitlines()) == 2


def test_verbose_writes_to_standard_output_by_default(capsys):
    CallbackVerbose()(record(1))
    assert capsys.readouterr().out.split()[0] == "iter"


@pytest.mark.parametrize("every", [0, -1, 1.5, True, "2"])
def test_verbose_refuses_a_wrong_every(every):
    with pytest.raises(InvalidArgumentError, match=re.escape(f"every: expected an integer >= 1, got {every!r}")):
        CallbackVerbose(every=every)


def test_logger_keeps_every_field():
    logger = CallbackLogger()
    records = [record(1, accepted=False), record(2), record(3)]
    for item in records:
        assert not logger(item), "logging must not stop a solve"
    assert logger.records == tuple(records)
    assert logger.iterations.tolist() == [1, 2, 3]
    np.testing.assert_array_equal(logger.costs, [12.5, 6.25, 12.5 / 3])
    np.testing.assert_array_equal(logger.stops, [3.25e-7, 6.5e-7, 3.25e-7 * 3])
    np.testing.assert_array_equal(logger.step_lengths, [1.0, 0.5, 0.25])
    assert logger.accepted.tolist() == [False, True, True]
    np.testing.assert_array_equal(logger.regularizations, [10.0**-9, 10.0**-8, 10.0**-7])
    np.testing.assert_array_equal(logger.gap_norms, [0.125, 0.0625, 0.125 / 3])
    np.testing.assert_array_equal(logger.expected_decreases, [0.5, 0.25, 0.125])
    np.testing.assert_array_equal(logger.decreases, [-(3.0**-1), -(3.0**-2), -(3.0**-3)])
    assert logger.feasible.tolist() == [False, False, True]
    np.testing.assert_array_equal(logger.seconds, [0.25, 0.5, 0.75])


def test_logger_to_dict_holds_each_array_and_survives_json():
    logger = CallbackLogger([record(1), record(2, accepted=False)])
    log = json.loads(json.dumps(logger.to_dict()))
    arrays = [name for name, value in vars(CallbackLogger).items() if isinstance(value, property)]
    arrays = [name for name in arrays if name not in ("records", "trajectories")]
    assert sorted(log) == sorted(arrays)
    for name in arrays:
        values = getattr(logger, name).tolist()
        assert log[name] == [None if value != value else value for value in values], name  # JSON has no NaN
    assert log["constraint_violations"] == [None, None]


def test_logger_without_iterations_has_empty_arrays():
    logger = CallbackLogger()
    assert logger.costs.shape == (0,)
    assert logger.costs.dtype == np.float64
    assert logger.accepted.dtype == np.bool_
    assert repr(logger) == "CallbackLogger(0 iterations)"


def test_logger_forgets_the_previous_solve():
    logger = CallbackLogger([record(1), record(2)])
    logger.start(PROBLEM, "SolverFDDP")
    logger(record(7))
    logger.finish(solution())
    assert logger.iterations.tolist() == [7]
    assert repr(logger) == "CallbackLogger(1 iterations, last cost 1.78571)"


def test_callback_is_abstract_and_start_and_finish_are_optional():
    with pytest.raises(TypeError, match="abstract"):
        Callback()

    class Stop(Callback):
        def __call__(self, record):
            return record.iteration == 2

    stop = Stop()
    stop.start(PROBLEM, "SolverFDDP")
    assert [stop(record(i)) for i in (1, 2)] == [False, True]
    stop.finish(solution())


def test_importing_and_logging_leaves_rich_unimported():
    code = (
        "import sys; from trajopt.callbacks import *; CallbackLogger(); CallbackVerbose();"
        "print([m for m in ('rich', 'matplotlib', 'typer', 'llvmlite') if m in sys.modules])"
    )
    found = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True).stdout
    assert found.strip() == "[]"
