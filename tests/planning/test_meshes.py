"""Plans, inverse kinematics and reports among meshes with a grid, against Coal."""

from __future__ import annotations

import numpy as np
import numpy.typing as npt
import pinocchio as pin
import pytest

import trajopt
from tests.planning.test_plan import GOAL, LENGTHS, LIMITS, START, THICK, arm
from tests.support.meshes import coal_distances, ring
from trajopt import ik
from trajopt.planning import plan

Reals = npt.NDArray[np.float64]

CELL, MARGIN, RADII = 0.01, 0.02, (0.2, 0.03)
MIDDLE = pin.SE3(pin.rpy.rpyToMatrix(0.0, np.pi / 2, 0.0), np.array([0.75, 0.0, 0.0]))  # the ring's axis is along x
RING = trajopt.TriangleMesh(ring(48, 16, RADII), placement=MIDDLE, cell=CELL)
SCENE = trajopt.Scene({"ring": RING})


def gaps(qs: Reals) -> Reals:
    """Least distance (n,) of points on the axes of links from the mesh, by Coal [m]."""
    shares, found = np.linspace(0.0, 1.0, 21), []
    for q in qs:
        poses = [arm().placement(q, f"link_{i + 1}") for i in range(3)]
        points = np.concatenate(
            [pose[:3, 3] + length * shares[:, None] * pose[:3, 0] for pose, length in zip(poses, LENGTHS)]
        )
        found.append(coal_distances(RING.triangles, (points - MIDDLE.translation) @ MIDDLE.rotation).min() - THICK)
    return np.array(found)


@pytest.mark.slow
def test_a_plan_keeps_the_margin_from_a_mesh() -> None:
    line = START + np.linspace(0.0, 1.0, 60)[:, None] * (GOAL - START)
    assert gaps(line).min() < 0.0
    found = plan(arm(), START, GOAL, SCENE, margin=MARGIN, **LIMITS)
    assert found.solved
    assert found.motion is not None
    q, _, _ = found.motion.at(np.linspace(0.0, found.motion.duration, 120))
    assert gaps(q).min() > MARGIN - 0.5 * CELL
    assert found.clearance().distance == pytest.approx(gaps(q).min(), abs=CELL)


@pytest.mark.slow
def test_an_arm_reaches_through_a_ring() -> None:
    """Its straight configuration is free, although the ring's own bodies or its convex hull would close the hole."""
    assert gaps(np.zeros((1, 3)))[0] == pytest.approx(RADII[0] - RADII[1] - THICK, abs=1e-3)
    state = trajopt.StateMultibody(arm())
    tasks = trajopt.ConstraintStack(state)
    tasks.add("tool", trajopt.ResidualModelFrameTranslation(state, "tool", [1.05, 0.0, 0.05]), equals=0.0)
    result = ik.solve(arm(), tasks, collisions=SCENE, margin=MARGIN)
    assert result.status is ik.IKStatus.SOLVED
    assert gaps(result.q[None])[0] > MARGIN - 0.5 * CELL
    aside = ik.solve(arm(), tasks, {"collisions.ring": [0.75, 0.0, 0.17, *pin.Quaternion(MIDDLE.rotation).coeffs()]},
                     collisions=SCENE, margin=MARGIN)  # fmt: skip
    assert aside.status is not ik.IKStatus.SOLVED or not np.allclose(aside.q, result.q)
