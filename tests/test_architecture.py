"""What a program can hold of STYLE.md: imports go one way, files stay short, everything public says what it is."""

from __future__ import annotations

import ast
import importlib
import inspect
import subprocess
import sys
import tomllib
from collections.abc import Iterator
from functools import cache
from pathlib import Path
from types import ModuleType

import pytest

from trajopt import source
from trajopt.objects.lazy import lazy_names

ROOT = Path(__file__).parent.parent
ROOMS = {"trajopt": ROOT / "trajopt", "trajopt.solvers": ROOT / "solvers", "trajopt.problems": ROOT / "problems"}
ON_TOP = (
    *("trajopt.cli", "trajopt.__main__", "trajopt.mpc", "trajopt.ik", "trajopt.inverse_dynamics"),
    *("trajopt.sweeps", "trajopt.retiming", "trajopt.planning", "trajopt.plotting", "trajopt.display"),
)
"""What may use solvers and problems although it lies in trajopt/."""

MAY_IMPORT = {
    "trajopt": ("trajopt",),
    "trajopt.solvers": ("trajopt", "trajopt.solvers"),
    "trajopt.problems": ("trajopt", "trajopt.solvers", "trajopt.problems"),
}
LOWER = (
    *(
        "trajopt.errors",
        "trajopt.types",
        "trajopt.checks",
        "trajopt.lie",
        "trajopt.files",
        "trajopt.source",
        "trajopt.notebook",
        "trajopt.cache",
    ),
    "trajopt.kernels",
    *("trajopt.objects", "trajopt.model", "trajopt.robots", "trajopt.dynamics", "trajopt.states", "trajopt.instant"),
    *("trajopt.contacts", "trajopt.activations", "trajopt.actuation", "trajopt.residuals", "trajopt.costs"),
    *("trajopt.constraints", "trajopt.networks"),
    *("trajopt.actions", "trajopt.shooting", "trajopt.simulator", "trajopt.plants"),
    *("trajopt.analysis", "trajopt.callbacks"),
    *("trajopt.solution", "trajopt.analysis.advice", "trajopt.gaits", "trajopt.planar", "trajopt.retiming"),
    *("trajopt.identification", "trajopt.inverse_dynamics", "trajopt.ik", "trajopt.planning", "trajopt.mpc"),
    *("trajopt.sweeps", "trajopt.plotting", "trajopt.display"),
)
"""Rooms from the ground up: each imports of these only what stands before it, or itself."""

LONGEST_FILE, LONGEST_FUNCTION = 400, 60
EXCUSE = "onger than"  # "Longer than a file should be, because ..." in the docstring of the file


@cache
def modules() -> dict[str, Path]:
    """Every module of the package with its file."""
    found = {}
    for room, folder in ROOMS.items():
        for file in sorted(folder.rglob("*.py")):
            parts = file.relative_to(folder).with_suffix("").parts
            found[".".join([room, *parts]).removesuffix(".__init__")] = file
    return found


@cache
def tree_of(file: Path) -> ast.Module:
    return ast.parse(file.read_text(), str(file))


@cache
def nodes_of(file: Path) -> tuple[ast.AST, ...]:
    return tuple(ast.walk(tree_of(file)))


def python_files() -> list[Path]:
    """All files of the project."""
    files = [*modules().values(), *(f for d in ("tests", "examples") for f in sorted((ROOT / d).rglob("*.py")))]
    return sorted(files)


@cache
def imports(module: str) -> tuple[str, ...]:
    """What a module imports, also inside functions and by `lazy`; not what is for type checkers alone.

    The package itself may load all rooms by `lazy`.
    """
    file, found = modules()[module], list[str]()
    package = module if file.name == "__init__.py" else module.rpartition(".")[0]
    apart = [n for n in nodes_of(file) if isinstance(n, ast.If) and _is_for_type_checkers(n)]
    if module != "trajopt":
        apart = [node for node in apart if not any(_is_lazy(n) for n in ast.walk(node))]
    skipped = {id(n) for node in apart for n in ast.walk(node)}
    for node in nodes_of(file):
        if id(node) in skipped:
            continue
        if isinstance(node, ast.Import):
            found += [alias.name for alias in node.names]
        elif isinstance(node, ast.ImportFrom):
            base = node.module or ""
            if node.level:
                above = package.split(".")[: len(package.split(".")) - node.level + 1]
                base = ".".join([*above, base]).rstrip(".")
            names = [f"{base}.{a.name}" for a in node.names]
            found += [name if name in modules() else base for name in names]
    return tuple(found)


