"""Bipeds walk and jump; for Talos' legs there are also Crocoddyl's exact problems.

Source of Crocoddyl's problems: its example bipedal_gaits.
"""

from __future__ import annotations

from trajopt.gaits import biped_jump, biped_walk
from trajopt.problems.gait_case import Gait, as_in_crocoddyl, jump_case, step_case
from trajopt.problems.gait_tables import BIPED_JUMP, BIPED_WALK, CROCODDYL_BIPED_JUMP, CROCODDYL_BIPED_WALK

_TOLERANCE = 1e-7  # as in Crocoddyl's example, where costs are in the thousands [cost]
_WALK = Gait("biped-walk", "A biped walks on its soles.", "walks", biped_walk, BIPED_WALK, tolerance=_TOLERANCE)
_JUMP = Gait(
    "biped-jump", "A biped jumps and lands on both soles.", "jumps", biped_jump, BIPED_JUMP, tolerance=_TOLERANCE
)
FAMILIES = (
    _WALK.family(step_case),
    _JUMP.family(jump_case),
    as_in_crocoddyl(_WALK, CROCODDYL_BIPED_WALK).family(step_case),
    as_in_crocoddyl(_JUMP, CROCODDYL_BIPED_JUMP).family(jump_case),
)
