"""Gaits of our own solvers, taken back from their configurations alone."""

import functools
from pathlib import Path

import numpy as np
import pytest

from trajopt import problems
from trajopt.analysis.legs import legged_motion
from trajopt.inverse_dynamics import (
    ContactFrame,
    Motion,
    find_contacts,
    multiple_contact_inverse_dynamics_over_time,
)
from trajopt.solution import Solution
from trajopt.types import Reals

GAITS = {"biped-walk": ("small-biped", "sole"), "quadruped-trot": ("small-quadruped", "point")}


@functools.cache
def solved(name: str) -> Solution:
    case = problems.load(name, robot=GAITS[name][0])
    solution = case.solve()
    assert solution.converged
    return solution


@functools.cache
def recorded(name: str) -> tuple[Motion, list[ContactFrame], Reals, Reals, Reals, Reals]:
    """Motion of the configurations; contacts, who stands, wrenches, torques, and times that are far from impulses."""
    solution = solved(name)
    legs, robot = legged_motion(solution), solution.robot
    assert robot is not None
    steps = np.flatnonzero(np.append(legs.takes_time, True))
    knots = steps[1:-1]
    dt = float(np.diff(legs.abscissa[steps])[0])
    motion = Motion.of(robot, solution.xs[steps, : robot.nq], dt, differences="euler")
    stands = np.array([foot.stands[knots] for foot in legs.feet]).T
    wrenches = np.array([np.hstack([foot.forces, np.nan_to_num(foot.torques)])[knots] for foot in legs.feet])
    wrenches = np.nan_to_num(wrenches.transpose(1, 0, 2))
    torques = np.array(list(solution.torques().values())).T[knots]
    impulses = np.flatnonzero(~legs.takes_time)
    far = np.array([np.abs(impulses - knot).min(initial=99) > 1 for knot in knots])
    contacts = [ContactFrame(foot.frame, GAITS[name][1]) for foot in legs.feet]
    return motion, contacts, stands, wrenches, torques, far


@pytest.mark.parametrize("name", GAITS)
def test_contacts_make_the_base_move_as_it_does(name: str) -> None:
    motion, contacts, stands, _, _, far = recorded(name)
    found = multiple_contact_inverse_dynamics_over_time(motion, contacts, stands=stands)
    assert far.sum() > 0.8 * len(far)
    size = np.linalg.norm(found.forces.sum(axis=1), axis=1)[far]
    assert np.all(np.linalg.norm(found.base_residual[far], axis=1) < 0.01 * size)


@pytest.mark.parametrize("name", GAITS)
def test_torques_and_forces_come_back_with_the_solvers_forces_as_guess(name: str) -> None:
    motion, contacts, stands, wrenches, torques, far = recorded(name)
    found = multiple_contact_inverse_dynamics_over_time(
        motion, contacts, stands=stands, axes="world", smoothness=0.0, least_wrench=0.0, guesses=wrenches
    )
    assert np.abs(found.torques[far, 6:] - torques[far]).max() < 0.01 * np.abs(torques).max()
    assert np.abs(found.wrenches - wrenches)[far].max() < 0.01 * np.abs(wrenches).max()


def test_torques_come_back_on_one_sole_without_any_guess() -> None:
    motion, contacts, stands, _, torques, far = recorded("biped-walk")
    found = multiple_contact_inverse_dynamics_over_time(motion, contacts, stands=stands)
    alone = far & (stands.sum(axis=1) == 1)
    assert alone.sum() > 10
    assert np.abs(found.torques[alone, 6:] - torques[alone]).max() < 0.01 * np.abs(torques).max()


@pytest.mark.parametrize("name", GAITS)
def test_find_contacts_detects_the_feet_in_contact(name: str) -> None:
    motion, contacts, stands, *_ = recorded(name)
    assert np.mean(find_contacts(motion, contacts) == stands) > 0.93


def test_picture_has_a_panel_for_each_limb_and_contact(tmp_path: Path) -> None:
    motion, contacts, stands, *_ = recorded("quadruped-trot")
    found = multiple_contact_inverse_dynamics_over_time(motion, contacts, stands=stands)
    labels = [axes.get_ylabel() for axes in found.plot(tmp_path / "forces.png").axes]
    assert (tmp_path / "forces.png").stat().st_size > 5000
    assert sum("torque [N m]" in label for label in labels) == 4
    assert sum("force [N]" in label for label in labels) == 4
    assert any("missing" in label for label in labels)
    text = found.explain()
    assert all(contact.frame in text for contact in contacts)
    assert "torques" in text
