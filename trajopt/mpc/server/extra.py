"""Packages that the server and its clients need, loaded when they are used."""

from __future__ import annotations

import importlib
from typing import Any

from trajopt.errors import MissingDependencyError


def load_zmq() -> Any:
    """The module `zmq`.

    Raises:
        MissingDependencyError: pyzmq is not installed.
    """
    return _load("zmq", "pyzmq")


def load_msgpack() -> Any:
    """The module `msgpack`.

    Raises:
        MissingDependencyError: msgpack is not installed.
    """
    return _load("msgpack", "msgpack")


def _load(module: str, package: str) -> Any:
    try:
        return importlib.import_module(module)
    except ImportError as error:
        raise MissingDependencyError(
            f"trajopt.mpc.server needs optional packages, of which {package} is missing: pip install pyzmq msgpack"
        ) from error
