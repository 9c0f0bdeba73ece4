"""Pages of the ready problems and closed loops: each is solved once, drawn and described.

What was found is kept in docs/_build/problems until the package changes.
"""

from __future__ import annotations

import json
import os
from concurrent.futures import ProcessPoolExecutor
from multiprocessing import get_context
from pathlib import Path
from typing import Any

from sphinx.application import Sphinx
from sphinx.util.display import status_iterator

from machinery.files import JOBS, source_changed, update

DOCS = Path(__file__).parents[1]
FOUND = DOCS / "_build" / "problems"
PAGES = DOCS / "problems"

MOTIONS = ("arm-reach", "humanoid-reach", "quadruped-trot", "stand-up")
"""Problems whose page holds a view of the motion that can be turned; each takes a few megabytes."""


def solve(name: str, loop: bool) -> None:
    """Solves a problem, or runs a closed loop, with its defaults; writes its picture, its motion and its report."""
    import matplotlib

    matplotlib.use("agg")
    from trajopt import problems

    case: Any = (problems.mpc if loop else problems).load(name)
    picture = PAGES / f"{name}.png"
    if loop:
        log = case.simulate()
        log.plot(picture, title=name, **case.surroundings)
        told = {"rows": log.report() | case.report(log), "cost": "", "iterations": ""}
    else:
        from trajopt.analysis import constraints_report, limits_report
        from trajopt.plotting import plot_summary

        solution = case.solve()
        plot_summary(solution, picture, title=name, obstacles=case.obstacles)
        rows = {
            "status": str(solution.status),
            "cost": f"{solution.cost:.8g}",
            "solver": solution.solver,
            "iterations": str(solution.iterations),
            **case.report(solution),
            **limits_report(solution),
            **constraints_report(solution),
        }
        told = {"rows": rows, "cost": f"{solution.cost:.6g}", "iterations": str(solution.iterations)}
        told["motion"] = name in MOTIONS and write_motion(solution, PAGES / "motions" / f"{name}.html")
    from matplotlib.image import thumbnail

    thumbnail(str(picture), str(PAGES / f"{name}-small.png"), scale=0.2)
    update(FOUND / f"{name}.json", json.dumps(told))


def write_motion(solution: Any, file: Path) -> bool:
    """Writes a motion as a page that plays by itself, for `iframe`; tells whether there is what it takes."""
    from trajopt.errors import MissingDependencyError

    file.parent.mkdir(parents=True, exist_ok=True)
    try:
        solution.show(path=file)
    except MissingDependencyError:
        return False
    return True


def solve_all(workers: int) -> None:
    """Solves what has not been solved with this source yet."""
    from trajopt import problems

    if source_changed(FOUND / "source"):
        for old in FOUND.glob("*.json"):
            old.unlink()
    PAGES.mkdir(exist_ok=True)
    names = [(name, False) for name in problems.names()] + [(name, True) for name in problems.mpc.names()]
    names = [
        pair for pair in names if not (FOUND / f"{pair[0]}.json").exists() or not (PAGES / f"{pair[0]}.png").exists()
    ]
    if os.environ.get("TRAJOPT_DOCS_QUICK") or not names:
        return
    with ProcessPoolExecutor(max_workers=workers, mp_context=get_context("spawn")) as pool:
        jobs = {name: pool.submit(solve, name, loop) for name, loop in names}
        for name in status_iterator(jobs, "solving problems... ", "purple", len(jobs), 0):
            jobs[name].result()


def page(about: Any, told: dict[str, Any], command: str) -> str:
    """The page of one problem."""
    lines = [f"# {about.name}", "", about.description, "", "```text", command, "```", ""]
    if told:
        lines += ["```text", *(f"{key:<12}{words}" for key, words in told["rows"].items()), "```", ""]
    if told.get("motion"):
        frame = f'<iframe src="motions/{about.name}.html" loading="lazy" class="motion" title="The motion"></iframe>'
        lines += ["```{raw} html", frame, "```", ""]
    if told:
        lines += [f"![The motion in pictures and curves]({about.name}.png)", ""]
    if about.robots:
        more = ", or any arm by name or file" if about.any_robot else ""
        lines += ["Robots (`--robot`): " + ", ".join(f"`{robot}`" for robot in about.robots) + more + ".", ""]
    if about.options:
        lines += ["| `--set` | default | meaning |", "|---|---|---|"]
        for option, default in about.options.items():
            usual = about.usual.get(option) if default is None else default
            lines.append(
                f"| `{option}` | {cell('none' if usual is None else usual)} | {cell(about.meanings.get(option, ''))} |"
            )
        lines.append("")
    if about.reference_cost is not None:
        lines += [f"Known cost: {about.reference_cost:.8g} ({about.reference_source}).", ""]
    return "\n".join(lines)


def cell(value: Any) -> str:
    """Text for a cell of a table."""
    text = str(value)
    for mark in "\\|*_<$`":
        text = text.replace(mark, "\\" + mark)
    return text


def write() -> None:
    """Writes the pages from what was found."""
    from trajopt import problems

    ready = [(problems.describe(name), f"trajopt solve {name} --plot {name}.png") for name in problems.names()]
    loops = [(problems.mpc.describe(name), f"trajopt mpc {name} --plot {name}.png") for name in problems.mpc.names()]
    lines = [
        "# Ready problems",
        "",
        "Each of these is solved by one command, and built by one line: "
        "`trajopt.problems.load(name, robot=..., **options)`.",
        "",
    ]
    kept = {PAGES / "index.md"}
    for title, group in (("Problems", ready), ("Closed loops", loops)):
        costs = title == "Problems"
        lines += [f"## {title}", "", "| | name | about |" + (" cost | iterations |" if costs else "")]
        lines += ["|---|---|---|" + ("---:|---:|" if costs else "")]
        for about, command in group:
            file = FOUND / f"{about.name}.json"
            told = json.loads(file.read_text(encoding="utf-8")) if file.exists() else {}
            picture = f"![]({about.name}-small.png)" if told else ""
            outcome = f" {told.get('cost', '')} | {told.get('iterations', '')} |" if costs else ""
            lines.append(f"| {picture} | [{about.name}]({about.name}.md) | {cell(about.description)} |{outcome}")
            update(PAGES / f"{about.name}.md", page(about, told, command))
            kept.add(PAGES / f"{about.name}.md")
        lines.append("")
    listed = "\n".join(about.name for about, _ in (*ready, *loops))
    update(PAGES / "index.md", "\n".join(lines) + f"\n```{{toctree}}\n:hidden:\n\n{listed}\n```\n")
    for old in set(PAGES.glob("*.md")) - kept:
        old.unlink()


def copy_motions(app: Sphinx, error: Exception | None) -> None:
    """Copies the motions beside the pages that hold them."""
    motions = PAGES / "motions"
    if error is None and motions.exists():
        target = Path(app.outdir) / "problems" / "motions"
        target.mkdir(parents=True, exist_ok=True)
        for file in motions.glob("*.html"):
            target.joinpath(file.name).write_bytes(file.read_bytes())


def build(app: Sphinx) -> None:
    """Solves, then writes."""
    solve_all(JOBS)
    write()


def setup(app: Sphinx) -> None:
    """Connects the pages; they are written before any page is read."""
    app.connect("builder-inited", build)
    app.connect("build-finished", copy_motions)
