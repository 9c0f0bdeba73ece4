"""Arrays for steps of differential inverse kinematics, and the compiled call that fills them in sequence."""

from __future__ import annotations

import numpy as np

from trajopt.ik.collisions import NearestBodies
from trajopt.ik.tasks import TaskModel
from trajopt.ik.velocity import DIAGNOSTICS, SETTINGS, VelocityBuilder
from trajopt.kernels import KernelCall, Rows, kernel, rows
from trajopt.model.programs import kept


class Stepper:
    """T steps of differential inverse kinematics; each starts where the previous one ended.

    Args:
        model: The tasks.
        T: Number of steps [-].

    Attributes:
        q: Configurations (T + 1, nq); the first is an input.
        v: Velocities (T + 1, nv); the first is an input.
        diagnostics: In the order of `DIAGNOSTICS` (T + 1, 5); the first is an input.
        p: Parameters at each time (T + 1, np), an input.
        limits: Rows low, high, slowest, fastest, acceleration (5, nv), an input [rad, m, per s, per s²].
        weights: Weights of the coordinates of a step (nv,), an input [-].
        settings: In the order of `SETTINGS` (3,), an input.
    """

    def __init__(self, model: TaskModel, T: int) -> None:
        state = model.state
        self.q, self.v, self.diagnostics = (np.zeros((T + 1, n)) for n in (state.nq, state.nv, len(DIAGNOSTICS)))
        self.p, self.limits = np.zeros((T + 1, model.layout.size)), np.zeros((5, state.nv))
        self.weights, self.settings = np.ones(state.nv), np.zeros(len(SETTINGS))
        program = kept(model, "differential inverse kinematics", lambda: VelocityBuilder(model).step())
        memory = (self.q, self.v, self.diagnostics)
        constants = [
            rows(self.p),
            rows(self.p, offset=1),
            *(Rows(each, 0) for each in self.limits),
            Rows(self.weights, 0),
            Rows(self.settings, 0),
        ]
        arguments = [*(rows(each) for each in memory), *constants, *(rows(each, offset=1) for each in memory)]
        self._nearest = NearestBodies(model) if model.collisions else None
        self._one = Stepper(model, 1) if model.collisions and T > 1 else None
        self._call = KernelCall([kernel(program, 1)], np.zeros(T), np.arange(T)[:, None], arguments)

    def run(self) -> None:
        """Computes all T steps, each from the end of the step before.

        The first row of all memory, and all of `p`, are inputs. With collision rows, the nearest bodies take the slots
        before each step.
        """
        if self._one is not None:
            self._step_by_step(self._one)
            return
        if self._nearest is not None:
            self._nearest(self.q[0], self.p)
        self._call()

    def _step_by_step(self, one: Stepper) -> None:
        one.limits[:], one.weights[:], one.settings[:] = self.limits, self.weights, self.settings
        for t in range(len(self.q) - 1):
            one.p[:] = self.p[t : t + 2]
            for own, whole in ((one.q, self.q), (one.v, self.v), (one.diagnostics, self.diagnostics)):
                own[0] = whole[t]
            one.run()
            self.p[t + 1] = one.p[1]
            for own, whole in ((one.q, self.q), (one.v, self.v), (one.diagnostics, self.diagnostics)):
                whole[t + 1] = own[1]
