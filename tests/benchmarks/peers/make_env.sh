#!/usr/bin/env bash
# Builds a virtual environment in which Crocoddyl and mim-solvers run, apart from ours: Crocoddyl's 3.2.1 wheel is linked
# against Pinocchio 4.0.0 and crashes with the newest pin, which our own environment follows.
#
#   make_env.sh DIR && DIR/bin/python crocoddyl_times.py arm-t100
#
# PYTHON names the interpreter to start from (default python3).
set -euo pipefail

if [[ $# -ne 1 ]]; then
  echo "usage: $0 DIR" >&2
  exit 2
fi
directory=$1
python=$directory/bin/python

"${PYTHON:-python3}" -m venv "$directory"
"$python" -m pip install --quiet --disable-pip-version-check \
  pin==4.0.0 libpinocchio==4.0.0 crocoddyl==3.2.1 mim-solvers==0.3.0 example-robot-data==5.0.0 numpy

"$python" - <<'PYTHON'
import pinocchio
import crocoddyl
import example_robot_data
import mim_solvers  # only after the other two

wanted = {"crocoddyl": "3.2.1", "pinocchio": "4.0.0"}
found = {"crocoddyl": crocoddyl.__version__, "pinocchio": pinocchio.__version__}
if found != wanted:
    raise SystemExit(f"expected {wanted}, got {found}")

arm = crocoddyl.StateMultibody(example_robot_data.load("talos_arm").model)
if (arm.nx, arm.ndx) != (14, 14):
    raise SystemExit(f"talos_arm: expected 14 states, got nx = {arm.nx}, ndx = {arm.ndx}")
print("ready:", found)
PYTHON
