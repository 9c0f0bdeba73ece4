"""Whole turns of joints whose limits allow several: which of the equal angles a solution has."""

from __future__ import annotations

import dataclasses

import casadi as ca
import numpy as np

from trajopt.ik.search import DescentEnds
from trajopt.ik.tasks import TaskModel
from trajopt.states.joint_spaces import joint_spaces
from trajopt.states.spaces import VectorSpace
from trajopt.types import Reals

TURN = 2.0 * np.pi
SAME = 1e-9
"""Largest change of a row of the tasks by whole turns that do not matter to it [unit of the row]."""


class WholeTurns:
    """Moves joints by whole turns, within limits, towards the angles of other configurations.

    Args:
        model: The tasks.
        values: Their `residuals`.
        low: Lower limits of q ⊖ neutral (nv,); -inf for no limit [rad, m].
        high: Upper limits of q ⊖ neutral (nv,); inf for no limit [rad, m].
    """

    def __init__(self, model: TaskModel, values: ca.Function, low: Reals, high: Reals) -> None:
        state, self._costs, self._values = model.state, model.has_costs, values
        moving, units = set(model.moving.tolist()), state.tangent_units
        turning = [
            (joint.q.start, joint.v.start)
            for joint in joint_spaces(state.model)
            if isinstance(joint.space, VectorSpace) and joint.space.nv == 1
            if joint.v.start in moving and units[joint.v.start] == "rad"
            if high[joint.v.start] - low[joint.v.start] >= TURN
        ]
        self._q, v = [q for q, _ in turning], [v for _, v in turning]
        self._low, self._high = low[v], high[v]

    def nearest(self, q: Reals, about: Reals) -> Reals:
        """Configurations q (..., nq) whose joints have turned as near as possible to those of `about` (..., nq)."""
        if not self._q:
            return q
        own, turned = q[..., self._q], q.copy()
        least, most = np.ceil((self._low - own) / TURN), np.floor((self._high - own) / TURN)
        turns = np.clip(np.round((about[..., self._q] - own) / TURN), np.minimum(least, 0.0), np.maximum(most, 0.0))
        turned[..., self._q] = own + TURN * turns
        return turned

    def ended(self, p: Reals, ends: DescentEnds, about: Reals) -> DescentEnds:
        """Final points as near as possible to `about` (n, nq), where the tasks stay the same and have no costs.

        Args:
            p: Parameters of each target (n, np).
            ends: The final points.
            about: Configuration of each target to which they are near.
        """
        q = self.nearest(ends.q, about[ends.target])
        moved = np.flatnonzero((q != ends.q).any(axis=1))
        if self._costs or not len(moved):
            return ends
        parameters = p[ends.target[moved]].T
        before, after = (self._values(each[moved].T, parameters)[0] for each in (ends.q, q))
        same = np.abs(np.array(after) - np.array(before)).max(axis=0, initial=0.0) <= SAME
        result = ends.q.copy()
        result[moved[same]] = q[moved[same]]
        return dataclasses.replace(ends, q=result)
