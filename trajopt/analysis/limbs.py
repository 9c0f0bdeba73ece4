"""Limbs of a robot: chains of joints between the branches of its kinematic tree."""

from __future__ import annotations

from typing import Any

_FEW = 8  # robots with at most this many joints besides the base have no limbs [-]
_SMALL = 2  # chains of at most this many joints, such as torso and head, form one limb together [-]


def limbs_of(model: Any) -> dict[str, str]:
    """Returns the limb of each joint by joint name, for a robot with more than eight joints; otherwise empty.

    A limb is a chain of joints without a branch. It is named after the common prefix of its joints: "FL" for
    FL_hip_joint, FL_thigh_joint and FL_calf_joint. Chains of one or two joints, such as torso and head, form one limb
    together. A floating base belongs to no limb.

    Args:
        model: Pinocchio model of the robot.
    """
    base = 1 if model.njoints > 1 and model.joints[1].nv >= 6 else 0
    parents = list(model.parents)
    chains: dict[int, list[int]] = {}
    first: dict[int, int] = {}
    for joint in range(base + 1, model.njoints):
        parent = parents[joint]
        continues = parent > base and parents[1:].count(parent) == 1
        first[joint] = first[parent] if continues else joint
        chains.setdefault(first[joint], []).append(joint)
    if len(first) <= _FEW or len(chains) < 2:
        return {}
    small = [chain for chain in chains.values() if len(chain) <= _SMALL]
    together = ", ".join(dict.fromkeys(_name(model, chain) for chain in small))  # two fingers share a name
    named = {}
    for chain in chains.values():
        name = together if chain in small else _name(model, chain)
        named.update({model.names[joint]: name for joint in chain})
    return named


def _name(model: Any, chain: list[int]) -> str:
    """Common prefix of the first joints' names of a chain, in whole words; otherwise the first joint's name.

    "lf" for lf_haa and lf_hfe, "LHip" for LHipYaw and LHipRoll.
    """
    first = model.names[chain[0]].removesuffix("_joint")
    second = model.names[chain[1]] if len(chain) > 1 else first
    same = [a == b for a, b in zip(first, second)]
    length = same.index(False) if False in same else len(same)
    shared = first[:length]
    if any(_in_a_word(name, length) for name in (first, second)):
        shared = shared[: shared.rfind("_") + 1] or shared
    return shared.rstrip("_-0123456789") or first


def _in_a_word(name: str, place: int) -> bool:
    """Whether a cut before a place in a name would split a word."""
    before, after = name[place - 1 : place], name[place : place + 1]
    return before.isalpha() and after.isalpha() and not (before.islower() and after.isupper())
