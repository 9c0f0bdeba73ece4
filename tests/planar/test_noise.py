"""Noise of the robotics notebook's drive, and 20,000 samples of it, of an arm and of a standing quadruped."""

from __future__ import annotations

import functools

import numpy as np
import pytest

import trajopt
from trajopt import gaits, planar, problems
from trajopt.analysis import MonteCarlo
from trajopt.solution import Solution
from trajopt.solvers import SolverFDDP

NOISE = np.array([0.05, 0.05, 0.01])  # of a step of the robotics notebook [m, m, rad]
COUNT = 20_000


@functools.cache
def drive() -> Solution:
    """The robotics notebook's drive without noise: r = 20, l = 12, 499 steps of 10 ms, ω1 = 2 from 1.5 s to 3 s."""
    model = planar.DifferentialActionModelDiffDrive(
        trajopt.CostStack(planar.state_of_pose()), radius=20.0, half_track=12.0
    )
    times = np.linspace(0.0, 5.0, 500)[1:]
    us = np.column_stack([np.where((times >= 1.5) & (times < 3.0), 2.0, 1.0), np.ones(499)])
    return planar.rollout(model, np.zeros(3), us, 0.01, integrator="euler")


def arm() -> Solution:
    case = problems.load("arm-reach", robot="ur5", T=20, dt=0.02)
    return case.solve()


def stance() -> Solution:
    """A quadruped on four feet shifts its body by a centimetre."""
    robot = trajopt.load_robot("small-quadruped")
    feet = gaits.Stance.of(robot, ["lf_foot", "rf_foot", "lh_foot", "rh_foot"])
    shift = gaits.quadruped_com_shift(feet, shifts=[0.01], knots=4)
    problem = gaits.gait_problem(robot, shift)
    return SolverFDDP(problem).solve(*gaits.gait_guess(problem, shift))


def check_samples(solution: Solution, samples: MonteCarlo, P: np.ndarray) -> None:
    """Means and covariances within 4.5 standard errors, sqrt(P_ii / n) and sqrt((P_ii P_jj + P_ij²) / n)."""
    size = np.diag(P)
    error = np.abs(samples.covariance() - P) / np.sqrt((np.outer(size, size) + P**2) / COUNT)
    assert error.max() < 4.5
    assert np.all(np.abs(samples.deviations().mean(axis=0)) < 4.5 * np.sqrt(size / COUNT))


def test_the_drive_of_the_robotics_notebook_ends_as_its_loop() -> None:
    found = drive().xs[-1]
    np.testing.assert_allclose(found, [76.678844733, 62.4652893938, 1.25], rtol=0, atol=5e-9)
    assert found[2] == pytest.approx(150 * 0.01 * 20 / 24)
    pose = np.zeros(3)
    for right, left in drive().us:  # the robotics notebook's loop
        pose = pose + 0.1 * np.array([(right + left) * np.cos(pose[2]), (right + left) * np.sin(pose[2]), 0.0])
        pose[2] += 20 * 0.01 / 24 * (right - left)
    np.testing.assert_allclose(found, pose, rtol=0, atol=1e-11)


def test_propagation_is_the_recursion_written_out() -> None:
    """P⁺ = F P Fᵀ + Q with F of the unicycle in closed form."""
    found, P = drive().covariance(NOISE, feedback=False).P, np.zeros((3, 3))
    for x, (right, left) in zip(drive().xs, drive().us):
        step, F = 0.1 * (right + left), np.eye(3)
        F[:2, 2] = -step * np.sin(x[2]), step * np.cos(x[2])
        P = F @ P @ F.T + np.diag(NOISE**2)
    np.testing.assert_allclose(found[-1], P, rtol=1e-9)


@pytest.mark.slow
def test_at_the_noise_of_the_robotics_notebook_linear_propagation_is_off() -> None:
    """Headings wander by 0.22 rad, and samples lie on a bow: 9.0 m² across it for 7.0 m², an ellipse 11 % larger."""
    P = drive().covariance(NOISE, feedback=False).P[-1, :2, :2]
    found = drive().monte_carlo(NOISE, COUNT, seed=1, feedback=False).covariance()[:2, :2]
    assert np.linalg.eigvalsh(P)[0] == pytest.approx(7.0, abs=0.01)
    assert np.linalg.eigvalsh(found)[0] == pytest.approx(9.0, rel=0.04)  # 4 standard errors, sqrt(2 / n)
    assert np.sqrt(np.linalg.det(found) / np.linalg.det(P)) - 1.0 == pytest.approx(0.11, abs=0.04)
    area = drive().covariance(NOISE, feedback=False).ellipses("x", "y").areas[-1]
    assert area == pytest.approx(4.0 * np.pi * np.sqrt(np.linalg.det(P)))


@pytest.mark.slow
def test_at_a_tenth_of_the_noise_of_the_robotics_notebook_20_000_samples_agree() -> None:
    noise = 0.1 * NOISE
    samples = drive().monte_carlo(noise, COUNT, seed=1, feedback=False)
    check_samples(drive(), samples, drive().covariance(noise, feedback=False).P[-1])


@pytest.mark.slow
@pytest.mark.parametrize(("motion", "noise"), [(arm, 1e-4), (stance, 1e-4)])
def test_20_000_samples_of_robots_agree(motion, noise: float) -> None:
    """With the solver's feedback; of the quadruped on the manifold of its base."""
    solution = motion()
    assert solution.converged
    check_samples(solution, solution.monte_carlo(noise, COUNT, seed=3), solution.covariance(noise).P[-1])
