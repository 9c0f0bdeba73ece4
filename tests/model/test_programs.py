"""Programs are built once: a second process loads them, and never one that is not what it would build.

Longer than a file should be, because every way of getting a stale program is tried in one place.
"""

from __future__ import annotations

import gc
import os
import subprocess
import sys
import textwrap
from collections.abc import Callable, Iterator
from functools import partial
from pathlib import Path
from typing import Any

import casadi as ca
import numpy as np
import pytest

import trajopt
from tests.model.test_content import costs, free_ball, in_contact, node
from tests.support.kernel_runner import assert_same_bits, run_kernel
from tests.support.model_list import Pendulum, small_costs, state_of
from trajopt import problems, source
from trajopt.cache import disk as cache
from trajopt.kernels import Program, compilations, forget, machine
from trajopt.kernels.codegen import OPTIMISED
from trajopt.kernels.machine import Kernel
from trajopt.model import programs as program_store
from trajopt.model import stored_expressions
from trajopt.solvers import SolverFDDP

ROOT = Path(__file__).parents[2]
Bits = list[np.ndarray]


@pytest.fixture(autouse=True)
def folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[Path]:
    monkeypatch.setenv("TRAJOPT_CACHE_DIR", str(tmp_path / "cache"))
    cache._usable_directory.cache_clear()
    forget()
    yield tmp_path / "cache"
    cache._usable_directory.cache_clear()


@pytest.fixture
def built(monkeypatch: pytest.MonkeyPatch) -> list[str]:
    """Names of the programs that expressions were put in since the test began."""
    names: list[str] = []
    call = Program.call

    def watched(program: Program, *args: Any, **kwargs: Any) -> Any:
        names.append(program.name)
        return call(program, *args, **kwargs)

    monkeypatch.setattr(Program, "call", watched)
    return names


def as_in_a_new_process() -> None:
    """Nothing that was loaded or built is held in memory."""
    forget()
    stored_expressions._held.clear()


def inputs(program: Program) -> Bits:
    rng = np.random.default_rng(4)
    return [rng.uniform(0.1, 0.9, a.shape) for a in program.inputs]


def evaluated(model: Any, part: str = "calc_diff") -> Bits:
    """Outputs of a program by CasADi's evaluator, at a fixed point."""
    program = model.program(part)
    return list(program.evaluate(*inputs(program)))


def off(make: Callable[[], Any], part: str = "calc_diff") -> Bits:
    """The same without the cache."""
    with pytest.MonkeyPatch.context() as patch:
        patch.setenv("TRAJOPT_CACHE_DIR", "off")
        return evaluated(make(), part)


MODELS = {
    "euler": node,
    "rk4": lambda: trajopt.IntegratedActionModelRK4(free_ball(), 0.1),
    "contact": in_contact,
    "ready": lambda: problems.load("cart-pole").problem.running[0],
    "lqr": lambda: problems.load("lqr").problem.running[0],
}


@pytest.mark.parametrize("name", MODELS)
def test_a_program_from_the_cache_is_the_one_that_was_built(name: str, built: list[str]) -> None:
    parts = ("calc", "calc_diff")
    first, again = MODELS[name](), MODELS[name]()
    programs = [first.program(part) for part in parts]
    assert built
    built.clear()
    as_in_a_new_process()
    loaded = [again.program(part) for part in parts]
    assert not built
    for one, other in zip(programs, loaded):
        assert other is not one
        assert (other.name, other.arrays, other.inputs, other.outputs) == (
            one.name,
            one.arrays,
            one.inputs,
            one.outputs,
        )
        assert (other.digest(), other.instructions, other.work) == (one.digest(), one.instructions, one.work)
        assert_same_bits(other.evaluate(*inputs(other)), one.evaluate(*inputs(one)))
    for part in parts:
        assert_same_bits(evaluated(again, part), off(MODELS[name], part))
    assert again.program("calc") is loaded[0]


def test_programs_of_equal_models_share_expressions_while_one_is_held() -> None:
    first, again = node(), node()
    functions = first.program("calc").functions
    assert functions
    assert all(a is b for a, b in zip(functions, again.program("calc").functions, strict=True))
    count = len(stored_expressions._held)
    del first, again, functions
    gc.collect()
    assert len(stored_expressions._held) < count


