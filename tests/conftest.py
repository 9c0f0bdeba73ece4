"""Tests of one run share a cache of compiled code of their own, cold at the start, unless TRAJOPT_CACHE_DIR is set."""

from __future__ import annotations

import os
import shutil
import tempfile
from collections.abc import Iterator
from typing import TYPE_CHECKING, Any

import numpy as np
import pytest

if TYPE_CHECKING:
    from trajopt.solvers import SolverAbstract, SolverOptions

VARIABLE = "TRAJOPT_CACHE_DIR"
QUICK = {  # tests of large robots that solve once or twice: the quick tier has the same bits
    "analysis.test_legged_motions",
    "analysis.test_noise",
    "contacts.test_contacts",
    "contacts.test_contacts_crocoddyl",
    "contacts.test_contacts_loops",
    "contacts.test_impulses",
    "gaits.test_compiled",
    "gaits.test_guess",
    "gaits.test_problem",
    "gaits.test_solve",
    "gaits.test_stepped",
    "inverse_dynamics.test_gaits",
    "plotting.test_plotting_legged",
    "plotting.test_rollout_pictures",
    "problems.test_gaits_reached",
    "problems.test_legged_problems",
    "problems.test_problems",
    "problems.test_simulated",
    "robots.test_legged_robots",
    "simulator.diffne.test_drop",
    "simulator.diffne.test_modes",
    "simulator.diffne.test_walkthrough",
    "simulator.test_rollout",
    "simulator.test_energy_and_momentum",
    "simulator.test_free_dynamics",
    "simulator.test_modes_exact",
    "simulator.test_modes_robots",
    "solvers.test_parity_gaits",
    "test_examples",
    "test_readme",
}
_made = pytest.StashKey[str]()


def pytest_configure(config: pytest.Config) -> None:
    # before any worker of pytest-xdist starts: workers inherit the variable, so that they share the cache
    if VARIABLE not in os.environ:
        config.stash[_made] = os.environ[VARIABLE] = tempfile.mkdtemp(prefix="trajopt-tests-")


def pytest_unconfigure(config: pytest.Config) -> None:
    folder = config.stash.get(_made, None)
    if folder is not None:
        del os.environ[VARIABLE]
        shutil.rmtree(folder, ignore_errors=True)


@pytest.fixture(autouse=True, scope="module")
def _quick_code(request: pytest.FixtureRequest) -> Iterator[None]:
    """Optimised code takes ten times longer to compile."""
    with pytest.MonkeyPatch.context() as patch:
        if request.module.__name__.removeprefix("tests.") in QUICK:
            patch.setenv("TRAJOPT_OPTIMISE", "off")
        yield


@pytest.fixture
def rng() -> np.random.Generator:
    """Random numbers, the same in every run."""
    return np.random.default_rng(0)


@pytest.fixture(params=["SolverDDP", "SolverFDDP"], ids=["ddp", "fddp"])
def solver(request: pytest.FixtureRequest) -> type[SolverAbstract[Any]]:
    """The class of each solver that every test of solvers must pass."""
    from trajopt import solvers

    found: type[SolverAbstract[Any]] = getattr(solvers, request.param)
    return found


@pytest.fixture
def options(solver: type[SolverAbstract[Any]]) -> type[SolverOptions]:
    """The class of its options."""
    return solver.options_type
