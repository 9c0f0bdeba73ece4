"""Residual of a frame's manipulability: how far a configuration is from a singularity."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import casadi as ca
import pinocchio as pin
from casadi import SX

from trajopt.checks import check_finite, check_items, check_known, is_integer
from trajopt.errors import InvalidArgumentError
from trajopt.instant import Instant
from trajopt.residuals.multibody import ResidualModelMultibody
from trajopt.states.base import StateAbstract

ROWS = {"all": (0, 1, 2, 3, 4, 5), "translation": (0, 1, 2), "rotation": (3, 4, 5)}
"""Rows of a frame's Jacobian for each kind of motion."""

ROUND_OFF = 1e-12  # added to J Jᵀ: keeps the derivative finite at singular configurations


class ResidualModelManipulability(ResidualModelMultibody):
    """Manipulability r = √det(J(q) J(q)ᵀ) - reference, shape (1,): volume of frame velocities with |v| <= 1 [-].

    At a singular configuration r = -reference. A constraint with `lower` keeps away from singularities. A cost with a
    reference out of reach maximises the volume.

    Args:
        state: State of the robot.
        frame: Name of the frame.
        rows: "translation" or "rotation" (3 rows of J), or "all" (6 rows, lengths in m). Or indices of rows of the
            Jacobian in the axes of the world, such as (0, 2) for a planar arm in the x-z plane.
        reference: Value that is subtracted [-]. Run-time parameter `reference`.

    Raises:
        UnknownNameError: The robot has no frame of this name, or `rows` is an unknown word.
        InvalidArgumentError: J has more rows than the robot has velocities, so the volume would be 0 everywhere.

    Source: Yoshikawa, Manipulability of robotic mechanisms (1985).
    """

    def __init__(self, state: StateAbstract, frame: str, rows: str | Sequence[int], *, reference: float = 0.0) -> None:
        super().__init__(state, 1, frame=frame)
        self._rows = _check_rows(rows)
        size = len(self._rows)
        if self.state.nv < size:
            raise InvalidArgumentError(
                f"rows: expected at most {self.state.nv}, the number of velocities of {self.state.robot.name!r}, got "
                f"{size}; the manipulability would be 0 everywhere, so choose fewer rows such as (0, 2)"
            )
        self.reference = self.parameter("reference", check_finite("reference", reference))

    def evaluate(self, instant: Instant) -> SX:
        aligned = instant.robot.frame_jacobian(self.frame_id, pin.ReferenceFrame.LOCAL_WORLD_ALIGNED)
        jacobian = aligned[list(self._rows), :]
        squared = jacobian @ jacobian.T + ROUND_OFF * SX.eye(jacobian.shape[0])
        return SX(ca.sqrt(_determinant(squared)) - self.reference)


def _check_rows(rows: Any) -> tuple[int, ...]:
    """Distinct row indices of a Jacobian; raises InvalidArgumentError or UnknownNameError for anything else."""
    if isinstance(rows, str):
        return ROWS[check_known("rows", rows, ROWS)]
    indices = check_items("rows", rows, "indices of rows such as (0, 2)")
    if not indices or not all(is_integer(i) and 0 <= i < 6 for i in indices) or len(set(indices)) < len(indices):
        raise InvalidArgumentError(f"rows: expected distinct indices from 0 to 5, or {', '.join(ROWS)}, got {rows!r}")
    return tuple(int(i) for i in indices)


def _determinant(matrix: SX) -> SX:
    """Determinant of a symmetric positive definite matrix: the product of its pivots."""
    rest, product = SX(matrix), SX(1.0)
    while rest.numel():
        pivot, column = rest[0, 0], rest[1:, 0]
        product = product * pivot
        rest = rest[1:, 1:] - column @ column.T / pivot
    return product
