"""Pages of the API reference, one for each room, written from the rooms' public names; each name stands once."""

from __future__ import annotations

import importlib
import inspect
from pathlib import Path
from typing import TYPE_CHECKING, Any

from machinery.files import update

if TYPE_CHECKING:
    from sphinx.application import Sphinx

ROOMS = {
    "Problems": {
        "trajopt.states": "States",
        "trajopt.robots": "Robots",
        "trajopt.articulations": "Robots in code",
        "trajopt.actuation": "Actuation",
        "trajopt.residuals": "Residuals",
        "trajopt.activations": "Activations",
        "trajopt.costs": "Costs",
        "trajopt.constraints": "Constraints",
        "trajopt.contacts": "Contacts and impulses",
        "trajopt.actions.differential": "Continuous-time models",
        "trajopt.actions.integrated": "Integrators",
        "trajopt.actions": "Action models",
        "trajopt.shooting": "Shooting problem",
    },
    "Solving": {
        "trajopt.solvers": "Solvers",
        "trajopt.callbacks": "Callbacks",
        "trajopt.solution": "Solution",
        "trajopt.analysis": "Analysis",
        "trajopt.plotting": "Pictures",
        "trajopt.display": "View in the browser",
        "trajopt.display.layers": "Layers of a view",
        "trajopt.sweeps": "Sweeps",
        "trajopt.problems": "Ready problems",
    },
    "Robots at work": {
        "trajopt.gaits": "Gaits",
        "trajopt.ik": "Inverse kinematics",
        "trajopt.inverse_dynamics": "Inverse dynamics",
        "trajopt.identification": "Identification",
        "trajopt.planning": "Planning",
        "trajopt.retiming": "Retiming",
        "trajopt.simulator": "Simulator",
        "trajopt.simulator.diffne": "DiffNE's names",
        "trajopt.mpc": "Model-predictive control",
        "trajopt.mpc.server": "Controllers across processes",
        "trajopt.problems.mpc": "Ready closed loops",
        "trajopt.planar": "Mobile robots, maps and scans",
    },
    "Below": {
        "trajopt": "The package, errors, threads",
        "trajopt.dynamics": "Rigid-body dynamics as expressions",
        "trajopt.lie": "Rotations and poses as expressions and arrays",
        "trajopt.kernels": "Kernels",
        "trajopt.cache": "Cache",
        "trajopt.solvers.qp": "Quadratic programs",
        "trajopt.solvers.riccati.recursion": "Riccati recursion",
    },
}
"""Rooms by part; a name that several of them export stands in the first."""

NOT_SHOWN = {
    "trajopt.analysis.advice",
    "trajopt.analysis.contradictions",
    "trajopt.kernels.steps",
    "trajopt.solvers.ddp",
    "trajopt.solvers.nlp",
    "trajopt.solvers.riccati",
    "trajopt.solvers.sqp",
    "trajopt.solvers.sqp.interior",
    "trajopt.solvers.sqp.real_time",
    "trajopt.solvers.sensitivity",
    "trajopt.model",
}
"""Rooms whose public names all stand in other rooms, or which are for other rooms only."""


def public_names() -> dict[str, list[tuple[str, Any]]]:
    """Full name and value of each public name, by room."""
    import trajopt

    seen: set[Any] = set()
    found: dict[str, list[tuple[str, Any]]] = {}
    for part in ROOMS.values():
        for room in part:
            try:
                package = importlib.import_module(room)
            except ModuleNotFoundError as error:
                if error.name != room:
                    raise
                continue  # a room that has not landed yet
            found[room] = []
            for name in exported(package):
                thing = getattr(package, name)
                known = (inspect.isclass(thing) or inspect.isroutine(thing)) and id(thing)
                if inspect.ismodule(thing) or (known or name) in seen:
                    continue
                seen.add(known or name)
                on_top = name in trajopt.__all__ and getattr(trajopt, name) is thing
                found[room].append((f"trajopt.{name}" if on_top else f"{room}.{name}", thing))
    return found


def exported(package: Any) -> list[str]:
    """Names that a package exports."""
    return list(package.__all__)


def directive(name: str, thing: Any) -> str:
    """The autodoc directive of one name."""
    if inspect.isclass(thing) and issubclass(thing, BaseException):
        return f".. autoexception:: {name}\n"
    if inspect.isclass(thing):
        return f".. autoclass:: {name}\n    :members:\n    :show-inheritance:\n"
    if inspect.isroutine(thing):
        return f".. autofunction:: {name}\n"
    return f".. autodata:: {name}\n    :no-value:\n"


def page(room: str, title: str, names: list[tuple[str, Any]]) -> str:
    """The page of a room: its docstring, a table of its names, and each of them."""
    names = sorted(names, key=lambda pair: (not inspect.isclass(pair[1]), pair[0].rsplit(".", 1)[-1]))
    table = "\n".join(f"    ~{name}" for name, _ in names)
    parts = [
        f"{title}\n{'=' * len(title)}\n",
        f".. automodule:: {room}\n    :no-members:\n    :no-index:\n\n.. py:currentmodule:: None\n",
        f".. autosummary::\n    :nosignatures:\n\n{table}\n",
        *(directive(name, thing) for name, thing in names),
    ]
    return "\n".join(part for part in parts if part)


def write(folder: Path) -> None:
    """Writes the pages that have changed, and removes those of rooms that are gone."""
    folder.mkdir(exist_ok=True)
    names, kept = public_names(), {folder / "index.rst"}
    index = [
        "API reference\n=============\n",
        "Every public class and function, by room. `Reals` and `Ints` in signatures are\n"
        "NumPy arrays of float64 and int64; `ArrayLike` is what NumPy makes one of; `SX` is a CasADi expression.\n",
    ]
    for part, rooms in ROOMS.items():
        index.append(f".. toctree::\n    :caption: {part}\n    :maxdepth: 1\n")
        for room, title in rooms.items():
            if names.get(room):
                file = folder / f"{room}.rst"
                kept.add(file)
                update(file, page(room, title, names[room]))
                index.append(f"    {room}")
        index.append("")
    update(folder / "index.rst", "\n".join(index))
    for old in set(folder.glob("*.rst")) - kept:
        old.unlink()


def setup(app: Sphinx) -> None:
    """Writes the pages before the others are read."""
    app.connect("builder-inited", lambda app: write(Path(app.srcdir) / "api"))
