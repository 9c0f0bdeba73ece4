"""The simulator with the names of the DiffNE library, so that its examples run; docs/diffne.md compares both.

    import trajopt.simulator.diffne as DNE

    m = DNE.DiffNERobotModel(None, "robot.urdf")
    m.create_simulator(accuracy=64, mode=DNE.FORWARD_RK1F)

Every `SimulatorMode` is available here by name, and also FORWARD, INVERSE and FORWARD_IF of DiffNE's README.
"""

import gmpy2
import numpy as np

from trajopt.checks import check_finite
from trajopt.objects.calls import explain_calls
from trajopt.simulator import SimulatorMode
from trajopt.simulator.diffne.body import ArticulatedBody, BodyJoint
from trajopt.simulator.diffne.end_effectors import EndEffectorBounds
from trajopt.simulator.diffne.robot_model import DiffNERobotModel
from trajopt.simulator.end_spheres import EndEffector
from trajopt.types import Reals

FORWARD_I = FORWARD = SimulatorMode.FORWARD_I
INVERSE_I = INVERSE = SimulatorMode.INVERSE_I
FORWARD_LF = FORWARD_IF = SimulatorMode.FORWARD_LF
INVERSE_LF = SimulatorMode.INVERSE_LF
INVERSE_BACKWARD_RK1F = SimulatorMode.INVERSE_BACKWARD_RK1F
BACKWARD_RK1F = SimulatorMode.BACKWARD_RK1F
FORWARD_RK1F = SimulatorMode.FORWARD_RK1F
FORWARD_RK1I = SimulatorMode.FORWARD_RK1I
FORWARD_RK2I = SimulatorMode.FORWARD_RK2I
FORWARD_RK4I = SimulatorMode.FORWARD_RK4I
BACKWARD_RK1I = SimulatorMode.BACKWARD_RK1I


float128 = mpreal = gmpy2.mpfr
"""Numbers inside a simulator of more than 64 bits: MPFR's, with the bits of `accuracy`. Results are np.float64."""


def Vec3d(x: float, y: float, z: float) -> Reals:
    """Returns the vector (x, y, z), shape (3,)."""
    return np.array([check_finite(name, value) for name, value in (("x", x), ("y", y), ("z", z))])


__all__ = [
    "BACKWARD_RK1F",
    "BACKWARD_RK1I",
    "FORWARD",
    "FORWARD_I",
    "FORWARD_IF",
    "FORWARD_LF",
    "FORWARD_RK1F",
    "FORWARD_RK1I",
    "FORWARD_RK2I",
    "FORWARD_RK4I",
    "INVERSE",
    "INVERSE_BACKWARD_RK1F",
    "INVERSE_I",
    "INVERSE_LF",
    "ArticulatedBody",
    "BodyJoint",
    "DiffNERobotModel",
    "EndEffector",
    "EndEffectorBounds",
    "Vec3d",
]

explain_calls(__name__)
