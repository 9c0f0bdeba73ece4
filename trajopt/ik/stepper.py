"""Arrays of steps of differential inverse kinematics, and the compiled call that fills them one after another."""

from __future__ import annotations

import numpy as np

from trajopt.ik.tasks import TaskModel
from trajopt.ik.velocity import DIAGNOSTICS, SETTINGS, VelocityBuilder
from trajopt.kernels import KernelCall, Rows, kernel, rows
from trajopt.model.programs import kept


class Stepper:
    """T steps of differential inverse kinematics: each starts where the one before has ended.

    Args:
        model: The tasks.
        T: Number of steps [-].

    Attributes:
        q: Configurations (T + 1, nq), of which the first is given.
        v: Velocities (T + 1, nv), of which the first is given.
        diagnostics: By `DIAGNOSTICS`, (T + 1, 5), of which the first is given.
        p: Parameters at each time (T + 1, np), given.
        limits: Rows low, high, slowest, fastest, acceleration, (5, nv), given [rad, m, per s, per s²].
        settings: By `SETTINGS`, (3,), given.
    """

    def __init__(self, model: TaskModel, T: int) -> None:
        state = model.state
        self.q, self.v, self.diagnostics = (np.zeros((T + 1, n)) for n in (state.nq, state.nv, len(DIAGNOSTICS)))
        self.p, self.limits = np.zeros((T + 1, model.layout.size)), np.zeros((5, state.nv))
        self.settings = np.zeros(len(SETTINGS))
        program = kept(model, "differential inverse kinematics", lambda: VelocityBuilder(model).step())
        memory = (self.q, self.v, self.diagnostics)
        given = [rows(self.p), rows(self.p, offset=1), *(Rows(each, 0) for each in self.limits), Rows(self.settings, 0)]
        arguments = [*(rows(each) for each in memory), *given, *(rows(each, offset=1) for each in memory)]
        self._call = KernelCall([kernel(program, 1)], np.zeros(T), np.arange(T)[:, None], arguments)

    def run(self) -> None:
        """Takes all steps."""
        self._call()
