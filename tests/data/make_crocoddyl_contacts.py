"""Writes tests/data/crocoddyl/contacts.npz: Crocoddyl's contacts, impulses and force residuals at random states.

    DIR/bin/python make_crocoddyl_contacts.py     DIR from tests/benchmarks/peers/make_env.sh

`cases` is a JSON list of what was built, each with a `name`, a `kind` and `fields`, {field: shape}. The arrays of all
fields of all cases, in this order, are in `values`, one after the other, in C order:

    contacts   xdot (nv,), the acceleration; CONTACT.f (nc,), the force that Crocoddyl shows, in the contact's own axes,
               of a 2D contact (x, z); Fx, Fu and CONTACT.fx, CONTACT.fu, their derivatives along x and u
    impulses   xnext (nx,); CONTACT.f (nc,) [N s]; Fx
    residuals  r (nr,); cost, Lx, Lu, Lxx, Lxu, Luu of the differential or the impulse model whose only cost is that
               residual with weight 1; terminal_cost, terminal_Lx, of the same model called without a control

x (nx,) and u (nu,) are given for each; derivatives are along the tangent space. Matrices would fill megabytes: with the
directions X = `directions_x` (ndx, 6) and U = `directions_u` (nu, 2), what is kept of Fx and CONTACT.fx is Fx X, of Fu
and CONTACT.fu Fu U, and of the Hessians Xᵀ Lxx X, Xᵀ Lxu U and Uᵀ Luu U. A direction is random and excites one block:
base position, base rotation, joints, of q, then of v; the first half of the joint torques, the second half.

Checked here, and written down: each derivative against central differences of Crocoddyl's own values (`differences`,
the largest error relative to the largest entry), and each value against Pinocchio's mass matrix, Jacobians and
accelerations (`residue`, the largest entry of the equations of motion and of the constraint, relative). Where
Crocoddyl's derivative is off by more than 1e-6, which `wrong` lists, the arrays hold the differences instead. What
Crocoddyl 3.2.1 does in a way that is not to be copied:

- 2D contact: with a gain kp it mixes world and local axes, and its derivative is not that of its value; no such case is
  here. Its `f` is turned into the axes of the foot's parent joint; turned back here.
- 1D contact about a tilted axis: constrains along the last row of its rotation R, and takes `reference` along the last
  column; no such case with kp is here. With R = 1 the reference point is (0, 0, reference) in the world, also for a
  contact in local axes.
- Impulse with restitution e: its derivative is that of e = 0.
- ResidualModelContactControlGrav copies the contact forces when its data are made, so they are zero forever. The arrays
  hold what it is meant to be, (0, u) - g(q) + Jᵀ f, of Crocoddyl's f.
- ResidualModelCentroidalMomentum: its derivative is wrong, by much, in an impulse model, and zero without a control.
- ResidualModelFrameVelocity in axes aligned with the world: its derivative leaves out that these axes do not turn.
- ResidualModelContactForce of a 2D contact is always zero; no such case is here.
"""

import json
from pathlib import Path
from typing import Any

import crocoddyl
import numpy as np
import pinocchio as pin
from contact_cases import contact_cases, impulse_cases, residual_cases
from crocoddyl_bench import (
    FRAMES,
    Arrays,
    Bench,
    Json,
    checked,
    differences,
    directions,
    force_of,
    impact_residue,
    pushed,
    residue,
)

TARGET = Path(__file__).resolve().parent / "crocoddyl" / "contacts.npz"
SIZES = {"1D": 1, "2D": 2, "3D": 3, "6D": 6}


def contact_case(case: Json, seed: int) -> tuple[Json, Arrays]:
    """Values and derivatives of contact dynamics."""
    bench, contacts = Bench(case["robot"], seed), case["contacts"]
    model = bench.differential(contacts, damping=case.get("damping", 0.0))
    along_x, along_u = directions(bench.state.ndx, model.nu)

    def evaluated(x: np.ndarray, u: np.ndarray) -> Any:
        data = model.createData()
        model.calc(data, x, u)
        return data

    def values(x: np.ndarray, u: np.ndarray) -> Arrays:
        data = evaluated(x, u)
        stack = data.multibody.contacts.contacts
        forces = {f"{c['name']}.f": force_of(c["kind"], stack[c["name"]]) for c in contacts}
        return {"xdot": np.array(data.xout), **forces}

    data = evaluated(bench.x, bench.u)
    model.calcDiff(data, bench.x, bench.u)
    stack, now = data.multibody.contacts.contacts, values(bench.x, bench.u)
    fx = {f"{c['name']}.f": rows(stack[c["name"]].df_dx, c) @ along_x for c in contacts}
    fu = {f"{c['name']}.f": rows(stack[c["name"]].df_du, c) @ along_u for c in contacts}
    along_both = [
        checked({"xdot": data.Fx @ along_x, **fx}, differences(bench, values, along_x)),
        checked({"xdot": data.Fu @ along_u, **fu}, differences(bench, values, along_u, of_u=True)),
    ]
    arrays = {"x": bench.x, "u": bench.u, **now}
    for letter, (kept, _) in zip("xu", along_both, strict=True):
        arrays |= {f"F{letter}" if name == "xdot" else name + letter: value for name, value in kept.items()}
    found = {
        "differences": max(told["differences"] for _, told in along_both),
        "wrong": {
            f"{name}{'xu'[i]}": error for i, (_, told) in enumerate(along_both) for name, error in told["wrong"].items()
        },
        "residue": residue(bench, case, now),
    }
    return case | found, arrays


