"""A humanoid reaches through a frame: feet stay, the centre of mass stays above them, arms and head keep off the beams.

    step by step: least |hand - target|² by v, then the posture,  with distances >= 2 cm, |v| <= v_max, q within limits

`collisions=scene` keeps all links apart from each other and from the beams; the shapes of the links are fitted to the
meshes of Talos' file. Inverse kinematics along a path takes milliseconds for a step of 32 joints.

Look at: the elbow turns, so that the forearm goes through the frame, and the trunk leans towards it.
Expected distance in mm: below 1.
"""

from __future__ import annotations

import numpy as np

import trajopt
from trajopt import ik

HAND, FEET = "gripper_right_base_link", ("left_sole_link", "right_sole_link")
MIDDLE, OPENING, BEAM = np.array([0.55, -0.25, 1.05]), 0.36, 0.05  # of the frame, its opening and its beams [m]
VIA = [[0.42, -0.27, 1.05], [0.75, -0.25, 1.1]]  # of the hand [m]
DT, DURATION = 0.02, 3.0  # [s]


def frame() -> trajopt.Scene:
    """Two posts and two beams in a plane across x."""
    side = OPENING + 2 * BEAM
    parts = {  # place along y and z, and sides
        "left": ((0.5 * (OPENING + BEAM), 0.0), (BEAM, BEAM, side)),
        "right": ((-0.5 * (OPENING + BEAM), 0.0), (BEAM, BEAM, side)),
        "above": ((0.0, 0.5 * (OPENING + BEAM)), (BEAM, side, BEAM)),
        "below": ((0.0, -0.5 * (OPENING + BEAM)), (BEAM, side, BEAM)),
    }
    places = {name: [*(MIDDLE + np.array([0.0, *at])), 0.0, 0.0, 0.0, 1.0] for name, (at, _) in parts.items()}
    return trajopt.Scene({name: trajopt.Box(size, placement=places[name]) for name, (_, size) in parts.items()})


def main(plot: bool = False) -> ik.IKPath:
    """Follows the path of the hand; `plot` writes through_a_frame.png."""
    robot = trajopt.load_robot("talos")
    state, q0 = trajopt.StateMultibody(robot), robot.configuration("half_sitting")
    tasks = trajopt.ConstraintStack(state)
    for foot in FEET:
        tasks.add(foot, trajopt.ResidualModelFramePlacement(state, foot, robot.placement(q0, foot)), equals=0.0)
    middle = np.mean([robot.placement(q0, foot)[:2, 3] for foot in FEET], axis=0)
    com = trajopt.ResidualModelCoMPosition(state, [*middle, 0.0])
    tasks.add("com", com, lower=[-0.05, -0.05, -np.inf], upper=[0.05, 0.05, np.inf])
    tasks.add("hand", trajopt.ResidualModelFrameTranslation(state, HAND), equals=0.0)
    posture = trajopt.CostStack(state)
    posture.add("posture", trajopt.ResidualModelState(state, np.r_[q0, np.zeros(state.nv)]), weight=1.0)
    points = np.array([robot.placement(q0, HAND)[:3, 3], *VIA])

    def target(time: float) -> np.ndarray:
        """Place (3,) of the hand: to the first point in one second, through the frame in another one, then still."""
        part = min(time, 2.0)
        leg, s = min(int(part), 1), part - min(int(part), 1)
        return points[leg] + s * s * (3 - 2 * s) * (points[leg + 1] - points[leg])

    options = {"duration": DURATION, "q0": q0, "collisions": frame(), "margin": 0.02, "tolerance": 1e-3}
    track = ik.track(robot, (tasks, posture), {"hand.reference": target}, DT, **options)
    print(track)
    end = robot.placement(track.qs[-1], HAND)[:3, 3]
    print(f"distance in mm: {1e3 * np.linalg.norm(end - VIA[-1]):.3f} of the hand from its target")
    if plot:
        track.plot("through_a_frame.png")
    return track


if __name__ == "__main__":
    main(plot=True)
