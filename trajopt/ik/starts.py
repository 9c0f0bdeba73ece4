"""Starts of a search: table entries near the target, then random ones."""

from __future__ import annotations

from collections.abc import Mapping

import numpy as np

from trajopt.constraints import Constraint
from trajopt.costs import CostTerm
from trajopt.ik.collisions import farthest_apart
from trajopt.ik.coordinates import SIMPLE, coordinates, placed
from trajopt.ik.fixed import hold
from trajopt.ik.seeds import ENTRIES, PLACEMENT, ROTATION, TRANSLATION, SeedTable, seed_table
from trajopt.ik.tasks import TaskModel
from trajopt.residuals import ResidualModelFramePlacement, ResidualModelFrameRotation, ResidualModelFrameTranslation
from trajopt.residuals.multibody import ResidualModelMultibody
from trajopt.states.joint_spaces import joint_spaces
from trajopt.types import Reals

KINDS: dict[type, str] = {
    ResidualModelFramePlacement: PLACEMENT,
    ResidualModelFrameTranslation: TRANSLATION,
    ResidualModelFrameRotation: ROTATION,
}
"""Tasks that determine the placement of a frame, by the part that they determine."""

_FAR = 1e100  # farthest coordinate of a target [m]
FIRST_RANDOM = 16
"""Number of starts near the target; later ones are random."""
CANDIDATES, RANKED = 4, 8
"""Candidates for each start, if at least eight starts are chosen at once; for fewer, the nearest entries are used."""


class Starts:
    """Chooses initial configurations for the tasks of a robot.

    Args:
        model: The tasks.
        lower: Lower limits of q ⊖ neutral (nv,); -inf for no limit.
        upper: Upper limits of q ⊖ neutral (nv,); inf for no limit.
        fixed: Coordinates of joints that do not move.
    """

    def __init__(self, model: TaskModel, lower: Reals, upper: Reals, fixed: Mapping[str, tuple[float, ...]]) -> None:
        self._model = model
        self._where: slice | None = None  # position of the target in a row of parameters
        self._kind, frame = "", None
        items: list[Constraint | CostTerm] = [*model.constraints.constraints, *model.costs.terms]
        for item in items:
            kind, residual = KINDS.get(type(item.residual)), item.residual
            if kind is not None and self._where is None and isinstance(residual, ResidualModelMultibody):
                self._kind, frame = kind, residual.frame
                self._where = model.layout.slices[f"{item.name}.reference"]
        self._table: SeedTable = seed_table(model.state, frame, lower, upper)
        self._q = hold(model.state, fixed, self._at_rest(lower, upper))

    def _at_rest(self, lower: Reals, upper: Reals) -> Reals:
        """Configurations of the table, with the joints at rest that at most collision rows move."""
        q, state = self._table.q.copy(), self._model.state
        moving = set(self._model.led.tolist())
        neutral = farthest_apart(self._model)
        for joint in joint_spaces(state.model):
            if not moving & set(range(joint.v.start, joint.v.stop)):
                q[:, joint.q] = neutral[joint.q]
                if isinstance(joint.space, SIMPLE):
                    at = np.clip(coordinates(state, neutral[None])[:, joint.v], lower[joint.v], upper[joint.v])
                    q[:, joint.q] = placed(joint, at)
        return q

    def candidates(self, p: Reals, tried: int, count: int, seed: int) -> Reals:
        """Candidate configurations (n, CANDIDATES · count, nq) for `count` starts, after the first `tried` starts.

        Args:
            p: Parameters of each target (n, np).
            tried: Number of earlier starts [-].
            count: Number of starts to choose [-].
            seed: Seed of the random starts.
        """
        few = count < RANKED
        if self._where is None or tried >= FIRST_RANDOM:
            rng = np.random.default_rng([seed, tried])
            chosen = rng.integers(ENTRIES, size=(len(p), CANDIDATES * count))
        else:
            first, last = (tried, tried + count) if few else (CANDIDATES * tried, CANDIDATES * (tried + count))
            chosen = self._table.nearest(self._kind, self._targets(p), last)[:, first:]
        return np.asarray(self._q[chosen])

    def _targets(self, p: Reals) -> Reals:
        """Targets of the frame in the form that `SeedTable.nearest` takes."""
        flat = np.clip(p[:, self._where], -_FAR, _FAR)  # squares of distances stay finite
        if self._kind == TRANSLATION:
            return flat
        return flat.reshape(len(p), -1, 3).swapaxes(1, 2)
