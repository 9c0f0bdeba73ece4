"""10,000 random states of three robots: in the air, touching, deep in the ground, sliding fast, and both.

Time steps are 0.1 to 10 ms. Every step is finite and keeps the energy bound; derivatives are right on a random tenth.
"""

from __future__ import annotations

from dataclasses import dataclass
from functools import cache
from typing import Any

import numpy as np
import numpy.typing as npt
import pinocchio as pin
import pytest
from scipy.optimize import brentq

from tests.simulator.cases import Case, chain, quadruped, two_legs
from tests.simulator.twin import Sphere, Twin, plane
from tests.simulator.twin_mechanisms import FreeBox, PlanarChain, Robot
from tests.simulator.twin_numbers import doubles, exact

Reals = npt.NDArray[np.float64]

STEPS = (1e-4, 1e-3, 1e-2)  # [s]
KINDS = {  # depth of the lowest sphere [m], speed of the joints [rad/s] and of the base or, without one, more [m/s]
    "in the air": ((-0.5, -0.01), 2.0, 2.0),
    "touching": ((0.0, 0.005), 1.0, 1.0),
    "deep": ((0.05, 0.3), 2.0, 3.0),
    "sliding fast": ((0.001, 0.02), 5.0, 20.0),
    "deep and fast": ((0.05, 0.3), 6.0, 10.0),
}


def tilted_box() -> Case:
    """A box on a free flyer with a sphere at each lower corner, on a slope of 10 degrees."""
    ground = plane(np.sin(0.17), 0, np.cos(0.17), 0)
    corners = [(x, y, -0.05) for x in (-0.1, 0.1) for y in (-0.1, 0.1)]
    spheres = tuple(Sphere(frame="body", offset=c, radius=0.02, ground=ground, rays=5, friction=0.4) for c in corners)
    return Case(mechanism=FreeBox(), spheres=spheres, q=np.array([0, 0, 0, 0, 0, 0, 1.0]), v=np.zeros(6))


def arm() -> Case:
    """Three rods over a floor that the last two can reach."""
    mechanism, ground = PlanarChain((0.5, 0.4, 0.3), (1.0, 0.8, 0.5)), plane(0, 0, 1, 0.7)
    spheres = tuple(Sphere(frame=f, radius=0.02, ground=ground, strength=1e7) for f in ("tool", "link_3"))
    return Case(mechanism=mechanism, spheres=spheres, q=chain().q, v=np.zeros(3))


ROBOTS = {"arm": (arm, 3000), "box": (tilted_box, 3000), "quadruped": (quadruped, 4000)}
"""Each robot and the number of its states."""

FOR_MODES = {"arm": ROBOTS["arm"], "box": ROBOTS["box"], "two-legs": (two_legs, 1000)}
"""Those of `test_many_states_modes`, which take a random part of these states for each mode."""


@dataclass(frozen=True)
class Sample:
    """Random states of a robot.

    Attributes:
        case: The robot.
        x: (q, v) of each (count, nq + nv).
        tau: Torques (count, nv).
        dt: Time step of each (count,) [s].
        kind: What each is, one of `KINDS`.
    """

    case: Case
    x: Reals
    tau: Reals
    dt: Reals
    kind: npt.NDArray[np.str_]


def deepest(case: Case, model: pin.Model, data: pin.Data, q: Reals) -> float:
    """Depth of the lowest sphere [m], negative in the air."""
    pin.framesForwardKinematics(model, data, q)
    depths = []
    for sphere in case.spheres:
        placement, (*normal, d) = data.oMf[model.getFrameId(sphere.frame)], sphere.ground.given
        centre = placement.rotation @ np.array(sphere.offset) + placement.translation
        depths.append(sphere.radius - float(normal @ centre + d))  # normals of these planes have length 1
    return max(depths)


def at_depth(case: Case, model: pin.Model, data: pin.Data, rng: np.random.Generator, wanted: float) -> Reals:
    """A random configuration whose lowest sphere has this depth."""

    def random(spread: float) -> tuple[Reals, float]:
        q = pin.integrate(model, case.q, spread * rng.normal(size=model.nv))
        return q, deepest(case, model, data, q)

    if model.nq != model.nv:  # a free base moves along the normal
        q, depth = random(0.4)
        q[:3] += np.array(case.spheres[0].ground.given[:3]) * (depth - wanted)
        return q
    above, below = random(1.5), random(1.5)
    while not above[1] <= wanted <= below[1]:  # then somewhere between the two
        above, below = (
            min(above, random(1.5), key=lambda pair: pair[1]),
            max(below, random(1.5), key=lambda pair: pair[1]),
        )
    way = below[0] - above[0]
    part = brentq(lambda t: deepest(case, model, data, above[0] + t * way) - wanted, 0.0, 1.0, xtol=1e-15)
    return above[0] + part * way


