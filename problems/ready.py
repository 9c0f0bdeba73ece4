"""Ready problems by name: the functions that `trajopt.problems` exports."""

from __future__ import annotations

from trajopt.problems import gait_tables
from trajopt.problems.case import ProblemCase
from trajopt.problems.registry import Registry

_ALONE = (
    *("arm-limits", "arm-reach", "arm-reach-crocoddyl", "arm-reach-seed", "arm-spheres", "block-on-incline"),
    *("cart-pole", "cart-pole-limits", "cart-push", "com-circle", "double-pendulum", "hermite-path", "hopper"),
    *("humanoid-reach", "humanoid-taichi", "lqr", "lqr-bounds", "minimum-jerk", "parking", "parking-circles"),
    *("parking-wheels", "pendulum", "pendulum-limits", "puck", "quadrotor-obstacles", "quadruped-stairs", "stand-up"),
    *("unicycle", "walk-freely"),
)
"""Names of problems with modules of the same names."""

MODULES = {name: f"trajopt.problems.{name.replace('-', '_')}" for name in _ALONE}
MODULES |= {gait: f"trajopt.problems.{gait.partition('-')[0]}_gaits" for gait in gait_tables.ROBOTS}
MODULES |= {f"crocoddyl-{gait}": MODULES[gait] for gait in gait_tables.PUBLISHED}
MODULES = dict(sorted(MODULES.items()))
"""Module of each family."""

PROBLEMS: Registry[ProblemCase] = Registry("problem", MODULES)
names, describe, load = PROBLEMS.names, PROBLEMS.describe, PROBLEMS.load
