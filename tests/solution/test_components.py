"""Labels of numbers that differ between solves: with coordinates and units."""

from __future__ import annotations

import json
from pathlib import Path

import numpy as np
import pytest

import trajopt
from tests.sweeps.executors import Here
from trajopt import problems
from trajopt.solution.components import labelled, units_of
from trajopt.sweeps import Recipe, Sweep


@pytest.mark.parametrize(
    ("component", "words"),
    [
        ("x0[1]", "x0[1], theta [rad]"),
        ("mass", "mass [kg]"),
        ("mass@terminal", "mass@terminal [kg]"),
        ("tool.reference[2]", "tool.reference[2] [m]"),
        ("goal.reference[0, 3]", "goal.reference[0, 3] [m]"),
        ("goal.reference[0, 2]", "goal.reference[0, 2]"),
        ("mixed[1]", "mixed[1]"),
        ("goal.weight", "goal.weight"),
        ("unknown", "unknown"),
    ],
)
def test_a_component_has_the_unit_of_its_number(component: str, words: str) -> None:
    units = {
        "x0": ["m", "rad"], "mass": ["kg"], "tool.reference": ["m"], "goal.reference": ["", "m"], "goal.weight": [""],
        "mixed": ["N m", "N"],
    }  # fmt: skip
    assert labelled(component, ["y", "theta"], units) == words


def test_units_are_those_of_the_problem() -> None:
    units = units_of(problems.load("cart-pole").problem)
    assert units["length"] == ["m"]
    assert units["pole_mass"] == ["kg"]
    assert units["upright.weight"] == [""]
    assert units_of(problems.load("arm-reach", "planar-2r").problem)["goal.reference"] == ["", "m"]


def test_a_map_of_a_sweep_has_units(tmp_path: Path) -> None:
    pytest.importorskip("pyarrow")
    rows = {"length": np.array([0.4, 0.5, 0.4, 0.5]), "pole_mass": np.array([0.1, 0.1, 0.2, 0.2])}
    recipe = Recipe(problem="cart-pole", solver_options={"max_iterations": 2})
    found = trajopt.sweep(recipe, rows, chunk=4, executor=Here(), store=tmp_path / "store")
    axes = found.plot(kind="map").axes[0]
    assert (axes.get_xlabel(), axes.get_ylabel()) == ("length [m]", "pole_mass [kg]")
    file = tmp_path / "store" / "recipe.json"  # stores of earlier versions have no units
    facts = json.loads(file.read_text())
    assert set(facts.pop("units")) == {"length", "pole_mass"}
    file.write_text(json.dumps(facts))
    assert Sweep.read(tmp_path / "store").label("length") == "length"
