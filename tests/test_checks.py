"""What counts as a number, a count, a name; one check for every door."""

from __future__ import annotations

import datetime
import fractions
from collections.abc import Callable
from typing import Any

import casadi as ca
import numpy as np
import pinocchio as pin
import pytest

import trajopt
from trajopt import gaits
from trajopt.checks import (
    MANY,
    as_numbers,
    check_array,
    check_bounds,
    check_count,
    check_finite,
    check_flag,
    check_instance,
    check_items,
    check_known,
    check_path,
    check_positive,
    check_text,
    check_texts,
    check_vector,
)
from trajopt.errors import LONGEST, InvalidArgumentError, UnknownNameError, shown, unknown_name

NUMBERS: list[tuple[Any, Any]] = [
    (0.5, 0.5),
    (3, 3.0),
    (True, 1.0),
    (np.longdouble("0.5"), 0.5),
    (np.float16(0.5), 0.5),
    (np.array([1, 2], dtype=np.uint8), [1.0, 2.0]),
    (np.array([1, 2], dtype=np.longdouble), [1.0, 2.0]),
    (fractions.Fraction(1, 2), 0.5),
    ([fractions.Fraction(1, 2), 1], [0.5, 1.0]),
    (ca.DM([1, 2]), [[1.0], [2.0]]),
    (pin.Motion(np.arange(6.0)), np.arange(6.0)),
    (2**63, 2.0**63),
    ([np.inf, np.nan], [np.inf, np.nan]),
    ([], []),
]

NOT_NUMBERS: dict[str, Any] = {
    "text": "0.5",
    "numpy text": np.str_("0.5"),
    "bytes": b"1",
    "texts": ["0.5", "1"],
    "array of texts": np.array(["0.5", "1"]),
    "objects of texts": np.array(["0.5"], dtype=object),
    "bytes in an array": np.array([b"1"]),
    "date": np.datetime64("2024-01-01"),
    "no time": np.datetime64("NaT"),
    "dates": np.zeros(2, "datetime64[s]"),
    "timedelta": np.timedelta64(5, "s"),
    "timedeltas": np.ones(2, "timedelta64[s]"),
    "objects of timedeltas": np.array([np.timedelta64(5, "s"), 1.0], dtype=object),
    "Python's date": datetime.date(2024, 1, 1),
    "complex": 1 + 0j,
    "complex array": np.ones(2, complex),
    "masked": np.ma.masked_array([1.0, 2.0], mask=[False, True]),
    "structured": np.zeros(2, [("a", "f8")]),
    "None": None,
    "Nones": [None, 1.0],
    "dictionary": {"a": 1.0},
    "set": {1.0},
    "generator": (i for i in range(2)),
    "function": len,
    "type": float,
    "symbol": ca.SX.sym("s"),
    "ragged": [[1.0], [1.0, 2.0]],
    "beyond floats": 10**400,
}


@pytest.mark.parametrize(("value", "expected"), NUMBERS, ids=[str(i) for i in range(len(NUMBERS))])
def test_numbers_become_new_float64_arrays(value: Any, expected: Any) -> None:
    found = as_numbers("x", value)
    assert found.dtype == np.float64
    assert type(found) is np.ndarray
    np.testing.assert_array_equal(found, expected)
    assert found is not value


@pytest.mark.parametrize("name", NOT_NUMBERS)
def test_what_is_no_number_is_refused_by_name(name: str) -> None:
    with pytest.raises(InvalidArgumentError, match=r"^mass: expected a number, got .*; cure"):
        as_numbers("mass", NOT_NUMBERS[name], "a number", cure="cure")


def _state() -> trajopt.StateMultibody:
    return trajopt.StateMultibody(trajopt.load_robot("planar-2r"))


DOORS: dict[str, Callable[[Any], Any]] = {
    "check_array": lambda v: check_array("x", v, (2,)),
    "check_vector": lambda v: check_vector("x", v),
    "check_bounds": lambda v: check_bounds("x", v, 2),
    "difference": lambda v: trajopt.StateVector(2).difference(v, [0.0, 0.0]),
    "integrate": lambda v: trajopt.StateVector(2).integrate([0.0, 0.0], v),
    "at_rest": lambda v: trajopt.StateVector(2).at_rest(v),
    "bounds of a state": lambda v: trajopt.StateVector(2, lower=v),
    "weights": trajopt.ActivationModelWeightedQuad,
    "barrier": lambda v: trajopt.ActivationModelQuadraticBarrier(v, np.ones(2)),
    "reference": lambda v: trajopt.ResidualModelContactForce(_state(), "foot", v),
    "control": lambda v: trajopt.ResidualModelControl(_state(), v),
    "state reference": lambda v: trajopt.ResidualModelState(trajopt.StateVector(2), v),
    "constraint": lambda v: trajopt.ConstraintStack(trajopt.StateVector(2)).add(
        "c", trajopt.ResidualModelState(trajopt.StateVector(2)), lower=v
    ),
    "actuation": lambda v: trajopt.ActuationModelMatrix(_state(), v),
    "pendulum": lambda v: gaits.LinearInvertedPendulum(1.0).capture_point(v, [0.0, 0.0]),
    "gains": lambda v: gaits.GaitOptions(gains=v),
    "path": lambda v: gaits.footsteps_along(gaits.Stance({"r": (0, 0, 0), "l": (0, 1, 0)}, (0, 0, 1)), v),
    "data": lambda v: setattr(trajopt.ActionData(2, 2, 1), "xnext", v),
    "x0": lambda v: trajopt.ShootingProblem(v, [], trajopt.CostStack(trajopt.StateVector(2))),
}


