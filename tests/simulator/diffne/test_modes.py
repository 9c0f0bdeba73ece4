"""Every mode by its name in DiffNE: sizes of the README, and what modes say of each other."""

from __future__ import annotations

import functools
import itertools

import numpy as np
import pinocchio as pin
import pytest

import trajopt.simulator.diffne as DNE
from trajopt.errors import InvalidArgumentError
from trajopt.kernels.precision import HighPrecision
from trajopt.robots import load_robot
from trajopt.simulator import Simulator, SimulatorMode
from trajopt.simulator.diffne import DiffNERobotModel
from trajopt.simulator.drop import Drop, stepping_mode
from trajopt.simulator.end_spheres import ends_of
from trajopt.types import Reals

DT, N = 1e-3, 12
TAU = np.linspace(-1.0, 1.0, N)

SECTIONS = {  # README: sections, with the size of input and output in N; q has nq = N + 1 numbers here
    "INVERSE_I": (3, 1),
    "FORWARD_I": (2, 2),
    "INVERSE_LF": (3, 1),
    "FORWARD_IF": (2, 2),
    "INVERSE_BACKWARD_RK1F": (3, 1),
    "BACKWARD_RK1F": (3, 1),
    "FORWARD_RK1F": (2, 2),
    "FORWARD_RK1I": (2, 2),
    "FORWARD_RK2I": (2, 2),
    "FORWARD_RK4I": (2, 2),
    "BACKWARD_RK1I": (3, 1),
    "FORWARD": (2, 2),
    "INVERSE": (3, 1),
}


@functools.cache
def quadruped(mode: str) -> DiffNERobotModel:
    """The small quadruped with its hind legs fixed, 1.5 mm deep in the floor: sizes need no more joints."""
    m = DiffNERobotModel(None, "small-quadruped")
    m.eliminate_joints(["lh", "rh"])
    ends = [end for end in ends_of(m.robot, "small-quadruped") if m.robot.model.existJointName(end.frame)]
    assert len(ends) == 2
    q, _ = Drop(height=0.0).start(m.robot, ends)
    q[2] -= 1.5e-3
    m.set_qdq(q)
    joints = [m.robot.model.getJointId(end.frame) for end in ends]
    m.set_floor([0, 0, 1, 0], [DNE.EndEffectorBounds(i, end.offset, end.radius) for i, end in zip(joints, ends)])
    m.create_simulator(mode=getattr(DNE, mode))
    return m


def argument(m: DiffNERobotModel, count: int) -> Reals:
    """(q, v) or (q, v, third), all small."""
    rng = np.random.default_rng(3)
    return np.concatenate([m.qdq[: m.robot.nq], 0.1 * rng.normal(size=(count - 1) * N)])


def torque(mode: str) -> Reals | None:
    return None if mode in ("INVERSE", "INVERSE_I", "INVERSE_LF") else TAU


@pytest.mark.parametrize("mode", SECTIONS)
def test_sizes_and_derivatives(mode: str) -> None:
    """Derivatives agree with central differences in tangent spaces, where the result is a vector or a state."""
    m, (given, got) = quadruped(mode), SECTIONS[mode]
    qdq, tau = argument(m, given), torque(mode)
    result, Dqdq, Dtau = m.simulate(DT, qdq, tau, Dqdq=True, Dtau=True)
    makes_states = got == 2 and m.simulator.mode.name.startswith("FORWARD_RK")
    assert result.shape == (got * N + makes_states,)
    assert Dqdq is not None
    assert Dqdq.shape == (got * N, given * N)
    assert Dtau is not None
    assert Dtau.shape == (got * N, N)
    step, state, largest = 6e-8, m.simulator.state, max(1.0, float(np.abs(Dqdq).max()))
    for k in range(0, given * N, 5):
        ends = []
        for sign in (-1, 1):
            change = sign * step * np.eye(given * N)[k]
            moved = [state.integrate(qdq[: state.nx], change[: 2 * N]), qdq[state.nx :] + change[2 * N :]]
            ends.append(m.simulate(DT, np.concatenate(moved), tau)[0])
        difference = (state.difference(*ends) if makes_states else ends[1] - ends[0]) / (2 * step)
        np.testing.assert_allclose(Dqdq[:, k], difference, atol=3e-6 * largest)


