"""Ready problems in families; each case has an initial guess, a solver with options, and a reference cost.

    case = trajopt.problems.load("arm-reach", robot="ur5")
    solution = case.solve()

Closed loops of model-predictive controllers are in `trajopt.problems.mpc`.

Importing this package builds no problem and loads no robot.
"""

from __future__ import annotations

from trajopt.model.calls import explain_calls
from trajopt.problems import (
    arm_limits,
    arm_reach,
    arm_reach_crocoddyl,
    arm_reach_seed,
    arm_spheres,
    biped_gaits,
    block_on_incline,
    cart_pole,
    cart_pole_limits,
    cart_push,
    com_circle,
    double_pendulum,
    hermite_path,
    hopper,
    humanoid_reach,
    humanoid_taichi,
    lqr,
    lqr_bounds,
    minimum_jerk,
    mpc,
    parking,
    parking_circles,
    parking_wheels,
    pendulum,
    pendulum_limits,
    puck,
    quadrotor_obstacles,
    quadruped_gaits,
    stand_up,
    unicycle,
    walk_freely,
)
from trajopt.problems.case import ProblemCase, ProblemInfo
from trajopt.problems.family import Family
from trajopt.problems.registry import Registry

__all__ = ["Family", "ProblemCase", "ProblemInfo", "describe", "load", "mpc", "names"]

_PROBLEMS: Registry[ProblemCase] = Registry(
    "problem",
    (
        arm_reach.FAMILY,
        arm_reach_crocoddyl.FAMILY,
        arm_reach_seed.FAMILY,
        *biped_gaits.FAMILIES,
        cart_pole.FAMILY,
        double_pendulum.FAMILY,
        block_on_incline.FAMILY,
        cart_push.FAMILY,
        hopper.FAMILY,
        puck.FAMILY,
        stand_up.FAMILY,
        walk_freely.FAMILY,
        humanoid_reach.FAMILY,
        humanoid_taichi.FAMILY,
        lqr.FAMILY,
        pendulum.FAMILY,
        *quadruped_gaits.FAMILIES,
        cart_pole_limits.FAMILY,
        parking.FAMILY,
        parking_circles.FAMILY,
        parking_wheels.FAMILY,
        hermite_path.FAMILY,
        pendulum_limits.FAMILY,
        lqr_bounds.FAMILY,
        minimum_jerk.FAMILY,
        quadrotor_obstacles.FAMILY,
        arm_limits.FAMILY,
        arm_spheres.FAMILY,
        com_circle.FAMILY,
        unicycle.FAMILY,
    ),
)
names, describe, load = _PROBLEMS.names, _PROBLEMS.describe, _PROBLEMS.load

explain_calls(__name__)