@cache
def sample(name: str) -> Sample:
    """The states of a robot, the same in every run; each kind as often as the others."""
    make, count = (ROBOTS | FOR_MODES)[name]
    case = make()
    model = case.mechanism.model()
    rng, data, floating = np.random.default_rng(len(name)), model.createData(), model.nq != model.nv
    xs, kinds = [], np.array(list(KINDS))[np.arange(count) % len(KINDS)]
    for kind in kinds:
        (least, most), joints, base = KINDS[kind]
        q = at_depth(case, model, data, rng, rng.uniform(least, most))
        v = joints * rng.normal(size=model.nv)
        v[:3] += base * rng.normal(size=3) if floating else 0.3 * base * rng.normal(size=3)
        xs.append(np.concatenate([q, v]))
    tau = 5 * rng.normal(size=(count, model.nv))
    dt = np.array(STEPS)[rng.integers(len(STEPS), size=count)]
    return Sample(case, np.array(xs), tau, dt, kinds)


@cache
def simulator(name: str) -> Any:
    """The simulator of a robot."""
    return sample(name).case.simulator()


@pytest.mark.slow
@pytest.mark.parametrize("name", list(ROBOTS))
def test_steps_are_finite_and_keep_the_energy_bound(name: str) -> None:
    """½ v̂ᵀHv̂ ≤ ½ v_freeᵀHv_free + μ Σ (n_f + 1), μ = β dt; 1e-12 of the energy for rounding."""
    s = sample(name)
    model = s.case.mechanism.model()
    data, barrier = model.createData(), float(simulator(name).model.parameters()["barrier_weight"].default)
    terms = sum(sphere.rays + 1 for sphere in s.case.spheres)
    twin = Twin(Robot(model), [])
    for dt in STEPS:
        chosen = np.flatnonzero(s.dt == dt)
        after, _, _ = simulator(name).simulate_batched(dt, s.x[chosen], s.tau[chosen])
        after = np.asarray(after)
        assert np.isfinite(after).all()
        for i, result in zip(chosen, after):
            q, v = s.x[i, : model.nq], s.x[i, model.nq :]
            free = twin.free_velocity(q, v, s.tau[i], dt)
            end = twin.turned(result[model.nq :], result[: model.nq], q)
            upper = np.triu(pin.crba(model, data, q))
            H = upper + np.triu(upper, 1).T
            before, then = free @ H @ free / 2, end @ H @ end / 2
            bound = before + barrier * dt * terms
            assert then <= bound + 1e-12 * before, f"{s.kind[i]}, dt = {dt}: {then - bound:.2e} J too much at {s.x[i]}"