def _is_lazy(node: ast.AST) -> bool:
    return isinstance(node, ast.Call) and isinstance(node.func, ast.Name) and node.func.id == "lazy"


def _is_for_type_checkers(node: ast.If) -> bool:
    return any("TYPE_CHECKING" in (getattr(n, "id", ""), getattr(n, "attr", "")) for n in ast.walk(node.test))


def room_of(module: str) -> str:
    for room in ("trajopt.problems", "trajopt.solvers", "trajopt"):
        if module == room or module.startswith(f"{room}."):
            return room
    return module.split(".")[0]


def test_rooms_import_one_way() -> None:
    wrong = []
    for module in modules():
        for name in imports(module):
            room, other = room_of(module), room_of(name)
            if room == "trajopt" and module.startswith(ON_TOP):
                room = "trajopt.problems"
            if other in ("tests", "examples", "solvers", "problems") or (
                other.startswith("trajopt") and other not in MAY_IMPORT[room]
            ):
                wrong.append(f"{module} imports {name}")
    assert not wrong, "\n".join(wrong)


def level_of(module: str) -> int | None:
    rooms = [room for room in LOWER if module == room or module.startswith(f"{room}.")]
    return LOWER.index(max(rooms, key=len)) if rooms else None


def test_results_do_not_draw_themselves() -> None:
    """Solutions name their pictures, which lie above them, see `trajopt.objects.lazy.above`."""
    rooms = ("trajopt.solution", "trajopt.analysis", "trajopt.gaits", "trajopt.ik", "trajopt.mpc", "trajopt.sweeps")
    drawing = ("trajopt.plotting", "trajopt.display", "matplotlib")
    pairs = [(m, name) for m in modules() if m.startswith(rooms) for name in imports(m) if name.startswith(drawing)]
    assert not pairs, "\n".join(f"{module} imports {name}" for module, name in pairs)


def test_rooms_stand_on_each_other() -> None:
    """Kernels know nothing of robots, states nothing of actions, and no model of the shooting problem above it."""
    pairs = [(module, name) for module in modules() for name in imports(module)]
    levels = [(level_of(module), level_of(name), f"{module} imports {name}") for module, name in pairs]
    wrong = {text for low, high, text in levels if low is not None and high is not None and low < high}
    assert not wrong, "\n".join(sorted(wrong))


def test_stored_programs_depend_on_the_rooms_that_are_imported() -> None:
    """`trajopt.source` reads imports by a pattern, which is fast; it may see those of examples in docstrings too."""
    below: dict[str, set[str]] = {module.split(".")[1]: set() for module in modules() if module != "trajopt"}
    for module in (m for m in modules() if m != "trajopt"):
        below[module.split(".")[1]] |= {n.split(".")[1] for n in imports(module) if n in modules() and n != "trajopt"}

    def closure(room: str, seen: frozenset[str]) -> frozenset[str]:
        for other in sorted(below[room] - seen):
            seen = closure(other, seen | {other})
        return seen

    missed = {room: closure(room, frozenset([room])) - source.rooms_below([room]) for room in below}
    assert not {room: rooms for room, rooms in missed.items() if rooms}
    assert not source.rooms_below(["shooting"]) & {"plotting", "problems", "simulator", "solution", "solvers"}


def test_rooms_read_no_private_members_of_each_other() -> None:
    """`x._name` belongs to the file that says it, or to one of its room that it imports; `self._name` to its room."""
    places: dict[str, set[str]] = {}
    for module in modules():
        for name in private_names(module):
            places.setdefault(name, set()).add(module)
    wrong = []
    for module, file in modules().items():
        near = {module, *(n.module for n in nodes_of(file) if isinstance(n, ast.ImportFrom))}
        for node in nodes_of(file):
            if not isinstance(node, ast.Attribute) or node.attr not in places:
                continue
            own = isinstance(node.value, ast.Name) and node.value.id in ("self", "cls")
            own = own or (isinstance(node.value, ast.Call) and ast.unparse(node.value) == "super()")
            here = {other for other in places[node.attr] if folder_of(other) == folder_of(module)}
            if not (here if own else here & near):
                wrong.append(f"{module}:{node.lineno} {ast.unparse(node)}, of {', '.join(sorted(places[node.attr]))}")
    assert not wrong, "\n".join(wrong)


def test_private_methods_are_overridden_in_their_room_alone() -> None:
    wrong = []
    for module in (name for name in modules() if name != "trajopt.__main__"):
        for cls in (c for c in vars(importlib.import_module(module)).values() if inspect.isclass(c)):
            for base in cls.__mro__[1:] if cls.__module__ == module else ():
                if base.__module__ in modules() and folder_of(base.__module__) != folder_of(module):
                    own = {name for name in vars(cls) if is_private(name) and name != "_abc_impl"}
                    wrong += [f"{module}.{cls.__name__}.{name}, of {base.__module__}" for name in own & set(vars(base))]
    assert not wrong, "\n".join(wrong)


