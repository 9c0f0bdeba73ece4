"""Writes tests/data/crocoddyl/gaits-ROBOT.json: what Crocoddyl's gait builders ask for, node by node.

    DIR/bin/python make_crocoddyl_gaits.py     DIR from tests/benchmarks/peers/make_env.sh

Of each gait: its arguments, the time step, and a row for each node, the terminal one last:

    [kind, active feet, reference of the centre of mass or null, {foot: reference position}]

kind is "contact" or "impulse", a foot its place in `feet`. `terms` holds, for each kind, every cost term's weight and
what else does not change from node to node; a gait in which a node differs from it is refused. Rotations of references
are the identity, which is checked.
"""

import json
from pathlib import Path
from typing import Any

import crocoddyl
import example_robot_data
import numpy as np
import pinocchio
from crocoddyl.utils.biped import SimpleBipedGaitProblem
from crocoddyl.utils.quadruped import SimpleQuadrupedalGaitProblem

TARGET = Path(__file__).resolve().parent / "crocoddyl"
VERSIONS = {"crocoddyl": crocoddyl.__version__, "pinocchio": pinocchio.__version__}
STEPS = ("step_length", "step_height", "dt", "step_knots", "support_knots")
JUMPS = ("jump_height", "jump_length", "dt", "ground_knots", "flying_knots")
COM = ("shift", "dt", "knots")

QUADRUPED: dict[str, tuple[str, tuple[Any, ...], tuple[str, ...]]] = {
    "walk": ("createWalkingProblem", (0.25, 0.15, 1e-2, 25, 2), STEPS),
    "trot": ("createTrottingProblem", (0.15, 0.1, 1e-2, 10, 2), STEPS),
    "pace": ("createPacingProblem", (0.15, 0.1, 1e-2, 7, 5), STEPS),
    "bound": ("createBoundingProblem", (0.15, 0.1, 1e-2, 8, 5), STEPS),
    "jump": ("createJumpingProblem", (0.15, (0.1, 0.3, 0.05), 1e-2, 5, 6), JUMPS),
    "com_shift": ("createCoMProblem", (0.1, 1e-2, 4), COM),
}
BIPED = {
    "walk": ("createWalkingProblem", (0.6, 0.1, 0.03, 15, 4), STEPS),
    "jump": ("createJumpingProblem", (0.1, (0.1, 0.3, 0.05), 0.03, 9, 6), JUMPS),
}
ROBOTS: dict[str, dict[str, Any]] = {
    "anymal": {
        "builder": SimpleQuadrupedalGaitProblem,
        "posture": "standing",
        "feet": ("LF_FOOT", "RF_FOOT", "LH_FOOT", "RH_FOOT"),
        "gaits": QUADRUPED,
    },
    "hyq": {
        "builder": SimpleQuadrupedalGaitProblem,
        "posture": "standing",
        "feet": ("lf_foot", "rf_foot", "lh_foot", "rh_foot"),
        "gaits": QUADRUPED,
    },
    "talos_legs": {
        "builder": SimpleBipedGaitProblem,
        "posture": "half_sitting",
        "feet": ("right_sole_link", "left_sole_link"),
        "gaits": BIPED,
    },
}


def describe(name: str) -> dict[str, Any]:
    """The content of gaits-NAME.json."""
    robot = ROBOTS[name]
    model = example_robot_data.load(name).model
    q0 = model.referenceConfigurations[robot["posture"]].copy()
    x0 = np.concatenate([q0, np.zeros(model.nv)])
    feet, terms, gaits = list(robot["feet"]), {}, {}
    for gait, (method, arguments, names) in robot["gaits"].items():
        for first in ("half", "full") if "step_length" in names else (None,):
            builder = robot["builder"](model, *feet)
            builder.firstStep = first == "half"
            given = [np.array(a) if isinstance(a, tuple) else a for a in arguments]  # the builder changes some
            problem = getattr(builder, method)(x0, *given)
            nodes = [node(m, feet, terms) for m in [*problem.runningModels, problem.terminalModel]]
            options = {**dict(zip(names, arguments)), **({"first_step": first} if first else {})}
            gaits[f"{gait}-{first}" if first else gait] = {"gait": gait, "options": options, "nodes": nodes}
    return {"versions": VERSIONS, "feet": feet, "x0": x0.tolist(), "terms": terms, "gaits": gaits}


def node(model: Any, feet: list[str], terms: dict[str, Any]) -> list[Any]:
    """One node as a row; what is the same at all nodes of a kind goes to `terms`."""
    kind = "contact" if hasattr(model, "differential") else "impulse"
    inner = model.differential if kind == "contact" else model
    items = (inner.contacts.contacts if kind == "contact" else inner.impulses.impulses).todict()
    known = terms.setdefault(kind, {})
    for item in items.values():
        part = item.contact if kind == "contact" else item.impulse
        gains = {"gains": list(part.gains)} if kind == "contact" else {}
        same(known, "model", {"type": type(part).__name__, **gains})
    same(known, "damping", inner.JMinvJt_damping)
    com, places = None, {}
    for name, item in inner.costs.costs.todict().items():
        foot = next((f for f in feet if name.startswith(f)), None)
        residual, activation = item.cost.residual, item.cost.activation
        facts: dict[str, Any] = {"weight": item.weight, "activation": type(activation).__name__}
        if isinstance(activation, crocoddyl.ActivationModelWeightedQuad):
            facts["weights"] = activation.weights.tolist()
        if isinstance(activation, crocoddyl.ActivationModelQuadraticBarrier):
            facts["lower"], facts["upper"] = (finite(v) for v in (activation.bounds.lb, activation.bounds.ub))
        if name == "comTrack":
            com = residual.reference.tolist()
        elif name.endswith("footTrack"):
            places[str(feet.index(foot))] = position(residual.reference)
        elif isinstance(residual, crocoddyl.ResidualModelState):
            facts["reference"] = residual.reference.tolist()
        elif hasattr(residual.reference, "mu"):
            cone = residual.reference
            facts |= {"mu": cone.mu, "facets": cone.nf, "inner": cone.inner_appr}
            facts |= {"box": cone.box.tolist()} if hasattr(cone, "box") else {}
        same(known, name.replace(f"{foot}_", ""), facts)
    active = sorted(feet.index(f) for f in feet for name in items if name.startswith(f))
    return [kind, active, com, places]


def same(known: dict[str, Any], name: str, facts: Any) -> None:
    """Keeps facts that are the same at all nodes."""
    assert known.setdefault(name, facts) == facts, (name, facts)


def position(reference: Any) -> list[float]:
    """The position of a reference; its rotation, if it has one, is the identity."""
    if isinstance(reference, pinocchio.SE3):
        assert np.array_equal(reference.rotation, np.eye(3))
        reference = reference.translation
    return np.asarray(reference).tolist()


def finite(bounds: np.ndarray) -> list[float | None]:
    """Bounds with None where there is none."""
    return [float(b) if abs(b) < 1e300 else None for b in bounds]


for robot_name in ROBOTS:
    path = TARGET / f"gaits-{robot_name}.json"
    text = json.dumps(describe(robot_name)).replace('["contact"', '\n["contact"').replace('["impulse"', '\n["impulse"')
    path.write_text(text + "\n")
    print(path.name, path.stat().st_size)
