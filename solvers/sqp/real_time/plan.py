"""Plan of a window: trajectory, gains and multipliers, which a real-time iteration improves."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from trajopt.shooting import ShootingProblem
from trajopt.types import Reals


@dataclass(eq=False)
class Plan:
    """Trajectory of a window that begins at time t, with gains and multipliers.

    Attributes:
        t: Time of the first knot [s].
        xs: States (N + 1, nx).
        us: Controls (N, nu).
        K: Gains (N, nu, ndx) of the policy us - K (x ⊖ xs).
        lam: Multipliers of the dynamics (N + 1, ndx).
        y: Multipliers of the constraint rows (N + 1, nc).
    """

    t: float
    xs: Reals
    us: Reals
    K: Reals
    lam: Reals
    y: Reals

    @staticmethod
    def zeros(problem: ShootingProblem) -> Plan:
        """Returns a plan of a problem's sizes: t = 0, all states are its x0; controls, gains and multipliers are 0."""
        N, n, nu = problem.T, problem.state.ndx, problem.nu
        return Plan(
            t=0.0,
            xs=np.tile(problem.x0, (N + 1, 1)),
            us=np.zeros((N, nu)),
            K=np.zeros((N, nu, n)),
            lam=np.zeros((N + 1, n)),
            y=np.zeros((N + 1, problem.nc)),
        )

    def take(self, xs: Reals, us: Reals, K: Reals | None, lam: Reals | None, y: Reals | None) -> None:
        """Copies a solution into the plan; arguments that are None leave it unchanged."""
        self.xs[:], self.us[:] = xs, us
        for mine, new in ((self.K, K), (self.lam, lam), (self.y, y)):
            if new is not None:
                mine[:] = new
