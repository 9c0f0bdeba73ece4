"""Parity with Crocoddyl 3.2.1 on gaits and humanoids, against the traces in tests/data/crocoddyl.

The same first guess and its cost; the same iterations and step lengths; costs on the way to 1e-5, the last one to 1e-8;
the same motion and the same contact forces. What a change of 1e-12 of us[0] does to Crocoddyl's own costs is in the
traces: at most 4e-7.
"""

from __future__ import annotations

import numpy as np
import pytest

from tests.support.legged_problems import GAITS, NAMES, guess_of, problem_of, solved, trace

every = pytest.mark.parametrize("name", NAMES)
GOLDEN = {  # iterations and cost as Crocoddyl's own examples and benchmarks give them
    "anymal-walk": (12, 588.6368067889),
    "anymal-chain-trot": (9, 427.3296136241),
    "anymal-chain-jump": (17, 3058.740477736),
    "anymal-walk-rk4": (14, 591.3665865293),
    "anymal-com": (10, 109.1547328662),
    "talos-legs-walk": (15, 5111.964479134),
    "hyq-walk": (13, 1596.818335603),
    "hyq-trot": (8, 864.1027376813),
    "talos-legs-benchmark": (12, 5195.698697658),
}


@every
def test_same_guess(name: str) -> None:
    expected, problem = trace(name), problem_of(name)
    assert expected["T"] == problem.T
    np.testing.assert_allclose(problem.x0, expected["x0"], rtol=0, atol=1e-12)
    xs, us = guess_of(problem)
    np.testing.assert_allclose(us[0], expected["guess"]["u0"], rtol=0, atol=1e-9 * np.abs(us[0]).max())
    norms = np.linalg.norm(us, axis=1)
    np.testing.assert_allclose(norms, expected["guess"]["u_norms"], rtol=0, atol=1e-9 * norms.max())
    assert problem.calc(xs, us).cost == pytest.approx(expected["guess"]["cost"], rel=1e-9)


@every
def test_same_iterations_and_final_cost(name: str) -> None:
    solution, expected = solved(name), trace(name)
    assert solution.converged
    assert solution.iterations == expected["iterations"]
    assert solution.cost == pytest.approx(expected["cost"], rel=1e-8)
    if name in GOLDEN:
        iterations, cost = GOLDEN[name]
        assert solution.iterations == iterations
        assert solution.cost == pytest.approx(cost, rel=1e-8)


@every
def test_same_steps_and_costs_on_the_way(name: str) -> None:
    history, expected = solved(name).history, trace(name)["trace"]
    assert [r.step_length for r in history] == expected["step_length"]
    np.testing.assert_allclose([r.cost for r in history], expected["cost"], rtol=1e-5)
    np.testing.assert_allclose([r.gap_norm for r in history], expected["ffeas"], rtol=1e-6, atol=1e-9)


@every
def test_same_motion(name: str) -> None:
    solution, expected = solved(name), trace(name)["solution"]
    np.testing.assert_allclose(solution.xs[expected["knots_xs"]], expected["xs"], rtol=0, atol=1e-5)
    largest = np.abs(solution.us).max()
    for t, u in zip(expected["knots_us"], expected["us"], strict=True):
        np.testing.assert_allclose(solution.us[t, : len(u)], u, rtol=0, atol=1e-5 * largest)


@pytest.mark.parametrize("name", [name for name, gait in GAITS.items() if gait.integrator == "euler"])
def test_same_contact_forces(name: str) -> None:
    ours, expected = solved(name).contact_forces(), dict(trace(name)["forces"])
    knots = expected.pop("knots")
    largest = max(np.nanmax(np.abs(force)) for force in ours.values())
    assert set(expected) == set(ours)
    for foot, rows in expected.items():
        for t, row in zip(knots, rows, strict=True):
            force = np.zeros(ours[foot].shape[1]) if row is None else np.array(row)
            np.testing.assert_allclose(ours[foot][t], force, rtol=0, atol=1e-5 * largest, err_msg=f"{foot}, knot {t}")
