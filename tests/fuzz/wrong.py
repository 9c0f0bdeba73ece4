"""Values that users pass by mistake, and numbers at the edge of what is a number."""

from __future__ import annotations

import datetime
import decimal
import fractions
from collections.abc import Callable
from dataclasses import dataclass
from random import Random
from typing import Any

import casadi as ca
import numpy as np


@dataclass(frozen=True)
class Wrong:
    """A value to pass in place of a valid one.

    Attributes:
        name: What it is.
        value: The value.
        number: Whether it stands for a number, or for several; an argument that wants numbers may take these only.
    """

    name: str
    value: Any
    number: bool = False


def _function(*_: Any) -> float:
    return 0.0


_STRUCTURED = np.array([(1.0, 2)], dtype=[("a", "f8"), ("b", "i4")])
_MASKED = np.ma.masked_array([1.0, 2.0, 3.0], mask=[False, True, False])

_SCALARS: list[tuple[str, Any, bool]] = [
    ("zero", 0.0, True),
    ("minus one", -1.0, True),
    ("minus zero", -0.0, True),
    ("tiny", 1e-300, True),
    ("huge", 1e300, True),
    ("largest integer", 2**63, True),
    ("integer beyond floats", 10**400, True),
    ("2**31", 2**31, True),
    ("infinity", float("inf"), True),
    ("minus infinity", float("-inf"), True),
    ("nan", float("nan"), True),
    ("long double", np.longdouble("0.1"), True),
    ("huge long double", np.longdouble(10) ** 1000, True),
    ("float32", np.float32(0.1), True),
    ("float16", np.float16(0.1), True),
    ("int64", np.int64(3), True),
    ("uint8", np.uint8(3), True),
    ("True", True, True),
    ("numpy True", np.True_, True),
    ("array of no dimension", np.array(0.5), True),
    ("array of one number", np.array([0.5]), True),
    ("fraction", fractions.Fraction(1, 3), True),
    ("decimal", decimal.Decimal("0.1"), True),
    ("DM", ca.DM(0.5), True),
    ("integer", 3, True),
    ("number", 0.3, True),
    ("text of a number", "0.01", False),
    ("bytes of a number", b"1", False),
    ("numpy text", np.str_("0.5"), False),
    ("None", None, False),
    ("text", "wrong", False),
    ("empty text", "", False),
    ("long text", "a" * 5000, False),
    ("complex", 1 + 2j, False),
    ("numpy complex", np.complex128(1.0), False),
    ("date", np.datetime64("2024-01-01"), False),
    ("not a time", np.datetime64("NaT"), False),
    ("timedelta", np.timedelta64(5, "s"), False),
    ("Python's date", datetime.date(2024, 1, 1), False),
    ("list", [], False),
    ("tuple", (), False),
    ("dictionary", {}, False),
    ("dictionary of numbers", {"a": 1.0}, False),
    ("set", {1.0, 2.0}, False),
    ("function", _function, False),
    ("type", float, False),
    ("object", object(), False),
    ("SX", ca.SX.sym("s"), False),
    ("generator", None, False),
]

_ARRAYS: list[tuple[str, Callable[[Any], Any], bool]] = [
    ("as text", lambda a: np.array(a).astype(str), False),
    ("as bytes", lambda a: np.array(a).astype("S8"), False),
    ("as dates", lambda a: np.zeros(np.shape(a), "datetime64[s]"), False),
    ("as timedeltas", lambda a: np.ones(np.shape(a), "timedelta64[s]"), False),
    ("as complex", lambda a: np.array(a) + 1j, False),
    ("masked", lambda a: np.ma.masked_array(a, mask=np.arange(np.size(a)).reshape(np.shape(a)) % 2 == 1), False),
    ("structured", lambda a: np.zeros(np.shape(a), [("a", "f8")]), False),
    ("with None", lambda a: np.array([None] * max(1, np.size(a)), dtype=object), False),
    ("texts", lambda a: ["0.5"] * max(1, np.size(a)), False),
    ("objects of texts", lambda a: np.array(["0.5"] * max(1, np.size(a)), dtype=object), False),
    ("as long doubles", lambda a: np.array(a, dtype=np.longdouble), True),
    ("as float32", lambda a: np.array(a, dtype=np.float32), True),
    ("as objects", lambda a: np.array(a, dtype=object), True),
    ("Fortran order", lambda a: np.asfortranarray(np.array(a)), True),
    ("strided", lambda a: np.repeat(np.array(a), 2, axis=0)[::2] if np.ndim(a) else a, True),
    ("read-only", lambda a: _read_only(a), True),
    ("as lists", lambda a: np.array(a).tolist(), True),
    ("as DM", lambda a: ca.DM(np.array(a, dtype=float)), True),
    ("with nan", lambda a: np.array(a, dtype=float) * np.nan, True),
    ("with inf", lambda a: np.array(a, dtype=float) + np.inf, True),
    ("huge", lambda a: np.array(a, dtype=float) + 1e300, True),
    ("negative", lambda a: -1.0 - np.abs(np.array(a, dtype=float)), True),
    ("zeros", lambda a: np.zeros(np.shape(a)), True),
    ("ones", lambda a: np.ones(np.shape(a)), True),
    ("in degrees", lambda a: 180.0 + np.array(a, dtype=float), True),
    ("one more", lambda a: np.zeros(np.size(a) + 1), True),
    ("one row more", lambda a: np.zeros((np.shape(a)[0] + 1, *np.shape(a)[1:])) if np.ndim(a) else 0.0, True),
    ("one axis more", lambda a: np.array(a, dtype=float)[None], True),
    ("empty", lambda a: np.zeros(0), True),
    ("ragged", lambda a: [[1.0], [1.0, 2.0]], False),
    ("scalar", lambda a: 0.5, True),
]


def _read_only(value: Any) -> Any:
    array = np.array(value, dtype=float)
    array.flags.writeable = False
    return array


def wrong_scalar(rng: Random) -> Wrong:
    """A value in place of anything."""
    if rng.random() < 0.05:
        return Wrong("unhashable array", np.zeros(3), True)
    if rng.random() < 0.03:
        return Wrong("structured", _STRUCTURED.copy())
    if rng.random() < 0.03:
        return Wrong("masked", _MASKED.copy())
    name, value, number = rng.choice(_SCALARS)
    return Wrong(name, (i for i in range(3)) if name == "generator" else value, number)


def wrong_array(rng: Random, valid: Any) -> Wrong:
    """An array of numbers, changed."""
    name, change, number = rng.choice(_ARRAYS)
    try:
        return Wrong(f"{name}", change(valid), number)
    except Exception:  # not every change suits every value
        return Wrong("None", None)


def wrong_inside(rng: Random, valid: Any) -> Wrong:
    """A list or dictionary in which one item is something else, is missing, or comes twice."""
    if isinstance(valid, dict):
        changed: Any = dict(valid)
        key, other = rng.choice(list(changed)), wrong_scalar(rng)
        try:
            if rng.random() < 0.5:
                changed[key] = other.value
            else:
                changed[other.value] = changed.pop(key)
        except (TypeError, NotImplementedError):  # unhashable
            changed[key] = other.value
        return Wrong(f"with {other.name}", changed, number=True)
    items, i, other = list(valid), rng.randrange(len(valid)), wrong_scalar(rng)
    items[i : i + 1] = rng.choice([[other.value], [other.value], [], [items[i], items[i]]])
    return Wrong(f"with {other.name}", type(valid)(items), number=True)
