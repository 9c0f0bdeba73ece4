"""Differential dynamic programming: DDP and FDDP, and those that keep control limits."""

from typing import TYPE_CHECKING

from trajopt.objects.lazy import lazy
from trajopt.solvers.ddp.ddp import SolverDDP
from trajopt.solvers.ddp.fddp import SolverFDDP

if TYPE_CHECKING:
    from trajopt.solvers.ddp.box_ddp import SolverBoxDDP
    from trajopt.solvers.ddp.box_fddp import SolverBoxFDDP
    from trajopt.solvers.ddp.box_options import BoxDDPOptions, BoxFDDPOptions
else:
    __getattr__, __dir__ = lazy(__name__)

__all__ = ["BoxDDPOptions", "BoxFDDPOptions", "SolverBoxDDP", "SolverBoxFDDP", "SolverDDP", "SolverFDDP"]