@cache
def private_names(module: str) -> frozenset[str]:
    """Private functions, classes, attributes and variables that a module defines."""
    found = set()
    for node in nodes_of(modules()[module]):
        stored = isinstance(getattr(node, "ctx", None), ast.Store)
        if isinstance(node, (ast.FunctionDef, ast.ClassDef)):
            found.add(node.name)
        elif stored and isinstance(node, ast.Name):
            found.add(node.id)
        elif stored and isinstance(node, ast.Attribute) and getattr(node.value, "id", "") == "self":
            found.add(node.attr)
    return frozenset(filter(is_private, found))


def is_private(name: str) -> bool:
    """Such as "_table"; neither "__init__" nor "_repr_html_", by which others ask."""
    return name.startswith("_") and not name.startswith("__") and not name.endswith("_")


def folder_of(module: str) -> str:
    """Room of a module: "trajopt.shooting", "trajopt.solvers"."""
    return ".".join(module.split(".")[:2])


def test_no_modules_import_each_other_in_a_circle() -> None:
    """Not even when they import inside a function; a file may import the rooms' `__init__` of other rooms."""
    edges = {m: {i for i in imports(m) if i in modules() and i != m} for m in modules()}
    done: set[str] = set()

    def visit(module: str, path: tuple[str, ...]) -> None:
        assert module not in path, " -> ".join([*path[path.index(module) :], module])
        if module not in done:
            for other in sorted(edges[module]):
                visit(other, (*path, module))
            done.add(module)

    for module in sorted(edges):
        visit(module, ())


def test_only_a_few_files_lie_directly_in_the_package() -> None:
    loose = {file.stem for file in (ROOT / "trajopt").glob("*.py")}
    basics = {"errors", "checks", "types", "source", "files", "notebook"}
    assert loose == {"__init__", "__main__", "instant"} | basics


def test_only_what_is_used_is_loaded() -> None:
    """Solvers, problems and the libraries of plots and the command line wait until they are used."""
    code = (
        "import sys, trajopt;"
        "lazy = ('trajopt.solvers', 'trajopt.problems', 'trajopt.plotting', 'matplotlib', 'rich', 'typer', "
        "'trajopt.display', 'trajopt.sweeps', 'viser', 'trimesh');"
        "loaded = [m for m in lazy if m in sys.modules]; assert not loaded, loaded;"
        "assert trajopt.solvers.SolverFDDP; assert trajopt.problems.names; assert 'trajopt.solvers' in sys.modules;"
        "assert 'solvers' in dir(trajopt); assert trajopt.sweep is trajopt.sweeps.sweep"
    )
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=False, cwd=ROOT)
    assert done.returncode == 0, done.stderr


def test_a_reach_loads_only_what_it_needs() -> None:
    """The command `trajopt solve` for an arm, from the robot's file to the report of the motion, quiet and not."""
    code = (
        "import sys, trajopt.cli; from typer.testing import CliRunner\n"
        "for quiet in ([], ['--quiet']):\n"
        "    words = ['solve', 'arm-reach', '--robot', 'planar-2r', *quiet]\n"
        "    done = CliRunner().invoke(trajopt.cli.app, words)\n"
        "    assert done.exit_code == 0, done.output\n"
        "print(*sys.modules)"
    )
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=False, cwd=ROOT)
    assert done.returncode == 0, done.stderr
    loaded = set(done.stdout.split())
    rooms = ("display", "gaits", "identification", "ik", "inverse_dynamics", "mpc", "planar", "plotting", "simulator")
    others = (
        *("sweeps", "problems.pendulum", "solvers.ddp.box_ddp"),
        *("solvers.nlp", "solvers.qp", "solvers.sensitivity", "solvers.sqp.solver"),
    )
    libraries = ("gmpy2", "matplotlib", "numpy.ma", "osqp", "PIL", "scipy", "trimesh", "viser")
    unneeded = {*libraries, *(f"trajopt.{name}" for name in (*rooms, *others))}
    assert "trajopt.problems.arm_reach" in loaded
    assert not loaded & unneeded


def is_lazy(module: str) -> bool:
    file = modules()[module]
    return "lazy(" in file.read_text() and any(_is_lazy(node) for node in nodes_of(file))


