"""A hexarotor with an arm, Borinot, that flies to a place, built with Crocoddyl's Python API."""

import crocoddyl
import example_robot_data
import numpy as np
import pinocchio as pin
from crocoddyl_reference import references

KNOTS, STEP, RADIUS, DRAG = 30, 0.03, 0.2, 0.01
GOAL = np.array([0.4, 0.2, 0.3])
RK = {2: crocoddyl.RKType.two, 3: crocoddyl.RKType.three, 4: crocoddyl.RKType.four}


def flight(control: str, order: int) -> crocoddyl.ShootingProblem:
    """The flight; order 0 is the semi-implicit Euler method."""
    state = crocoddyl.StateMultibody(example_robot_data.load("borinot").model)
    thrusters = []
    for i in range(6):
        place = RADIUS * np.array([np.cos(i * np.pi / 3), np.sin(i * np.pi / 3), 0.0])
        spin = crocoddyl.ThrusterType.CCW if i % 2 == 0 else crocoddyl.ThrusterType.CW
        thrusters.append(crocoddyl.Thruster(pin.SE3(np.eye(3), place), DRAG, spin))
    motors = crocoddyl.ActuationModelFloatingBaseThrusters(state, thrusters)
    frame = state.pinocchio.getFrameId("flying_arm_2__ee")
    goal = crocoddyl.CostModelResidual(state, crocoddyl.ResidualModelFrameTranslation(state, frame, GOAL, motors.nu))
    posture = crocoddyl.CostModelResidual(state, crocoddyl.ResidualModelState(state, state.zero(), motors.nu))
    effort = crocoddyl.CostModelResidual(state, crocoddyl.ResidualModelControl(state, motors.nu))
    running, end = crocoddyl.CostModelSum(state, motors.nu), crocoddyl.CostModelSum(state, motors.nu)
    running.addCost("goal", goal, 1.0)
    running.addCost("posture", posture, 1e-2)
    running.addCost("effort", effort, 1e-2)
    end.addCost("goal", goal, 1e2)
    end.addCost("posture", posture, 1.0)
    models = [crocoddyl.DifferentialActionModelFreeFwdDynamics(state, motors, costs) for costs in (running, end)]
    if order == 0:
        knot = crocoddyl.IntegratedActionModelEuler(models[0], STEP)
    else:
        kinds = {
            "zero": lambda: crocoddyl.ControlParametrizationModelPolyZero(motors.nu),
            "one": lambda: crocoddyl.ControlParametrizationModelPolyOne(motors.nu),
            "two": lambda: crocoddyl.ControlParametrizationModelPolyTwoRK(motors.nu, RK[order]),
        }
        knot = crocoddyl.IntegratedActionModelRK(models[0], kinds[control](), RK[order], STEP)
    return crocoddyl.ShootingProblem(state.zero(), [knot] * KNOTS, crocoddyl.IntegratedActionModelEuler(models[1], 0.0))


FLYING_REFERENCES = {
    **references("flying-arm", lambda: flight("zero", 0), {"fddp": (11, 1.0537711219561365)}),
    **references("flying-arm-rk4", lambda: flight("one", 4), {"fddp": (13, 1.0531885110243353)}),
}
