"""Packages of the extra `display`, which are imported when they are used."""

from __future__ import annotations

from importlib import import_module
from importlib.util import find_spec
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


def check_display() -> None:
    """Looks for both packages without importing them, which takes time.

    Raises:
        MissingDependencyError: One is not installed.
    """
    for name in ("viser", "trimesh"):
        if find_spec(name) is None:
            raise _missing(name)


def _import(name: str) -> ModuleType:
    try:
        return import_module(name)
    except ImportError as error:
        raise _missing(name) from error


def _missing(name: str) -> MissingDependencyError:
    return MissingDependencyError(
        f"trajopt.display needs optional packages, of which {name} is missing: pip install viser trimesh pycollada"
    )
