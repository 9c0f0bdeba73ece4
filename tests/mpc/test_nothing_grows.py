"""After the first steps nothing is compiled or loaded, and memory stays as it is; 100,000 steps are a benchmark."""

from __future__ import annotations

import gc
import tracemalloc
import weakref
from collections.abc import Callable

import numpy as np
import pytest

from tests.benchmarks.mpc_steps import Compilations
from tests.mpc import support
from trajopt import kernels, mpc, problems
from trajopt.kernels import compiler, machine
from trajopt.mpc.server import MPCServer
from trajopt.shooting import ShootingProblem
from trajopt.solvers import SolverFDDP

MODES = {
    "real-time": mpc.MPCOptions(dt=0.005),
    "two iterations": mpc.MPCOptions(dt=0.005, iterations=2),
    "converged": mpc.MPCOptions(dt=0.005, mode="converged"),
}
LEAK = 200  # bytes a step: less than one array of a plan; free lists of the interpreter fill up slowly


@pytest.fixture(autouse=True)
def without_other_kernels(monkeypatch: pytest.MonkeyPatch) -> None:
    """Kernels of other tests of this process are not waited for."""
    kernels.forget()
    monkeypatch.setattr(machine, "_living", weakref.WeakSet())


def running(mode: str) -> mpc.MPCController:
    problem = support.arm(N=10)
    controller = mpc.MPCController(problem, options=MODES[mode])
    controller.follow("hand.reference", support.target)
    return controller


def take(controller: mpc.MPCController, count: int, noise: float) -> list[mpc.MPCStatus]:
    """Steps with measurements beside the plan."""
    rng, state, found = np.random.default_rng(0), controller.problem.state, []
    x = controller.problem.x0.copy()
    for _ in range(count):
        step = controller.step(x)
        x = state.integrate(step.xs[0], 0.25 * state.difference(step.xs[0], step.xs[1]) + noise * rng.normal(size=14))
        found.append(step.status)
    return found


def tiers() -> set[str]:
    """Those of the code of all kernels that are in use; the first solver of a real-time loop is not."""
    return {each.tier for each in list(machine._living) if each.calls}


@pytest.mark.parametrize("mode", list(MODES))
def test_nothing_is_compiled_after_the_first_solve(mode: str) -> None:
    """Nor when a step fails, or the last one was far away, or parameters and limits change."""
    controller = running(mode)
    controller.reset()
    assert "quick" not in tiers()
    before = compiler.compilations()
    with Compilations() as compiled:
        take(controller, 10, 1e-3)
        take(controller, 10, 0.3)
        controller.problem.set_parameter("posture.weight", 0.2, "all")
        controller.problem.set_parameter("torques.upper", 20.0 * np.ones(7), "running")
        take(controller, 10, 1e-3)
        controller.reset(t=3.0)
        take(controller, 3, 1e-3)
    assert compiled.count == 0
    assert compiler.compilations() == before


def reach() -> ShootingProblem:
    """Large enough for quick code, small enough to be optimised within a second."""
    return problems.load("arm-reach", "planar-3r", T=10).problem


def begun() -> None:
    mpc.MPCController(reach()).reset()


def served() -> None:
    with MPCServer(SolverFDDP(reach()), "tcp://127.0.0.1:*"):
        pass


def simulated() -> None:
    controller = mpc.MPCController(reach())
    mpc.simulate(controller, None, controller.problem.x0, 2 * controller.dt)


@pytest.mark.slow
@pytest.mark.parametrize("run", [begun, served, simulated])
def test_controllers_servers_and_closed_loops_wait_for_optimised_code(
    monkeypatch: pytest.MonkeyPatch, run: Callable[[], None]
) -> None:
    """Unless there is none, of which one case is enough to see that quick code is counted."""
    monkeypatch.setenv("TRAJOPT_CACHE_DIR", "off")
    for setting in ("off", "on") if run is begun else ("on",):
        monkeypatch.setenv("TRAJOPT_OPTIMISE", setting)
        kernels.forget()
        gc.collect()
        run()
        assert ("quick" in tiers()) == (setting == "off")


def test_counting_compilations_sees_them() -> None:
    with Compilations() as compiled:
        compiler.load([compiler.machine_code("define i64 @seen_by_a_test() { ret i64 1 }")], ["seen_by_a_test"], {})
    assert compiled.count == 1


@pytest.mark.slow
@pytest.mark.parametrize("mode", list(MODES))
def test_memory_does_not_grow(mode: str) -> None:
    """What grows at each step grows all the time; what is made once, when it is first needed, does not."""
    controller = running(mode)
    controller.reset()
    take(controller, 50, 1e-3)
    tracemalloc.start()
    try:
        sizes = []
        for _ in range(4):
            take(controller, 40, 1e-3)
            gc.collect()
            sizes.append(tracemalloc.get_traced_memory()[0])
    finally:
        tracemalloc.stop()
    assert np.diff(sizes).min() < 40 * LEAK
