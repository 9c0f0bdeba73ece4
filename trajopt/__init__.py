"""Trajectory optimization for robots from Python.

Write a model once, as a CasADi expression. A small LLVM-based compiler turns it into machine code just in time; this
code evaluates several knots of a trajectory at once. docs/package-layout.md describes the folders.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

import trajopt.source  # noqa: F401  # first, to notice source files that change after they were loaded
from trajopt.actions import (
    ActionData,
    ActionModelAbstract,
    ActionModelDiscrete,
    ActionModelImpulseFwdDynamics,
    ActionModelLQR,
    ActionModelMotors,
    ActionModelNumDiff,
    ActionModelTerminal,
    ActionModelUnicycle,
)
from trajopt.actions.differential import (
    DifferentialActionModelAbstract,
    DifferentialActionModelCentroidal,
    DifferentialActionModelContactFwdDynamics,
    DifferentialActionModelContactInvDynamics,
    DifferentialActionModelFreeFwdDynamics,
    DifferentialActionModelFreeInvDynamics,
    DifferentialActionModelNetwork,
    DifferentialActionModelSingleRigidBody,
    DifferentialActionModelSymbolic,
    centroidal_state,
)
from trajopt.actions.integrated import (
    ControlParametrizationPolyOne,
    ControlParametrizationPolyTwoRK,
    ControlParametrizationPolyZero,
    IntegratedActionModelEuler,
    IntegratedActionModelImplicit,
    IntegratedActionModelRK,
    IntegratedActionModelRK4,
    Tableau,
)
from trajopt.activations import (
    ActivationModel2NormBarrier,
    ActivationModelAbstract,
    ActivationModelHuber,
    ActivationModelQuad,
    ActivationModelQuadFlatExp,
    ActivationModelQuadFlatLog,
    ActivationModelQuadraticBarrier,
    ActivationModelSmooth1Norm,
    ActivationModelSmooth2Norm,
    ActivationModelSymbolic,
    ActivationModelWeightedQuad,
    ActivationModelWeightedQuadraticBarrier,
)
from trajopt.actuation import (
    ActuationModelFloatingBase,
    ActuationModelFloatingBaseThrusters,
    ActuationModelFull,
    ActuationModelMatrix,
    ActuationModelSquashed,
    Thruster,
)
from trajopt.callbacks import CallbackLogger, CallbackVerbose
from trajopt.constraints import ConstraintStack
from trajopt.contacts import (
    ContactModel1D,
    ContactModel2D,
    ContactModel3D,
    ContactModel6D,
    ContactModelAbstract,
    ContactModelLoop,
    ContactStack,
    ImpulseModel3D,
    ImpulseModel6D,
    ImpulseModelAbstract,
    ImpulseStack,
    SupportStack,
)
from trajopt.costs import CostStack
from trajopt.dynamics import SmoothFriction
from trajopt.errors import (
    DuplicateNameError,
    InvalidArgumentError,
    MissingDependencyError,
    ModelEvaluationError,
    TrajoptError,
    UnknownNameError,
    UnsupportedOperationError,
)
from trajopt.kernels import get_num_threads, set_num_threads
from trajopt.networks import Network
from trajopt.objects import renamed
from trajopt.objects.lazy import lazy
from trajopt.residuals import (
    Box,
    Capsule,
    FrictionCone,
    ResidualModelAbstract,
    ResidualModelCentroidalMomentum,
    ResidualModelCollisions,
    ResidualModelCoMPosition,
    ResidualModelContactControlGrav,
    ResidualModelContactCoPPosition,
    ResidualModelContactForce,
    ResidualModelContactFrictionCone,
    ResidualModelContactWrenchCone,
    ResidualModelControl,
    ResidualModelControlGrav,
    ResidualModelFramePlacement,
    ResidualModelFrameRotation,
    ResidualModelFrameTranslation,
    ResidualModelFrameVelocity,
    ResidualModelImpulseCoM,
    ResidualModelJointAcceleration,
    ResidualModelJointDistance,
    ResidualModelJointEffort,
    ResidualModelLookAt,
    ResidualModelManipulability,
    ResidualModelObstacleDistance,
    ResidualModelPairDistance,
    ResidualModelRelativePlacement,
    ResidualModelRelativeTranslation,
    ResidualModelState,
    ResidualModelSymbolic,
    ResidualModelTime,
    Sphere,
    WrenchCone,
)
from trajopt.robots import Robot, Scene, TriangleMesh, load_robot, single_rigid_body
from trajopt.shooting import ShootingProblem
from trajopt.solution import IterationRecord, Solution, SolutionBatch, SolutionLibrary, SolverStatus
from trajopt.states import StateAbstract, StateMultibody, StateProduct, StateSE3, StateSO3, StateVector

renamed.install()

if TYPE_CHECKING:
    import trajopt.analysis as analysis
    import trajopt.articulations as articulations
    import trajopt.display as display
    import trajopt.gaits as gaits
    import trajopt.identification as identification
    import trajopt.ik as ik
    import trajopt.inverse_dynamics as inverse_dynamics
    import trajopt.mpc as mpc
    import trajopt.planar as planar
    import trajopt.planning as planning
    import trajopt.plotting as plotting
    import trajopt.problems as problems
    import trajopt.retiming as retiming
    import trajopt.simulator as simulator
    import trajopt.solvers as solvers
    import trajopt.sweeps as sweeps
    from trajopt.analysis.comparison import compare as compare
    from trajopt.analysis.derivative_check import check_derivatives as check_derivatives
    from trajopt.identification import identify as identify
    from trajopt.planning import plan as plan
    from trajopt.retiming import retime as retime
    from trajopt.sweeps import sweep as sweep
else:
    __getattr__, __dir__ = lazy(__name__)

__version__ = "0.2.0"

__all__ = [
    "ActionData",
    "ActionModelAbstract",
    "ActionModelDiscrete",
    "ActionModelImpulseFwdDynamics",
    "ActionModelLQR",
    "ActionModelMotors",
    "ActionModelNumDiff",
    "ActionModelTerminal",
    "ActionModelUnicycle",
    "ActivationModel2NormBarrier",
    "ActivationModelAbstract",
    "ActivationModelHuber",
    "ActivationModelQuad",
    "ActivationModelQuadFlatExp",
    "ActivationModelQuadFlatLog",
    "ActivationModelQuadraticBarrier",
    "ActivationModelSmooth1Norm",
    "ActivationModelSmooth2Norm",
    "ActivationModelSymbolic",
    "ActivationModelWeightedQuad",
    "ActivationModelWeightedQuadraticBarrier",
    "ActuationModelFloatingBase",
    "ActuationModelFloatingBaseThrusters",
    "ActuationModelFull",
    "ActuationModelMatrix",
    "ActuationModelSquashed",
    "Box",
    "CallbackLogger",
    "CallbackVerbose",
    "Capsule",
    "ConstraintStack",
    "ContactModel1D",
    "ContactModel2D",
    "ContactModel3D",
    "ContactModel6D",
    "ContactModelAbstract",
    "ContactModelLoop",
    "ContactStack",
    "ControlParametrizationPolyOne",
    "ControlParametrizationPolyTwoRK",
    "ControlParametrizationPolyZero",
    "CostStack",
    "DifferentialActionModelAbstract",
    "DifferentialActionModelCentroidal",
    "DifferentialActionModelContactFwdDynamics",
    "DifferentialActionModelContactInvDynamics",
    "DifferentialActionModelFreeFwdDynamics",
    "DifferentialActionModelFreeInvDynamics",
    "DifferentialActionModelNetwork",
    "DifferentialActionModelSingleRigidBody",
    "DifferentialActionModelSymbolic",
    "DuplicateNameError",
    "FrictionCone",
    "ImpulseModel3D",
    "ImpulseModel6D",
    "ImpulseModelAbstract",
    "ImpulseStack",
    "IntegratedActionModelEuler",
    "IntegratedActionModelImplicit",
    "IntegratedActionModelRK",
    "IntegratedActionModelRK4",
    "InvalidArgumentError",
    "IterationRecord",
    "MissingDependencyError",
    "ModelEvaluationError",
    "Network",
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
    "Robot",
    "Scene",
    "ShootingProblem",
    "SmoothFriction",
    "Solution",
    "SolutionBatch",
    "SolutionLibrary",
    "SolverStatus",
    "Sphere",
    "StateAbstract",
    "StateMultibody",
    "StateProduct",
    "StateSE3",
    "StateSO3",
    "StateVector",
    "SupportStack",
    "Tableau",
    "Thruster",
    "TrajoptError",
    "TriangleMesh",
    "UnknownNameError",
    "UnsupportedOperationError",
    "WrenchCone",
    "analysis",
    "articulations",
    "centroidal_state",
    "check_derivatives",
    "compare",
    "display",
    "gaits",
    "get_num_threads",
    "identification",
    "identify",
    "ik",
    "inverse_dynamics",
    "load_robot",
    "mpc",
    "plan",
    "planar",
    "planning",
    "plotting",
    "problems",
    "retime",
    "retiming",
    "set_num_threads",
    "simulator",
    "single_rigid_body",
    "solvers",
    "sweep",
    "sweeps",
]
