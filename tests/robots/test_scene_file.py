"""Files of scenes: what is saved is loaded again, YAML by hand, and errors that name the obstacle."""

from __future__ import annotations

import json
from pathlib import Path

import numpy as np
import pytest

import trajopt
from trajopt.errors import InvalidArgumentError, MissingDependencyError

TURNED = [0.5, 0.1, 0.2, 0.0, 0.0, np.sin(0.2), np.cos(0.2)]
SCENE = trajopt.Scene(
    {
        "table": trajopt.Box([1.0, 0.6, 0.05], placement=TURNED),
        "ball": trajopt.Sphere(0.1, center=[0.4, 0.0, 0.5]),
        "post": trajopt.Capsule(0.03, start=[0.3, 0.3, 0.0], end=[0.3, 0.3, 0.6]),
    }
)
YAML = """
table: {type: box, size: [1.0, 0.6, 0.05], placement: [0.5, 0.0, 0.2]}
ball: {type: sphere, radius: 0.1, center: [0.4, 0.0, 0.5]}
post:
  type: capsule
  radius: 0.03
  start: [0.3, 0.3, 0.0]
  end: [0.3, 0.3, 0.6]
"""


@pytest.mark.parametrize("name", ["scene.json", "scene.yaml"])
def test_a_saved_scene_is_loaded_again(name: str, tmp_path: Path) -> None:
    SCENE.save(tmp_path / name)
    again = trajopt.Scene.load(tmp_path / name)
    assert list(again.obstacles) == list(SCENE.obstacles)
    for one, other in zip(again.solids(), SCENE.solids()):
        assert one.kind == other.kind
        np.testing.assert_allclose(one.size, other.size, atol=1e-15)
        np.testing.assert_allclose(one.placement, other.placement, atol=1e-15)


def test_a_file_by_hand(tmp_path: Path) -> None:
    (tmp_path / "scene.yaml").write_text(YAML)
    scene = trajopt.Scene.load(tmp_path / "scene.yaml")
    table, post = scene["table"], scene["post"]
    assert isinstance(table, trajopt.Box)
    np.testing.assert_allclose(np.asarray(table.placement), np.c_[np.eye(3), [0.5, 0.0, 0.2]])
    assert isinstance(post, trajopt.Capsule)
    assert post.radius == 0.03
    np.testing.assert_allclose(post.points[1], [0.3, 0.3, 0.6])


WRONG = {
    "{}": "obstacles: expected at least one obstacle, got none",
    "[]": "expected obstacles by name",
    "{": "cannot be read",
    '{"a": {"type": "cone"}}': "expected obstacle 'a' of .* with a type box, sphere, capsule or mesh",
    '{"a": 1}': "expected obstacle 'a'",
    '{"a": {"type": "sphere", "radius": 0.1, "centre": [0, 0, 0]}}': "radius, center of the sphere 'a' .* centre",
    '{"a": {"type": "sphere", "radius": -0.1}}': "obstacle 'a' of .*radius: expected a number > 0",
    '{"a": {"type": "box", "size": [0.1, 0.1, 0.0]}}': "obstacle 'a' of .*size: expected three sides > 0",
    '{"a": {"type": "box"}}': "obstacle 'a' of .*size",
    '{"a": {"type": "capsule", "radius": 0.1, "start": [0, 0, 0]}}': "obstacle 'a' of .*end",
    '{"a": {"type": "sphere", "radius": 80, "center": [0, 0, 900]}}': "expected metres, got a number of 900",
}


@pytest.mark.parametrize("text", WRONG)
def test_errors_name_the_obstacle(text: str, tmp_path: Path) -> None:
    (tmp_path / "scene.json").write_text(text)
    with pytest.raises(InvalidArgumentError, match=WRONG[text]):
        trajopt.Scene.load(tmp_path / "scene.json")


def test_errors_of_files(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    with pytest.raises(InvalidArgumentError, match=r"path: expected a \.json or \.yaml file"):
        trajopt.Scene.load(tmp_path / "scene.txt")
    with pytest.raises(InvalidArgumentError, match="cannot be read"):
        trajopt.Scene.load(tmp_path / "none.json")
    (tmp_path / "bad.yaml").write_text("a: [1, 2")
    with pytest.raises(InvalidArgumentError, match="cannot be read"):
        trajopt.Scene.load(tmp_path / "bad.yaml")
    (tmp_path / "text.json").write_text(json.dumps("table"))
    with pytest.raises(InvalidArgumentError, match="expected obstacles by name"):
        trajopt.Scene.load(tmp_path / "text.json")

    def missing(name: str) -> None:
        raise ImportError(name)

    monkeypatch.setattr("trajopt.objects.extras.importlib.import_module", missing)
    with pytest.raises(MissingDependencyError, match=r"pyyaml.*extra 'plan'.*or write a \.json file"):
        trajopt.Scene.load(tmp_path / "bad.yaml")
