"""A robot on four limbs falls on the floor: the differentiable simulator, with the names of DiffNE.

    v₊ = v + dt H⁻¹ (τ - C(q, v) + Jᵀ f),  q₊ = q ⊕ dt v₊,  with the f for which v₊ has the least kinetic energy

Look at: each step determines the contacts of the limbs, and each step has derivatives. docs/diffne.md lists all names.
Expected height: 0.546 m.
"""

from __future__ import annotations

import math

import numpy as np

import trajopt.simulator.diffne as DNE
from trajopt.plotting import animate_rollout, plot_rollout
from trajopt.simulator import Rollout

DT = 2e-3  # [s]
LIMBS = {"limb1": 1, "limb2": -1, "limb3": 1, "limb4": -1}  # limbs 2 and 4 turn in the opposite direction


def main(plot: bool = False) -> Rollout:
    """Simulates one second; `plot` writes four_limbs.png and four_limbs.gif."""
    m = DNE.DiffNERobotModel(None, "four-limbs")

    # kinematics: the roll joints of the limbs are removed, and the others start in a posture
    m.eliminate_joints([f"{limb}_link{i}" for limb in LIMBS for i in (3, 5, 7)])
    for limb, sign in LIMBS.items():
        m.set_joint_angle(f"{limb}_link2", sign * math.pi * 0.9 / 2)  # [rad]
        m.set_joint_angle(f"{limb}_link4", -sign * math.pi / 2)
        m.set_joint_angle(f"{limb}_link6", sign * math.pi * 1.1 / 2)

    # end effectors: a sphere at the end of each limb
    ees = []
    for i in range(m.body.nrJ()):
        if len(m.body.children(i, True)) == 0:
            along_x = m.body.joint(i)._name.startswith(("limb1", "limb4"))
            ee = DNE.EndEffectorBounds(i)
            ee.detectEndEffector(m.body, DNE.Vec3d(-0.1 if along_x else 0.1, 0, 0))  # [m]
            ees.append(ee)
    print(ees)

    # dynamics: a controller keeps the joints in the posture over a floor at z = -0.7 m
    m.create_simulator(accuracy=64, mode=DNE.FORWARD_RK1F)
    m.set_PD_controller(1000, 30)  # [N m/rad], [N m s/rad]
    m.set_floor([0, 0, 1, 0.7], ees)

    # one step with derivatives, several states at once, and a rollout
    qdq_next, Dqdq, Dtau = m.simulate(DT, m.qdq, Dqdq=True, Dtau=True)
    print(f"a step of {len(qdq_next)} numbers has derivatives of {np.shape(Dqdq)} and {np.shape(Dtau)}")
    qdqs_next, _, _ = m.simulate_batched(DT, [m.qdq, qdq_next])
    assert np.array_equal(qdqs_next[0], qdq_next)
    rollout = m.simulator.rollout(m.qdq, None, 500, DT)
    print(f"the trunk is {rollout.xs[-1, 2] + 0.7:.3f} m above the floor")
    if plot:
        plot_rollout(rollout).savefig("four_limbs.png")
        animate_rollout(rollout, "four_limbs.gif")
    return rollout


if __name__ == "__main__":
    main(plot=True)