def test_machine_code_of_a_loaded_program_needs_no_expression(monkeypatch: pytest.MonkeyPatch) -> None:
    """If the code is missing, the expression is unpacked, and nothing is built."""
    program = node().program("calc_diff")
    flat = [value.reshape(1, -1) for value in inputs(program)]
    expected = run_kernel(Kernel(program, 8), flat)
    as_in_a_new_process()
    loaded = node().program("calc_diff")
    with monkeypatch.context() as patch:
        patch.setattr(ca.Function, "deserialize", lambda *a: pytest.fail("unpacked for nothing"))
        before = compilations()
        assert_same_bits(run_kernel(Kernel(loaded, 8), flat), expected)
        assert compilations() == before
    made = Kernel(loaded, 8)
    (cache.directory() / f"{made.functions_at(made.first_level())[0].key}.kernel").unlink()  # type: ignore[operator]
    as_in_a_new_process()
    monkeypatch.setattr(trajopt.dynamics.RobotExpressions, "__init__", lambda *a, **k: pytest.fail("built"))
    assert_same_bits(run_kernel(Kernel(node().program("calc_diff"), 8), flat), expected)
    assert compilations() == before + 1


def test_optimising_reads_instructions_and_no_functions(monkeypatch: pytest.MonkeyPatch) -> None:
    """CasADi may be at work in another thread. The quick tier is in the cache, the optimised one is not."""
    monkeypatch.setattr(machine, "QUICK_ENOUGH", 1)
    kernel_of = Kernel(node().program("calc_diff"), 8)
    kernel_of.wait_until_optimised()
    for wanted in kernel_of.functions_at(OPTIMISED):
        (cache.directory() / f"{wanted.key}.kernel").unlink()  # type: ignore[operator]
    del kernel_of
    as_in_a_new_process()
    loaded = Kernel(node().program("calc_diff"), 8)
    loaded.compile()
    assert loaded.tier == "quick"
    loaded.optimise()
    machine._background.end()
    assert loaded.tier == "optimised"
    assert all(code._function is None for code in loaded.program.functions)


def test_models_with_other_values_share_programs(built: list[str]) -> None:
    """And each gives its own result."""
    node().program("calc_diff")
    built.clear()
    model, other = (node(weight=5.0, target=0.4, dt=0.1) for _ in range(2))
    data, expected = model.create_data(), other.create_data()
    x, u = model.state.rand(1), np.array([0.3])
    model.calc_diff(data, x, u)
    assert not built
    with pytest.MonkeyPatch.context() as patch:
        patch.setenv("TRAJOPT_CACHE_DIR", "off")
        other.calc_diff(expected, x, u)
    assert built
    for name in ("Fx", "Fu", "Lx", "Lu", "Lxx", "Lxu", "Luu"):
        np.testing.assert_array_equal(getattr(data, name), getattr(expected, name))
    assert np.abs(data.Fu).max() > 0


@pytest.mark.parametrize(
    "changed",
    [
        lambda: node(frame="cart"),
        lambda: node(integrator=trajopt.IntegratedActionModelRK4),
        lambda: node(matrix=((0.0,), (1.0,))),
    ],
)
def test_another_model_gets_its_own_program(changed: Callable[[], Any], built: list[str]) -> None:
    evaluated(node())
    built.clear()
    found = evaluated(changed())
    assert built
    assert_same_bits(found, off(changed))
    assert any(not np.array_equal(a, b) for a, b in zip(found, evaluated(node())))


def test_a_model_that_was_changed_keeps_nothing(built: list[str]) -> None:
    """What it derived before the change may not fit: nobody else gets what it builds from then on."""
    make = partial(trajopt.IntegratedActionModelRK4, free_ball(), 0.1, transport=False)
    model = trajopt.IntegratedActionModelRK4(free_ball(), 0.1)
    model.program("calc")
    object.__setattr__(model, "transport", False)
    model.program("calc_diff")
    built.clear()
    found = evaluated(make())
    assert built
    assert_same_bits(found, off(make))


def user_model() -> Any:
    return trajopt.IntegratedActionModelEuler(Pendulum(small_costs(trajopt.StateVector(2))), 0.1)


def with_function(function: Callable[..., Any]) -> Any:
    state = state_of("planar-2r")
    stack = costs(state, frame="tool").add("mine", trajopt.ResidualModelSymbolic(state, function), 1.0)
    actuation = trajopt.ActuationModelFull(state)
    return trajopt.IntegratedActionModelEuler(
        trajopt.DifferentialActionModelFreeFwdDynamics(state, actuation, stack), 0.1
    )


def test_programs_with_a_user_s_function_are_cached_by_its_expression(built: list[str]) -> None:
    for factor in (2.0, 3.0):
        make = partial(with_function, lambda x, u, factor=factor: factor * x[:2] - u)
        found = evaluated(make())
        assert built
        built.clear()
        assert_same_bits(evaluated(make()), found)
        assert not built
        assert_same_bits(found, off(make))
        built.clear()


