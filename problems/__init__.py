"""Ready problems in families; a case has a problem, an initial guess, a solver with options, and a reference cost.

    case = trajopt.problems.load("arm-reach", robot="ur5")
    solution = case.solve()

`trajopt.problems.mpc` contains closed loops of model-predictive controllers.

Importing this package builds no problem and loads no robot; a family is imported at its first use.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from trajopt.objects.calls import explain_calls
from trajopt.objects.lazy import lazy
from trajopt.problems.case import ProblemCase, ProblemInfo
from trajopt.problems.family import Family
from trajopt.problems.ready import MODULES, describe, load, names

if TYPE_CHECKING:
    import trajopt.problems.mpc as mpc
    from trajopt.problems.ahead import warm
else:
    __getattr__, __dir__ = lazy(__name__, MODULES.values())

__all__ = ["Family", "ProblemCase", "ProblemInfo", "describe", "load", "mpc", "names", "warm"]

explain_calls(__name__)
