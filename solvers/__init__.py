"""Solvers: how to solve a shooting problem."""

from trajopt.solvers.base import SolverAbstract
from trajopt.solvers.ddp import SolverDDP
from trajopt.solvers.fddp import SolverFDDP
from trajopt.solvers.nlp import SolverFatrop, SolverIpopt
from trajopt.solvers.options import DDPOptions, FDDPOptions, NLPOptions, SolverOptions, SQPOptions
from trajopt.solvers.progress import Progress
from trajopt.solvers.sqp import SolverSQP

__all__ = [
    "DDPOptions",
    "FDDPOptions",
    "NLPOptions",
    "Progress",
    "SQPOptions",
    "SolverAbstract",
    "SolverDDP",
    "SolverFDDP",
    "SolverFatrop",
    "SolverIpopt",
    "SolverOptions",
    "SolverSQP",
]
