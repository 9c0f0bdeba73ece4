"""Optional packages: imported on use; if one is missing, the error names the command that installs it."""

from __future__ import annotations

import importlib
import importlib.util
from dataclasses import dataclass
from typing import Any

from trajopt.errors import MissingDependencyError


@dataclass(frozen=True)
class Extra:
    """Optional packages that one feature needs.

    Attributes:
        user: Feature that needs them, such as "trajopt.display".
        install: Their names for pip, such as "viser trimesh".
        extra: Name of the extra in pyproject.toml that installs them.
        instead: Alternative without them, which ends the message.
    """

    user: str
    install: str
    extra: str
    instead: str = ""

    def load(self, module: str) -> Any:
        """Imports a module.

        Raises:
            MissingDependencyError: The module is not installed.
        """
        try:
            return importlib.import_module(module)
        except ImportError as error:
            raise self._missing(module) from error

    def check(self, *modules: str) -> None:
        """Checks that modules are installed without importing them, which would take time.

        Raises:
            MissingDependencyError: A module is not installed.
        """
        for module in modules:
            if importlib.util.find_spec(module) is None:
                raise self._missing(module)

    def _missing(self, module: str) -> MissingDependencyError:
        packages = self.install.split()
        name = next((each for each in packages if module.partition(".")[0] in each), module)
        of = "optional packages, of which " if len(packages) > 1 else ""
        cure = f": pip install {self.install} (extra {self.extra!r}){f'; {self.instead}' if self.instead else ''}"
        return MissingDependencyError(f"{self.user} needs {of}{name}{' is missing' if of else ''}{cure}")
