"""Robots in the air: every mode is free dynamics, and Runge-Kutta steps have their order."""

from __future__ import annotations

from typing import Any

import numpy as np
import pinocchio as pin
import pytest

from tests.simulator.cases import Case, chain, two_legs
from tests.simulator.twin import Twin, plane
from tests.simulator.twin_mechanisms import Robot

DT = 1e-2


def lifted(case: Case) -> Case:
    """The same with all grounds 100 m below."""
    spheres = tuple(type(s)(frame=s.frame, offset=s.offset, ground=plane(0, 0, 1, 100)) for s in case.spheres)
    return Case(mechanism=case.mechanism, spheres=spheres, q=case.q, v=case.v)


def in_the_air(name: str) -> tuple[Case, np.ndarray]:
    """A robot that moves in all its joints, and torques."""
    rng = np.random.default_rng(5)
    case = lifted({"chain": chain, "two-legs": two_legs}[name]())
    model = case.mechanism.model()
    q = pin.integrate(model, case.q, 0.3 * rng.normal(size=model.nv))
    v, tau = rng.normal(size=(2, model.nv))
    return case.at(q, v), 0.1 * tau


ROBOTS = ["chain", "two-legs"]


def close(found: Any, wanted: Any) -> None:
    """Equal to rounding of a hundred operations."""
    np.testing.assert_allclose(found, wanted, rtol=0, atol=1e-11 * max(1.0, np.abs(wanted).max()))


@pytest.mark.parametrize("name", ROBOTS)
def test_instantaneous_modes(name: str) -> None:
    case, tau = in_the_air(name)
    model = case.mechanism.model()
    data, a = model.createData(), np.arange(model.nv) * 0.1
    rate = pin.aba(model, data, case.q, case.v, tau)
    torque = pin.rnea(model, data, case.q, case.v, a)
    for level in ("I", "LF"):
        close(case.simulator(f"FORWARD_{level}").simulate(DT, case.x, tau)[0], np.concatenate([case.v, rate]))
        close(case.simulator(f"INVERSE_{level}").simulate(DT, np.concatenate([case.x, a]))[0], torque)


@pytest.mark.parametrize("name", ROBOTS)
def test_backward_modes(name: str) -> None:
    case, tau = in_the_air(name)
    model = case.mechanism.model()
    data, before, twin = model.createData(), case.v[::-1].copy(), Twin(Robot(model), [])
    x = np.concatenate([case.x, before])
    start = twin.earlier(case.q, case.v, before, DT) + DT * twin.mechanism.drift(case.v)
    missing = start + DT * pin.aba(model, data, case.q, case.v, tau) - case.v
    close(case.simulator("BACKWARD_RK1F").simulate(DT, x, tau)[0], missing)
    close(case.simulator("BACKWARD_RK1I").simulate(DT, x, tau)[0], missing)
    force = pin.rnea(model, data, case.q, case.v, (case.v - start) / DT) - tau
    close(case.simulator("INVERSE_BACKWARD_RK1F").simulate(DT, x, tau)[0], force)


@pytest.mark.parametrize(
    ("mode", "variant"), [("FORWARD_RK1F", None), ("FORWARD_RK1I", None), ("FORWARD_RK1I", "readme")]
)
@pytest.mark.parametrize("name", ROBOTS)
def test_semi_implicit_euler(name: str, mode: str, variant: str | None) -> None:
    """Of all but the source's variant, which is explicit Euler; free joints in world axes."""
    case, tau = in_the_air(name)
    twin = Twin(Robot(case.mechanism.model()), [])
    v = twin.free_velocity(case.q, case.v, tau, DT)
    options = {} if variant is None else {"variant": variant}
    after, _, _ = case.simulator(mode, **options).simulate(DT, case.x, tau)
    close(after, np.concatenate(twin.moved(case.q, v, DT)))


@pytest.mark.parametrize("name", ROBOTS)
def test_explicit_euler(name: str) -> None:
    case, tau = in_the_air(name)
    twin = Twin(Robot(case.mechanism.model()), [])
    v = twin.free_velocity(case.q, case.v, tau, DT)
    after, _, _ = case.simulator("FORWARD_RK1I", variant="source").simulate(DT, case.x, tau)
    close(after, np.concatenate(twin.moved(case.q, case.v, DT, carried=v)))


@pytest.mark.parametrize("variant", ["projected", "readme", "source"])
@pytest.mark.parametrize(("mode", "order"), [("FORWARD_RK1I", 1), ("FORWARD_RK2I", 2), ("FORWARD_RK4I", 4)])
@pytest.mark.parametrize("name", ROBOTS)
def test_order(name: str, mode: str, order: int, variant: str) -> None:
    """Slope of log error over log dt, by regression over four halvings: within 0.15 of the order, rotations included.

    The reference has steps 8 times smaller than the smallest: its error is 8⁻⁴ of that at order 4. A slope is off by
    the next term of the error, of relative size dt times the rates of the motion (up to 20 per second).
    """
    case, tau = in_the_air(name)
    model = case.mechanism.model()
    time, counts = 0.02, np.array([4, 8, 16, 32])
    best = case.simulator("FORWARD_RK4I", variant=variant)

    def end(simulator: Any, steps: int) -> np.ndarray:
        x = case.x
        for _ in range(steps):
            x = simulator.simulate(time / steps, x, tau)[0]
        return x

    right = end(best, 256)
    simulator, errors = case.simulator(mode, variant=variant), []
    for count in counts:
        x = end(simulator, int(count))
        off = pin.difference(model, right[: model.nq], x[: model.nq])
        errors.append(np.linalg.norm(np.concatenate([off, x[model.nq :] - right[model.nq :]])))
    slope = np.polyfit(np.log(time / counts), np.log(errors), 1)[0]
    assert slope == pytest.approx(order, abs=0.15)
