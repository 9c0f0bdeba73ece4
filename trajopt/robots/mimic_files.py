"""Pickles of robots with mimic joints, which hold the robot's file instead of Pinocchio's model."""

from __future__ import annotations

import tempfile
from dataclasses import dataclass
from pathlib import Path

import pinocchio as pin

from trajopt.errors import InvalidArgumentError, UnsupportedOperationError
from trajopt.robots.configurations import reference_configurations
from trajopt.robots.files import load_file
from trajopt.types import Reals


@dataclass(frozen=True, kw_only=True)
class MimicFile:
    """Content of a file whose robot has mimic joints.

    Attributes:
        content: The file's bytes.
        suffix: Its extension.
        floating_base: As in `load_robot`.
        configurations: Reference configurations of the robot by name, (nq,) each.
    """

    content: bytes
    suffix: str
    floating_base: bool | None
    configurations: dict[str, Reals]

    def model(self) -> pin.Model:
        """The model of the file, with the robot's reference configurations."""
        with tempfile.TemporaryDirectory(prefix="trajopt-robot-") as folder:
            path = Path(folder) / f"robot{self.suffix}"
            path.write_bytes(self.content)
            model = load_file(path, self.floating_base, mimic=True)
        for key, q in self.configurations.items():
            model.referenceConfigurations[key] = q
        return model


def mimic_file(model: pin.Model, name: str, source: str | None) -> MimicFile:
    """Returns the file of a robot with mimic joints.

    Args:
        model: The robot's model.
        name: Name of the robot, for the message.
        source: Path of the file.

    Raises:
        UnsupportedOperationError: There is no file; or the model is not that of the file alone, because a joint is
            locked, a number has changed, or the file includes others.
    """
    path = None if source is None else Path(source)
    if path is not None and path.is_file():
        configurations = reference_configurations(model)
        for floating_base in (None, True):
            kept = MimicFile(
                content=path.read_bytes(),
                suffix=path.suffix,
                floating_base=floating_base,
                configurations=configurations,
            )
            try:
                loaded = kept.model()
                loaded.name = model.name
                if loaded == model:
                    return kept
            except InvalidArgumentError:  # the file has changed, includes others, or has a base of its own
                continue
    raise UnsupportedOperationError(
        f"{name}: robots with mimic joints can't be pickled by Pinocchio, and their file is not all of this one; load "
        "the file in each process"
    )
