#!/usr/bin/env bash
# Builds the documentation site into docs/_build/html: `docs/build.sh`, or `docs/build.sh --quick` without running
# examples, ready problems and the code of pages. Warnings are errors. Nothing but pip's installation asks the network for anything.
#
# It takes `python` where that has the package with its extra `docs`, such as in an active environment, or $PYTHON; else it
# makes an environment of its own, .venv-docs. JOBS (2) processes solve and execute at a time. A second build reads only what
# has changed; remove docs/_build to begin anew.
set -euo pipefail
cd "$(dirname "$0")/.."
python=${PYTHON:-python}
if ! "$python" -c "import myst_nb, pydata_sphinx_theme, sphinx_gallery, trajopt" 2> /dev/null; then
  python=.venv-docs/bin/python
  [ -x "$python" ] || python3 -m venv .venv-docs
  "$python" -m pip install -q -e '.[docs]'
fi
if [ "${1:-}" = --quick ]; then
  export TRAJOPT_DOCS_QUICK=1
fi
export TRAJOPT_OPTIMISE=${TRAJOPT_OPTIMISE:-off}  # quick code, that of the tests: a site solves everything once
export PYDEVD_DISABLE_FILE_VALIDATION=1           # kernels of notebooks need no debugger
"$python" -m sphinx -b html -n -W --keep-going -d docs/_build/doctrees docs docs/_build/html
"$python" docs/check_site.py docs/_build/html
