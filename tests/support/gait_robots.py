"""The robots of the tests of gaits, and what Crocoddyl's gait builders ask for with them."""

from __future__ import annotations

import functools
import json
from pathlib import Path
from typing import Any

import trajopt
from trajopt import gaits

FEET = {
    "anymal": ("LF_FOOT", "RF_FOOT", "LH_FOOT", "RH_FOOT"),
    "hyq": ("lf_foot", "rf_foot", "lh_foot", "rh_foot"),
    "go2": ("FL_foot", "FR_foot", "RL_foot", "RR_foot"),
    "talos_legs": ("right_sole_link", "left_sole_link"),
    "bolt": ("FR_FOOT", "FL_FOOT"),
}
SOLES = ("talos_legs",)


@functools.cache
def robot_of(name: str) -> trajopt.Robot:
    """A robot, loaded once."""
    return trajopt.load_robot(name)


@functools.cache
def stance_of(name: str) -> gaits.Stance:
    """How it stands."""
    return gaits.Stance.of(robot_of(name), FEET[name], soles=name in SOLES)


@functools.cache
def models_of(name: str) -> gaits.GaitModels:
    """The models of its gaits, built once."""
    return gaits.GaitModels(robot_of(name), stance_of(name))


@functools.cache
def crocoddyl_models_of(name: str) -> gaits.GaitModels:
    """The models of its gaits as in Crocoddyl, built once."""
    return gaits.GaitModels(robot_of(name), stance_of(name), gaits.GaitOptions.crocoddyl(soles=name in SOLES))


_LEAP = {"jump_length": (0.0, 0.3, 0.0), "ground": 0.0, "flight": "crocoddyl"}
_STEP = {"profile": "triangle", "dt": 1e-2, "step_knots": 25}
ARGUMENTS: dict[str, dict[str, Any]] = {
    "quadruped_walk": {"profile": "triangle"},
    "quadruped_trot": {"profile": "triangle"},
    "quadruped_pace": {"step_length": 0.15, "step_height": 0.1, "support_knots": 5, **_STEP},
    "quadruped_bound": {"step_length": 0.15, "step_height": 0.1, "support_knots": 5, **_STEP},
    "quadruped_jump": {"jump_height": 0.15, **_LEAP, "dt": 1e-2, "ground_knots": 10, "flying_knots": 20},
    "quadruped_com_shift": {},
    "biped_walk": {
        "step_length": 0.6,
        "step_height": 0.1,
        "dt": 3e-2,
        "step_knots": 15,
        "support_knots": 4,
        "profile": "triangle",
    },
    "biped_jump": {"jump_height": 0.1, **_LEAP, "dt": 3e-2, "ground_knots": 9, "flying_knots": 6},
}
"""Arguments with which our generators make the gaits of Crocoddyl's examples."""


@functools.cache
def crocoddyl_of(name: str) -> dict[str, Any]:
    """The content of data/crocoddyl/gaits-NAME.json."""
    return json.loads((Path(__file__).parents[1] / "data" / "crocoddyl" / f"gaits-{name}.json").read_text())


CROCODDYL = [(name, gait) for name in ("anymal", "hyq", "talos_legs") for gait in crocoddyl_of(name)["gaits"]]
"""Robots and gaits in these files."""


def schedule_of(name: str, gait: str) -> gaits.ContactSchedule:
    """Our schedule for one of them."""
    reference = crocoddyl_of(name)["gaits"][gait]
    options = dict(reference["options"])
    if "shift" in options:
        shift = options.pop("shift")
        options["shifts"] = (shift, -shift)
    if reference["gait"] == "bound":
        del options["first_step"]  # Crocoddyl's bound has none
    family = "biped" if len(FEET[name]) == 2 else "quadruped"
    generator = f"{family}_{reference['gait']}"
    return getattr(gaits, generator)(stance_of(name), **{**ARGUMENTS[generator], **options})
