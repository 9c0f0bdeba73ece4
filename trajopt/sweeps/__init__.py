"""Sweeps: one problem solved for many parameters, initial states and guesses, on any executor.

    sweep = trajopt.sweep("arm-reach", {"goal.reference": placements}, store="runs/reach")

A `Recipe` says how to build the problem; workers build it once. `designs` makes values to solve for. Rows go out in
chunks, and each chunk is a file of the store as soon as it is done, so that a sweep that was cut off goes on where it
was. It needs pyarrow, and for Dask distributed: the extra `sweep`.
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
