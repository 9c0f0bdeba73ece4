"""Ready problems by name: the functions that `trajopt.problems` exports."""

from __future__ import annotations

from trajopt.problems.case import ProblemCase
from trajopt.problems.registry import Registry

MODULES = {
    "arm-limits": "trajopt.problems.arm_limits",
    "arm-reach": "trajopt.problems.arm_reach",
    "arm-reach-crocoddyl": "trajopt.problems.arm_reach_crocoddyl",
    "arm-reach-seed": "trajopt.problems.arm_reach_seed",
    "arm-spheres": "trajopt.problems.arm_spheres",
    "biped-jump": "trajopt.problems.biped_gaits",
    "biped-walk": "trajopt.problems.biped_gaits",
    "block-on-incline": "trajopt.problems.block_on_incline",
    "cart-pole": "trajopt.problems.cart_pole",
    "cart-pole-limits": "trajopt.problems.cart_pole_limits",
    "cart-push": "trajopt.problems.cart_push",
    "com-circle": "trajopt.problems.com_circle",
    "crocoddyl-biped-jump": "trajopt.problems.biped_gaits",
    "crocoddyl-biped-walk": "trajopt.problems.biped_gaits",
    "crocoddyl-quadruped-bound": "trajopt.problems.quadruped_gaits",
    "crocoddyl-quadruped-jump": "trajopt.problems.quadruped_gaits",
    "crocoddyl-quadruped-pace": "trajopt.problems.quadruped_gaits",
    "crocoddyl-quadruped-trot": "trajopt.problems.quadruped_gaits",
    "crocoddyl-quadruped-walk": "trajopt.problems.quadruped_gaits",
    "double-pendulum": "trajopt.problems.double_pendulum",
    "hermite-path": "trajopt.problems.hermite_path",
    "hopper": "trajopt.problems.hopper",
    "humanoid-reach": "trajopt.problems.humanoid_reach",
    "humanoid-taichi": "trajopt.problems.humanoid_taichi",
    "lqr": "trajopt.problems.lqr",
    "lqr-bounds": "trajopt.problems.lqr_bounds",
    "minimum-jerk": "trajopt.problems.minimum_jerk",
    "parking": "trajopt.problems.parking",
    "parking-circles": "trajopt.problems.parking_circles",
    "parking-wheels": "trajopt.problems.parking_wheels",
    "pendulum": "trajopt.problems.pendulum",
    "pendulum-limits": "trajopt.problems.pendulum_limits",
    "puck": "trajopt.problems.puck",
    "quadrotor-obstacles": "trajopt.problems.quadrotor_obstacles",
    "quadruped-bound": "trajopt.problems.quadruped_gaits",
    "quadruped-jump": "trajopt.problems.quadruped_gaits",
    "quadruped-pace": "trajopt.problems.quadruped_gaits",
    "quadruped-trot": "trajopt.problems.quadruped_gaits",
    "quadruped-walk": "trajopt.problems.quadruped_gaits",
    "stand-up": "trajopt.problems.stand_up",
    "unicycle": "trajopt.problems.unicycle",
    "walk-freely": "trajopt.problems.walk_freely",
}
"""Module of each family."""

PROBLEMS: Registry[ProblemCase] = Registry("problem", MODULES)
names, describe, load = PROBLEMS.names, PROBLEMS.describe, PROBLEMS.load
