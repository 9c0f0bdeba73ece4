"""Pairs of links that an SRDF disables: which are checked all the same, and what the others print."""

from __future__ import annotations

import pickle
from pathlib import Path

import numpy as np
import pytest

import trajopt
from tests.robots.test_collision_shapes import BOX, boxes
from trajopt.robots import CollisionShapes, Robot, fit_collision_shapes, load_robot
from trajopt.robots.collisions.distances import body_distances

COLLIDED = np.array([  # by the meshes: link 5 in the hand, and link 5 in link 7
    [-0.38533484, 1.52306595, -2.89729484, -1.31840526, 2.28503682, 0.25301119, -1.07856736, 0.001, 0.0],
    [-0.53352363, 0.99143047, 1.98828427, -1.05245826, -1.83000815, 0.03632195, -2.15404964, 0.0, 0.0],
])  # fmt: skip


def links(shapes: CollisionShapes, pairs: object) -> set[frozenset[str]]:
    return {frozenset(str(shapes.bodies[k].frame) for k in pair) for pair in pairs}  # type: ignore[attr-defined]


def srdf(folder: Path, reason: str, text: str = BOX) -> CollisionShapes:
    words = f'reason="{reason}"' if reason else ""
    entry = f'<robot name="b"><disable_collisions link1="hand" link2="base" {words}/></robot>'
    (folder / "boxes.srdf").write_text(entry)
    return boxes(folder, text).collision_shapes


@pytest.mark.parametrize(
    ("reason", "ours"),
    [("User", "disabled"), ("Never", "never"), ("Adjacent", "neighbours"), ("Always", "always")],
)
def test_reasons_of_an_srdf(tmp_path: Path, reason: str, ours: str) -> None:
    shapes = srdf(tmp_path, reason)
    assert not shapes.pairs
    assert ("base", "hand") in shapes.left_out.links[ours]  # type: ignore[attr-defined]
    assert ("base and hand" in shapes.unchecked) == (ours in ("disabled", "always"))


@pytest.mark.parametrize("reason", ["Default", ""])
def test_links_that_an_srdf_disables_without_a_lasting_reason_are_checked(tmp_path: Path, reason: str) -> None:
    shapes = srdf(tmp_path, reason)
    assert links(shapes, shapes.pairs) == {frozenset(("base", "hand"))}
    assert not shapes.unchecked


@pytest.mark.slow
def test_links_that_touch_in_a_reference_configuration_are_left_out_as_a_whole(tmp_path: Path) -> None:
    text = BOX.replace("0.07", "0.2")
    shapes = srdf(tmp_path, "Default", text)
    robot = boxes(tmp_path, text)
    rows = np.linspace([-2.0, -2.0], [2.0, 2.0], 60)
    touching = rows[body_distances(robot.model, shapes.bodies, shapes.pairs, rows).min(axis=1).argmin()]
    folded = fit_collision_shapes(
        Robot(robot.model, configurations={"folded": touching}, source=robot.source), srdf=tmp_path / "boxes.srdf"
    )
    assert not folded.pairs
    assert folded.unchecked == "base and hand (shapes touch in a reference configuration)"


@pytest.mark.slow
def test_links_whose_shapes_are_never_apart_are_left_out_as_a_whole(tmp_path: Path) -> None:
    """The hand is 1 to 2 cm away from the base, whatever the joints do, which is less than shapes exceed links."""
    text = BOX.replace('xyz="0.1 0 0"', 'xyz="0 0 0"').replace('xyz="0.5 0 0.3"', 'xyz="0 0 0"')
    text = text.replace('<origin xyz="0 0 0.3"/>', '<origin xyz="0 0 0.135"/>')
    shapes = srdf(tmp_path, "Default", text)
    assert not shapes.pairs
    assert shapes.unchecked == "base and hand (shapes always touch, or nearly)"
    (tmp_path / "boxes.srdf").unlink()
    apart = boxes(tmp_path, text)
    coarse = apart.collision_shapes.left_out["coarse"]  # by the meshes, which are 1 cm apart
    distances = body_distances(apart.model, apart.collision_shapes.bodies, coarse, np.ones((1, 2)))
    assert 0.0 < distances.min() < 0.02


def test_a_panda_measures_what_collided() -> None:
    """Two of 143 solutions of a trial collided by the meshes; both are refused now, and reference postures are not."""
    robot = load_robot("panda")
    shapes = robot.collision_shapes
    least = body_distances(robot.model, shapes.bodies, shapes.pairs, COLLIDED).min(axis=1)
    assert np.all(least < 0.0)
    rest = np.array(list(robot.configurations.values()))
    assert body_distances(robot.model, shapes.bodies, shapes.pairs, rest).min() > 0.01
    assert shapes.unchecked.startswith("panda_link5 and panda_link7 (shapes always touch, or nearly); panda_leftfinger")


def test_what_is_left_out_prints_names() -> None:
    bodies = [trajopt.Sphere(0.1, frame=frame) for frame in ("one", "one", "two", "three", "four", "five")]
    left = {"neighbours": ((0, 2), (1, 2)), "disabled": ((0, 3), (1, 3), (0, 4), (2, 4), (2, 5)), "never": ()}
    shapes = CollisionShapes(bodies=tuple(bodies), pairs=((0, 5),), left_out=left)
    lines = str(shapes.left_out).splitlines()
    assert lines[:2] == ["neighbours (one joint moves the other)", "  one and two"]
    assert lines[2:] == [
        "disabled (by the SRDF)", "  one and three", "  one and four", "  two and four", "  two and five"
    ]  # fmt: skip
    assert shapes.unchecked == "one and three, one and four, two and four, 1 more (by the SRDF)"
    assert shapes.left_out == left
    again = pickle.loads(pickle.dumps(shapes))
    assert (str(again.left_out), again.left_out) == (str(shapes.left_out), left)
    assert str(CollisionShapes(bodies=tuple(bodies), pairs=()).left_out) == "none"
