"""Layers of solutions from files, and of those that fail: nothing that can be shown is lost."""

from __future__ import annotations

import logging
from pathlib import Path

import numpy as np
import pytest

from tests.display.recording import Recording
from tests.support.unsolved import pendulum, solved, trot
from trajopt.display.actor import Actor
from trajopt.display.layers import PANELS, forces
from trajopt.errors import InvalidArgumentError
from trajopt.solution import Solution


@pytest.mark.parametrize("made", [trot, pendulum, lambda: solved("parking")], ids=["trot", "pendulum", "parking"])
def test_a_solution_from_a_file_is_shown_as_it_was(made: object, tmp_path: Path) -> None:
    solution: Solution = made()  # type: ignore[operator]
    loaded = Solution.load(solution.save(tmp_path / "motion.npz"))
    assert loaded.problem is None
    scenes = [Recording(), Recording()]
    actors = [Actor(scene, each, "/a") for scene, each in zip(scenes, (solution, loaded))]  # type: ignore[arg-type]
    assert list(actors[0].layers) == list(actors[1].layers)
    for actor in actors:
        actor.at(0.1)
    for node, handle in scenes[0].nodes.items():
        if hasattr(handle, "position") and node in scenes[1].nodes:
            np.testing.assert_allclose(scenes[1].nodes[node].position, handle.position, atol=1e-9)
    panels = [[kind.label for kind in PANELS if kind.applies(each)] for each in (solution, loaded)]
    assert panels[0] == panels[1]
    for kind in PANELS:
        if kind.applies(loaded):
            kind.build(Recording(), loaded).at(0.1)


def test_a_layer_that_cannot_be_computed_is_left_out_with_a_warning(
    monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture
) -> None:
    def fails(*_: object) -> float:
        raise InvalidArgumentError("solution: expected forces, got none")

    monkeypatch.setattr(forces, "size_of", fails)
    with caplog.at_level(logging.WARNING):
        actor = Actor(Recording(), trot(), "/a")  # type: ignore[arg-type]
    assert "contact forces" not in actor.layers
    assert "paths" in actor.layers
    assert "contact forces: not shown: solution: expected forces, got none" in caplog.text
