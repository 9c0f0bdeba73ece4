"""Sweeps: solve one problem for many parameters, initial states and guesses, on any executor.

    sweep = trajopt.sweep("arm-reach", {"goal.reference": placements}, store="runs/reach")

A `Recipe` describes how to build the problem, and each worker builds it once. The functions of `designs` create the
values to solve for. Rows are distributed in chunks. Each finished chunk becomes a file of the store, so an interrupted
sweep can continue. Sweeps need pyarrow, and with Dask distributed: the extra `sweep`.
"""

from trajopt.objects.calls import explain_calls
from trajopt.sweeps.designs import grid, random
from trajopt.sweeps.errors import SweepError
from trajopt.sweeps.failures import Failure, Failures
from trajopt.sweeps.outcome import Outcome
from trajopt.sweeps.outcomes import Sweep
from trajopt.sweeps.recipe import Recipe
from trajopt.sweeps.run import sweep

__all__ = ["Failure", "Failures", "Outcome", "Recipe", "Sweep", "SweepError", "grid", "random", "sweep"]

explain_calls(__name__)
