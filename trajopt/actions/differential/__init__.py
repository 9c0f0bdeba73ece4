"""Continuous-time action models."""

from trajopt.actions.differential.base import DifferentialActionModelAbstract
from trajopt.actions.differential.centroidal import DifferentialActionModelCentroidal, centroidal_state
from trajopt.actions.differential.contact_fwd_dynamics import DifferentialActionModelContactFwdDynamics
from trajopt.actions.differential.contact_inv_dynamics import DifferentialActionModelContactInvDynamics
from trajopt.actions.differential.free_fwd_dynamics import DifferentialActionModelFreeFwdDynamics
from trajopt.actions.differential.free_inv_dynamics import DifferentialActionModelFreeInvDynamics
from trajopt.actions.differential.inv_dynamics import DifferentialActionModelInvDynamicsAbstract
from trajopt.actions.differential.network import DifferentialActionModelNetwork
from trajopt.actions.differential.reduced import DifferentialActionModelReducedAbstract
from trajopt.actions.differential.single_rigid_body import DifferentialActionModelSingleRigidBody
from trajopt.actions.differential.symbolic import DifferentialActionModelSymbolic

__all__ = [
    "DifferentialActionModelAbstract",
    "DifferentialActionModelCentroidal",
    "DifferentialActionModelContactFwdDynamics",
    "DifferentialActionModelContactInvDynamics",
    "DifferentialActionModelFreeFwdDynamics",
    "DifferentialActionModelFreeInvDynamics",
    "DifferentialActionModelInvDynamicsAbstract",
    "DifferentialActionModelNetwork",
    "DifferentialActionModelReducedAbstract",
    "DifferentialActionModelSingleRigidBody",
    "DifferentialActionModelSymbolic",
    "centroidal_state",
]
