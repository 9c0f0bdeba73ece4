"""States of a robot in MuJoCo's coordinates, and back."""

from __future__ import annotations

from typing import Any

import numpy as np
import pinocchio as pin

from trajopt.errors import InvalidArgumentError
from trajopt.plants.mujoco.joints import WXYZ, XYZW, plan_of
from trajopt.types import Reals


class StateMap:
    """Maps states (q, v) and generalized forces of a robot to MuJoCo's, joint by joint; see `joints`.

    Args:
        robot: Pinocchio's model.
        peer: MuJoCo's model, in which the joints have the same names.

    Raises:
        InvalidArgumentError: MuJoCo's model has other joints.
    """

    def __init__(self, robot: pin.Model, peer: Any) -> None:
        self._nq, self._nv = robot.nq, robot.nv
        self._peer_nq, self._peer_nv = peer.nq, peer.nv
        plain: list[tuple[int, int]] = []
        self._angles, self._velocities = list[tuple[int, int]](), list[tuple[int, int]]()
        self._balls, self._planar = list[tuple[int, int]](), list[tuple[int, int, int]]()
        self._free = list[tuple[int, int, int, int, pin.SE3]]()
        for i in range(1, robot.njoints):
            plan, iq, iv = plan_of(robot, i), robot.idx_qs[i], robot.idx_vs[i]
            names = joint_names(robot.names[i], max(1, len(plan.screws)))
            places = [_place(peer, name) for name in names]
            qs, vs = [q for q, _ in places], [v for _, v in places]
            if plan.kind == "free":
                self._free.append((iq, iv, qs[0], vs[0], plan.placement))
            elif plan.kind == "ball":
                self._balls.append((iq, qs[0]))
                self._velocities += [(iv + k, vs[0] + k) for k in range(3)]
            elif plan.kind == "planar":
                plain += list(zip((iq, iq + 1), qs))
                self._angles.append((iq + 2, qs[2]))
                self._planar.append((iv, vs[0], iq + 2))
                self._velocities.append((iv + 2, vs[2]))
            elif robot.nqs[i] == len(names):
                plain += list(zip(range(iq, iq + len(names)), qs))
                self._velocities += list(zip(range(iv, iv + len(names)), vs))
            else:
                self._mixed(robot.joints[i].extract(), qs, plain)
                self._velocities += list(zip(range(iv, iv + len(names)), vs))
        self._q, self._peer_q = (np.array([pair[k] for pair in plain], dtype=np.int64) for k in (0, 1))
        self._v, self._peer_v = (np.array([pair[k] for pair in self._velocities], dtype=np.int64) for k in (0, 1))
        mapped = len(self._v) + 2 * len(self._planar) + 6 * len(self._free)
        if mapped != peer.nv:
            raise InvalidArgumentError(
                f"robot: expected a file whose {peer.nv} velocities Pinocchio reads, got {mapped}; lock other joints"
            )

    def _mixed(self, joint: Any, qs: list[int], plain: list[tuple[int, int]]) -> None:
        """Coordinates of a joint with angles (cos, sin), alone or in a composite joint."""
        composite = joint.shortname() == "JointModelComposite"
        parts, iq = ([sub.extract() for sub in joint.joints] if composite else [joint]), joint.idx_q
        left = iter(qs)
        for part in parts:
            if part.nq == 2 and part.nv == 1:
                self._angles.append((iq, next(left)))
            else:
                plain += [(iq + k, next(left)) for k in range(part.nq)]
            iq += part.nq

    def to_peer(self, x: Reals) -> tuple[Reals, Reals]:
        """MuJoCo's qpos (peer.nq,) and qvel (peer.nv,) of a state (nx,)."""
        qpos, v = np.zeros(self._peer_nq), x[self._nq :]
        qpos[self._peer_q] = x[self._q]
        for iq, place in self._angles:
            qpos[place] = np.arctan2(x[iq + 1], x[iq])
        for iq, place in self._balls:
            qpos[place : place + 4] = x[iq : iq + 4][WXYZ]
        for iq, _, place, _, base in self._free:
            pose = base * pin.XYZQUATToSE3(x[iq : iq + 7])
            qpos[place : place + 7] = pin.SE3ToXYZQUAT(pose)[[0, 1, 2, 6, 3, 4, 5]]
        return qpos, self.force_to_peer(x, v)

    def force_to_peer(self, x: Reals, force: Reals) -> Reals:
        """MuJoCo's generalized force, or velocity, (peer.nv,) of one (nv,) at a state (nx,)."""
        result = np.zeros(self._peer_nv)
        result[self._peer_v] = force[self._v]
        for iv, place, angle in self._planar:
            result[place : place + 2] = _turned(x[angle], x[angle + 1], force[iv : iv + 2])
        for iq, iv, _, place, base in self._free:
            R = base.rotation @ pin.Quaternion(x[iq + 3 : iq + 7]).matrix()
            result[place : place + 3] = R @ force[iv : iv + 3]
            result[place + 3 : place + 6] = force[iv + 3 : iv + 6]
        return result

    def from_peer(self, qpos: Reals, qvel: Reals) -> Reals:
        """State (nx,) of MuJoCo's qpos and qvel."""
        x = np.zeros(self._nq + self._nv)
        v = x[self._nq :]
        x[self._q] = qpos[self._peer_q]
        v[self._v] = qvel[self._peer_v]
        for iq, place in self._angles:
            x[iq], x[iq + 1] = np.cos(qpos[place]), np.sin(qpos[place])
        for iq, place in self._balls:
            x[iq : iq + 4] = _unit(qpos[place : place + 4][XYZW])
        for iv, place, angle in self._planar:
            v[iv : iv + 2] = _turned(x[angle], -x[angle + 1], qvel[place : place + 2])
        for iq, iv, place, rates, base in self._free:
            position, quaternion = qpos[place : place + 3], _unit(qpos[place + 3 : place + 7][XYZW])
            pose = base.actInv(pin.XYZQUATToSE3(np.concatenate([position, quaternion])))
            x[iq : iq + 7] = pin.SE3ToXYZQUAT(pose)
            R = base.rotation @ pose.rotation
            v[iv : iv + 3], v[iv + 3 : iv + 6] = R.T @ qvel[rates : rates + 3], qvel[rates + 3 : rates + 6]
        return x


def joint_names(name: str, count: int) -> list[str]:
    """Names of the joints of MuJoCo that make up one of Pinocchio's."""
    return [name] if count == 1 else [f"{name}:{k}" for k in range(count)]


def _place(peer: Any, name: str) -> tuple[int, int]:
    """First coordinate and velocity of a joint of MuJoCo."""
    try:
        joint = peer.joint(name)
    except KeyError:
        raise InvalidArgumentError(
            f"robot: expected MuJoCo's joints to have Pinocchio's names, found no {name!r}; give each body of the file "
            "one joint with a name"
        ) from None
    return int(joint.qposadr[0]), int(joint.dofadr[0])


def _turned(cosine: float, sine: float, vector: Reals) -> Reals:
    return np.array([cosine * vector[0] - sine * vector[1], sine * vector[0] + cosine * vector[1]])


def _unit(quaternion: Reals) -> Reals:
    return np.asarray(quaternion / np.linalg.norm(quaternion))
