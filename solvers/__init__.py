"""Solvers: how to solve a shooting problem."""

from typing import TYPE_CHECKING

from trajopt.objects.calls import explain_calls
from trajopt.objects.lazy import lazy
from trajopt.solvers.base import SolverAbstract
from trajopt.solvers.continuation import continuation
from trajopt.solvers.ddp.ddp import SolverDDP
from trajopt.solvers.ddp.fddp import SolverFDDP
from trajopt.solvers.options import DDPOptions, FDDPOptions, NLPOptions, SolverOptions, SQPOptions
from trajopt.solvers.progress import Progress

if TYPE_CHECKING:
    from trajopt.solvers.ddp.box_ddp import SolverBoxDDP
    from trajopt.solvers.ddp.box_fddp import SolverBoxFDDP
    from trajopt.solvers.ddp.box_options import BoxDDPOptions, BoxFDDPOptions
    from trajopt.solvers.nlp.nlp import SolverFatrop, SolverIpopt
    from trajopt.solvers.sensitivity import Sensitivity, SolutionDerivatives
    from trajopt.solvers.sqp import SolverSQP
else:
    __getattr__, __dir__ = lazy(__name__)

__all__ = [
    "BoxDDPOptions",
    "BoxFDDPOptions",
    "DDPOptions",
    "FDDPOptions",
    "NLPOptions",
    "Progress",
    "SQPOptions",
    "Sensitivity",
    "SolutionDerivatives",
    "SolverAbstract",
    "SolverBoxDDP",
    "SolverBoxFDDP",
    "SolverDDP",
    "SolverFDDP",
    "SolverFatrop",
    "SolverIpopt",
    "SolverOptions",
    "SolverSQP",
    "continuation",
]

explain_calls(__name__)