def test_a_function_that_varies_is_never_kept(built: list[str]) -> None:
    """While a program is built of it, it gives something else than before: nobody else gets that program."""
    factors = iter(range(1, 100))
    evaluated(with_function(lambda x, u: next(factors) * x[:2] - u), "calc")
    make = partial(with_function, lambda x, u: 1.0 * x[:2] - u)
    built.clear()
    found = evaluated(make(), "calc")
    assert built
    assert_same_bits(found, off(make, "calc"))


def test_programs_of_user_models_are_cached_by_their_code(built: list[str]) -> None:
    first = evaluated(user_model())
    assert built
    built.clear()
    assert_same_bits(evaluated(user_model()), first)
    assert not built


class Restless(Pendulum):
    """Nobody can tell what it gives the next time."""

    def acceleration(self, x: ca.SX, u: ca.SX) -> ca.SX:
        return np.random.default_rng().uniform() * super().acceleration(x, u)


def test_programs_of_models_without_a_digest_are_built_in_every_process(built: list[str], folder: Path) -> None:
    for _ in range(2):
        evaluated(trajopt.IntegratedActionModelEuler(Restless(small_costs(trajopt.StateVector(2))), 0.1))
        assert any("Restless" not in name for name in built)
        built.clear()


@pytest.mark.parametrize(
    "change",
    [
        lambda patch: patch.setattr(source, "digest", lambda folder, **kw: b"edited"),
        lambda patch: patch.setattr(program_store, "_libraries", lambda: "another version"),
        lambda patch: patch.setattr(program_store.compiler, "target_description", lambda: "another processor"),
        lambda patch: patch.setattr(np, "__version__", "0.0"),
        lambda patch: patch.setattr(ca.CasadiMeta, "git_revision", lambda: "0.0"),
        lambda patch: patch.setattr(program_store.pin, "printVersion", lambda: "0.0"),
    ],
    ids=["source", "libraries", "processor", "numpy", "casadi", "pinocchio"],
)
def test_other_code_gets_its_own_program(
    change: Callable[[pytest.MonkeyPatch], None], built: list[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    node().program("calc")
    built.clear()
    with monkeypatch.context() as patch:
        change(patch)
        node().program("calc")
        assert built
        built.clear()
    node().program("calc")
    assert not built


def test_settings_of_casadi_count(built: list[str]) -> None:
    node().program("calc")
    built.clear()
    ca.GlobalOptions.setSimplificationOnTheFly(False)
    try:
        node().program("calc")
    finally:
        ca.GlobalOptions.setSimplificationOnTheFly(True)
    assert built


def flip(data: bytes) -> bytes:
    return data[:200] + bytes([data[200] ^ 1]) + data[201:]


@pytest.mark.parametrize("damage", [flip, lambda data: data[:-1], lambda data: b""])
def test_damaged_programs_are_built_anew(
    damage: Callable[[bytes], bytes], folder: Path, built: list[str], caplog: pytest.LogCaptureFixture
) -> None:
    first = evaluated(node())
    built.clear()
    for path in folder.glob("*.kernel"):
        path.write_bytes(damage(path.read_bytes()))
    assert_same_bits(evaluated(node()), first)
    assert built
    assert "is damaged" in caplog.text
    built.clear()
    assert_same_bits(evaluated(node()), first)
    assert not built


def test_without_a_cache_every_model_builds(monkeypatch: pytest.MonkeyPatch, built: list[str]) -> None:
    first = evaluated(node())
    monkeypatch.setenv("TRAJOPT_CACHE_DIR", "off")
    monkeypatch.setattr(program_store.content, "content_hash", lambda about: pytest.fail("a hash for nothing"))
    built.clear()
    assert_same_bits(evaluated(node()), first)
    assert built


def test_cache_that_cannot_be_written(
    monkeypatch: pytest.MonkeyPatch, built: list[str], caplog: pytest.LogCaptureFixture
) -> None:
    def full(file: str, target: str) -> None:
        raise OSError(30, "Read-only file system")

    monkeypatch.setattr(os, "replace", full)
    assert_same_bits(evaluated(node()), off(node))
    built.clear()
    assert_same_bits(evaluated(node()), off(node))
    assert built
    assert "Read-only file system" in caplog.text


# Processes

SOLVE = """
    import sys
    import numpy as np, hashlib
    from trajopt.shooting import contact_forces, cost_terms
    from tests.model.test_programs import contact_problem
    from trajopt import problems
    from trajopt.kernels import compilations
    from trajopt.kernels.machine import wait_until_optimised
    if "warm" in sys.argv:
        import trajopt.kernels.program
        def refuse(self, *args, **kwargs):
            raise AssertionError("an expression is built")
        for owner, name in (
            (trajopt.dynamics.RobotExpressions, "__init__"),
            (trajopt.kernels.program.Program, "call"),
        ):
            setattr(owner, name, refuse)
    for name, options in (("arm-reach", {"robot": "planar-2r"}), ("contact", {})):
        case = problems.load(name, **options) if name != "contact" else contact_problem()
        solution = case.solver(case.problem, case.options).solve()
        forces = contact_forces(case.problem, solution.xs, solution.us)
        terms = cost_terms(case.problem, solution.xs, solution.us)
        held = case.problem.quasi_static(solution.xs[:-1])
        arrays = [solution.xs, solution.us, solution.K, solution.Vxx, held, *forces.values(), *terms.values()]
        print(name, solution.iterations, [hashlib.sha256(a.tobytes()).hexdigest() for a in arrays])
    if "warm" not in sys.argv:
        wait_until_optimised()  # a process that ends leaves what the background is at
    print(compilations(), file=sys.stderr)
"""


def contact_problem() -> problems.ProblemCase:
    """A free body whose tip is held, and let go for a while."""
    model = in_contact(damping=1e-3)
    problem = trajopt.ShootingProblem(model.state.zero(), [model] * 6, costs_without_control(model.state))
    problem.set_parameter("contacts.tip.active", 0.0, range(3, 5))
    return problems.ProblemCase(
        name="contact",
        description="",
        problem=problem,
        solver=SolverFDDP,
        options=trajopt.solvers.FDDPOptions(max_iterations=4),
    )


def costs_without_control(state: Any) -> trajopt.CostStack:
    return trajopt.CostStack(state).add("rest", trajopt.ResidualModelState(state), 1.0)


def run(script: str, *arguments: str, cache_dir: str | None = None) -> tuple[str, str]:
    environment = {**os.environ, "PYTHONDONTWRITEBYTECODE": "1"}  # files change within a second
    if cache_dir is not None:
        environment["TRAJOPT_CACHE_DIR"] = cache_dir
    command = [sys.executable, "-c", textwrap.dedent(script), *arguments]
    done = subprocess.run(command, capture_output=True, text=True, cwd=ROOT, env=environment, timeout=300)
    assert done.returncode == 0, done.stderr
    return done.stdout, done.stderr.strip()


@pytest.mark.slow
def test_a_second_process_builds_and_compiles_nothing() -> None:
    """Solving, cost terms, forces and quasi-static controls: the same bits as in a process without a cache."""
    first, compiled = run(SOLVE)
    assert int(compiled) > 10
    assert run(SOLVE, "warm") == (first, "0")
    assert run(SOLVE, cache_dir="off")[0] == first


USER = """
    import sys
    sys.path.insert(0, sys.argv[1])
    import numpy as np, trajopt
    from mine import Held, height
    from trajopt.problems.pendulum import DifferentialActionModelPendulum
    state = trajopt.StateVector(2)
    stack = trajopt.CostStack(state).add("height", trajopt.ResidualModelSymbolic(state, height), 1.0)
    stack.add("u", trajopt.ResidualModelControl(state), 1.0)
    for dynamics in (Held(state, 1, stack), DifferentialActionModelPendulum(stack)):
        model = trajopt.IntegratedActionModelEuler(dynamics, 0.1)
        problem = trajopt.ShootingProblem([0.3, 0.1], [model] * 2, trajopt.CostStack(state))
        found = problem.calc(np.full((3, 2), 0.5), np.full((2, 1), 0.2))
        print(found.cost, *found.xnext.ravel())
"""
MINE = """
import trajopt
factor = {factor}
def height(x):
    return {height}
class Held(trajopt.DifferentialActionModelSymbolic):
    def acceleration(self, x, u):
        return {acceleration}
"""


@pytest.mark.slow
def test_a_change_of_what_a_user_wrote_takes_effect(tmp_path: Path) -> None:
    """Of a number that a function reads, of a method, and of the function."""
    texts = {"factor": "2.0", "height": "factor * x[0]", "acceleration": "u - x[0]"}
    by_class, by_function = [], []
    for change in ({}, {"factor": "3.0"}, {"acceleration": "u", "height": "x[1]"}):
        (tmp_path / "mine.py").write_text(MINE.format(**texts | change))
        found, _ = run(USER, str(tmp_path))
        assert found == run(USER, str(tmp_path), cache_dir="off")[0]
        of_class, of_function = found.splitlines()
        by_class.append(of_class)
        by_function.append(of_function)
    assert len(set(by_class)) == len(set(by_function)) == 3