@pytest.mark.parametrize("door", DOORS)
@pytest.mark.parametrize(
    "name", ["text", "array of texts", "dates", "timedeltas", "complex array", "masked", "structured", "ragged"]
)
def test_every_door_asks_for_numbers(door: str, name: str) -> None:
    with pytest.raises(InvalidArgumentError, match="expected"):
        DOORS[door](NOT_NUMBERS[name])


SCALARS: dict[str, Callable[[Any], Any]] = {
    "check_finite": lambda v: check_finite("x", v),
    "dt": lambda v: trajopt.ActionModelUnicycle(dt=v),
    "weight": lambda v: trajopt.CostStack(_state()).add("a", trajopt.ResidualModelState(_state()), v),
    "mu": trajopt.FrictionCone,
    "min_force": lambda v: trajopt.FrictionCone(min_force=v),
    "height": gaits.LinearInvertedPendulum,
    "dt of a schedule": lambda v: gaits.ContactSchedule(
        start=gaits.Stance({"a": (0, 0, 0)}), phases=(gaits.Phase(name="s", knots=3, stance=("a",)),), dt=v
    ),
    "holding_gains": gaits.holding_gains,
    "cost": lambda v: setattr(trajopt.ActionData(2, 2, 1), "cost", v),
}


@pytest.mark.parametrize("door", SCALARS)
@pytest.mark.parametrize("name", ["text", "bytes", "date", "timedelta", "complex", "symbol", "None", "beyond floats"])
def test_every_door_asks_for_a_number(door: str, name: str) -> None:
    with pytest.raises(InvalidArgumentError, match="expected"):
        SCALARS[door](NOT_NUMBERS[name])


def test_a_long_double_does_not_reach_casadi() -> None:
    for cone in (trajopt.FrictionCone(np.longdouble("0.5")), trajopt.WrenchCone(np.longdouble("0.5"))):
        assert type(cone.mu) is float
        np.testing.assert_array_equal(cone.matrix, type(cone)(0.5).matrix)


def test_counts_have_both_ends() -> None:
    assert check_count("n", np.int64(3)) == 3
    for wrong, match in [(-1, ">= 0"), (True, ">= 0"), (3.0, ">= 0"), (np.timedelta64(3), ">= 0"), (MANY + 1, "<= ")]:
        with pytest.raises(InvalidArgumentError, match=f"n: expected an integer {match}"):
            check_count("n", wrong)


def test_other_checks_name_the_argument() -> None:
    assert check_flag("on", np.True_) is True
    assert check_flag("on", 0) is False
    assert check_texts("names", (n for n in ("a", "b"))) == ("a", "b")
    assert check_items("items", [1, 2], "numbers") == (1, 2)
    wrong: list[tuple[Callable[[], Any], str]] = [
        (lambda: check_flag("on", "yes"), "on: expected True or False, got 'yes'"),
        (lambda: check_flag("on", np.zeros(2)), "on: expected True or False"),
        (lambda: check_text("name", 3, such_as="a"), "name: expected a string such as 'a', got 3"),
        (lambda: check_texts("names", "ab"), "names: expected a list of names, got 'ab'"),
        (lambda: check_texts("names", [1]), r"names: expected a list of names, got \[1\]"),
        (lambda: check_texts("names", {"a": 1}, values="of="), r"expected a list .*'a': 1\}; its values belong in of="),
        (lambda: check_texts("names", ca.DM(1)), "names: expected a list of names"),
        (lambda: check_items("items", 3, "numbers", cure="do"), "items: expected a list of numbers, got 3; do"),
        (lambda: check_instance("robot", 3, trajopt.Robot, "load one"), "robot: expected a Robot, got 3; load one"),
        (lambda: check_path("path", 3.0), "path: expected a path, got 3.0"),
        (lambda: check_positive("dt", 0.0, unit="s"), r"dt: expected a number > 0 \[s\], got 0.0"),
    ]
    for call, match in wrong:
        with pytest.raises(InvalidArgumentError, match=match):
            call()


@pytest.mark.parametrize("name", [[], {}, np.zeros(3), None, 3, ca.SX.sym("s"), "anymol"])
def test_a_name_of_any_kind_is_looked_up(name: Any) -> None:
    with pytest.raises(UnknownNameError, match="Known: anymal, hyq"):
        check_known("robot", name, ["hyq", "anymal"])
    robot = trajopt.load_robot("planar-2r")
    for method in (robot.frame_id, robot.joint_id, robot.configuration):
        with pytest.raises(UnknownNameError, match="Known: "):
            method(name)


def test_a_long_argument_is_not_echoed_whole() -> None:
    long = "a" * 5000
    for call in (lambda: check_finite("dt", long), lambda: gaits.quadruped_trot(long)):  # type: ignore[arg-type]
        with pytest.raises(InvalidArgumentError, match="expected") as caught:
            call()
        assert len(str(caught.value)) < 400 + LONGEST
    assert len(str(unknown_name("robot", long, ["hyq"]))) < 400
    assert len(shown([long] * 100)) < 2000


def test_a_message_of_pages_keeps_its_ends() -> None:
    error = InvalidArgumentError(f"name: expected a string, got {'x' * 5000}; write one")
    assert len(str(error)) < LONGEST + 10
    assert str(error).startswith("name: expected a string")
    assert str(error).endswith("; write one")


def test_an_argument_that_cannot_be_shown() -> None:
    class Odd:
        def __repr__(self) -> str:
            raise RuntimeError("no")

    with pytest.raises(InvalidArgumentError, match="dt: expected a number, got .*Odd"):
        check_finite("dt", Odd())