@pytest.mark.parametrize("name", list(ROBOTS))
def test_derivatives_are_right_on_a_tenth(name: str) -> None:
    """Along a random direction of (q, v, τ), by differences of order 4; the best of five steps h counts.

    Steps reach from 1e-3, where a contact a millimetre deep is curved, to 1e-7, where rounding is left; a right
    derivative is 1e-6 max(1, |J|) off at most for one of them, a wrong element of J is off for all.
    """
    s, rng = sample(name), np.random.default_rng(7)
    model = s.case.mechanism.model()
    nq, nv = model.nq, model.nv
    tenth = rng.permutation(len(s.x))[: len(s.x) // 10]
    for dt in STEPS:
        chosen = tenth[s.dt[tenth] == dt]
        result, Dqdq, Dtau = map(
            np.asarray, simulator(name).simulate_batched(dt, s.x[chosen], s.tau[chosen], Dqdqs=True, Dtaus=True)
        )
        directions = rng.normal(size=(len(chosen), 3 * nv))
        directions /= np.linalg.norm(directions, axis=1, keepdims=True)
        found = np.einsum("kij,kj->ki", Dqdq, directions[:, : 2 * nv])
        found += np.einsum("kij,kj->ki", Dtau, directions[:, 2 * nv :])
        size = np.maximum(1, np.maximum(np.abs(Dqdq).max(axis=(1, 2)), np.abs(Dtau).max(axis=(1, 2))))
        errors = np.full(len(chosen), np.inf)
        for h in (1e-3, 1e-4, 1e-5, 1e-6, 1e-7):
            sides = []
            for step in (h, -h, 2 * h, -2 * h):
                moved = [
                    np.concatenate([pin.integrate(model, x[:nq], step * d[:nv]), x[nq:] + step * d[nv : 2 * nv]])
                    for x, d in zip(s.x[chosen], directions)
                ]
                torques = s.tau[chosen] + step * directions[:, 2 * nv :]
                there = np.asarray(simulator(name).simulate_batched(dt, np.array(moved), torques)[0])
                change = [pin.difference(model, a[:nq], b[:nq]) for a, b in zip(result, there)]
                sides.append(np.concatenate([change, there[:, nq:] - result[:, nq:]], axis=1))
            wanted = (8 * (sides[0] - sides[1]) - (sides[2] - sides[3])) / (12 * h)
            errors = np.minimum(errors, np.abs(found - wanted).max(axis=1) / size)
        worst = int(np.argmax(errors))
        assert errors[worst] <= 1e-6, f"{s.kind[chosen[worst]]}, dt = {dt}: {errors[worst]:.1e} at {s.x[chosen[worst]]}"


@pytest.mark.parametrize("name", list(ROBOTS))
def test_batches_are_single_steps(name: str) -> None:
    """Bit for bit, values and derivatives, with one thread and with two."""
    s = sample(name)
    few = slice(0, 37)  # blocks of 8 lanes and a rest
    for threads in (1, 2):
        simulator(name).set_threads(threads)
        batch = simulator(name).simulate_batched(1e-3, s.x[few], s.tau[few], Dqdqs=True, Dtaus=True)
        for i, (x, tau) in enumerate(zip(s.x[few], s.tau[few])):
            for one, many in zip(simulator(name).simulate(1e-3, x, tau, Dqdq=True, Dtau=True), batch):
                np.testing.assert_array_equal(one, many[i])


HARD = """
arm 1e-4 -0.835983637637493 0.3259449825141585 -0.6635934936890989 -15.66427 -10.80288 -12.43128
box 1e-2 -0.06046512 -0.12508554 -0.11139569 -0.17567819 -0.2380376 0.43210081 0.85191793
         -5.51907915 -2.77872735 -7.7380717 0.82463139 -2.23291482 -0.3161079
box 1e-4 0.07599152 -0.59043116 -0.13509316 0.24562988 0.2391603 0.2745011 0.89839717
         -4.58668758 -7.55643597 -4.6920302 3.17418923 -1.52775529 -1.92617894
box 1e-4 -0.16389966 -0.59296699 -0.12723498 -0.37177292 -0.04904155 0.18553336 0.90827154
         -11.46588478 5.57019469 -12.57878284 8.57156500 3.07804118 6.21123005
box 1e-3 -0.07020403 -0.03591506 -0.05844345 -0.29003507 -0.33687297 -0.0859875 0.89166907
         -29.74146078 -4.86143513 -13.98704176 -16.12455214 -5.51591881 2.47579940
"""
"""Robot, time step, q, v: deep and fast, with s = 1e-8 and less; rounding once kept the iteration from its end."""


def hard_states() -> list[Any]:
    """(robot, dt, x) of each."""
    texts = HARD.replace("\n  ", " ").strip().splitlines()
    return [(name, float(dt), np.array(numbers, dtype=float)) for name, dt, *numbers in map(str.split, texts)]


@pytest.mark.parametrize(("name", "dt", "x"), hard_states())
def test_hard_states(name: str, dt: float, x: Reals) -> None:
    """The step is the twin's, to 1e-9 relative to the velocity; and states 1e-7 away have one too.

    The twin solves for a barrier of m g 0.1 mm/s, since it begins in doubles.
    """
    s, rng = sample(name), np.random.default_rng(8)
    barrier = float(s.case.mechanism.mass) * 9.81e-4
    nq, twin, x = s.case.mechanism.nq, s.case.twin(barrier_weight=barrier), x.copy()
    if nq == 7:
        x[3:7] /= np.linalg.norm(x[3:7])
    around = np.repeat(x[None], 50, axis=0)
    around[1:, nq:] += 1e-7 * rng.normal(size=around[1:, nq:].shape)
    for each in (simulator(name), s.case.simulator(barrier_weight=barrier)):
        after = np.asarray(each.simulate_batched(dt, around)[0])
        assert np.isfinite(after).all()
    wanted = doubles(twin.step("FORWARD_RK1F", dt, exact(x)))
    np.testing.assert_allclose(after[0], wanted, rtol=0, atol=1e-9 * np.abs(x).max())
