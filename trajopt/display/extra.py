"""Packages of the extra `display`, which are imported when they are used."""

from __future__ import annotations

from importlib import import_module
from types import ModuleType

from trajopt.errors import MissingDependencyError


def import_viser() -> ModuleType:
    """The package viser, which serves the page.

    Raises:
        MissingDependencyError: It is not installed.
    """
    return _import("viser")


def import_trimesh() -> ModuleType:
    """The package trimesh, which reads meshes.

    Raises:
        MissingDependencyError: It is not installed.
    """
    return _import("trimesh")


def _import(name: str) -> ModuleType:
    try:
        return import_module(name)
    except ImportError as error:
        raise MissingDependencyError(
            f"trajopt.display needs optional packages, of which {name} is missing: pip install viser trimesh pycollada"
        ) from error
