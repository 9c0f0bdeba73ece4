"""Differential dynamic programming with control limits."""

from __future__ import annotations

from typing import ClassVar

from trajopt.solvers.ddp.box_options import BoxDDPOptions
from trajopt.solvers.ddp.ddp import DDPSolverAbstract
from trajopt.solvers.options import SolverOptions


class SolverBoxDDP(DDPSolverAbstract):
    """DDP that enforces the control limits `lower` and `upper` of the models: torques, thrusts, steering angles.

    At each knot a projected Newton method minimises Qu · du + ½ du · Quu du over lower <= u + du <= upper. Gains of
    controls at a limit are zero, and rollouts clip controls to the limits. While the trajectory has gaps, only rollouts
    enforce the limits. The solver rejects other constraints; use SolverSQP for these.
    Source: Tassa, Mansard, Todorov, Control-limited differential dynamic programming, ICRA 2014.
    """

    options_type: ClassVar[type[SolverOptions]] = BoxDDPOptions
    options: BoxDDPOptions
    keeps_limits = True
