"""Names that are imported when they are first used behave as if they had been there from the start."""

from __future__ import annotations

import inspect
import pickle
import subprocess
import sys
from types import ModuleType

import pytest

import trajopt
from trajopt import problems, solvers
from trajopt.errors import UnknownAttributeError, WrongCallError


def output_of(code: str) -> str:
    """What a new process prints."""
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stderr
    return done.stdout


def test_a_name_is_imported_once_when_it_is_first_used() -> None:
    code = (
        "import sys; from trajopt import solvers; name = 'trajopt.solvers.sqp.solver'\n"
        "print('SolverSQP' in dir(solvers), 'SolverSQP' in vars(solvers), name in sys.modules)\n"
        "solvers.SolverSQP; print('SolverSQP' in vars(solvers), name in sys.modules)"
    )
    assert output_of(code).split() == ["True", "False", "False", "True", "True"]


@pytest.mark.slow
def test_every_form_of_import_has_it() -> None:
    """In one process, which forgets the package after each form."""
    forms = [
        "from trajopt.solvers import *; print(SolverSQP)",
        "from trajopt.solvers import SolverSQP; print(SolverSQP)",
        "import trajopt; print(trajopt.solvers.SolverSQP)",
        "from trajopt.solvers.sqp import SolverSQP; print(SolverSQP)",
    ]
    code = (
        f"import sys\nfor form in {forms}:\n"
        "    exec(form, {}); own = [name for name in sys.modules if name.partition('.')[0] == 'trajopt']\n"
        "    assert 'trajopt.solvers.sqp.solver' in own; [sys.modules.pop(name) for name in own]"
    )
    assert output_of(code).splitlines() == ["<class 'trajopt.solvers.sqp.solver.SolverSQP'>"] * len(forms)


def test_a_package_may_have_a_package_and_modules_of_families() -> None:
    code = (
        "import trajopt; print(trajopt.mpc.__name__, trajopt.problems.pendulum.__name__, trajopt.problems.mpc.__name__)"
    )
    assert output_of(code).split() == ["trajopt.mpc", "trajopt.problems.pendulum", "trajopt.problems.mpc"]


def test_wrong_calls_of_functions_and_methods_are_explained() -> None:
    """Also in the module that defines them, by which they pickle."""
    plot = trajopt.plotting.plot_solution
    with pytest.raises(
        WrongCallError, match=r"^plot_solution: unexpected argument 'sollution' \(did you mean solution"
    ):
        plot(sollution=1)  # type: ignore[call-arg]
    assert pickle.loads(pickle.dumps(plot)) is plot
    with pytest.raises(WrongCallError, match=r"^SolverIpopt: argument 'problem' is missing"):
        solvers.SolverIpopt()  # type: ignore[call-arg]


@pytest.mark.parametrize(
    ("package", "name", "says"),
    [
        (solvers, "SolverSPQ", r"^module 'trajopt.solvers' has no attribute 'SolverSPQ'; did you mean .*SolverSQP"),
        (solvers, "CostModelSum", r"did you mean trajopt.CostStack\?$"),
        (problems, "_nothing", r"^module 'trajopt.problems' has no attribute '_nothing'$"),
        (trajopt, "simulater", r"did you mean trajopt.simulator\?$"),
        (trajopt, "Simulator", r"did you mean trajopt.simulator.Simulator\?$"),
        (trajopt, "MPCController", r"did you mean trajopt.mpc.MPCController\?$"),
        (trajopt, "plot_summary", r"did you mean trajopt.plotting.plot_summary\?$"),
        (trajopt, "SolverBoxDDP", r"did you mean trajopt.solvers.SolverBoxDDP\?$"),
        (solvers, "Simulator", r"did you mean trajopt.simulator.Simulator\?$"),
    ],
)
def test_an_unknown_name_suggests_similar_ones(package: ModuleType, name: str, says: str) -> None:
    with pytest.raises(UnknownAttributeError, match=says):
        getattr(package, name)


@pytest.mark.parametrize("package", [trajopt, solvers, problems, trajopt.plotting, problems.mpc])
def test_dir_lists_what_a_package_has_and_not_what_it_uses(package: ModuleType) -> None:
    names = [name for name in dir(package) if not name.startswith("__")]
    assert set(package.__all__) <= set(names)
    for name in names:
        value = getattr(package, name)
        assert name in package.__all__ or value.__name__ == f"{package.__name__}.{name}"


def test_help_of_a_constructor_does_not_describe_another_one() -> None:
    assert "without arguments" not in (inspect.getdoc(trajopt.ResidualModelLookAt.__init__) or "")
