"""Fields of requests and answers, with the check of each."""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping
from functools import partial
from typing import Any

from trajopt.errors import shown
from trajopt.mpc.server.errors import BadMessageError
from trajopt.mpc.server.messages import array_of
from trajopt.mpc.step import MPCStatus, MPCStep

Check = Callable[[str, Any], Any]
"""Function that takes the name of a field and its content, and returns its value; raises BadMessageError."""

TEXT, NAME, COUNT = 4000, 64, 2**53
"""Longest text and longest name of a client [characters], and largest sequence number [-]."""


def text(name: str, value: Any, most: int = TEXT, least: int = 0) -> str:
    """Returns a field's value after checking that it is a text."""
    if not isinstance(value, str) or not least <= len(value) <= most:
        raise BadMessageError("values", f"{name}: expected a text of {least} to {most} characters, got {shown(value)}")
    return value


def count(name: str, value: Any, least: int = 0) -> int:
    """Returns a field's value after checking that it is an integer."""
    if type(value) is not int or not least <= value <= COUNT:
        raise BadMessageError("values", f"{name}: expected an integer from {least} to 2^53, got {shown(value)}")
    return value


def number(name: str, value: Any) -> float:
    """Returns a field's value after checking that it is a finite number."""
    value_read = real(name, value)
    if not math.isfinite(value_read):
        raise BadMessageError("values", f"{name}: expected a finite number, got {value_read}")
    return value_read


def real(name: str, value: Any) -> float:
    """Checks a number and returns it; it may be NaN or ±inf, such as the cost of a failed plan."""
    if type(value) not in (int, float):
        raise BadMessageError("values", f"{name}: expected a number, got {shown(value)}")
    return float(value)


def optional(check: Check, name: str, value: Any) -> Any:
    """Returns None for None, otherwise applies another check."""
    return None if value is None else check(name, value)


def array(*sizes: int | None) -> Check:
    """Returns a check for a finite array of a shape; None stands for any size."""
    return partial(_array, sizes)


def _array(sizes: tuple[int | None, ...], name: str, value: Any) -> Any:
    return array_of(name, value, sizes)


def state_request(nx: int) -> dict[str, Check]:
    """Checks of a request for a state (nx,) at a time [s]; the time may be None, the time when it is expected."""
    return {"x": array(nx), "t": partial(optional, number)}


SENDER: dict[str, Check] = {
    "kind": partial(text, most=NAME, least=1),
    "client": partial(text, most=NAME, least=1),
    "seq": partial(count, least=1),
}
"""Fields of each request: its kind, the name of the client, and its number, which is larger than the last one."""

REFUSAL: dict[str, Check] = {
    "kind": partial(text, most=NAME, least=1),
    "client": partial(optional, SENDER["client"]),
    "seq": partial(optional, SENDER["seq"]),
    "error": partial(text, most=NAME, least=1),
    "reason": text,
}
"""Fields of a refusal; client and seq are None if the request could not be read."""

STEP: dict[str, Check] = {
    "t": number,
    "u": array(None),
    "K": array(None, None),
    "xs": array(None, None),
    "us": array(None, None),
    "times": array(None),
    "status": text,
    "reason": text,
    "cost": real,
    "violation": real,
    "violated": text,
    "iterations": count,
    "preparation_time": number,
    "feedback_time": number,
}
"""Fields of an MPCStep."""

DESCRIPTION: dict[str, Check] = {
    "nx": partial(count, least=1),
    "nu": partial(count, least=1),
    "knots": partial(count, least=1),
    "dt": number,
    "x0": array(None),
    "about": text,
}
"""Fields of a ServerDescription."""


def read(fields: Mapping[str, Any], checks: Mapping[str, Check]) -> dict[str, Any]:
    """Checks that fields are complete and valid, without further ones, and returns their values.

    Raises:
        BadMessageError: A field is missing, unknown or invalid.
    """
    missing, unknown = checks.keys() - fields.keys(), fields.keys() - checks.keys()
    if missing or unknown:
        got = [*(f"no {name!r}" for name in sorted(missing)), *(f"also {shown(name)}" for name in sorted(unknown)[:4])]
        raise BadMessageError("fields", f"fields: expected {', '.join(checks)}, got {', '.join(got)}")
    return {name: check(name, fields[name]) for name, check in checks.items()}


def part(fields: Mapping[str, Any], checks: Mapping[str, Check]) -> tuple[dict[str, Any], dict[str, Any]]:
    """Checks some fields; returns their values, and the other fields unchanged."""
    rest = {name: value for name, value in fields.items() if name not in checks}
    return read({name: value for name, value in fields.items() if name in checks}, checks), rest


def fields_of(step: MPCStep) -> dict[str, Any]:
    """Converts a step to fields.

    Raises:
        BadMessageError: The plan has a number that is not finite.
    """
    fields = {name: getattr(step, name) for name in STEP}
    for name in ("u", "K", "xs", "us"):
        if not math.isfinite(float(fields[name].sum())):
            raise BadMessageError("controller", f"{name}: the controller's plan is not finite; reset it")
    return fields | {"status": str(step.status), "reason": step.reason[:TEXT], "violated": step.violated[:TEXT]}


def step_of(fields: Mapping[str, Any]) -> MPCStep:
    """Converts fields to a step.

    Raises:
        BadMessageError: The fields are not those of a step.
    """
    values = read(fields, STEP)
    (N, nu), nx = values["us"].shape, values["xs"].shape[1]
    shapes = {"u": (nu,), "K": (nu, values["K"].shape[1]), "xs": (N + 1, nx), "times": (N + 1,)}
    for name, shape in shapes.items():
        if values[name].shape != shape:
            raise BadMessageError("values", f"{name}: expected shape {shape}, got {values[name].shape}")
    statuses = [str(status) for status in MPCStatus]
    if values["status"] not in statuses:
        raise BadMessageError("values", f"status: expected one of {statuses}, got {shown(values['status'])}")
    return MPCStep(**values | {"status": MPCStatus(values["status"])})
