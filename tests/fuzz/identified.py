"""Valid arguments of identification and of parameters of robots, and objects to call methods on."""

from __future__ import annotations

import functools
from collections.abc import Callable
from random import Random
from typing import Any

import numpy as np

import trajopt
from tests.fuzz.worlds import World
from trajopt.identification import Identification, Log, identify

NOISE = {"q": 1e-3, "v": 1e-2, "u": 0.1}


@functools.cache
def _robot() -> trajopt.Robot:
    return trajopt.load_robot("planar-2r")


@functools.cache
def _log() -> Log:
    t = 0.01 * np.arange(9)
    return Log(np.stack([np.sin(t), np.cos(t) - 1, np.cos(t), -np.sin(t)], axis=1), np.zeros((8, 2)), 0.01)


@functools.cache
def _identified() -> Identification:
    return identify(_robot(), _log(), ["link_2.mass"], noise=NOISE)


def _names(w: World, rng: Random) -> list[str]:
    return [f"{w.robot.joint_names[-1]}.{rng.choice(['damping', 'armature', 'translation'])}"]


FIXED_IDENTIFIED: dict[str, Callable[[World, Random], Any]] = {
    "Identification": lambda w, rng: _identified(),
    "Combination": lambda w, rng: _identified().combinations[0],
    "Log": lambda w, rng: _log(),
}

IDENTIFIED: dict[str, Callable[[World, Random], Any]] = {
    "identify.model": lambda w, rng: _robot(),
    "identify.log": lambda w, rng: rng.choice([_log(), [_log()]]),
    "identify.unknown": lambda w, rng: [rng.choice(["link_2.mass", "link_2.com", "joint_1.armature"])],
    "identify.noise": lambda w, rng: NOISE,
    "identify.friction": lambda w, rng: rng.choice([None, "smooth"]),
    "Log.states": lambda w, rng: _log().states,
    "Log.controls": lambda w, rng: _log().controls,
    "Log.times": lambda w, rng: rng.choice([0.01, _log().times]),
    "Identification.plot.log": lambda w, rng: 0,
    "plot_identification.log": lambda w, rng: 0,
    "plot_identification.result": lambda w, rng: _identified(),
    "Robot.with_parameters.names": _names,
    "Robot.with_values.values": lambda w, rng: {f"{w.robot.joint_names[-1]}.armature": rng.uniform(0, 1)},
}
