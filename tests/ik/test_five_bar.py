"""The five-bar linkage: numbers of the robotics notebook, branches, and the closed chain in solvers."""

from __future__ import annotations

import pickle

import numpy as np
import pinocchio as pin
import pytest

import trajopt
from tests.test_examples import EXAMPLES, load
from trajopt import ik
from trajopt.errors import InvalidArgumentError
from trajopt.ik import FiveBar
from trajopt.ik.optimal import DifferentialActionModelKinematics
from trajopt.solvers import SolverSQP
from trajopt.types import Reals

NOTEBOOK = FiveBar(base=8.0, crank=5.0, rod=10.0)


def world(angles: Reals) -> Reals:
    """Angles of the cranks from x, of those from level outwards, as the notebook has them, left first."""
    return np.stack([np.pi - angles[..., 0], angles[..., 1]], axis=-1)


def rods(bar: FiveBar, cranks: Reals) -> Reals:
    """Lengths (n, 2) of both rods, from elbows to tips, in the notebook's formula."""
    sides = np.array([-0.5, 0.5]) * bar.base
    elbows = np.stack([sides + bar.crank * np.cos(cranks), bar.crank * np.sin(cranks)], axis=-1)
    return np.linalg.norm(bar.tip(cranks)[:, None] - elbows, axis=-1)


def gaps(bar: FiveBar, q: Reals) -> Reals:
    """Distances of the tips of both rods (n,)."""
    points = [bar.robot.placement(q, f"{side}_tip")[..., :3, 3] for side in ("left", "right")]
    return np.asarray(np.linalg.norm(points[0] - points[1], axis=-1))


def test_workspace_of_the_notebook() -> None:
    """100 by 100 angles in (0, 1.57]: both rods have length 10 to 4e-15, no tip is missing."""
    angles = 1.57 * np.arange(1, 101) / 100
    grid = world(np.stack(np.meshgrid(angles, angles), axis=-1).reshape(-1, 2))
    assert np.abs(rods(NOTEBOOK, grid) - 10.0).max() < 8e-15
    assert np.isfinite(NOTEBOOK.tip(grid)).all()
    np.testing.assert_allclose(NOTEBOOK.tip(world(np.zeros(2))), [0.0, 4.3588989435], atol=1e-10)
    np.testing.assert_allclose(NOTEBOOK.tip(world(np.full(2, np.pi / 2))), [0.0, 14.1651513899], atol=1e-10)
    example = load(next(path for path in EXAMPLES if path.name.startswith("23_")))
    np.testing.assert_allclose(
        np.sort(10 * example.workspace(100)[:, 1]), np.sort(NOTEBOOK.tip(grid)[:, 1]), atol=1e-13
    )


def test_the_robot_is_closed_where_the_formula_says() -> None:
    cranks = world(np.random.default_rng(0).uniform(-0.3, 1.57, (50, 2)))
    q = NOTEBOOK.configuration(cranks)
    np.testing.assert_array_equal(q[:, [0, 2]], cranks)
    assert gaps(NOTEBOOK, q).max() < 1e-13
    np.testing.assert_allclose(NOTEBOOK.robot.placement(q, "left_tip")[:, [0, 2], 3], NOTEBOOK.tip(cranks), atol=1e-13)
    np.testing.assert_array_equal(NOTEBOOK.configuration(cranks[3]), q[3])
    np.testing.assert_array_equal(NOTEBOOK.tip(cranks[3]), NOTEBOOK.tip(cranks)[3])


def test_configurations_are_within_limits() -> None:
    """Rods within half a turn of stretched, whatever the cranks."""
    bar = FiveBar()
    q = bar.configuration(np.random.default_rng(2).uniform(-np.pi / 2, 3 * np.pi / 2, (200, 2)))
    assert np.all((q >= bar.robot.model.lowerPositionLimit) & (q <= bar.robot.model.upperPositionLimit))
    assert gaps(bar, q).max() < 1e-12


