"""A robot with Crocoddyl's contact and impulse dynamics, and checks of what they give that need no Crocoddyl."""

import itertools
from collections.abc import Callable
from typing import Any

import crocoddyl
import example_robot_data
import numpy as np
import pinocchio as pin

Json = dict[str, Any]
Arrays = dict[str, np.ndarray]

FRAMES = {"local": pin.LOCAL, "local_world_aligned": pin.LOCAL_WORLD_ALIGNED}
STANCES = {"hyq": "standing", "talos_legs": "half_sitting"}
STEP = 1e-5  # of central differences, in each direction
TOLERANCE = 1e-6  # of a derivative of Crocoddyl's, relative


class Bench:
    """A robot, and random states and controls for it.

    Args:
        robot: Name in example-robot-data.
        seed: Of the random numbers.
    """

    def __init__(self, robot: str, seed: int) -> None:
        self.model = example_robot_data.load(robot).model
        self.state = crocoddyl.StateMultibody(self.model)
        self.actuation = crocoddyl.ActuationModelFloatingBase(self.state)
        random, nv = np.random.default_rng(seed), self.model.nv
        stance = np.concatenate([self.model.referenceConfigurations[STANCES[robot]], np.zeros(nv)])
        self.x = self.state.integrate(
            stance, np.concatenate([random.uniform(-0.4, 0.4, nv), random.uniform(-1, 1, nv)])
        )
        self.u = random.uniform(-20.0, 20.0, self.actuation.nu)

    def frame(self, name: str) -> int:
        """Index of a frame."""
        return self.model.getFrameId(name)

    def contacts(self, specified: list[Json]) -> crocoddyl.ContactModelMultiple:
        """Crocoddyl's contacts, each called by its name."""
        stack = crocoddyl.ContactModelMultiple(self.state, self.actuation.nu)
        for c in specified:
            stack.addContact(c["name"], self._contact(c))
        return stack

    def _contact(self, c: Json) -> crocoddyl.ContactModelAbstract:
        frame, axes, nu, gains = self.frame(c["frame"]), FRAMES[c["reference_frame"]], self.actuation.nu, c["gains"]
        gains, reference = np.array(gains), c["reference"]
        if c["kind"] == "1D":
            # Crocoddyl constrains the last row of the rotation that it is given.
            rotation = turned_to(np.array(c["axis"]))
            return crocoddyl.ContactModel1D(self.state, frame, reference, axes, rotation, nu, gains)
        if c["kind"] == "2D":
            return crocoddyl.ContactModel2D(self.state, frame, np.array(reference), nu, gains)
        if c["kind"] == "3D":
            return crocoddyl.ContactModel3D(self.state, frame, np.array(reference), axes, nu, gains)
        return crocoddyl.ContactModel6D(self.state, frame, pin.XYZQUATToSE3(np.array(reference)), axes, nu, gains)

    def impulses(self, specified: list[Json]) -> crocoddyl.ImpulseModelMultiple:
        """Crocoddyl's impulses, each called by its name."""
        stack = crocoddyl.ImpulseModelMultiple(self.state)
        for c in specified:
            make = crocoddyl.ImpulseModel3D if c["kind"] == "3D" else crocoddyl.ImpulseModel6D
            stack.addImpulse(c["name"], make(self.state, self.frame(c["frame"]), FRAMES[c["reference_frame"]]))
        return stack

    def differential(
        self, specified: list[Json], costs: crocoddyl.CostModelSum | None = None, damping: float = 0.0
    ) -> crocoddyl.DifferentialActionModelContactFwdDynamics:
        """Contact dynamics, with forces for the costs."""
        costs = costs or crocoddyl.CostModelSum(self.state, self.actuation.nu)
        return crocoddyl.DifferentialActionModelContactFwdDynamics(
            self.state, self.actuation, self.contacts(specified), costs, damping, True
        )

    def impact(
        self, specified: list[Json], restitution: float, costs: crocoddyl.CostModelSum | None = None
    ) -> crocoddyl.ActionModelImpulseFwdDynamics:
        """Impulse dynamics, with impulses for the costs."""
        costs = costs or crocoddyl.CostModelSum(self.state, 0)
        return crocoddyl.ActionModelImpulseFwdDynamics(
            self.state, self.impulses(specified), costs, restitution, 0.0, True
        )


