"""What make_crocoddyl_contacts.py evaluates: contacts, impulses and residuals, told in plain values.

A contact has a `name`, a `kind` (1D, 2D, 3D, 6D), a `frame`, the `reference_frame` of its axes, `gains` (kp [1/s²], kd
[1/s]) and a `reference`: a height [m], a point (2,) or (3,) [m], or a placement (x, y, z, quaternion). A 1D contact has
an `axis` too.
"""

import itertools
from collections.abc import Iterator
from typing import Any

import numpy as np
import pinocchio as pin

Json = dict[str, Any]

FEET = {
    "hyq": {"lf": "lf_foot", "rf": "rf_foot", "lh": "lh_foot", "rh": "rh_foot"},
    "talos_legs": {"left": "left_sole_link", "right": "right_sole_link"},
}
KINDS = ("1D", "2D", "3D", "6D")
AXES = {"local": "local", "aligned": "local_world_aligned"}  # by a short name
GAINS = {"free": (0.0, 0.0), "held": (10.0, 50.0), "damped": (0.0, 50.0)}
TILT = pin.exp3(np.array([0.3, -0.2, 0.4]))  # of a surface that is not level


def contact(robot: str, foot: str, kind: str, axes: str, gains: str, random: np.random.Generator) -> Json:
    """One contact with a reference that is not zero."""
    point = random.uniform(-0.3, 0.3, 3).tolist()
    turn = pin.SE3ToXYZQUAT(pin.SE3(pin.exp3(random.uniform(-0.5, 0.5, 3)), np.array(point))).tolist()
    return {
        "name": foot,
        "kind": kind,
        "frame": FEET[robot][foot],
        "reference_frame": AXES[axes],
        "gains": list(GAINS[gains]),
        "reference": {"1D": point[0], "2D": point[:2], "3D": point, "6D": turn}[kind],
        **({"axis": [0.0, 0.0, 1.0]} if kind == "1D" else {}),
    }


def contact_cases() -> Iterator[Json]:
    """Each kind of contact in each frame, with and without gains, on one, two and four feet; and some others."""
    random = np.random.default_rng(1)
    for robot, kind in itertools.product(FEET, KINDS):
        feet = list(FEET[robot])
        most = 1 if (robot, kind) == ("hyq", "6D") else len(feet)  # its legs have three joints
        counts = [n for n in (1, 2, 4) if n <= most]
        all_axes, all_gains = (["local"], ["free", "damped"]) if kind == "2D" else (AXES, ["free", "held"])
        for axes, gains, count in itertools.product(all_axes, all_gains, counts):
            contacts = [contact(robot, foot, kind, axes, gains, random) for foot in feet[-count:]]
            yield {"name": f"{robot}-{kind}-{axes}-{gains}-{count}", "robot": robot, "contacts": contacts}
    for axes in AXES:
        tilted = contact("hyq", "rf", "1D", axes, "damped", random) | {"axis": TILT[:, 2].tolist()}
        yield {"name": f"hyq-1D-tilted-{axes}", "robot": "hyq", "contacts": [tilted]}
    mixed = [("lf", "3D", "aligned", "held"), ("rf", "1D", "local", "free"), ("rh", "6D", "local", "held")]
    yield {"name": "hyq-mixed", "robot": "hyq", "contacts": [contact("hyq", *told, random) for told in mixed]}
    softer = [contact("hyq", foot, "3D", "aligned", "held", random) for foot in FEET["hyq"]]
    yield {"name": "hyq-softened", "robot": "hyq", "contacts": softer, "damping": 0.1}


def impulse_cases() -> Iterator[Json]:
    """Impulses of 3D and 6D on two feet, without and with restitution."""
    kinds = [("hyq", "3D"), ("talos_legs", "3D"), ("talos_legs", "6D")]
    for (robot, kind), axes, restitution in itertools.product(kinds, AXES, (0.0, 0.4)):
        name = f"{robot}-impulse-{kind}-{axes}-{restitution:g}"
        feet = list(FEET[robot].items())[:2]
        impulses = [{"name": foot, "kind": kind, "frame": frame, "reference_frame": AXES[axes]} for foot, frame in feet]
        yield {"name": name, "robot": robot, "contacts": impulses, "restitution": restitution}