def test_all_four_configurations_of_a_point() -> None:
    """Each closes the chain there, within the robot's limits; cranks from the first one lead to the point again."""
    model = NOTEBOOK.robot.model
    for point in np.random.default_rng(1).uniform([-4.0, 7.0], [4.0, 11.0], (20, 2)):
        found = NOTEBOOK.configurations(point)
        assert gaps(NOTEBOOK, found).max() < 1e-13
        np.testing.assert_allclose(NOTEBOOK.robot.placement(found, "left_tip")[:, [0, 2], 3], [point] * 4, atol=1e-13)
        assert len(np.unique(found.round(9), axis=0)) == 4
        assert np.all((found >= model.lowerPositionLimit) & (found <= model.upperPositionLimit))
        np.testing.assert_allclose(NOTEBOOK.tip(found[0, [0, 2]]), point, atol=1e-12)
        left, right = NOTEBOOK.robot.placement(found[0], "left_rod"), NOTEBOOK.robot.placement(found[0], "right_rod")
        others = (
            NOTEBOOK.robot.placement(found, "left_rod")[:, 0, 3],
            NOTEBOOK.robot.placement(found, "right_rod")[:, 0, 3],
        )
        assert left[0, 3] <= others[0].min() + 1e-12
        assert right[0, 3] >= others[1].max() - 1e-12


def test_inverse_kinematics_finds_the_highest_tip() -> None:
    """Both arms stretched: z = √((l1 + l2)² - ¼ l0²); the closure holds, only the left tip is asked for."""
    bar = FiveBar()
    state = trajopt.StateMultibody(bar.robot)
    closed = trajopt.ConstraintStack(state).add("closure", bar.closure(state), equals=0.0)
    top = trajopt.ResidualModelFrameTranslation(state, "left_tip", [0.0, 0.0, 3.0])
    result = ik.solve(
        bar.robot, (closed, trajopt.CostStack(state).add("top", top, weight=1.0)), starts=8, tolerance=1e-9
    )
    assert gaps(bar, result.q) < 1e-8
    tip = bar.robot.placement(result.q, "left_tip")[:3, 3]
    np.testing.assert_allclose(tip, [0.0, 0.0, np.sqrt(1.5**2 - 0.4**2)], atol=1e-4)


def test_hard_closure_of_a_motion() -> None:
    """Accelerations of four joints are the controls; ‖tip - elbow‖ - l2 of the right rod is 0 at each knot."""
    bar = FiveBar()
    state = trajopt.StateMultibody(bar.robot)
    start, end = bar.configurations([-0.4, 0.8])[0], [0.4, 0.0, 1.1]
    goal = trajopt.ResidualModelFrameTranslation(state, "left_tip", end)
    rows = trajopt.ConstraintStack(state).add("closure", bar.closure(state), equals=0.0)
    ends = trajopt.ConstraintStack(state).add("closure", bar.closure(state), equals=0.0).add("tip", goal, equals=0.0)
    costs = trajopt.CostStack(state).add("smooth", trajopt.ResidualModelControl(state), weight=1e-2)
    model = DifferentialActionModelKinematics(state, costs, rows, np.full(4, np.inf))
    knots = [trajopt.IntegratedActionModelEuler(model, dt=0.05)] * 20
    terminal = trajopt.ActionModelTerminal(trajopt.CostStack(state), constraints=ends)
    solution = SolverSQP(trajopt.ShootingProblem(np.r_[start, np.zeros(4)], knots, terminal)).solve()
    q = solution.xs[:, :4]
    assert solution.status.name == "CONVERGED"
    assert gaps(bar, q).max() < 1e-7
    elbow = bar.robot.placement(q, "right_rod")[:, :3, 3]
    lengths = np.linalg.norm(bar.robot.placement(q, "left_tip")[:, :3, 3] - elbow, axis=1)
    np.testing.assert_allclose(lengths - bar.rod, 0.0, atol=1e-7)
    np.testing.assert_allclose(bar.robot.placement(q[-1], "right_tip")[:3, 3], end, atol=1e-7)