def turned_to(axis: np.ndarray) -> np.ndarray:
    """A rotation whose last row is the axis (3,), of unit length."""
    return pin.Quaternion.FromTwoVectors(axis, np.array([0.0, 0.0, 1.0])).toRotationMatrix()


def directions(ndx: int, nu: int) -> tuple[np.ndarray, np.ndarray]:
    """Random directions (ndx, 6) and (nu, 2), each in one block."""
    random, nv = np.random.default_rng(99), ndx // 2
    edges = [0, 3, 6, nv, nv + 3, nv + 6, ndx]
    along_x, along_u = np.zeros((ndx, 6)), np.zeros((nu, 2))
    for j, (start, end) in enumerate(itertools.pairwise(edges)):
        along_x[start:end, j] = random.uniform(0.5, 1.0, end - start) * random.choice([-1, 1], end - start)
    for j, (start, end) in enumerate([(0, nu // 2), (nu // 2, nu)]):
        along_u[start:end, j] = random.uniform(0.5, 1.0, end - start) * random.choice([-1, 1], end - start)
    return along_x, along_u


def differences(
    bench: Bench, values: Callable[[np.ndarray, np.ndarray], Arrays], along: np.ndarray, *, of_u: bool = False
) -> Arrays:
    """Central differences of some values along the columns of `along`."""
    columns: dict[str, list[np.ndarray]] = {}
    for direction in along.T:
        steps = []
        for step in (STEP, -STEP):
            x = bench.x if of_u else bench.state.integrate(bench.x, step * direction)
            steps.append(values(x, bench.u + step * direction if of_u else bench.u))
        for name in steps[0]:
            columns.setdefault(name, []).append((steps[0][name] - steps[1][name]) / (2 * STEP))
    return {name: np.array(column).T for name, column in columns.items()}


def checked(crocoddyls: Arrays, by_difference: Arrays) -> tuple[Arrays, Json]:
    """The derivatives to keep, and how far Crocoddyl's are from differences."""
    errors = {
        name: float(f"{np.abs(crocoddyls[name] - d).max() / max(1.0, np.abs(d).max()):.1e}")
        for name, d in by_difference.items()
    }
    wrong = [name for name, error in errors.items() if error > TOLERANCE]
    kept = {name: by_difference[name] if name in wrong else value for name, value in crocoddyls.items()}
    return kept, {"differences": max(errors.values()), "wrong": {name: errors[name] for name in wrong}}


def force_of(kind: str, data: Any) -> np.ndarray:
    """The entries that a contact or impulse of this kind has."""
    force = data.f
    if kind == "2D":
        return (data.jMf.rotation.T @ force.linear)[::2]
    return {"1D": force.linear[2:], "3D": force.linear, "6D": force.vector}[kind].copy()


def residue(bench: Bench, case: Json, now: Arrays) -> float:
    """M a + h - (0, u) - Jᵀ f, and each constraint's acceleration, by Pinocchio alone, relative."""
    model, data = bench.model, bench.model.createData()
    q, v, a = bench.x[: model.nq], bench.x[model.nq :], now["xdot"]
    balance = pin.rnea(model, data, q, v, a) - np.concatenate([np.zeros(6), bench.u])
    pin.computeJointJacobians(model, data, q)
    pin.forwardKinematics(model, data, q, v, a)
    pin.updateFramePlacements(model, data)
    worst = 0.0
    for c in case["contacts"]:
        jacobian = pin.getFrameJacobian(model, data, bench.frame(c["frame"]), FRAMES[c["reference_frame"]])
        force = now[f"{c['name']}.f"]
        balance = balance - (chosen(c) @ jacobian).T @ force
        moved = chosen(c) @ constrained(bench, data, c) + case.get("damping", 0.0) * force
        worst = max(worst, np.abs(moved).max())
    scale = max(1.0, *(np.abs(value).max() for value in now.values()))
    return float(f"{max(worst, np.abs(balance).max()) / scale:.1e}")


def chosen(c: Json) -> np.ndarray:
    """The rows of a twist that a contact constrains, (nc, 6)."""
    if c["kind"] == "1D":
        return np.array([*c["axis"], 0.0, 0.0, 0.0])[None]
    return np.eye(6)[{"2D": [0, 2], "3D": [0, 1, 2], "6D": range(6)}[c["kind"]]]


def constrained(bench: Bench, data: pin.Data, c: Json) -> np.ndarray:
    """Acceleration + kd · velocity + kp · error of a contact's frame in the contact's axes, (6,)."""
    model, frame, axes, (kp, kd) = bench.model, bench.frame(c["frame"]), FRAMES[c["reference_frame"]], c["gains"]
    pose, velocity = data.oMf[frame], pin.getFrameVelocity(model, data, frame, axes)
    if c["kind"] == "6D":
        error = pin.log6(pin.XYZQUATToSE3(np.array(c["reference"])).actInv(pose))
        error = error if axes == pin.LOCAL else pin.SE3(pose.rotation, np.zeros(3)).act(error)
        return pin.getFrameAcceleration(model, data, frame, axes).vector + kd * velocity.vector + kp * error.vector
    reference = np.array({"1D": [0.0, 0.0, c["reference"]], "2D": np.zeros(3)}.get(c["kind"], c["reference"]))
    error = pose.translation - reference
    error = pose.rotation.T @ error if axes == pin.LOCAL else error
    moved = pin.getFrameClassicalAcceleration(model, data, frame, axes).linear + kd * velocity.linear + kp * error
    return np.concatenate([moved, np.zeros(3)])


def impact_residue(bench: Bench, case: Json, now: Arrays) -> float:
    """M (v⁺ - v) - Jᵀ f and J v⁺ + e J v by Pinocchio alone, relative."""
    model, data = bench.model, bench.model.createData()
    q, v, after = bench.x[: model.nq], bench.x[model.nq :], now["xnext"][model.nq :]
    mass = pin.crba(model, data, q)
    mass = np.triu(mass) + np.triu(mass, 1).T
    pin.computeJointJacobians(model, data, q)
    pin.updateFramePlacements(model, data)
    balance, worst = mass @ (after - v), 0.0
    for c in case["contacts"]:
        jacobian = pin.getFrameJacobian(model, data, bench.frame(c["frame"]), FRAMES[c["reference_frame"]])
        jacobian = chosen(c) @ jacobian
        balance = balance - jacobian.T @ now[f"{c['name']}.f"]
        worst = max(worst, np.abs(jacobian @ (after + case["restitution"] * v)).max())
    scale = max(1.0, *(np.abs(value).max() for value in now.values()))
    return float(f"{max(worst, np.abs(balance).max()) / scale:.1e}")


def pushed(bench: Bench, case: Json, data: Any, x: np.ndarray) -> np.ndarray:
    """Jᵀ f (nv,) of Crocoddyl's forces at a state x (nx,)."""
    model, own, stack = bench.model, bench.model.createData(), data.multibody.contacts.contacts
    pin.computeJointJacobians(model, own, x[: model.nq])
    pin.updateFramePlacements(model, own)
    total = np.zeros(model.nv)
    for c in case["contacts"]:
        jacobian = pin.getFrameJacobian(model, own, bench.frame(c["frame"]), FRAMES[c["reference_frame"]])
        total += (chosen(c) @ jacobian).T @ force_of(c["kind"], stack[c["name"]])
    return total
