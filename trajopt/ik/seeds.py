"""Seed table of inverse kinematics: configurations with placements of a frame, searched for the nearest ones."""

from __future__ import annotations

import functools
import io
import pickle
from dataclasses import dataclass

import numpy as np
import numpy.typing as npt
import pinocchio as pin
from scipy.spatial import cKDTree

from trajopt import cache
from trajopt.ik.coordinates import placed
from trajopt.states.joint_spaces import joint_spaces
from trajopt.states.spaces import CircleSpace, VectorSpace
from trajopt.states.state_multibody import StateMultibody
from trajopt.types import Reals

ENTRIES = 4096
"""Number of configurations in a table. For 1,000 poses of a Panda, the nearest entry solves 73 % with 1,000 entries,
75 % with 4,000 and 80 % with 16,000; the last take longer to search than they save."""

PLACEMENT, TRANSLATION, ROTATION = "placement", "translation", "rotation"


@dataclass(frozen=True)
class SeedTable:
    """Random configurations within limits, with the placement of a frame at each.

    Attributes:
        q: Configurations (N, nq).
        positions: Positions of the frame (N, 3) [m].
        rotations: Rotation matrices of the frame (N, 3, 3).
    """

    q: Reals
    positions: Reals
    rotations: Reals

    @functools.cached_property
    def reach(self) -> float:
        """Root mean square distance of the positions from their mean [m], which weighs like an angle of 2 rad."""
        spread = float(np.sqrt(np.mean(np.sum((self.positions - self.positions.mean(axis=0)) ** 2, axis=1))))
        return spread or 1.0

    @functools.cached_property
    def _trees(self) -> dict[str, cKDTree]:
        return {}

    def nearest(self, kind: str, targets: Reals, count: int) -> npt.NDArray[np.intp]:
        """Indices of the entries whose placements are nearest to targets, nearest first (n, count).

        Args:
            kind: PLACEMENT, TRANSLATION or ROTATION: the part of the placement to compare.
            targets: Placements (n, 3, 4), points (n, 3) or rotation matrices (n, 3, 3).
            count: Number of entries.
        """
        if kind not in self._trees:
            whole = {TRANSLATION: self.positions, ROTATION: self.rotations, PLACEMENT: self._placements}
            self._trees[kind] = cKDTree(self._features(kind, whole[kind]))
        entries = self._trees[kind].query(self._features(kind, targets), k=[*range(1, count + 1)])[1]
        return np.asarray(entries)

    @property
    def _placements(self) -> Reals:
        return np.concatenate([self.rotations, self.positions[:, :, None]], axis=2)

    def _features(self, kind: str, targets: Reals) -> Reals:
        """Points whose distances are those of positions and rotations, |R1 - R2| = 2 √2 sin(angle / 2)."""
        flat = targets.reshape(len(targets), -1)
        if kind == TRANSLATION:
            return flat
        scale = np.full(flat.shape[1], self.reach / np.sqrt(8.0))
        if kind == PLACEMENT:
            scale[3::4] = 1.0
        return flat * scale


def seed_table(state: StateMultibody, frame: str | None, lower: Reals, upper: Reals) -> SeedTable:
    """Returns the seed table of a robot's frame, from the disk cache if possible.

    Args:
        state: State of the robot.
        frame: Name of the frame; None for a table without placements.
        lower: Lower limits of q ⊖ neutral (nv,); -inf for no limit.
        upper: Upper limits of q ⊖ neutral (nv,); inf for no limit.
    """
    model = pickle.dumps(state.model, protocol=4).hex()
    entry = cache.key(
        "seeds of inverse kinematics", model, str(frame), str(ENTRIES), repr((lower.tolist(), upper.tolist()))
    )
    stored = cache.load(entry)
    if stored is not None:
        with np.load(io.BytesIO(stored)) as arrays:
            return SeedTable(arrays["q"], arrays["positions"], arrays["rotations"])
    table = _made(state, frame, lower, upper)
    data = io.BytesIO()
    np.savez(data, q=table.q, positions=table.positions, rotations=table.rotations)
    cache.store(entry, data.getvalue())
    return table


def _made(state: StateMultibody, frame: str | None, lower: Reals, upper: Reals) -> SeedTable:
    rng = np.random.default_rng(0)
    q = np.array([state.rand(rng)[: state.nq] for _ in range(ENTRIES)])
    positions, rotations = np.zeros((ENTRIES, 3)), np.tile(np.eye(3), (ENTRIES, 1, 1))
    for joint in joint_spaces(state.model):
        if isinstance(joint.space, VectorSpace):
            low, high = lower[joint.v], upper[joint.v]
            low, high = np.where(np.isfinite(low), low, -np.pi), np.where(np.isfinite(high), high, np.pi)
            q[:, joint.q] = rng.uniform(np.minimum(low, high), np.maximum(low, high), (ENTRIES, len(low)))
        elif isinstance(joint.space, CircleSpace) and np.isfinite(lower[joint.v]).all():
            q[:, joint.q] = placed(joint, rng.uniform(lower[joint.v], upper[joint.v], (ENTRIES, 1)))
    if frame is not None:
        data, index = state.model.createData(), state.robot.frame_id(frame)
        for i, each in enumerate(q):
            pin.framesForwardKinematics(state.model, data, each)
            positions[i] = data.oMf[index].translation
            rotations[i] = data.oMf[index].rotation
    return SeedTable(q, positions, rotations)
