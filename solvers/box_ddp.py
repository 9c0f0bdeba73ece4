"""Differential dynamic programming with control limits."""

from __future__ import annotations

from typing import ClassVar

from trajopt.solvers.box_options import BoxDDPOptions
from trajopt.solvers.ddp import DDPSolverAbstract
from trajopt.solvers.options import SolverOptions


class SolverBoxDDP(DDPSolverAbstract):
    """DDP that keeps the control limits of the models, `lower` and `upper`: torques, thrusts, steering angles.

    Each knot's step minimises Qu · du + ½ du · Quu du over lower <= u + du <= upper by a projected Newton method; the
    gains of controls that end at a limit are zero, and rollouts clip to the limits. As long as the trajectory has gaps,
    rollouts alone keep them. Other constraints are refused: SolverSQP takes them.

    Source: Tassa, Mansard, Todorov, Control-limited differential dynamic programming, ICRA 2014.
    """

    options_type: ClassVar[type[SolverOptions]] = BoxDDPOptions
    options: BoxDDPOptions
    keeps_limits = True
