"""Contact detection in a motion: a foot that is low and slow is in contact."""

from __future__ import annotations

import itertools
from collections.abc import Sequence

import numpy as np
import numpy.typing as npt

from trajopt.checks import check_finite, check_non_negative, check_positive
from trajopt.inverse_dynamics.contact import ContactFrame, checked_contacts
from trajopt.inverse_dynamics.kinetics import kinetics
from trajopt.inverse_dynamics.motion import Motion
from trajopt.types import Reals


def find_contacts(
    motion: Motion,
    contacts: str | ContactFrame | Sequence[str | ContactFrame],
    *,
    ground: float | None = None,
    height: float = 0.02,
    speed: float = 0.2,
    shortest: float = 0.03,
) -> npt.NDArray[np.bool_]:
    """Finds when each contact touches the ground, (N, k): its frame is within `height` of it and slower than `speed`.

    Phases shorter than `shortest`, in contact or in the air, are treated as noise.

    Args:
        motion: Motion with N times.
        contacts: Frames of the k feet.
        ground: Height of level ground at the frames' origins [m]; by default, for each foot, the 2nd percentile of its
            own heights.
        height: Largest height above the ground of a foot in contact [m].
        speed: Largest speed of a foot in contact [m/s].
        shortest: Duration of the shortest phase [s].

    Raises:
        InvalidArgumentError: A number is out of its range, or the robot's base is fixed.
        UnknownNameError: The robot has no frame of this name.
    """
    Motion.check(motion)
    frames = [contact.frame for contact in checked_contacts(motion.robot, contacts)]
    k = kinetics(motion, frames, "world")
    heights = k.points[:, :, 2]
    low = np.percentile(heights, 2, axis=0) if ground is None else check_finite("ground", ground)
    near = np.abs(heights - low) < check_positive("height", height, unit="m")
    slow = k.speeds < check_positive("speed", speed, unit="m/s") ** 2
    least = check_non_negative("shortest", shortest, unit="s")
    return np.array([_without_blips(row, motion.times, least) for row in (near & slow).T]).T


def _without_blips(stands: npt.NDArray[np.bool_], times: Reals, shortest: float) -> npt.NDArray[np.bool_]:
    """Removes phases shorter than `shortest` [s] from the interior; those in the air first."""
    filtered = stands.copy()
    for value in (False, True):
        edges = np.flatnonzero(np.diff(filtered)) + 1
        for first, last in itertools.pairwise(edges):
            if filtered[first] == value and times[last] - times[first] < shortest:
                filtered[first:last] = not value
    return filtered
