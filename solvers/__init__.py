"""Solvers: how to solve a shooting problem."""

from trajopt.solvers.base import SolverAbstract
from trajopt.solvers.ddp import SolverDDP
from trajopt.solvers.fddp import SolverFDDP
from trajopt.solvers.options import DDPOptions, FDDPOptions, SolverOptions
from trajopt.solvers.progress import Progress

__all__ = ["DDPOptions", "FDDPOptions", "Progress", "SolverAbstract", "SolverDDP", "SolverFDDP", "SolverOptions"]
