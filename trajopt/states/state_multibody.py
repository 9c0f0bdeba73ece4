"""State of a robot: configuration and velocity."""

from __future__ import annotations

import functools
from typing import Any

import numpy as np
import numpy.typing as npt
import pinocchio as pin

from trajopt.checks import all_finite, check_array, shape_of
from trajopt.errors import InvalidArgumentError
from trajopt.model.parameters import Parameter, ParameterLayout
from trajopt.robots import Robot
from trajopt.robots.placements import NORM_TOLERANCE
from trajopt.states.accurate import evaluate, joints_to_replace
from trajopt.states.joint_spaces import JointSpace, joint_spaces
from trajopt.states.parts import StateOfPartsAbstract
from trajopt.states.sampling import random_generator, uniform_within
from trajopt.states.spaces import ConfigurationSpace, VectorSpace
from trajopt.types import Reals

NO_LIMIT = 1e300
"""Larger limits count as no limits; Pinocchio writes the largest double if a file gives no limit."""


class StateMultibody(StateOfPartsAbstract):
    """State of a robot: x = (q, v), a configuration (nq,) and joint velocities (nv,); dx = (δq, δv), both (nv,).

    q ⊕ δq moves each joint by a local tangent vector in Pinocchio's conventions: a free flyer moves by a twist in its
    own frame, translation first, and quaternions are (x, y, z, w). Velocities add. Coordinates are named "q:JOINT" or
    "q:JOINT.x", then "v:JOINT" or "v:JOINT.x".

    Args:
        robot: The robot.
        lower: Lower bounds of x ⊖ zero(), shape (2 nv,); by default the robot's limits of positions and velocities.
            Continuous joints, planar joints and free flyers have no position limits. Limits of 0 and 0, as files
            have that set none, are no limits.
        upper: Upper bounds of x ⊖ zero(), likewise.

    Raises:
        InvalidArgumentError: `robot` is not a Robot or has no movable joint, or bounds have a wrong size or order.
        UnsupportedOperationError: The type of a joint is unknown.
    """

    robot: Robot

    def __init__(self, robot: Robot, *, lower: npt.ArrayLike | None = None, upper: npt.ArrayLike | None = None) -> None:
        if not isinstance(robot, Robot):
            raise InvalidArgumentError(
                f"robot: expected a Robot, got {type(robot).__name__}; use load_robot(...) or Robot(model)"
            )
        if not robot.nv:
            raise InvalidArgumentError(
                f"robot: expected at least one movable joint, got {robot.name!r}, whose joints are all fixed; make a "
                "joint revolute in its file, or use a floating base: load_robot(..., floating_base=True)"
            )
        self.robot = robot
        self.model: pin.Model = robot.model
        self.nq, self.nv = robot.nq, robot.nv
        self._joints = joint_spaces(self.model)
        self._replaced = joints_to_replace(self._joints)
        own_lower, own_upper = _limits(self.model, self._joints)
        positions = [_name("q", j.label, part) for j in self._joints for part in j.space.coordinates]
        tangents = [_name(kind, j.label, part) for kind in "qv" for j in self._joints for part in j.space.tangents]
        units = [unit for j in self._joints for unit in j.space.units]
        speeds = [f"{unit}/s" for unit in units]
        super().__init__(
            self.nq + self.nv,
            2 * self.nv,
            names=positions + tangents[self.nv :],
            tangent_names=tangents,
            units=units + speeds,
            coordinate_units=[unit for j in self._joints for unit in j.space.coordinate_units] + speeds,
            lower=own_lower if lower is None else lower,
            upper=own_upper if upper is None else upper,
        )

    @functools.cached_property
    def parts(self) -> list[tuple[ConfigurationSpace, slice, slice]]:
        """Space of each joint, and that of the velocities."""
        velocities = VectorSpace(self._names[self.nq :], self._units[self.nv :])
        places = slice(self.nq, self.nx), slice(self.nv, self.ndx)
        return [*((j.space, j.q, j.v) for j in self._joints), (velocities, *places)]

    def zero(self) -> Reals:
        """Returns the neutral configuration with zero velocity, shape (nx,); a new array."""
        return np.concatenate([pin.neutral(self.model), np.zeros(self.nv)])

    def rand(self, rng: np.random.Generator | int) -> Reals:
        """Returns a random state, shape (nx,).

        Rotations are uniform, joints with limits are uniform within them, and other positions are uniform in [-1, 1].
        Velocities are uniform in [-1, 1], clipped to their bounds.
        """
        generator = random_generator(rng)
        x = np.empty(self.nx)
        for joint in self._joints:
            if isinstance(joint.space, VectorSpace):
                x[joint.q] = uniform_within(generator, self.lower[joint.v], self.upper[joint.v])
                continue
            q = generator.uniform(-1.0, 1.0, joint.space.nq)
            direction = generator.standard_normal(len(q[joint.space.rotation]))
            q[joint.space.rotation] = direction / np.linalg.norm(direction)
            x[joint.q] = q
        slowest, fastest = self.lower[self.nv :], self.upper[self.nv :]
        x[self.nq :] = np.clip(generator.uniform(-1.0, 1.0, self.nv), slowest, fastest)
        return x

    def body_poses(self, xs: Reals) -> Reals | None:
        """Poses of a robot that is a single free-flying body, shape (n, 4, 4); None for all other robots."""
        if self.model.njoints != 2 or self.model.joints[1].shortname() != "JointModelFreeFlyer":
            return None
        return np.array([pin.XYZQUATToSE3(x[:7]).homogeneous for x in xs]).reshape(-1, 4, 4)

    def at_rest(self, x: npt.ArrayLike) -> Reals:
        """Returns a state with zero velocity, shape (nx,), from a state (nx,) or a configuration (nq,)."""
        if shape_of(x) == (self.nq,):
            x = np.concatenate([check_array("x", x, (self.nq,)), np.zeros(self.nv)])
        return np.concatenate([self.check(x)[: self.nq], np.zeros(self.nv)])

    def normalize(self, x: npt.ArrayLike) -> Reals:
        """Returns the state with quaternions and points on unit circles scaled to norm 1, shape (nx,); a new array."""
        result = check_array("x", x, (self.nx,), cure=self._shape_hint)
        for joint, where, norm in self._rotations(result):
            if norm == 0:
                raise InvalidArgumentError(
                    f"x: expected a nonzero rotation of joint {joint.label!r}, got zeros; see zero()"
                )
            result[where] /= norm
        return result

    def __reduce__(self) -> tuple[Any, ...]:
        return _rebuild, (self.robot, self.lower, self.upper)

    def __repr__(self) -> str:
        bounded = int(np.sum(np.isfinite(self.lower) | np.isfinite(self.upper)))
        return f"StateMultibody({self.robot.name!r}, nq={self.nq}, nv={self.nv}, {bounded} of {self.ndx} bounded)"

    def integrate_unchecked(self, x: Reals, dx: Reals) -> Reals:
        q = pin.integrate(self.model, x[: self.nq], dx[: self.nv])
        for j in self._replaced["integrate"]:
            q[j.q] = evaluate(j.space, "integrate", x[j.q], dx[j.v])[0][:, 0]
        return np.concatenate([q, x[self.nq :] + dx[self.nv :]])

    def difference_unchecked(self, x0: Reals, x1: Reals) -> Reals:
        dq = pin.difference(self.model, x0[: self.nq], x1[: self.nq])
        for j in self._replaced["difference"]:
            dq[j.v] = evaluate(j.space, "difference", x0[j.q], x1[j.q])[0][:, 0]
        return np.concatenate([dq, x1[self.nq :] - x0[self.nq :]])

    def _jintegrate(self, x: Reals, dx: Reals) -> tuple[Reals, Reals]:
        first, second = pin.dIntegrate(self.model, x[: self.nq], dx[: self.nv])
        for j in self._replaced["jintegrate"]:
            first[j.v, j.v], second[j.v, j.v] = evaluate(j.space, "jintegrate", x[j.q], dx[j.v])
        return _with_velocity(first, 1.0), _with_velocity(second, 1.0)

    def _jdifference(self, x0: Reals, x1: Reals) -> tuple[Reals, Reals]:
        first, second = pin.dDifference(self.model, x0[: self.nq], x1[: self.nq])
        for j in self._replaced["jdifference"]:
            first[j.v, j.v], second[j.v, j.v] = evaluate(j.space, "jdifference", x0[j.q], x1[j.q])
        return _with_velocity(first, -1.0), _with_velocity(second, 1.0)

    @functools.cached_property
    def _turning(self) -> list[tuple[JointSpace, slice]]:
        """Joints with coordinates of norm 1, and the indices of these coordinates in x."""
        parts = [(joint, joint.space.rotation) for joint in self._joints]
        return [(j, slice(j.q.start + part.start, j.q.start + part.stop)) for j, part in parts if part is not None]

    def _rotations(self, x: Reals) -> list[tuple[JointSpace, slice, float]]:
        """Rotations in x: the joint, the indices of its coordinates, and their norm."""
        return [(joint, where, float(np.linalg.norm(x[where]))) for joint, where in self._turning]

    def _check_rotations(self, x: Reals, argument: str) -> None:
        for joint, where, norm in self._rotations(x):
            if abs(norm - 1) > NORM_TOLERANCE:
                kind = "quaternion" if where.stop - where.start == 4 else "(cos, sin)"
                raise InvalidArgumentError(
                    f"{argument}: expected the {kind} of joint {joint.label!r} (indices {where.start} to "
                    f"{where.stop - 1}) to have norm 1 within {NORM_TOLERANCE}, got {norm:.9g}; "
                    "normalise it, or use state.normalize(x)"
                )

    def are_states(self, xs: Reals) -> bool:
        if not all_finite(xs):
            return False
        parts = [xs[:, where] for _, where in self._turning]
        norms = [np.sqrt(np.einsum("ij,ij->i", part, part)) for part in parts]  # a third of linalg.norm's time
        return all(bool((np.abs(norm - 1) <= NORM_TOLERANCE).all()) for norm in norms)

    def _shape_hint(self) -> str:
        return f"a state of {self.robot.name!r} is (q, v) with nq = {self.nq} and nv = {self.nv}"

    @functools.cached_property
    def layout(self) -> ParameterLayout:
        """Layout of the robot's parameters in one column of numbers."""
        return ParameterLayout(self.parameters())

    def parameters(self) -> dict[str, Parameter]:
        return {p.parameter.name: p.parameter for p in self.robot.parameters.values()}

    def _same_content(self, other: StateMultibody) -> bool:
        same = self.model is other.model or bool(self.model == other.model)
        return same and list(self.robot.parameters) == list(other.robot.parameters)