def rows(jacobian: np.ndarray, c: Json) -> np.ndarray:
    """A derivative of a force, with one row for each of its entries."""
    return np.asarray(jacobian).reshape(SIZES[c["kind"]], -1)


def impulse_case(case: Json, seed: int) -> tuple[Json, Arrays]:
    """Values and derivatives of impulse dynamics."""
    bench, impulses = Bench(case["robot"], seed), case["contacts"]
    model = bench.impact(impulses, case["restitution"])
    along_x, _ = directions(bench.state.ndx, bench.actuation.nu)

    def values(x: np.ndarray, _u: np.ndarray) -> Arrays:
        data = model.createData()
        model.calc(data, x, np.zeros(0))
        stack = data.multibody.impulses.impulses
        return {
            "xnext": np.array(data.xnext),
            **{f"{c['name']}.f": force_of(c["kind"], stack[c["name"]]) for c in impulses},
        }

    def velocity_after(x: np.ndarray, u: np.ndarray) -> Arrays:
        return {"Fx": values(x, u)["xnext"][bench.model.nq :]}

    data = model.createData()
    model.calc(data, bench.x, np.zeros(0))
    model.calcDiff(data, bench.x, np.zeros(0))
    now, nv = values(bench.x, bench.u), bench.model.nv
    kept, found = checked({"Fx": data.Fx[nv:] @ along_x}, differences(bench, velocity_after, along_x))
    arrays = {"x": bench.x, **now, "Fx": np.vstack([along_x[:nv], kept["Fx"]])}
    return case | found | {"residue": impact_residue(bench, case, now)}, arrays


def residual_case(case: Json, seed: int) -> tuple[Json, Arrays]:
    """A cost of one residual with weight 1, its expansion, and what it costs without a control."""
    bench, impact = Bench(case["robot"], seed), "restitution" in case
    nu = 0 if impact else bench.actuation.nu
    residual, bounds = residual_of(bench, case, nu)
    activation = crocoddyl.ActivationModelQuad(residual.nr)
    if bounds:
        activation = crocoddyl.ActivationModelQuadraticBarrier(crocoddyl.ActivationBounds(*bounds))
    costs = crocoddyl.CostModelSum(bench.state, nu)
    costs.addCost("term", crocoddyl.CostModelResidual(bench.state, activation, residual), 1.0)
    make = bench.impact if impact else bench.differential
    model = make(case["contacts"], *([case["restitution"]] if impact else []), costs)
    u, ndx, (along_x, along_u) = bench.u[:nu], bench.state.ndx, directions(bench.state.ndx, bench.actuation.nu)
    along_u = along_u[:nu]

    def value(x: np.ndarray, u: np.ndarray) -> Arrays:
        data = model.createData()
        model.calc(data, x, u[:nu])
        r = np.array(data.costs.costs["term"].residual.r)
        return {"r": r + pushed(bench, case, data, x) if case["residual"] == "ContactControlGrav" else r}

    data, terminal = model.createData(), model.createData()
    for filled, at in ((data, (bench.x, u)), (terminal, (bench.x,))):
        model.calc(filled, *at)
        model.calcDiff(filled, *at)
    term, r = data.costs.costs["term"].residual, value(bench.x, u)["r"]
    rx, ru = np.array(term.Rx).reshape(len(r), ndx), np.array(term.Ru).reshape(len(r), nu)
    exact_x = differences(bench, value, np.eye(ndx))["r"]
    exact_u = differences(bench, value, np.eye(nu), of_u=True)["r"] if nu else ru
    _, found = checked(
        {"rx": rx, "ru": ru} if nu else {"rx": rx}, {"rx": exact_x, "ru": exact_u} if nu else {"rx": exact_x}
    )
    if found["wrong"]:
        rx, ru = exact_x, exact_u
    lower, upper = bounds or (np.zeros_like(r), np.zeros_like(r))
    excess = np.minimum(r - lower, 0.0) + np.maximum(r - upper, 0.0)
    arr = np.diag(np.where((r < lower) | (r > upper), 1.0, 0.0))
    along = {"x": rx @ along_x, "u": ru @ along_u}
    arrays = {"r": r, "cost": np.array(excess @ excess / 2), "Lx": rx.T @ excess, "Lu": ru.T @ excess}
    arrays |= {f"L{i}{j}": along[i].T @ arr @ along[j] for i, j in ("xx", "xu", "uu")}
    if not found["wrong"]:
        consistent(data, arrays, along_x, along_u)
    arrays |= {"terminal_cost": np.array(terminal.cost), "terminal_Lx": np.array(terminal.Lx)}
    return case | found | {"nr": len(r)}, {"x": bench.x, "u": u, **arrays}


