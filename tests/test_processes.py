"""Processes of all kinds after a solve, a callback that solves, a home without a folder to write, many small models."""

from __future__ import annotations

import multiprocessing
import os
import subprocess
import sys
import textwrap
from pathlib import Path
from typing import Any

import casadi as ca
import numpy as np
import pytest

import trajopt
from trajopt import ik, solvers
from trajopt.types import Reals

PATIENCE = 300.0  # for another process [s]


class Swing(trajopt.DifferentialActionModelSymbolic):
    """A pendulum of its own for each stiffness, which is a number of the expression."""

    def __init__(self, stiffness: float) -> None:
        state = trajopt.StateVector(2)
        costs = trajopt.CostStack(state).add("rest", trajopt.ResidualModelState(state), 1.0)
        super().__init__(state, 1, costs.add("effort", trajopt.ResidualModelControl(state), 0.1))
        self.stiffness = stiffness

    def acceleration(self, x: ca.SX, u: ca.SX) -> ca.SX:
        return u - self.stiffness * ca.sin(x[0])


def swing(stiffness: float, callbacks: Any = ()) -> trajopt.Solution:
    model = trajopt.IntegratedActionModelEuler(Swing(stiffness), 0.1)
    problem = trajopt.ShootingProblem([1.0, 0.0], [model] * 5, trajopt.CostStack(model.state))
    return solvers.SolverFDDP(problem, solvers.FDDPOptions(max_iterations=5), callbacks=callbacks).solve()


def reached() -> Reals:
    """A configuration of an arm of two links whose tool is at a point."""
    state = trajopt.StateMultibody(trajopt.load_robot("planar-2r"))
    tip = trajopt.ResidualModelFrameTranslation(state, "tool", [0.6, 0.0, 0.2])
    result = ik.solve(state.robot, trajopt.ConstraintStack(state).add("tip", tip, equals=0.0))
    assert result.solved
    return result.q


def work() -> tuple[bytes, bytes, bytes]:
    """What is solved in each process: a model that others have compiled, one that none has, and IK."""
    return swing(9.0).xs.tobytes(), swing(8.0).xs.tobytes(), reached().tobytes()


@pytest.mark.parametrize("method", ["fork", "spawn", "forkserver"])
@pytest.mark.filterwarnings("ignore:.*fork.*:DeprecationWarning")
def test_processes_solve_what_their_parent_has_solved(method: str) -> None:
    if method not in multiprocessing.get_all_start_methods():
        pytest.skip(f"no {method} on this system")
    first, ours = swing(9.0).xs.tobytes(), reached().tobytes()
    with multiprocessing.get_context(method).Pool(1) as pool:
        found = pool.apply_async(work).get(timeout=PATIENCE)
        again = pool.apply_async(work).get(timeout=PATIENCE)
    assert found == again == (first, swing(8.0).xs.tobytes(), ours)


def test_callbacks_may_solve_other_problems() -> None:
    inside: list[Any] = []

    def nested(record: trajopt.IterationRecord) -> None:
        inside.append((swing(7.0 + record.iteration).cost, reached()))

    outside = swing(9.0, callbacks=[nested])
    np.testing.assert_array_equal(outside.xs, swing(9.0).xs)
    assert len(inside) == outside.iterations > 1
    for record, (cost, q) in zip(outside.history, inside):
        assert cost == swing(7.0 + record.iteration).cost
        np.testing.assert_array_equal(q, reached())


@pytest.mark.slow
def test_a_home_that_cannot_be_written(tmp_path: Path) -> None:
    """/proc has no folders to make, not even for root: code and fonts are not kept, and all else works."""
    if not Path("/proc/self").exists():
        pytest.skip("no /proc on this system")
    unset = ("TRAJOPT_CACHE_DIR", "XDG_CACHE_HOME", "XDG_CONFIG_HOME", "MPLCONFIGDIR")
    environment = {name: value for name, value in os.environ.items() if name not in unset} | {"HOME": "/proc/nobody"}
    command = [sys.executable, "-m", "trajopt", "solve", "lqr", "--plot", "lqr.png"]
    source = str(Path(trajopt.__file__).parent.parent)
    environment["PYTHONPATH"] = os.pathsep.join(filter(None, (source, os.environ.get("PYTHONPATH"))))
    done = subprocess.run(
        command, env=environment, cwd=tmp_path, capture_output=True, text=True, timeout=PATIENCE, check=False
    )
    assert done.returncode == 0, done.stderr
    assert (tmp_path / "lqr.png").stat().st_size > 1000
    assert "cannot be used" in done.stderr
    assert "Traceback" not in done.stderr


MODELS = """
    import gc, os
    from pathlib import Path
    from tests.test_processes import swing
    from trajopt.kernels import machine

    def resident() -> int:
        gc.collect()
        return int(Path("/proc/self/statm").read_text().split()[1]) * os.sysconf("SC_PAGE_SIZE")

    machine._kept.limit = 8 * 2**20
    for k in range(30):
        swing(1.0 + 0.01 * k)
    before = resident()
    for k in range(30, 60):
        swing(1.0 + 0.01 * k)
    print(resident() - before)
"""


@pytest.mark.slow
@pytest.mark.skipif(not Path("/proc/self/statm").exists(), reason="no /proc on this system")
def test_models_that_are_gone_leave_no_memory() -> None:
    """Each has code of its own. The process keeps 8 MB of code, that of some 15 models; later ones take 20 kB each.

    If their solutions are kept, each takes 110 kB. A process that has run many tests grows by more at its next need.
    """
    command, root = [sys.executable, "-c", textwrap.dedent(MODELS)], Path(__file__).parent.parent
    done = subprocess.run(command, capture_output=True, text=True, cwd=root, timeout=PATIENCE, check=True)
    assert int(done.stdout) < 30 * 60e3


METHODS = """
    from tests.support.constrained import pendulum_problem
    from trajopt.kernels import compilations
    from trajopt.solvers import SolverSQP
    problem = pendulum_problem()
    solver = SolverSQP(problem)
    first, before = solver.solve(), compilations()
    problem.set_parameter("motor.lower", -0.8)
    problem.set_parameter("motor.upper", 0.8)
    second = solver.solve()
    print(*sorted({record.method for record in first.history}), before > 10)
    print(*sorted({record.method for record in second.history}), compilations() - before)
"""


@pytest.mark.slow
def test_the_first_solve_compiles_what_later_ones_come_to_need(tmp_path: Path) -> None:
    """The weak motor makes SolverSQP leave its rollouts for interior points and steps along lines."""
    environment = {**os.environ, "TRAJOPT_CACHE_DIR": str(tmp_path)}
    command = [sys.executable, "-c", textwrap.dedent(METHODS)]
    root = Path(__file__).parent.parent
    done = subprocess.run(command, capture_output=True, text=True, cwd=root, env=environment, timeout=PATIENCE)
    assert done.stdout.splitlines() == ["policy True", "interior linear policy 0"], done.stderr