@pytest.mark.parametrize("name", [m for m in modules() if is_lazy(m)])
def test_what_type_checkers_see_is_imported_when_it_is_used(name: str) -> None:
    """A lazy package imports all names that it imports for type checkers, each from the same module."""
    block = next(n for n in tree_of(modules()[name]).body if isinstance(n, ast.If) and _is_for_type_checkers(n))
    seen = {}
    for node in block.body:
        assert isinstance(node, (ast.Import, ast.ImportFrom))
        for alias in node.names:
            seen[alias.asname or alias.name] = node.module if isinstance(node, ast.ImportFrom) else alias.name
    package = importlib.import_module(name)
    assert lazy_names(name) == seen
    assert set(seen) <= set(package.__all__) <= set(dir(package))
    assert all(hasattr(package, each) for each in package.__all__)
    for each, where in seen.items():
        module = importlib.import_module(where)
        assert getattr(package, each) is (module if where == f"{name}.{each}" else getattr(module, each))


def test_every_module_is_packaged() -> None:
    """By the links from src/ to trajopt/ and from there to solvers/ and problems/."""
    source = ROOT / tomllib.loads((ROOT / "pyproject.toml").read_text())["tool"]["setuptools"]["package-dir"][""]
    files = {name: source.joinpath(*name.split(".")) for name in modules()}
    missing = [
        name for name, f in files.items() if not (f.with_suffix(".py").is_file() or (f / "__init__.py").is_file())
    ]
    assert not missing, missing
    assert [entry.name for entry in source.iterdir() if not entry.name.endswith(".egg-info")] == ["trajopt"]
    without = {str(f.parent) for f in modules().values() if not (f.parent / "__init__.py").exists()}
    assert not without, f"folders without __init__.py: {without}"


def test_files_and_functions_are_short_or_say_why_not() -> None:
    offenders = [f"{file.relative_to(ROOT)}: {what}" for file in python_files() for what in _too_long(file)]
    assert not offenders, "\n".join(
        [*offenders, "split, or say why not in the file's docstring: 'Longer than ..., because ...'"]
    )


def _too_long(file: Path) -> Iterator[str]:
    text = file.read_text()
    docstring = ast.get_docstring(tree_of(file)) or ""
    if text.strip() and not docstring:
        yield "no docstring: the first line says what the file is"
    if EXCUSE in docstring:
        return
    if text.count("\n") > LONGEST_FILE:
        yield f"{text.count(chr(10))} lines"
    for node in nodes_of(file):
        if isinstance(node, ast.FunctionDef):
            first = node.body[1] if ast.get_docstring(node) and len(node.body) > 1 else node.body[0]
            length = (node.end_lineno or 0) - first.lineno + 1
            if length > LONGEST_FUNCTION:
                yield f"{node.name} has a body of {length} lines"


def test_everything_public_has_a_docstring() -> None:
    """A method that overrides another may inherit its docstring; that of a class may list lazy attributes."""
    names = [name for name in modules() if name != "trajopt.__main__"]
    offenders = [f"{name}: {what}" for name in names for what in _without_docstring(importlib.import_module(name))]
    assert not offenders, "\n".join(offenders)


def _without_docstring(module: ModuleType) -> Iterator[str]:
    if not module.__doc__:
        yield "the module"
    for key, value in vars(module).items():
        if key.startswith("_") or getattr(value, "__module__", None) != module.__name__:
            continue
        if inspect.isclass(value):
            if not value.__dict__.get("__doc__"):
                yield key
            yield from (f"{key}.{m}" for m, method in vars(value).items() if _lacks_docstring(value, m, method))
        elif inspect.isfunction(value) and not inspect.getdoc(value):
            yield key


def test_first_lines_say_what_a_thing_is_or_does() -> None:
    """Such as "Content hash of a model"; not "What models consist of, as a digest"."""
    questions = ("What ", "Who ", "Whoever ", "Which ", "How ", "Where ")
    firsts = [
        (name, (ast.get_docstring(node) or "").split("\n")[0])
        for name, file in modules().items()
        for node in nodes_of(file)
        if isinstance(node, (ast.Module, ast.ClassDef, ast.FunctionDef))
    ]
    offenders = [f"{name}: {first}" for name, first in firsts if first.startswith(questions)]
    assert not offenders, "\n".join(offenders)


def _lacks_docstring(owner: type, name: str, member: object) -> bool:
    if name.startswith("_") or not (
        inspect.isfunction(member)
        or isinstance(member, (property, classmethod, staticmethod))
        or hasattr(member, "func")
    ):
        return False
    listed = f"\n        {name}: " in (owner.__doc__ or "")  # among the attributes of the class
    return not (listed or any(inspect.getdoc(vars(base)[name]) for base in owner.__mro__ if name in vars(base)))
