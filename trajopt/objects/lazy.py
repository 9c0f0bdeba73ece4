"""Names of a package that are imported when they are first used: a start loads only what it needs."""

from __future__ import annotations

import importlib
import sys
from collections.abc import Callable, Mapping
from typing import Any

from trajopt.errors import UnknownAttributeError, close_names
from trajopt.objects import renamed
from trajopt.objects.attributes import CLASSES
from trajopt.objects.calls import explain_export


def lazy(package: str, names: Mapping[str, str]) -> tuple[Callable[[str], Any], Callable[[], list[str]]]:
    """`__getattr__` and `__dir__` of a package, some of whose names are imported when they are first used.

    The package's `__init__` imports them for type checkers alone:

        if TYPE_CHECKING:
            from package.module import Name
        else:
            __getattr__, __dir__ = lazy(__name__, {"Name": "package.module"})

    They explain wrong calls as the others do, see `trajopt.objects.calls`: all of a module from the first use of one.

    Args:
        package: Name of the package.
        names: The module that each name is imported from. If that is `package.name`, the name is the module itself.
    """

    def load(name: str) -> Any:
        if f"{package}.{name}" in renamed.MODULES:
            return importlib.import_module(f"{package}.{name}")
        if name not in names:
            raise _unknown(package, name)
        module = importlib.import_module(names[name])
        if module.__name__ == f"{package}.{name}":
            return module
        for each in (n for n, where in names.items() if where == module.__name__ != f"{package}.{n}"):
            setattr(sys.modules[package], each, getattr(module, each))
            explain_export(package, each)
        return getattr(sys.modules[package], name)

    return load, lambda: sorted({*vars(sys.modules[package]), *names})


def above(name: str) -> Callable[..., Any]:
    """Function "room.name" of a room above the caller's, such as "plotting.plot_sweep".

    Results offer their pictures by name, so that they do not depend on those who draw them.
    """
    room, _, name = name.rpartition(".")
    function: Callable[..., Any] = getattr(importlib.import_module(f"trajopt.{room}"), name)
    return function


def _unknown(package: str, name: str) -> UnknownAttributeError:
    """Error for a name that a package does not have; the message names the one that may be meant."""
    known = f"trajopt.{CLASSES[name]}" if name in CLASSES else ""
    close = [] if known or name.startswith("_") else close_names(name, sys.modules[package].__all__)
    meant = [known] if known else [f"{package}.{each}" for each in close]
    hint = f"; did you mean {' or '.join(meant)}?" if meant else ""
    return UnknownAttributeError(f"module {package!r} has no attribute {name!r}{hint}")
