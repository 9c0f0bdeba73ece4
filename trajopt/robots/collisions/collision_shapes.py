"""Spheres and capsules that contain the collision geometry of a robot, and the pairs that may touch."""

from __future__ import annotations

import json
import operator
from collections import Counter
from collections.abc import Mapping
from dataclasses import dataclass, field
from os import PathLike
from pathlib import Path
from typing import Any, Self

import numpy as np

from trajopt.checks import check_items, check_mapping, check_path, check_text, check_texts
from trajopt.errors import InvalidArgumentError, TrajoptError, shown
from trajopt.files import MALFORMED, check_output_path, output_file
from trajopt.robots.collisions.left_out import LeftOut
from trajopt.robots.round_bodies import Capsule, Sphere, round_solid
from trajopt.robots.shapes import Shape

FORMAT = "trajopt collision shapes 1"


@dataclass(frozen=True, kw_only=True, eq=False)
class CollisionShapes:
    """Spheres and capsules on the links of a robot, for distances.

    Attributes:
        bodies: The shapes, each on the frame of its link.
        pairs: Indices (i, j), i < j, of bodies that may touch.
        left_out: Indices of the other pairs of bodies on different joints by the reason why they are left out; it
            prints the names of their links. The reasons are "neighbours" (one joint moves the other, or the robot's
            SRDF says Adjacent), "disabled" (by the SRDF for another reason), "always" (they overlap in at
            least 95 % of random configurations, or the SRDF says Always), "reference" (a reference configuration brings
            them closer than 1 cm), "never" (no random configuration brings them closer than 5 cm, or the SRDF says
            Never) and "coarse" (links of a robot without reference configurations, one link apart, whose shapes come
            closer than 1 cm mostly where the meshes do not). Links with the SRDF's reason Default or none count as one
            pair, and as "always" if closer than 2 cm.
    """

    bodies: tuple[Sphere | Capsule, ...]
    pairs: tuple[tuple[int, int], ...]
    left_out: Mapping[str, tuple[tuple[int, int], ...]] = field(default_factory=dict)

    def __post_init__(self) -> None:
        bodies = check_items("bodies", self.bodies, "spheres and capsules")
        for body in bodies:
            if not isinstance(body, (Sphere, Capsule)):
                raise InvalidArgumentError(f"bodies: expected spheres and capsules, got {shown(body)}")
        left_out = check_mapping("left_out", self.left_out, "write {reason: pairs}")
        check_texts("left_out", list(left_out))
        checked = {reason: _indices("left_out", pairs, len(bodies)) for reason, pairs in left_out.items()}
        object.__setattr__(self, "bodies", bodies)
        object.__setattr__(self, "pairs", _indices("pairs", self.pairs, len(bodies)))
        object.__setattr__(self, "left_out", LeftOut(checked, [str(body.frame) for body in bodies]))

    @property
    def unchecked(self) -> str:
        """Text that names links which might touch although they are left out, with the reason; "" without any."""
        assert isinstance(self.left_out, LeftOut)
        return self.left_out.unchecked

    @property
    def names(self) -> tuple[str, ...]:
        """Name of each body: that of its frame, with a number if the frame has several."""
        count, seen = Counter(body.frame for body in self.bodies), Counter[str | None]()
        names = []
        for body in self.bodies:
            names.append(str(body.frame) if count[body.frame] == 1 else f"{body.frame}_{seen[body.frame]}")
            seen[body.frame] += 1
        return tuple(names)

    def solids(self) -> tuple[Shape, ...]:
        """The bodies on frames as solids, for pictures."""
        return tuple(round_solid(body, body.frame) for body in self.bodies if body.frame is not None)

    def save(self, path: str | PathLike[str]) -> None:
        """Writes a .json file.

        Raises:
            InvalidArgumentError: The file cannot be written.
        """
        with output_file(check_output_path(path, "path", (".json",))) as file:
            file.write(self.to_json().encode())

    @classmethod
    def load(cls, path: str | PathLike[str]) -> Self:
        """Reads a file that `save` has written.

        Raises:
            InvalidArgumentError: The file cannot be read, or contains no collision shapes.
        """
        path = check_path("path", path)
        try:
            return cls.from_json(Path(path).read_text(encoding="utf-8"))
        except (OSError, UnicodeDecodeError) as error:
            raise InvalidArgumentError(f"path: {str(path)!r} cannot be read: {error}") from error
        except InvalidArgumentError as error:
            raise InvalidArgumentError(f"path: expected collision shapes in {str(path)!r}, got {error}") from error

    def to_json(self) -> str:
        """The shapes as text, which `from_json` reads."""
        bodies = [{"frame": body.frame, "radius": body.radius, "points": body.points.tolist()} for body in self.bodies]
        return json.dumps({"format": FORMAT, "bodies": bodies, "pairs": self.pairs, "left_out": dict(self.left_out)})

    @classmethod
    def from_json(cls, text: str) -> Self:
        """Reads the text of `to_json`.

        Raises:
            InvalidArgumentError: The text is another one.
        """
        try:
            data = json.loads(check_text("text", text))
            if data["format"] != FORMAT:
                raise InvalidArgumentError(f"the format {data['format']!r}; write the file again")
            bodies = tuple(_body(entry) for entry in data["bodies"])
            return cls(bodies=bodies, pairs=data["pairs"], left_out=data["left_out"])
        except TrajoptError as error:
            raise InvalidArgumentError(str(error)) from error
        except MALFORMED as error:
            raise InvalidArgumentError(f"text that is damaged ({type(error).__name__}: {error})") from error

    def __repr__(self) -> str:
        capsules = sum(isinstance(body, Capsule) for body in self.bodies)
        left_out = ", ".join(f"{len(pairs)} {reason}" for reason, pairs in self.left_out.items() if pairs) or "none"
        return (
            f"CollisionShapes({capsules} capsules, {len(self.bodies) - capsules} spheres, {len(self.pairs)} pairs; "
            f"left out: {left_out})"
        )


def _body(entry: Any) -> Sphere | Capsule:
    points, frame = np.array(entry["points"], dtype=float), entry["frame"]
    if len(points) == 1:
        return Sphere(entry["radius"], frame=frame, center=points[0])
    start, end = points
    return Capsule(entry["radius"], start=start, end=end, frame=frame)


def _indices(argument: str, pairs: Any, count: int) -> tuple[tuple[int, int], ...]:
    """Checked pairs of indices i < j of `count` bodies."""
    items = check_items(argument, pairs, f"pairs of indices i < j of {count} bodies")
    try:
        checked = tuple((operator.index(i), operator.index(j)) for i, j in items)
    except (TypeError, ValueError):
        checked = ((0, 0),)
    if not all(0 <= i < j < count for i, j in checked):
        raise InvalidArgumentError(f"{argument}: expected pairs of indices i < j of {count} bodies, got {shown(pairs)}")
    return checked
