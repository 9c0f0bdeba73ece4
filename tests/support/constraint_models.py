"""Constraint stacks, and residuals to limit, for the battery over all models."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import casadi as ca
import numpy as np
import pinocchio as pin
from casadi import SX

import trajopt
from tests.support.collision_arm import collision_arm
from trajopt.gaits import ResidualModelTerrainDistance, Terrain
from trajopt.residuals import ResidualModelAbstract
from trajopt.simulator import HeightField, Plane
from trajopt.simulator.box_surface import BoxSurface
from trajopt.states import StateAbstract

TURNED = pin.exp3(np.array([0.4, -0.3, 0.7]))


def mixture(x: SX, u: SX) -> SX:
    """Rows with a control, and one without."""
    return ca.vertcat(u[0] * ca.cos(x[0]), x[1] + 0.3 * u[0], x[0] * x[1])


def hill(x: SX, y: SX) -> SX:
    """Height of a hill [m]."""
    return 0.2 * ca.sin(x) * ca.cos(2 * y)


def constraints_of(state: StateAbstract, *, controlled: bool = True) -> trajopt.ConstraintStack:
    """Rows of the state, of two things at once where there are controls, and of the control."""
    stack = trajopt.ConstraintStack(state).add("near", trajopt.ResidualModelState(state), lower=-1.0, upper=1.0)
    if controlled:
        mixed = trajopt.ResidualModelSymbolic(state, mixture)
        stack.add("both", mixed, upper=[0.5, np.inf, 1.0])
        stack.add("torque", trajopt.ResidualModelControl(state), lower=-3.0, upper=3.0)
    if isinstance(state, trajopt.StateMultibody) and "tip" in [frame.name for frame in state.model.frames]:
        stack.add("tip", trajopt.ResidualModelFrameTranslation(state, "tip"), upper=[0.3, 0.2, np.inf])
    return stack


def force_constraints(contacts: trajopt.ContactStack | trajopt.ImpulseStack, cone: str) -> trajopt.ConstraintStack:
    """Rows of the state, of one force in its cone and of all forces."""
    state, stack = contacts.state, trajopt.ConstraintStack(contacts.state)
    stack.add("near", trajopt.ResidualModelState(state), lower=-1.0, upper=1.0)
    pyramid = trajopt.FrictionCone(0.5, facets=6, rotation=TURNED)
    inside = trajopt.ResidualModelContactFrictionCone(state, cone, pyramid)
    stack.add("inside", inside, lower=pyramid.lower, upper=pyramid.upper)
    for name in contacts.names:
        size = contacts[name].nc
        stack.add(f"push_{name}", trajopt.ResidualModelContactForce(state, name, np.ones(size)), equals=0.0)
    return stack


def limited_residuals(state_of: Callable[[str], Any]) -> dict[str, Callable[[], ResidualModelAbstract]]:
    """Efforts, parts of states, and distances of all pairs of shapes."""
    drone, rod = lambda: state_of("drone"), [[1.0, 0.5], [0.0, 0.0]]
    ball, post = (
        trajopt.Sphere(0.2, center=[2, 0, 1]),
        trajopt.Capsule(0.05, start=[1.0, 0.1, 0.2], end=[1.0, 2.0, 0.7]),
    )
    tip = trajopt.Sphere(0.1, frame="tip", center=[0.1, 0.2, 0.3])
    arm = trajopt.Capsule(0.1, start=[0.0, 0.0, 0.1], end=[0.2, 0.1, 0.4], frame="tip")
    circles, balls = [[2.0, 0.5, 0.2], [0.5, 1.0, 0.3]], [[2.0, 0.5, 1.0, 0.2], [0.5, 1.0, 0.3, 0.3]]
    hand = trajopt.Capsule(0.1, start=[0.0, 0.0, 0.0], end=[0.0, 0.0, -0.2], frame="gripper_left_joint")

    def terrain() -> Terrain:
        box = BoxSurface((-0.2, -0.3, -2.0), (1.0, 0.6, -0.7))
        return Terrain(Plane((0.1, 0.2, 1.0, 3.0)), box, HeightField(hill))

    def effort() -> ResidualModelAbstract:
        state = state_of("cart-pole")
        return trajopt.ResidualModelJointEffort(state, trajopt.ActuationModelMatrix(state, rod), [0.3])

    return {
        "effort": effort,
        "state-elements": lambda: trajopt.ResidualModelState(drone(), drone().rand(2), elements=[8, 1, 4, 13]),
        "collisions": lambda: trajopt.ResidualModelCollisions(collision_arm(), pairs=5),
        "distance-spheres": lambda: trajopt.ResidualModelPairDistance(drone(), tip, ball),
        "distance-capsule": lambda: trajopt.ResidualModelPairDistance(drone(), ball, arm),
        "obstacles-plane": lambda: trajopt.ResidualModelObstacleDistance(state_of("vector"), circles, 0.1),
        "obstacles-pillars": lambda: trajopt.ResidualModelObstacleDistance(drone(), circles, tip),
        "obstacles-balls": lambda: trajopt.ResidualModelObstacleDistance(drone(), balls, tip),
        "obstacles-capsule": lambda: trajopt.ResidualModelObstacleDistance(state_of("talos_arm"), balls, hand),
        "distance-terrain": lambda: ResidualModelTerrainDistance(drone(), terrain(), [tip, arm]),
        "distance-box": lambda: trajopt.ResidualModelPairDistance(drone(), trajopt.Box([0.3, 0.2, 0.1]), arm),
        "distance-capsules": lambda: trajopt.ResidualModelPairDistance(state_of("talos_arm"), hand, post),
    }
