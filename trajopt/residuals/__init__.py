"""Residuals: vectors r(x, u) that costs make small."""

from trajopt.residuals.base import ResidualModelAbstract
from trajopt.residuals.com_position import ResidualModelCoMPosition
from trajopt.residuals.control import ResidualModelControl
from trajopt.residuals.frame_placement import ResidualModelFramePlacement
from trajopt.residuals.frame_rotation import ResidualModelFrameRotation
from trajopt.residuals.frame_translation import ResidualModelFrameTranslation
from trajopt.residuals.frame_velocity import ResidualModelFrameVelocity
from trajopt.residuals.state import ResidualModelState
from trajopt.residuals.symbolic import ResidualModelSymbolic

__all__ = [
    "ResidualModelAbstract",
    "ResidualModelCoMPosition",
    "ResidualModelControl",
    "ResidualModelFramePlacement",
    "ResidualModelFrameRotation",
    "ResidualModelFrameTranslation",
    "ResidualModelFrameVelocity",
    "ResidualModelState",
    "ResidualModelSymbolic",
]
