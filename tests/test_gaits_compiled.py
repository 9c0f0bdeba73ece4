"""A second gait of a robot compiles nothing: its phases are data."""

from __future__ import annotations

import sys

import trajopt


def compiled() -> int:
    """Number of functions that this process compiled or loaded so far."""
    return len(sys.modules["trajopt.kernels.functions"]._known)


def test_a_second_gait_compiles_nothing() -> None:
    before = compiled()
    first = trajopt.problems.load("quadruped-trot", robot="small-quadruped").problem
    first.evaluator.prepare()
    between = compiled()
    assert between > before
    second = trajopt.problems.load("quadruped-walk", robot="small-quadruped", cycles=2).problem
    assert len(second.running) > len(first.running)
    second.evaluator.prepare()
    assert compiled() == between
