"""References of the centre of mass: lines at a constant speed, which begin and end at rest where the robot stands."""

from __future__ import annotations

import numpy as np
import pytest

from tests.support.gait_robots import stance_of
from trajopt import gaits
from trajopt.types import Reals

FEET = {"a": (0.0, 0.1, 0.0), "b": (0.0, -0.1, 0.0)}
HERE, THERE = (0.0, 0.0, 1.0), (0.3, 0.1, 0.9)
N = 40


def progress(*phases: gaits.Phase, of: int) -> Reals:
    """Share of its way that the centre of mass has gone at the knots of a phase (N,)."""
    schedule = gaits.ContactSchedule(start=gaits.Stance(FEET, com=HERE), phases=phases, dt=0.01)
    com = schedule.com_references[schedule.phase_of_knot == of][:N]
    way = np.subtract(phases[of].com, phases[of].com_start or HERE)
    return np.asarray((com - (phases[of].com_start or HERE)) @ way / (way @ way))


def still(com: tuple[float, float, float]) -> gaits.Phase:
    return gaits.Phase(name="hold", knots=5, stance=("a", "b"), com=com, com_start=com)


def shift() -> gaits.Phase:
    return gaits.Phase(name="shift", knots=N, stance=("a", "b"), com=THERE)


STEP = gaits.Phase(name="step", knots=N, stance=("b",), swings=(gaits.Swing("a", FEET["a"]),), com=THERE)
STAND = gaits.Phase(name="stand", knots=5, stance=("a", "b"))
S = np.arange(1, N + 1) / N


@pytest.mark.parametrize(
    ("phases", "of"),
    [((shift(),), 0), ((still(HERE), shift(), still(THERE)), 1), ((still(HERE), STEP, still(THERE)), 1)],
)
def test_between_phases_that_hold_the_centre_of_mass_it_begins_and_ends_at_rest(
    phases: tuple[gaits.Phase, ...], of: int
) -> None:
    """Also from the beginning to the end of a schedule, on all feet: 10 s³ - 15 s⁴ + 6 s⁵, without a kick."""
    share = progress(*phases, of=of)
    np.testing.assert_allclose(share, 10 * S**3 - 15 * S**4 + 6 * S**5, atol=1e-12)
    speed = np.diff(share, prepend=0.0)
    assert max(speed[0], speed[-1]) < 0.1 * speed.max()


def test_it_is_at_rest_on_one_side_and_keeps_the_speed_of_the_line_on_the_other() -> None:
    begin, end = progress(shift(), STAND, of=0), progress(STAND, shift(), of=1)
    np.testing.assert_allclose(begin, 6 * S**3 - 8 * S**4 + 3 * S**5, atol=1e-12)
    np.testing.assert_allclose(end, 1 - (6 * (1 - S) ** 3 - 8 * (1 - S) ** 4 + 3 * (1 - S) ** 5), atol=1e-12)


@pytest.mark.parametrize("phases", [(STEP,), (STAND, STEP), (STAND, shift(), STAND)])
def test_elsewhere_its_speed_is_constant(phases: tuple[gaits.Phase, ...]) -> None:
    """In steps, also at the ends of a schedule, and beside phases that do not hold it."""
    np.testing.assert_allclose(progress(*phases, of=phases.index(STEP) if STEP in phases else 1), S, atol=1e-12)


def test_steps_of_gaits_keep_their_speed() -> None:
    for gait in (gaits.quadruped_walk, gaits.quadruped_trot, gaits.quadruped_pace, gaits.quadruped_bound):
        trot = gait(stance_of("anymal"), support_knots=0, cycles=2)
        for i, phase in enumerate(trot.phases):
            if phase.swings:
                com = trot.com_references[(trot.phase_of_knot == i) & ~trot.touchdowns]
                np.testing.assert_allclose(np.diff(com, n=2, axis=0), 0.0, atol=1e-12)
