"""Logs in tables: the columns that the page names are those that `Solution.to_csv` writes; units may be left out."""

from __future__ import annotations

import csv
import re
from pathlib import Path

import numpy as np
import pytest

import trajopt
from trajopt.errors import InvalidArgumentError
from trajopt.identification import Log
from trajopt.solvers import SolverFDDP

PAGE = Path(__file__).parents[2] / "docs" / "howto" / "identify.md"


def test_columns_of_the_page_are_those_of_a_table(tmp_path: Path) -> None:
    robot = trajopt.load_robot("planar-2r")
    state = trajopt.StateMultibody(robot)
    costs = trajopt.CostStack(state).add("torque", trajopt.ResidualModelControl(state), weight=1.0)
    dynamics = trajopt.DifferentialActionModelFreeFwdDynamics(state, trajopt.ActuationModelFull(state), costs)
    knot = trajopt.IntegratedActionModelEuler(dynamics, dt=0.05)
    problem = trajopt.ShootingProblem(np.array([0.3, -0.2, 0.0, 0.0]), [knot] * 5, trajopt.CostStack(state))
    motion = SolverFDDP(problem).solve()
    path = motion.to_csv(tmp_path / "motion.csv")
    head, *rows = csv.reader(path.read_text().splitlines())
    sentence = re.search(r"Tables have columns(.*?), as\s+`solution.to_csv`", PAGE.read_text(), re.DOTALL)
    assert sentence is not None
    columns = re.findall("`(.*?)`", sentence[1])
    assert [each.partition(":")[0] for each in columns] == ["time [s]", "q", "v", "u"]
    joint = robot.joint_names[0]
    assert {each.replace("JOINT", joint) for each in columns} <= set(head)
    whole = Log.read(robot, path)
    bare = tmp_path / "bare.csv"
    bare.write_text("\n".join(",".join(row) for row in ([name.partition(" [")[0] for name in head], *rows)))
    np.testing.assert_array_equal(Log.read(robot, bare).states, whole.states)
    np.testing.assert_allclose(whole.states, motion.xs, atol=1e-12)
    saved = motion.save(tmp_path / "motion.npz")
    with pytest.raises(InvalidArgumentError, match=r"motion.npz: expected a log, got a file of Solution.save; .*csv"):
        Log.read(robot, saved)
