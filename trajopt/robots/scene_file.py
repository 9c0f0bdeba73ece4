"""Files of scenes: obstacles by name, in JSON or YAML."""

from __future__ import annotations

import json
from collections.abc import Mapping
from pathlib import Path
from typing import Any

from trajopt.checks import check_path, check_text, shape_of
from trajopt.errors import InvalidArgumentError, TrajoptError, shown
from trajopt.files import MALFORMED
from trajopt.objects.extras import Extra
from trajopt.robots.body_entries import KINDS, body_of, entry_of, entry_placement
from trajopt.robots.box import Box
from trajopt.robots.round_bodies import Capsule, Sphere
from trajopt.robots.triangle_mesh import TriangleMesh

YAML = Extra("a scene in a .yaml file", "pyyaml", "plan", "or write a .json file")
MESH = ("file", "triangles", "placement", "scale", "waste", "cell")
"""Arguments of a mesh: a file relative to that of the scene, or corners of triangles."""
FORM = '{"table": {"type": "box", "size": [1.0, 0.6, 0.05], "placement": [0.5, 0.0, 0.2]}}'


def read_obstacles(path: Any) -> dict[str, Any]:
    """Reads obstacles by name from a .json, .yaml or .yml file; see `Scene.load`.

    Raises:
        InvalidArgumentError: The file cannot be read, or contains no obstacles.
        MissingDependencyError: A .yaml file needs PyYAML.
    """
    path = check_path("path", path)
    suffix = Path(path).suffix.lower()
    if suffix not in (".json", ".yaml", ".yml"):
        raise InvalidArgumentError(f"path: expected a .json or .yaml file, got {str(path)!r}")
    try:
        text = Path(path).read_text(encoding="utf-8")
        data = json.loads(text) if suffix == ".json" else _yaml(text)
    except (OSError, *MALFORMED) as error:
        raise InvalidArgumentError(f"path: {str(path)!r} cannot be read: {error}") from error
    if not isinstance(data, Mapping):
        raise InvalidArgumentError(
            f"path: expected obstacles by name in {str(path)!r} such as {FORM}, got {shown(data)}"
        )
    return {name: _obstacle(str(path), name, entry) for name, entry in data.items()}


def obstacles_as_text(obstacles: Mapping[str, Box | Sphere | Capsule | TriangleMesh]) -> str:
    """Text in JSON, which is YAML as well, that `read_obstacles` reads."""
    entries = {name: _mesh(it) if isinstance(it, TriangleMesh) else entry_of(it) for name, it in obstacles.items()}
    lines = [f"  {json.dumps(name)}: {json.dumps(entry)}" for name, entry in entries.items()]
    return "{\n" + ",\n".join(lines) + "\n}\n"


def _mesh(mesh: TriangleMesh) -> dict[str, Any]:
    """Entry of a mesh with a grid."""
    triangles = mesh.triangles.tolist()
    return {"type": "mesh", "triangles": triangles, "placement": entry_placement(mesh.placement), "cell": mesh.cell}


def _obstacle(path: str, name: Any, entry: Any) -> Any:
    kind = entry.get("type") if isinstance(entry, Mapping) else None
    if kind not in (*KINDS, "mesh"):
        raise InvalidArgumentError(
            f"path: expected obstacle {name!r} of {path!r} with a type box, sphere, capsule or mesh, such as {FORM}, "
            f"got {shown(entry)}"
        )
    arguments = MESH if kind == "mesh" else KINDS[kind][1]
    values = {key: value for key, value in entry.items() if key != "type"}
    if set(values) - set(arguments):
        raise InvalidArgumentError(
            f"path: expected {', '.join(arguments)} of the {kind} {name!r} of {path!r}, got "
            f"{', '.join(map(str, values))}"
        )
    if shape_of(values.get("placement")) == (3,):
        values["placement"] = [*values["placement"], 0.0, 0.0, 0.0, 1.0]
    try:
        if kind != "mesh":
            return body_of({"type": kind, **values})
        surface = values.pop("triangles", None)
        if surface is None:
            surface = Path(path).parent / check_text("file", values.pop("file", None), such_as="shelf.stl")
        return TriangleMesh(surface, **values)
    except (TrajoptError, TypeError) as error:
        raise InvalidArgumentError(f"path: obstacle {name!r} of {path!r}: {error}") from error


def _yaml(text: str) -> Any:
    yaml = YAML.load("yaml")
    try:
        return yaml.safe_load(text)
    except yaml.YAMLError as error:
        raise ValueError(str(error)) from error
