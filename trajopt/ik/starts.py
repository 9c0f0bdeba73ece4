"""Starts of a search: entries of a table that are near the target, then others at random."""

from __future__ import annotations

import numpy as np

from trajopt.constraints import Constraint
from trajopt.costs import CostTerm
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
"""Tasks that tell where a frame is to be, by what they tell."""

FIRST_RANDOM = 16
"""Starts from the neighbourhood of the target; later ones come from anywhere."""
CANDIDATES, RANKED = 4, 8
"""Entries that are looked at for each start, where at least eight starts are chosen at once; fewer are the nearest."""


class Starts:
    """Starts for tasks of a robot.

    Args:
        model: The tasks.
        lower: Limits of q ⊖ neutral (nv,), -inf where there are none.
        upper: Limits likewise.
    """

    def __init__(self, model: TaskModel, lower: Reals, upper: Reals) -> None:
        self._model = model
        self._where: slice | None = None  # the target's place in a row of parameters
        self._kind, frame = "", None
        items: list[Constraint | CostTerm] = [*model.constraints.constraints, *model.costs.terms]
        for item in items:
            kind, residual = KINDS.get(type(item.residual)), item.residual
            if kind is not None and self._where is None and isinstance(residual, ResidualModelMultibody):
                self._kind, frame = kind, residual.frame
                self._where = model.layout.slices[f"{item.name}.reference"]
        self._table: SeedTable = seed_table(model.state, frame, lower, upper)
        self._q = self._at_rest(lower, upper)

    def _at_rest(self, lower: Reals, upper: Reals) -> Reals:
        """Configurations of the table with joints at rest that no task moves."""
        q, state = self._table.q.copy(), self._model.state
        moving = set(self._model.moving.tolist())
        neutral = state.zero()[: state.nq]
        for joint in joint_spaces(state.model):
            if not moving & set(range(joint.v.start, joint.v.stop)):
                q[:, joint.q] = neutral[joint.q]
                if joint.space.nq == joint.space.nv:
                    q[:, joint.q] = np.clip(neutral[joint.q], lower[joint.v], upper[joint.v])
        return q

    def candidates(self, p: Reals, tried: int, count: int, seed: int) -> Reals:
        """Configurations (n, CANDIDATES · count, nq) to choose `count` starts of, of those after the first `tried`.

        Args:
            p: Parameters of each target (n, np).
            tried: Starts that were tried before [-].
            count: Starts that are wanted [-].
            seed: Of those from anywhere.
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
        """Targets of the frame, as `SeedTable.nearest` takes them."""
        flat = p[:, self._where]
        if self._kind == TRANSLATION:
            return flat
        return flat.reshape(len(p), -1, 3).swapaxes(1, 2)