def _limits(model: pin.Model, joints: tuple[JointSpace, ...]) -> tuple[Reals, Reals]:
    """Bounds of (δq, δv), shape (2 nv,) each, from the model's limits."""
    lower, upper = np.full(model.nv, -np.inf), np.full(model.nv, np.inf)
    for joint in joints:
        if isinstance(joint.space, VectorSpace):
            lower[joint.v] = model.lowerPositionLimit[joint.q]
            upper[joint.v] = model.upperPositionLimit[joint.q]
    # Pinocchio 4.1 fills lowerVelocityLimit with the positive limit, so it cannot be used.
    fastest = np.array(model.velocityLimit)
    lower, upper = np.concatenate([lower, -fastest]), np.concatenate([upper, fastest])
    unset = (lower == 0.0) & (upper == 0.0)
    lower = np.where(unset | (lower < -NO_LIMIT), -np.inf, lower)
    return lower, np.where(unset | (upper > NO_LIMIT), np.inf, upper)


def _name(kind: str, label: str, part: str) -> str:
    return f"{kind}:{label}.{part}" if part else f"{kind}:{label}"


def _with_velocity(configuration_block: Reals, sign: float) -> Reals:
    nv = len(configuration_block)
    result = np.zeros((2 * nv, 2 * nv))
    result[:nv, :nv] = configuration_block
    result[nv:, nv:] = sign * np.eye(nv)
    return result


def _rebuild(robot: Robot, lower: Reals, upper: Reals) -> StateMultibody:
    return StateMultibody(robot, lower=lower, upper=upper)


def check_robot_state(user: str, state: object) -> StateMultibody:
    """Returns a StateMultibody; raises InvalidArgumentError, which names `user`, for any other state."""
    if not isinstance(state, StateMultibody):
        raise InvalidArgumentError(
            f"state: {user} needs a StateMultibody, got {state!r}; construct one: StateMultibody(load_robot(...))"
        )
    return state
