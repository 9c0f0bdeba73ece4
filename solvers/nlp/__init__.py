"""Solvers of nonlinear programs that come with CasADi, for independent checks."""

from trajopt.solvers.nlp.nlp import SolverFatrop, SolverIpopt

__all__ = ["SolverFatrop", "SolverIpopt"]