def test_bars_are_uniform_rods() -> None:
    """Inertia about the crank's joint: m1 l1²/3 + m2 (l1² + l2²/3 + l1 l2 cos q2); of the rod alone m2 l2²/3."""
    model = FiveBar(crank=0.5, rod=1.2, masses=(0.7, 2.0)).robot.model
    inertia = pin.crba(model, model.createData(), np.array([0.3, 0.9, -0.2, 0.9]))
    whole = 0.7 * 0.5**2 / 3 + 2.0 * (0.5**2 + 1.2**2 / 3 + 0.5 * 1.2 * np.cos(0.9))
    np.testing.assert_allclose(np.diag(inertia), [whole, 2.0 * 1.2**2 / 3] * 2, rtol=1e-12)


def test_the_closed_chain_falls_with_its_energy() -> None:
    """Forward dynamics with the loop as a contact: energy stays, and the tips stay together."""
    bar = FiveBar(masses=(1.0, 2.0))
    state = trajopt.StateMultibody(bar.robot)
    loop = trajopt.ContactModelLoop(state, "left_tip", "right_tip", dimension=3)
    contacts = trajopt.ContactStack(state).add("loop", loop)
    motors = trajopt.ActuationModelMatrix(state, np.eye(4)[:, [0, 2]])
    chain = trajopt.DifferentialActionModelContactFwdDynamics(
        state, motors, contacts, trajopt.CostStack(state), damping=1e-9
    )
    step = trajopt.IntegratedActionModelRK4(chain, dt=0.005)
    data, x = step.create_data(), np.r_[bar.configuration([2.4, 0.9]), np.zeros(4)]
    energies = []
    for _ in range(60):
        model = state.model
        energies.append(pin.computeMechanicalEnergy(model, model.createData(), x[:4], x[4:]))
        step.calc(data, x, np.zeros(2))
        x = data.xnext.copy()
    assert np.abs(x[4:]).max() > 0.5
    assert np.ptp(energies) < 1e-5
    assert gaps(bar, x[:4]) < 1e-6


def test_wrong_arguments_are_named() -> None:
    with pytest.raises(InvalidArgumentError, match=r"rod: expected a number > 0 \[m\], got 0"):
        FiveBar(rod=0.0)
    with pytest.raises(InvalidArgumentError, match="rod: moment of inertia: expected a finite number, got inf"):
        FiveBar(rod=1e200)
    with pytest.raises(InvalidArgumentError, match=r"masses\[1\]: expected a number > 0 \[kg\], got -1"):
        FiveBar(masses=(1.0, -1.0))
    with pytest.raises(InvalidArgumentError, match=r"cranks: expected shape \(2,\), got \(3,\); angles of the left"):
        NOTEBOOK.tip([0.1, 0.2, 0.3])
    far = FiveBar(base=30.0, crank=5.0, rod=10.0)
    with pytest.raises(
        InvalidArgumentError,
        match=r"cranks\[1\]: expected distinct elbows at most 20 m apart.* got a distance of 40 m; turn the",
    ):
        far.tip([[0.0, np.pi], [np.pi, 0.0]])
    with pytest.raises(InvalidArgumentError, match=r"cranks: expected distinct elbows.* got a distance of .*e-16 m"):
        FiveBar(base=10.0, crank=5.0, rod=10.0).tip([0.0, np.pi])  # they coincide
    with pytest.raises(
        InvalidArgumentError, match=r"target: expected a point in reach .* 5\.396.* m out of reach of the"
    ):
        NOTEBOOK.configurations([0.0, 20.0])


def test_repr_and_pickle() -> None:
    assert repr(NOTEBOOK) == "FiveBar(base=8, crank=5, rod=10, masses=(1.0, 1.0))"
    again = pickle.loads(pickle.dumps(NOTEBOOK))
    assert repr(again) == repr(NOTEBOOK)
    assert again.robot.model == NOTEBOOK.robot.model
