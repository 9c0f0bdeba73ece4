#!/usr/bin/env bash
# Builds a virtual environment in which pin-pink runs, apart from ours.
#
#   make_ik_env.sh DIR && python -m tests.benchmarks -o ik --pink DIR
#
# PYTHON names the interpreter to start from (default python3).
set -euo pipefail

if [[ $# -ne 1 ]]; then
  echo "usage: $0 DIR" >&2
  exit 2
fi
python=$1/bin/python

"${PYTHON:-python3}" -m venv "$1"
"$python" -m pip install --quiet --disable-pip-version-check pin-pink==4.4.0 "qpsolvers[quadprog]"
"$python" -c 'import pink, pinocchio; print("ready: pink", pink.__version__, "pinocchio", pinocchio.__version__)'
