"""Bars of the documents: their length, their version, and the code of pages that README links to."""

from __future__ import annotations

import functools
import re
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import trajopt
from trajopt.analysis import motion_report
from trajopt.analysis.between_knots import LEAST

ROOT = Path(__file__).parents[2]


def text_of(name: str) -> str:
    return (ROOT / name).read_text(encoding="utf-8")


@functools.cache
def names_of(name: str, cells: int | None = None) -> dict[str, Any]:
    """Names after the cells of a page, or after its first ones, run one after the other in a fresh namespace."""
    names: dict[str, Any] = {"__name__": name}
    for i, cell in enumerate(re.findall(r"(?ms)^```\{code-cell\} ipython3\n(.*?)^```", text_of(name))[:cells]):
        exec(compile(cell, f"{name}, cell {i}", "exec"), names)
    return names


# length and version


@pytest.mark.parametrize(
    ("name", "words"), [("README.md", 1800), ("docs/design-notes.md", 1500), ("CHANGELOG.md", 1800)]
)
def test_documents_are_short(name: str, words: int) -> None:
    assert len(text_of(name).split()) <= words


def test_the_readme_has_at_most_two_hundred_lines() -> None:
    assert len(text_of("README.md").splitlines()) <= 200


def test_one_version() -> None:
    (project,) = re.findall(r'(?m)^version = "(.*)"', text_of("pyproject.toml"))
    (citation,) = re.findall(r"(?m)^version: (.*)", text_of("CITATION.cff"))
    (changes, *_) = re.findall(r"(?m)^## (\d[\d.]*)$", text_of("CHANGELOG.md"))
    assert trajopt.__version__ == project == citation == changes


def test_every_page_is_in_a_table_of_contents() -> None:
    docs = ROOT / "docs"
    pages = {page.relative_to(docs).with_suffix("").as_posix() for page in docs.rglob("*.md")}
    pages = {page for page in pages if page.split("/")[0] not in ("_build", "examples", "problems", "api")}
    listed = {"index"}
    for page in pages:
        for tree in re.findall(r"(?s)```\{toctree\}\n(.*?)```", text_of(f"docs/{page}.md")):
            for line in (line for line in tree.splitlines() if line and not line.startswith(":")):
                entry = line[line.index("<") + 1 : -1] if line.endswith(">") else line
                listed.add((Path(page).parent / entry).as_posix())
    orphans = {page for page in pages if text_of(f"docs/{page}.md").startswith("---\norphan: true\n")}
    assert orphans == {"404"}
    assert sorted(pages - listed - orphans) == []


# inverse kinematics

KINEMATICS = "docs/howto/inverse-kinematics.md"


@pytest.mark.slow
def test_inverse_kinematics_reaches_its_targets() -> None:
    names = names_of(KINEMATICS)
    result, best, batch, robot = (names[name] for name in ("result", "best", "batch", "robot"))
    assert result.solved
    assert best.solved
    np.testing.assert_allclose(robot.placement(best.q, "panda_hand")[:3, 3], [0.4, 0.2, 0.5], atol=1e-5)
    assert best.cost <= 0.5 * np.sum((robot.placement(result.q, "panda_link4")[:3, 3] - [0.2, 0.0, 0.6]) ** 2)
    assert batch.solved.mean() >= 0.99


def test_a_path_is_followed() -> None:
    names = names_of(KINEMATICS)
    track, robot = names["track"], names["robot"]
    assert track.followed, str(track)
    reached = np.array([robot.placement(q, "panda_hand")[:3, 3] for q in track.qs[::100]])
    np.testing.assert_allclose(reached, names["path"][::100, :3, 3], atol=1e-4)
    np.testing.assert_allclose(names["command"].q, track.qs[1], atol=1e-9)
    assert "every constraint holds at all times" in str(track)


# control


@pytest.mark.slow
def test_the_controlled_arm_follows_its_reference() -> None:
    log = names_of("docs/howto/mpc.md")["log"]
    hand = log.tracked[0]
    times = log.times[:-1]
    assert hand.errors[(times > 0.5) & (times < 0.7)].max() < 5e-3  # [m]
    assert hand.errors[(times > 0.7) & (times < 0.85)].max() > 0.03  # the push
    assert hand.errors[-1] < hand.errors[times > 0.7].max() / 2
    assert log.control_excess.max() <= 1e-6
    assert log.counts["failed"] == 0


# robots in code, wheels


def test_a_robot_in_code_is_a_robot(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)  # it writes lifter.urdf
    robot = names_of("docs/howto/own-robot.md")["cart_pole"]
    assert (robot.nq, robot.nv) == (2, 2)
    assert robot.placement(np.array([0.3, np.pi / 2]), "pole")[:3, 2] == pytest.approx([1.0, 0.0, 0.0])  # lies along x
    assert robot.model.effortLimit[0] == 50.0


def test_a_path_asks_for_rates_of_wheels() -> None:
    names = names_of("docs/howto/wheels-and-maps.md")
    path, rates = names["path"], names["rates"]
    driven = 0.1 * rates.mean(axis=1)
    assert np.trapezoid(driven, dx=0.02) == pytest.approx(path.length, rel=1e-3)


# simulator


@pytest.mark.slow
def test_a_batch_of_the_simulator_has_the_steps_of_single_states() -> None:
    names = names_of("docs/notebooks/simulator.md", cells=3)
    nv = names["robot"].nv
    assert names["Dqdq"].shape == (2 * nv, 2 * nv)
    assert names["Dtau"].shape == (2 * nv, nv)
    np.testing.assert_allclose(names["ends"][100], names["x_next"], rtol=0, atol=1e-12)


@pytest.mark.parametrize(
    ("page", "words"),
    [
        ("howto/free-time.md", ("starts=8", 'steps="linear"')),
        ("howto/quadruped-trot.md", ("turn=", "sole=(")),
        ("howto/inverse-kinematics.md", ('"panda_finger_joint1": 0.02', "fixed=fingers", "velocity=")),
        ("howto/own-cost.md", ("names=[", "robot.joint_names")),
        ("concepts/constraints.md", ("names=[", f"{LEAST:.0e}".replace("e-0", "e-"))),
        ("concepts/reading-a-solution.md", ("uniform=True",)),
        (
            "conventions.md",
            ('friction="smooth"', "trajopt.SmoothFriction()", f"width {trajopt.SmoothFriction().width:g}"),
        ),
    ],
)
def test_pages_name_the_option_for_a_task(page: str, words: tuple[str, ...]) -> None:
    """Options that readers of the page had to look for elsewhere, with their true defaults."""
    assert [each for each in words if each not in text_of(f"docs/{page}")] == []


@pytest.mark.slow
def test_a_bend_of_the_trot_page_turns_by_its_angle() -> None:
    names = names_of("docs/howto/quadruped-trot.md", 6)
    assert names["around"].converged
    assert "turned 45° left" in motion_report(names["around"])["moved"]


def test_the_page_on_parameters_names_those_of_contacts() -> None:
    """Those of a gait's problem, whose contacts have stiffness and damping."""
    names = trajopt.problems.load("quadruped-trot", robot="small-quadruped").problem.parameters
    own = {name.rpartition(".")[2] for name in names if name.startswith("contacts.lf_foot.")}
    (row,) = re.findall(r"^\| `contacts\.NAME(\.\w+`.*?)\|", text_of("docs/concepts/parameters.md"), re.MULTILINE)
    assert set(re.findall(r"\.(\w+)`", row)) == own
