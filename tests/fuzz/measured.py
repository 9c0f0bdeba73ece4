"""Valid arguments of inverse dynamics with contacts, and of measured motions and logs from files."""

from __future__ import annotations

import functools
from collections.abc import Callable
from random import Random
from typing import Any

import numpy as np

from tests.fuzz.worlds import World, folder, world
from tests.inverse_dynamics.support import biped, random_motion
from trajopt.inverse_dynamics import ContactFrame, Motion

_STILL = ("contact_inverse_dynamics", "multiple_contact_inverse_dynamics", "inverse_dynamics")
COUNT, FEET = 3, ["left_sole", "right_sole"]


@functools.cache
def _motion() -> Motion:
    return random_motion(COUNT)


def _at(name: str) -> Callable[[World, Random], Any]:
    return lambda w, rng: getattr(_motion(), name)[rng.randrange(COUNT)]


def _contact(w: World, rng: Random) -> Any:
    return rng.choice([FEET[0], ContactFrame(FEET[1], "point"), ContactFrame(FEET[0], "sole")])


def _contacts(w: World, rng: Random) -> Any:
    return rng.choice([FEET, [_contact(w, rng)]])


def _log(w: World, rng: Random) -> Any:
    """A file of a log of the planar arm."""
    times, path = 0.01 * np.arange(COUNT), folder() / "log.npz"
    np.savez(path, times=times, states=np.zeros((COUNT, 4)), controls=np.zeros((COUNT - 1, 2)))
    return path


def _positions(w: World, rng: Random) -> Any:
    path = folder() / "positions.npz"
    np.savez(path, times=0.01 * np.arange(COUNT), positions=_motion().positions)
    return path


MEASURED: dict[str, Callable[[World, Random], Any]] = {
    **{f"{name}.robot": lambda w, rng: biped() for name in (*_STILL, "read_positions")},
    **{f"{name}.q": _at("positions") for name in _STILL},
    **{f"{name}.v": _at("velocities") for name in _STILL},
    **{f"{name}.a": _at("accelerations") for name in _STILL},
    **{f"{name}.{more}": lambda w, rng: None for name in _STILL for more in ("next_velocity", "dt")},
    "contact_inverse_dynamics.contact": _contact,
    "Motion.check.motion": lambda w, rng: _motion(),
    **{
        f"{name}.motion": lambda w, rng: _motion()
        for name in ("find_contacts", "multiple_contact_inverse_dynamics_over_time")
    },
    **{
        f"{name}.contacts": _contacts
        for name in (
            "find_contacts",
            "multiple_contact_inverse_dynamics",
            "multiple_contact_inverse_dynamics_over_time",
        )
    },
    **{
        f"{name}.axes": lambda w, rng: rng.choice(["world", "local"])
        for name in (
            "contact_inverse_dynamics",
            "multiple_contact_inverse_dynamics",
            "multiple_contact_inverse_dynamics_over_time",
        )
    },
    "ContactFrame.frame": lambda w, rng: FEET[0],
    "ContactFrame.kind": lambda w, rng: rng.choice(["point", "sole"]),
    "find_contacts.ground": lambda w, rng: rng.choice([None, 0.0]),
    "read_positions.path": _positions,
    "read_positions.dt": lambda w, rng: None,
    "Log.read.robot": lambda w, rng: world("arm").robot,
    "Log.read.path": _log,
}
"""By door and argument."""

FIXED_MEASURED: dict[str, Callable[[World, Random], Any]] = {"Motion": lambda w, rng: _motion()}
"""Objects to call methods on."""