def test_every_mode_of_the_simulator_has_a_section() -> None:
    assert {getattr(DNE, name) for name in SECTIONS} == set(SimulatorMode)


@pytest.mark.parametrize(("forward", "inverse"), [("FORWARD_I", "INVERSE_I"), ("FORWARD_IF", "INVERSE_LF")])
def test_inverse_dynamics_inverts_forward_dynamics(forward: str, inverse: str) -> None:
    m = quadruped(forward)
    qdq = argument(m, 2)
    result = m.simulate(DT, qdq, TAU)[0]
    np.testing.assert_array_equal(result[:N], qdq[-N:])
    again = quadruped(inverse).simulate(DT, np.concatenate([qdq, result[N:]]))[0]
    np.testing.assert_allclose(again, TAU, atol=1e-8)


def test_the_two_backward_modes_differ_by_the_mass_matrix() -> None:
    """C_I = -H(q₊) C_F / dt."""
    m = quadruped("BACKWARD_RK1F")
    qdq = argument(m, 3)
    C_F = m.simulate(DT, qdq, TAU)[0]
    C_I = quadruped("INVERSE_BACKWARD_RK1F").simulate(DT, qdq, TAU)[0]
    model = m.robot.model
    H = pin.crba(model, model.createData(), qdq[: m.robot.nq])
    H = np.triu(H) + np.triu(H, 1).T
    np.testing.assert_allclose(C_I, -H @ C_F / DT, rtol=1e-9, atol=1e-9 * np.abs(C_I).max())


@pytest.mark.parametrize("mode", ["INVERSE", "INVERSE_LF"])
def test_inverse_modes_refuse_torques(mode: str) -> None:
    m = quadruped(mode)
    with pytest.raises(InvalidArgumentError, match="tau: expected None, got torques"):
        m.simulate(DT, argument(m, 3), TAU)


@pytest.mark.parametrize("mode", ["RK1F", "RK1I", "RK2I", "RK4I"])
def test_every_mode_that_makes_steps_keeps_a_robot_on_the_floor(mode: str) -> None:
    simulator = Simulator(load_robot("small-quadruped"), mode=stepping_mode(mode))
    rollout = Drop(height=0.02, duration=0.5).run(simulator, ends_of(simulator.robot, "small-quadruped"))
    assert np.all(np.isfinite(rollout.xs))
    fallen = rollout.xs[0, 2] - rollout.xs[-1, 2]
    assert 0.02 < fallen < 0.1  # instead of g t² / 2 = 1.2 m; feet of impulse modes sink by a dt² in each step


@pytest.mark.parametrize(("first", "second"), list(itertools.pairwise(["RK1F", "RK1I", "RK2I", "RK4I"])))
def test_in_the_air_modes_agree_to_first_order(first: str, second: str) -> None:
    """One step from equal states differs by O(dt²): g dt² / 2 for the height, and the gyroscopic terms."""
    names = [f"FORWARD_{name}" for name in (first, second)]
    steps = []
    for name in names:
        m = quadruped(name)
        qdq = argument(m, 2)
        qdq[2] += 1.0
        steps.append(m.simulate(DT, qdq)[0])
    np.testing.assert_allclose(steps[0], steps[1], atol=2e-4)


def test_numbers_inside_are_those_of_mpfr() -> None:
    """DiffNE's float128 and mpreal: types of the numbers inside at 128 bits and more."""
    precise = HighPrecision(128)
    assert isinstance(DNE.float128(1), type(DNE.mpreal(2)))
    (inside,) = precise.array(np.array([1.0]), (1,))
    assert isinstance(inside, DNE.mpreal)
    assert inside.precision == 128
