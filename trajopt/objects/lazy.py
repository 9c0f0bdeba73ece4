"""Lazy imports: a package imports some of its names on first use, so that starting is fast."""

from __future__ import annotations

import ast
import functools
import importlib
import importlib.util
import sys
import textwrap
from collections.abc import Callable, Iterable, Mapping
from pathlib import Path
from typing import Any

from trajopt.errors import UnknownAttributeError, close_names
from trajopt.objects import renamed
from trajopt.objects.attributes import CLASSES
from trajopt.objects.calls import explain_export


def lazy(package: str, modules: Iterable[str] = ()) -> tuple[Callable[[str], Any], Callable[[], list[str]]]:
    """Returns `__getattr__` and `__dir__` for a package that imports some of its names on first use.

    Those names are the ones that the package's `__init__` imports for type checkers alone:

        if TYPE_CHECKING:
            from package.module import Name
        else:
            __getattr__, __dir__ = lazy(__name__)

    Lazy names explain wrong calls like others, see `trajopt.objects.calls`; the first use covers the whole module.

    Args:
        package: Name of the package.
        modules: Modules that are imported on first use too, each by the last part of its name.
    """
    own = {module.rpartition(".")[2]: module for module in modules}

    def load(name: str) -> Any:
        if f"{package}.{name}" in renamed.MODULES:
            return importlib.import_module(f"{package}.{name}")
        names = {**own, **lazy_names(package)}
        if name not in names:
            raise _unknown(package, name)
        module = importlib.import_module(names[name])
        if module.__name__ == f"{package}.{name}":
            return module
        for each in (n for n, where in names.items() if where == module.__name__ != f"{package}.{n}"):
            setattr(sys.modules[package], each, getattr(module, each))
            explain_export(package, each)
        return getattr(sys.modules[package], name)

    return load, lambda: sorted({*_shown(package), *own, *lazy_names(package)})


def _shown(package: str) -> list[str]:
    """Names of a package for `dir`: what it exports and its modules, without those that it only uses."""
    module = sys.modules[package]
    own = {name for name, value in vars(module).items() if getattr(value, "__name__", "") == f"{package}.{name}"}
    return [name for name in vars(module) if name in module.__all__ or name in own or name.startswith("__")]


@functools.cache
def lazy_names(package: str) -> Mapping[str, str]:
    """Returns the names that a package imports on first use, each with the module from which it is imported.

    A module that is a name itself is imported from itself.
    """
    source = Path(str(sys.modules[package].__file__)).read_text(encoding="utf-8")
    text = source.partition("\nif TYPE_CHECKING:\n")[2].partition("\nelse:\n")[0]
    names = {}
    for node in ast.parse(textwrap.dedent(text)).body:
        if isinstance(node, (ast.Import, ast.ImportFrom)):
            module = node.module if isinstance(node, ast.ImportFrom) else None
            names.update({alias.asname or alias.name: module or alias.name for alias in node.names})
    return names


def above(name: str) -> Callable[..., Any]:
    """Imports a function of another package of trajopt by its name "package.function", such as "plotting.plot_sweep".

    With it a lower package calls a higher one without importing it first: results offer plots, and the plotting code
    is imported when the first one is drawn.
    """
    room, _, name = name.rpartition(".")
    function: Callable[..., Any] = getattr(importlib.import_module(f"trajopt.{room}"), name)
    return function


@functools.cache
def _homes() -> Mapping[str, str]:
    """Places of the names that packages of trajopt export, such as "trajopt.simulator.Simulator"."""
    homes: dict[str, str] = {}
    for room in lazy_names("trajopt"):
        spec = importlib.util.find_spec(f"trajopt.{room}")
        if spec is None or spec.origin is None:
            continue
        for node in ast.parse(Path(spec.origin).read_text(encoding="utf-8")).body:
            if isinstance(node, ast.Assign) and ast.unparse(node.targets[0]) == "__all__":
                homes = {name: f"trajopt.{room}.{name}" for name in ast.literal_eval(node.value)} | homes
    return homes


def _unknown(package: str, name: str) -> UnknownAttributeError:
    """Error for a name that a package does not have; the message suggests a similar one."""
    replacement = f"trajopt.{CLASSES[name]}" if name in CLASSES else _homes().get(name, "")
    close = [] if replacement or name.startswith("_") else close_names(name, sys.modules[package].__all__)
    meant = [replacement] if replacement else [f"{package}.{each}" for each in close]
    hint = f"; did you mean {' or '.join(meant)}?" if meant else ""
    return UnknownAttributeError(f"module {package!r} has no attribute {name!r}{hint}")
