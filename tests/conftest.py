"""Tests of one run share a cache of compiled code of their own, cold at the start, unless TRAJOPT_CACHE_DIR is set."""

from __future__ import annotations

import gc
import os
import shutil
import signal
import tempfile
from collections.abc import Iterator
from typing import TYPE_CHECKING, Any

import numpy as np
import pytest

if TYPE_CHECKING:
    from trajopt.solvers import SolverAbstract, SolverOptions

VARIABLE = "TRAJOPT_CACHE_DIR"
BOTH_TIERS = (
    *("tests.kernels.", "tests.cache.", "tests.model.test_programs", "tests.mpc.test_nothing_grows"),
    *("tests.problems.test_contact_problems", "tests.solvers.test_outcomes"),
)
"""Tests of tiers, and of what is kept on disk; all others run the quick tier, which has the same bits."""

_made = pytest.StashKey[str]()
_bytecode = pytest.StashKey[str]()


def pytest_configure(config: pytest.Config) -> None:
    # a shell starts jobs in the background with SIGINT ignored, and processes that tests start would ignore Ctrl-C, too
    signal.signal(signal.SIGINT, signal.default_int_handler)
    # before any worker of pytest-xdist starts: workers inherit the variable, so that they share the cache
    if VARIABLE not in os.environ:
        config.stash[_made] = os.environ[VARIABLE] = tempfile.mkdtemp(prefix="trajopt-tests-")
    # where bytecode is not kept, each process that a test starts would compile all modules again, for half a second
    if os.environ.pop("PYTHONDONTWRITEBYTECODE", ""):
        folder = config.stash[_bytecode] = tempfile.mkdtemp(prefix="trajopt-bytecode-")
        os.environ["PYTHONPYCACHEPREFIX"] = folder


@pytest.hookimpl(optionalhook=True)
def pytest_xdist_make_scheduler(config: pytest.Config, log: Any) -> Any:
    """Each worker begins with files of its own, so that what a file keeps is computed once, then takes over others'."""
    from xdist.scheduler import WorkStealingScheduling

    return WorkStealingScheduling(config, log) if config.getoption("dist") == "load" else None


def pytest_collection_finish() -> None:
    """Python searches for garbage less often: it looked 10,000 times in 80 s, at all modules each time, for 7 s."""
    gc.collect()
    gc.freeze()
    gc.set_threshold(20_000, 20, 20)


def pytest_unconfigure(config: pytest.Config) -> None:
    folder = config.stash.get(_made, None)
    if folder is not None:
        del os.environ[VARIABLE]
        shutil.rmtree(folder, ignore_errors=True)
    folder = config.stash.get(_bytecode, None)
    if folder is not None:
        os.environ["PYTHONDONTWRITEBYTECODE"] = "1"
        del os.environ["PYTHONPYCACHEPREFIX"]
        shutil.rmtree(folder, ignore_errors=True)


@pytest.fixture(autouse=True, scope="module")
def _quick_code(request: pytest.FixtureRequest) -> Iterator[None]:
    """Optimised code of large programs takes ten times longer to compile than quick code."""
    with pytest.MonkeyPatch.context() as patch:
        if not request.module.__name__.startswith(BOTH_TIERS):
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
