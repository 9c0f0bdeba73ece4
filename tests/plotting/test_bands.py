"""Bands of constraints: their texts leave room for their names."""

from __future__ import annotations

import dataclasses

import pytest

from tests.support.constrained import pendulum
from trajopt.analysis import constraint_rows
from trajopt.plotting.bands import draw_bands
from trajopt.plotting.style import canvas


@pytest.mark.parametrize(("name", "named"), [("q:pole", True), ("q:cable_joint.1", False)])
def test_long_names_of_rows_are_left_out_beside_multipliers(name: str, named: bool) -> None:
    solution = pendulum()
    upright = next(rows for rows in constraint_rows(solution) if rows.name == "upright")
    axes = canvas(None, 4.0, 1.0, apart=False).subplots()
    assert solution.times is not None
    draw_bands(axes, [dataclasses.replace(upright, rows=(name, name))], solution.times)
    (text,) = axes.texts
    assert text.get_text().startswith(f"{name}: multiplier " if named else "multiplier ")
