"""Modules that were renamed since revision 2720678: programs and pickles with old names still work.

Importing an old name issues a warning and returns the renamed module. docs/renamed.md lists all names.
"""

from __future__ import annotations

import importlib
import importlib.util
import sys
import warnings
from collections.abc import Sequence
from importlib.abc import Loader, MetaPathFinder
from importlib.machinery import ModuleSpec
from types import ModuleType

MODULES = {
    "trajopt.dynamics.lie": "trajopt.lie",
    "trajopt.dynamics.scalars": "trajopt.lie.scalars",
    "trajopt.impulses": "trajopt.contacts",
    "trajopt.kinematics": "trajopt.ik",
    "trajopt.kinematics.ik": "trajopt.ik",
    "trajopt.ik.ik": "trajopt.ik",  # by `from trajopt.kinematics import ik`
    "trajopt.mobile": "trajopt.planar",
    "trajopt.sensing": "trajopt.planar",
    "trajopt.residuals.shapes": "trajopt.robots.round_bodies",
    "trajopt.solvers.box_ddp": "trajopt.solvers.ddp.box_ddp",
    "trajopt.solvers.box_fddp": "trajopt.solvers.ddp.box_fddp",
    "trajopt.solvers.box_options": "trajopt.solvers.ddp.box_options",
    "trajopt.solvers.fddp": "trajopt.solvers.ddp.fddp",
    "trajopt.solvers.linear_quadratic": "trajopt.solvers.riccati.linear_quadratic",
    "trajopt.solvers.recursion": "trajopt.solvers.riccati.recursion",
    "trajopt.solvers.weighted_rows": "trajopt.solvers.riccati.weighted_rows",
    "trajopt.states.rotations": "trajopt.lie",
    "trajopt.terminal": "trajopt.cli",
}
"""New name of each old module name; submodules follow."""

NAMES = {
    "trajopt.planar.plot_grid": "trajopt.plotting.plot_grid",
    "trajopt.solvers.qp.ADMM": "trajopt.solvers.qp.InteriorPoint",
    "trajopt.solvers.qp.ADMMOptions": "trajopt.solvers.qp.InteriorPointOptions",
}
"""Names that were removed from a module, by the full name that an import looks up."""


def new_name(name: str) -> str | None:
    """Current name of a module; None if the name is not an old one."""
    old = max((old for old in MODULES if name == old or name.startswith(f"{old}.")), key=len, default=None)
    return None if old is None else f"{MODULES[old]}{name[len(old) :]}"


class _Finder(MetaPathFinder, Loader):
    """Import hook for old module names. It returns the current module rather than a copy, so that classes are equal."""

    def find_spec(
        self, fullname: str, path: Sequence[str] | None, target: ModuleType | None = None
    ) -> ModuleSpec | None:
        if not fullname.startswith("trajopt."):
            return None
        if fullname in NAMES:
            raise ImportError(f"{fullname} is now {NAMES[fullname]}", name=fullname)
        new = new_name(fullname)
        if new is None or importlib.util.find_spec(new) is None:
            return None
        return ModuleSpec(fullname, self, is_package=True)

    def create_module(self, spec: ModuleSpec) -> ModuleType:
        new = new_name(spec.name)
        assert new is not None
        warnings.warn(f"{spec.name} is now {new}", DeprecationWarning, stacklevel=2)
        module = importlib.import_module(new)
        spec.loader_state = module.__spec__
        return module

    def exec_module(self, module: ModuleType) -> None:
        assert module.__spec__ is not None
        module.__spec__ = module.__spec__.loader_state  # the import has replaced it by that of the old name


def install() -> None:
    """Enables imports of old names from now on."""
    if not any(isinstance(each, _Finder) for each in sys.meta_path):
        sys.meta_path.insert(0, _Finder())
