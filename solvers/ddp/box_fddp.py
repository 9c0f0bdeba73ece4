"""Feasibility-driven differential dynamic programming with control limits."""

from __future__ import annotations

from typing import ClassVar

from trajopt.solvers.ddp.box_options import BoxFDDPOptions
from trajopt.solvers.ddp.fddp import FDDPSolverAbstract
from trajopt.solvers.options import SolverOptions


class SolverBoxFDDP(FDDPSolverAbstract):
    """FDDP that enforces the control limits `lower` and `upper` of the models, as SolverBoxDDP does.

    The direction keeps the limits while there are gaps, too, unless `box_exact` is False.

    Source: Mastalli et al., A feasibility-driven approach to control-limited DDP, Autonomous Robots 2022.
    """

    options_type: ClassVar[type[SolverOptions]] = BoxFDDPOptions
    options: BoxFDDPOptions
    keeps_limits = True
