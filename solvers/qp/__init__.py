"""Quadratic programs with stages and bounded rows, and solvers of them behind one interface."""

from trajopt.solvers.qp.admm import ADMM, ADMMOptions
from trajopt.solvers.qp.interior_point import InteriorPoint, InteriorPointOptions
from trajopt.solvers.qp.sparse import Conic, Osqp
from trajopt.solvers.qp.stage_qp import QPSolution, QPSolverAbstract, QPStatus, StageQP

__all__ = [
    "ADMM",
    "ADMMOptions",
    "Conic",
    "InteriorPoint",
    "InteriorPointOptions",
    "Osqp",
    "QPSolution",
    "QPSolverAbstract",
    "QPStatus",
    "StageQP",
]