def consistent(data: Any, arrays: Arrays, along_x: np.ndarray, along_u: np.ndarray) -> None:
    """Whether the expansion made of the residual's derivatives is Crocoddyl's own."""
    own = {"cost": np.array(data.cost), "Lx": data.Lx, "Lxx": along_x.T @ data.Lxx @ along_x}
    if along_u.size:
        own |= {"Lu": data.Lu, "Lxu": along_x.T @ data.Lxu @ along_u, "Luu": along_u.T @ data.Luu @ along_u}
    for name, value in own.items():
        np.testing.assert_allclose(arrays[name], value, rtol=0, atol=1e-10 * max(1.0, np.abs(value).max()))


def limits(case: Json, cone: Any) -> tuple[np.ndarray, ...]:
    """The bounds of a cone (nr,), (nr,), if the case penalises what is outside of them; else nothing."""
    return (np.array(cone.lb), np.array(cone.ub)) if case["activation"] == "barrier" else ()


def residual_of(bench: Bench, case: Json, nu: int) -> tuple[crocoddyl.ResidualModelAbstract, tuple[np.ndarray, ...]]:
    """Crocoddyl's residual of a case, and the bounds of its cone, if it has one."""
    state, kind, told = bench.state, case["residual"], case["arguments"]
    contact = next((c for c in case["contacts"] if c["name"] == told.get("contact")), {})
    frame = bench.frame(contact.get("frame", told.get("frame", "universe")))
    rotation = np.array(told["rotation"]) if "rotation" in told else np.eye(3)
    if kind == "ContactForce":
        force = np.zeros(6)
        force[{1: [2], 3: [0, 1, 2], 6: range(6)}[SIZES[contact["kind"]]]] = told["reference"]
        return crocoddyl.ResidualModelContactForce(state, frame, pin.Force(force), SIZES[contact["kind"]], nu, True), ()
    if kind == "ContactFrictionCone":
        cone = crocoddyl.FrictionCone(
            rotation, told["mu"], told["facets"], told["inner"], told["min_force"], told["max_force"]
        )
        return crocoddyl.ResidualModelContactFrictionCone(state, frame, cone, nu, True), limits(case, cone)
    if kind == "ContactWrenchCone":
        box, force = np.array(told["box"]), (told["min_force"], told["max_force"])
        cone = crocoddyl.WrenchCone(rotation, told["mu"], box, told["facets"], told["inner"], *force)
        return crocoddyl.ResidualModelContactWrenchCone(state, frame, cone, nu, True), limits(case, cone)
    if kind == "ContactCoPPosition":
        cop = crocoddyl.CoPSupport(rotation, np.array(told["box"]))
        return crocoddyl.ResidualModelContactCoPPosition(state, frame, cop, nu, True), limits(case, cop)
    if kind == "FrameVelocity":
        twist, axes = pin.Motion(np.array(told["reference"])), FRAMES[told["reference_frame"]]
        return crocoddyl.ResidualModelFrameVelocity(state, frame, twist, axes, nu), ()
    if kind == "CentroidalMomentum":
        return crocoddyl.ResidualModelCentroidalMomentum(state, np.array(told["reference"]), nu), ()
    make = {
        "ContactControlGrav": lambda: crocoddyl.ResidualModelContactControlGrav(state, nu),
        "JointAcceleration": lambda: crocoddyl.ResidualModelJointAcceleration(state, nu),
        "ImpulseCoM": lambda: crocoddyl.ResidualModelImpulseCoM(state),
    }
    return make[kind](), ()


MAKERS = {
    "contacts": (contact_cases, contact_case),
    "impulses": (impulse_cases, impulse_case),
    "residuals": (residual_cases, residual_case),
}


def main() -> None:
    """Evaluate all cases and write the file."""
    cases, values = [], []
    for kind, (specify, evaluate) in MAKERS.items():
        for specified in specify():
            case, arrays = evaluate(specified | {"kind": kind}, seed=len(cases))
            case["fields"] = {name: np.shape(array) for name, array in arrays.items()}
            cases.append(case)
            values += [np.ravel(array) for array in arrays.values()]
            errors = f"differences {case['differences']:.1e}, residue {case.get('residue', 0):.1e}"
            print(f"{case['name']}: {errors}", case["wrong"] or "")
    assert len({case["name"] for case in cases}) == len(cases)
    along_x, along_u = directions(36, 12)
    facts = {"crocoddyl": crocoddyl.__version__, "pinocchio": pin.__version__}
    texts = {"cases": np.array(json.dumps(cases)), "versions": np.array(json.dumps(facts))}
    np.savez_compressed(TARGET, **texts, directions_x=along_x, directions_u=along_u, values=np.concatenate(values))
    print(f"{len(cases)} cases, {TARGET.stat().st_size / 1e3:.0f} kB")


if __name__ == "__main__":
    main()
