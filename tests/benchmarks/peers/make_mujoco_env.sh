#!/usr/bin/env bash
# Builds a virtual environment in which MuJoCo runs, apart from ours.
#
#   make_mujoco_env.sh DIR && python -m tests.benchmarks -o simulator --mujoco DIR
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
"$python" -m pip install --quiet --disable-pip-version-check mujoco==3.17.0 numpy
"$python" -c 'import mujoco; print("ready: mujoco", mujoco.__version__)'