class Residuals:
    """Residuals of the forces on two feet."""

    def __init__(self) -> None:
        random = np.random.default_rng(2)

        def pair(robot: str, kind: str, axes: str) -> list[Json]:
            return [contact(robot, foot, kind, axes, "held", random) for foot in list(FEET[robot])[:2]]

        self.lines = pair("hyq", "1D", "aligned")
        self.points, self.local_points = pair("hyq", "3D", "aligned"), pair("hyq", "3D", "local")
        self.soles, self.local_soles = pair("talos_legs", "6D", "aligned"), pair("talos_legs", "6D", "local")

    @staticmethod
    def case(name: str, contacts: list[Json], residual: str, activation: str = "quadratic", **arguments: Any) -> Json:
        """A residual with its arguments, alone in a cost."""
        robot = next(robot for robot, feet in FEET.items() if contacts[0]["name"] in feet)
        told = {"name": f"{robot}-{residual}-{name}", "robot": robot, "contacts": contacts, "residual": residual}
        return told | {"arguments": arguments, "activation": activation}

    def forces(self) -> Iterator[Json]:
        """The force itself."""
        wrench = [10.0, -20.0, 100.0, 1.0, 2.0, -3.0]
        yield self.case("1D", self.lines, "ContactForce", contact="lf", reference=[50.0])
        yield self.case("3D-aligned", self.points, "ContactForce", contact="rf", reference=wrench[:3])
        yield self.case("3D-local", self.local_points, "ContactForce", contact="lf", reference=wrench[:3])
        yield self.case("6D-aligned", self.soles, "ContactForce", contact="left", reference=wrench)
        yield self.case("6D-local", self.local_soles, "ContactForce", contact="right", reference=wrench)

    def cones(self) -> Iterator[Json]:
        """Friction and wrench cones, and the centre of pressure, on level and tilted ground."""
        limits, box = {"min_force": 5.0, "max_force": 60.0}, {"box": [0.2, 0.1]}
        for facets, inner, tilted in itertools.product((4, 8), (False, True), (False, True)):
            rotation = (TILT if tilted else np.eye(3)).tolist()
            cone = {"mu": 0.7, "facets": facets, "inner": inner, "rotation": rotation, **limits}
            name = f"{facets}-{'inner' if inner else 'outer'}-{'tilted' if tilted else 'level'}"
            activation = "barrier" if inner == (facets == 8) else "quadratic"
            yield self.case(name, self.points, "ContactFrictionCone", activation, contact="lf", **cone)
            if tilted == inner:
                yield self.case(name, self.soles, "ContactWrenchCone", activation, contact="left", **cone, **box)
        level, tilted = ({"contact": "right", "rotation": turn.tolist(), **box} for turn in (np.eye(3), TILT))
        yield self.case("level", self.soles, "ContactCoPPosition", **level)
        yield self.case("tilted", self.local_soles, "ContactCoPPosition", "barrier", **tilted)

    def motion(self) -> Iterator[Json]:
        """Torques, accelerations, momentum and velocities."""
        for kind, contacts in (("3D", self.points), ("6D", self.soles)):
            yield self.case(kind, contacts, "ContactControlGrav")
            yield self.case(kind, contacts, "JointAcceleration")
        momentum = {"reference": [1.0, 2.0, 3.0, 4.0, 5.0, 6.0]}
        yield self.case("3D", self.points, "CentroidalMomentum", **momentum)
        yield self.case("impulse", self.points, "CentroidalMomentum", **momentum) | {"restitution": 0.0}
        for axes in AXES:
            twist = {"frame": "rh_foot", "reference": [0.1, 0.2, 0.3, -0.4, 0.5, 0.6], "reference_frame": AXES[axes]}
            yield self.case(axes, self.points, "FrameVelocity", **twist)
        for restitution, contacts in itertools.product((0.0, 0.4), (self.points, self.soles)):
            yield self.case(f"{restitution:g}", contacts, "ImpulseCoM") | {"restitution": restitution}


def residual_cases() -> Iterator[Json]:
    """Each residual of forces, impulses and momentum."""
    residuals = Residuals()
    yield from itertools.chain(residuals.forces(), residuals.cones(), residuals.motion())
