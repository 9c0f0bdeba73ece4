"""What the disk cache holds, by robot, kind and form: from labels, which tell it of all that a solve writes."""

from __future__ import annotations

from pathlib import Path

import pytest

from trajopt import cache, kernels, problems
from trajopt.cache.contents import OTHER, SHARED, parsed

LABELS = {
    "quick code: derivatives of dynamics of go2 with 4 contacts": ("go2", "dynamics", "quick code"),
    "expression: impulses of go2": ("go2", "dynamics", "expression"),
    "program: derivatives of costs at 12 controls of go2": ("go2", "costs", "program"),
    "expression: costs of the end of CartPole": ("CartPole", "costs", "expression"),
    "optimised code: derivatives of dynamics of ur5 and derivatives of costs of ur5 and derivatives of constraints of "
    "ur5": ("ur5", "dynamics and costs and constraints", "optimised code"),
    "optimised code: dynamics of ur5 and step and derivatives": ("ur5", "dynamics", "optimised code"),
    "program: expansion of ur5": ("ur5", "others", "program"),
    "expression: Model: Hessian of a stage": (SHARED, "others", "expression"),
    "quick code: matmul": (SHARED, "others", "quick code"),
    "": (SHARED, "others", OTHER),
    "seeds: something of ur5": (SHARED, "others", OTHER),
}


@pytest.mark.parametrize(("label", "meaning"), LABELS.items())
def test_label(label: str, meaning: tuple[str, str, str]) -> None:
    assert parsed(label) == meaning


def test_contents_sort_robots_by_size_with_shared_code_last(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("TRAJOPT_CACHE_DIR", str(tmp_path / "cache"))
    labels = ["quick code: matmul", "quick code: costs of a", "quick code: dynamics of b", "quick code: dynamics of a"]
    for i, label in enumerate([*labels, labels[-1]]):
        cache.store(cache.key(str(i)), bytes(9000 - 2000 * i), label)
    found = cache.contents()
    assert [(each.robot, each.kind, each.entries) for each in found] == [
        ("a", "dynamics", 2),
        ("a", "costs", 1),
        ("b", "dynamics", 1),
        (SHARED, "others", 1),
    ]
    assert sum(each.size for each in found) == cache.info().size


def test_all_that_a_solve_writes_has_a_label(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("TRAJOPT_CACHE_DIR", str(tmp_path / "cache"))
    monkeypatch.setenv("TRAJOPT_OPTIMISE", "off")
    kernels.forget()
    problems.load("arm-reach", "planar-2r").solve()
    found = cache.contents()
    assert {each.form for each in found} <= set(cache.FORMS)
    kinds = {each.kind for each in found if each.robot == "planar-2r"}
    assert {"dynamics", "costs"} <= kinds
