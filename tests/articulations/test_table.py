"""The table of joints, and orders of quaternions."""

import numpy as np
import pytest

import trajopt
from tests.articulations.support import tree
from trajopt.articulations import body_names, joint_table, wxyz_to_xyzw, xyzw_to_wxyz
from trajopt.errors import InvalidArgumentError


def test_an_arm_has_revolute_joints_with_its_limits() -> None:
    robot = trajopt.load_robot("ur5")
    rows = joint_table(robot)
    assert [row.name for row in rows] == list(robot.joint_names)
    assert {row.type for row in rows} == {"revolute"}
    assert [row.parent for row in rows] == ["world", *body_names(robot)[:-1]]
    assert [row.q_start for row in rows] == list(range(6))
    np.testing.assert_allclose([row.effort[0] for row in rows], [150, 150, 150, 28, 28, 28])
    np.testing.assert_allclose([row.upper[0] for row in rows], robot.model.upperPositionLimit)
    np.testing.assert_allclose(rows[0].axes, [[0, 0, 1]])
    np.testing.assert_allclose(rows[1].axes, [[0, 1, 0]])


def test_a_tree_has_every_type_and_its_sizes_add_up() -> None:
    robot = tree(1)
    rows = joint_table(robot)
    assert sum(row.nq for row in rows) == robot.nq
    assert sum(row.nv for row in rows) == robot.nv
    types = {"revolute", "prismatic", "helical", "ball", "planar", "free", "universal", "d6"}
    assert {row.type for row in rows} == types
    for row in rows:
        assert row.n_linear + row.n_angular == row.nv
        assert row.axes.shape == (row.nv, 3)
        np.testing.assert_allclose(np.linalg.norm(row.axes, axis=1), 1.0)
        assert row.lower.shape == row.upper.shape == (row.nq,)
        if row.type in ("ball", "free", "planar"):
            assert np.isinf(row.lower).all()
            assert np.isinf(row.upper).all()
    free = next(row for row in rows if row.type == "free")
    assert (free.nq, free.nv, free.n_linear, free.n_angular) == (7, 6, 3, 3)


def test_quaternions_change_their_order() -> None:
    q = np.arange(8.0).reshape(2, 4)
    np.testing.assert_array_equal(xyzw_to_wxyz(q)[0], [3, 0, 1, 2])
    np.testing.assert_array_equal(wxyz_to_xyzw(xyzw_to_wxyz(q)), q)
    with pytest.raises(InvalidArgumentError, match=r"\(\.\.\., 4\)"):
        wxyz_to_xyzw([1.0, 2.0])
