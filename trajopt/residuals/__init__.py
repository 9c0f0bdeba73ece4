"""Residuals: vectors r(x, u) that cost terms penalize and constraints bound."""

from trajopt.objects.calls import explain_calls
from trajopt.residuals.base import ResidualModelAbstract
from trajopt.residuals.centroidal_momentum import ResidualModelCentroidalMomentum
from trajopt.residuals.collisions import ResidualModelCollisions
from trajopt.residuals.com_position import ResidualModelCoMPosition
from trajopt.residuals.contact_control_gravity import ResidualModelContactControlGrav
from trajopt.residuals.contact_force import ResidualModelContactForce
from trajopt.residuals.control import ResidualModelControl
from trajopt.residuals.control_gravity import ResidualModelControlGrav
from trajopt.residuals.equation import ResidualModelEquation
from trajopt.residuals.frame_placement import ResidualModelFramePlacement
from trajopt.residuals.frame_rotation import ResidualModelFrameRotation
from trajopt.residuals.frame_translation import ResidualModelFrameTranslation
from trajopt.residuals.frame_velocity import ResidualModelFrameVelocity
from trajopt.residuals.friction_cone import FrictionCone, ResidualModelContactFrictionCone
from trajopt.residuals.impulse_com import ResidualModelImpulseCoM
from trajopt.residuals.joint_acceleration import ResidualModelJointAcceleration
from trajopt.residuals.joint_distance import ResidualModelJointDistance
from trajopt.residuals.joint_effort import ResidualModelJointEffort
from trajopt.residuals.look_at import ResidualModelLookAt
from trajopt.residuals.manipulability import ResidualModelManipulability
from trajopt.residuals.obstacle_distance import ResidualModelObstacleDistance
from trajopt.residuals.pair_distance import ResidualModelPairDistance
from trajopt.residuals.relative_placement import ResidualModelRelativePlacement
from trajopt.residuals.relative_translation import ResidualModelRelativeTranslation
from trajopt.residuals.state import ResidualModelState
from trajopt.residuals.symbolic import ResidualModelSymbolic
from trajopt.residuals.time import ResidualModelTime
from trajopt.residuals.wrench_cone import ResidualModelContactCoPPosition, ResidualModelContactWrenchCone, WrenchCone
from trajopt.robots import Box, Capsule, Sphere

__all__ = [
    "Box",
    "Capsule",
    "FrictionCone",
    "ResidualModelAbstract",
    "ResidualModelCentroidalMomentum",
    "ResidualModelCoMPosition",
    "ResidualModelCollisions",
    "ResidualModelContactCoPPosition",
    "ResidualModelContactControlGrav",
    "ResidualModelContactForce",
    "ResidualModelContactFrictionCone",
    "ResidualModelContactWrenchCone",
    "ResidualModelControl",
    "ResidualModelControlGrav",
    "ResidualModelEquation",
    "ResidualModelFramePlacement",
    "ResidualModelFrameRotation",
    "ResidualModelFrameTranslation",
    "ResidualModelFrameVelocity",
    "ResidualModelImpulseCoM",
    "ResidualModelJointAcceleration",
    "ResidualModelJointDistance",
    "ResidualModelJointEffort",
    "ResidualModelLookAt",
    "ResidualModelManipulability",
    "ResidualModelObstacleDistance",
    "ResidualModelPairDistance",
    "ResidualModelRelativePlacement",
    "ResidualModelRelativeTranslation",
    "ResidualModelState",
    "ResidualModelSymbolic",
    "ResidualModelTime",
    "Sphere",
    "WrenchCone",
]

explain_calls(__name__)
