"""Random states of three robots in the modes other than FORWARD_RK1F, whose 10,000 are in `test_many_states`.

150 of these states for each mode, variant and robot: every result is finite and keeps the mode's energy bound;
derivatives are right on a random tenth.
"""

from __future__ import annotations

from collections.abc import Iterator
from functools import cache
from typing import Any

import numpy as np
import numpy.typing as npt
import pinocchio as pin
import pytest

from tests.simulator.test_many_states import FOR_MODES, STEPS, sample
from tests.simulator.test_modes_exact import WAYS
from tests.simulator.twin import REFERENCE_TIME, Twin
from tests.simulator.twin import STEPS as STEPPING
from tests.simulator.twin_mechanisms import Robot

Reals = npt.NDArray[np.float64]
COUNT = 150
OTHERS = [(mode, options) for mode, options in WAYS if mode != "FORWARD_RK1F"]
NAMES = ["-".join([mode, *options.values()]) for mode, options in OTHERS]


@cache
def simulator(name: str, way: int) -> Any:
    """The simulator of a robot in one of the ways."""
    mode, options = OTHERS[way]
    return sample(name).case.simulator(mode, **options)


def batches(name: str, way: int) -> Iterator[tuple[float, Reals, Reals | None, Reals]]:
    """(dt, inputs of the mode, torques, their kinds) of the states, a time step after the other."""
    s, rng, mode = sample(name), np.random.default_rng(way), OTHERS[way][0]
    chosen = rng.permutation(len(s.x))[:COUNT]
    nv = s.tau.shape[1]
    for dt in STEPS:
        some = chosen[s.dt[chosen] == dt]
        inputs, tau = s.x[some], s.tau[some]
        if mode.startswith("INVERSE_") and "BACKWARD" not in mode:
            yield dt, np.hstack([inputs, 5 * rng.normal(size=tau.shape)]), None, s.kind[some]
            continue
        if "BACKWARD" in mode:  # from a velocity that forces of the size of gravity may have changed
            inputs = np.hstack([inputs, inputs[:, -nv:] + 10 * dt * rng.normal(size=tau.shape)])
        yield dt, inputs, tau, s.kind[some]


def gain(mode: str, twin: Twin, dt: float, x: Reals, tau: Reals | None, result: Reals, after: Reals) -> Any:
    """(energy or power that contacts add, that before, time that the bound is multiplied by) of a step.

    Impulses: ½ v̂ᵀHv̂ - ½ vᵀHv; force level of backward modes: the same from v_free; limit: the power vᵀJᵀf.
    """
    robot = twin.mechanism
    q, v, *more = np.split(x, [robot.nq, robot.nq + robot.nv])
    if mode.endswith("LF"):
        a, torque = (result[robot.nv :], tau) if mode == "FORWARD_LF" else (more[0], result)
        push = robot.mass_matrix(q) @ a + robot.bias(q, v) - torque
        return v @ push, np.abs(v) @ np.abs(push), 1.0
    start = twin.free_velocity(q, v, tau, dt, start=twin.earlier(q, v, more[0], dt)) if "BACKWARD" in mode else v
    H = robot.mass_matrix(q)
    before = start @ H @ start / 2
    return after @ H @ after / 2 - before, before, dt if mode.endswith("F") else REFERENCE_TIME


@pytest.mark.parametrize("name", list(FOR_MODES))
@pytest.mark.parametrize("way", range(len(OTHERS)), ids=NAMES)
def test_results_are_finite_and_keep_the_energy_bound(way: int, name: str) -> None:
    """Contacts add at most μ Σ (n_f + 1), with μ = β times dt, 1 ms, or of the limit's power 1."""
    case, sim = sample(name).case, simulator(name, way)
    twin, barrier = Twin(Robot(case.mechanism.model()), []), float(sim.model.parameters()["barrier_weight"].default)
    terms = sum(sphere.rays + 1 for sphere in case.spheres)
    for dt, inputs, taus, kinds in batches(name, way):
        results = np.asarray(sim.simulate_batched(dt, inputs, taus)[0])
        assert np.isfinite(results).all()
        for i, (x, result) in enumerate(zip(inputs, results)):
            tau = None if taus is None else taus[i]
            after = sim.velocity_after(dt, x, tau)
            added, size, time = gain(OTHERS[way][0], twin, dt, x, tau, result, after)
            bound = barrier * time * terms
            assert added <= bound + 1e-12 * size, f"{kinds[i]}, dt = {dt}: {added - bound:.2e} too much at {x}"


DIFFERENTIATED = [
    pytest.param(way, name, id=f"{NAMES[way]}-{name}")
    for way, (mode, options) in enumerate(OTHERS)
    for name in FOR_MODES
    if name != "two-legs" or mode not in ("FORWARD_RK2I", "FORWARD_RK4I") or options["variant"] == "projected"
]
"""All but the long programs of the legged robot's stages whose chain rule is that of the arm."""


@pytest.mark.parametrize(("way", "name"), DIFFERENTIATED)
def test_derivatives_are_right_on_a_tenth(way: int, name: str) -> None:
    """As in `test_many_states`: differences of order 4 along a random direction, the best of five steps counts."""
    sim, rng, mode = simulator(name, way), np.random.default_rng(way), OTHERS[way][0]
    model = sample(name).case.mechanism.model()
    for dt, inputs, taus, kinds in batches(name, way):
        few = slice(0, len(inputs) // 10)
        x, tau = inputs[few], None if taus is None else taus[few]
        result, Dqdq, Dtau = sim.simulate_batched(dt, x, tau, Dqdqs=True, Dtaus=tau is not None)
        J = Dqdq if tau is None else np.concatenate([Dqdq, Dtau], axis=2)
        directions = rng.normal(size=(len(x), J.shape[2]))
        directions /= np.linalg.norm(directions, axis=1, keepdims=True)
        found, size = np.einsum("kij,kj->ki", J, directions), np.maximum(1, np.abs(J).max(axis=(1, 2)))
        errors = np.full(len(x), np.inf)
        for h in (1e-3, 1e-4, 1e-5, 1e-6, 1e-7):
            ends = []
            for step in (h, -h, 2 * h, -2 * h):
                there = sim.simulate_batched(dt, *moved(model, x, tau, step * directions))[0]
                ends.append(change(model, mode, result, there))
            wanted = (8 * (ends[0] - ends[1]) - (ends[2] - ends[3])) / (12 * h)
            errors = np.minimum(errors, np.abs(found - wanted).max(axis=1) / size)
        worst = int(np.argmax(errors))
        assert errors[worst] <= 1e-6, f"{kinds[worst]}, dt = {dt}: {errors[worst]:.1e} at {x[worst]}"


def moved(model: pin.Model, x: Reals, tau: Reals | None, d: Reals) -> tuple[Reals, Reals | None]:
    """Inputs and torques after a step in the tangent space."""
    q, nv = model.nq, model.nv
    end = nv + x.shape[1] - q
    inputs = [np.r_[pin.integrate(model, p[:q], c[:nv]), p[q:] + c[nv:end]] for p, c in zip(x, d)]
    return np.array(inputs), None if tau is None else tau + d[:, end:]


def change(model: pin.Model, mode: str, result: Reals, there: Reals) -> Reals:
    """Results from others, in the tangent space where they are states."""
    if mode not in STEPPING:
        return there - result
    q = model.nq
    by_q = [pin.difference(model, a[:q], b[:q]) for a, b in zip(result, there)]
    return np.hstack([by_q, there[:, q:] - result[:, q:]])
