"""Pages with code: all are executed before any is read, several at a time; myst-nb then finds them in its cache."""

from __future__ import annotations

import tempfile
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import Any

from jupyter_cache import get_cache
from jupyter_cache.base import CacheBundleIn
from jupyter_cache.executors.utils import single_nb_execution
from myst_nb.core.read import create_nb_reader
from sphinx.application import Sphinx
from sphinx.errors import ExtensionError
from sphinx.util.display import status_iterator

from machinery.files import JOBS


def execute(notebook: Any, timeout: float) -> Any:
    """Runs a page's cells in a process of their own and an empty folder."""
    with tempfile.TemporaryDirectory() as folder:
        return single_nb_execution(notebook, cwd=folder, allow_errors=False, timeout=timeout)


def execute_all(app: Sphinx) -> None:
    """Executes the pages that are not in the cache; threads wait for the processes that do it."""
    config: Any = app.env.mystnb_config
    if config.execution_mode != "cache":
        return
    cache = get_cache(config.execution_cache_path)
    waiting: dict[str, Any] = {}
    for name in sorted(app.project.discover(app.config.exclude_patterns)):
        file = app.env.doc2path(name)
        text = Path(file).read_text(encoding="utf-8")
        reader = create_nb_reader(str(file), app.env.myst_config, config, text) if str(file).endswith(".md") else None
        if reader is None:
            continue
        notebook = reader.read(text)
        try:
            cache.match_cache_notebook(notebook)
        except KeyError:
            waiting[name] = (str(file), notebook)
    failed = []
    with ThreadPoolExecutor(JOBS) as pool:
        jobs = {name: pool.submit(execute, nb, config.execution_timeout) for name, (_, nb) in waiting.items()}
        for name in status_iterator(jobs, "executing pages... ", "purple", len(jobs), 0):
            result = jobs[name].result()
            if result.err is not None:
                failed.append(f"{name}:\n{result.exc_string}")
                continue
            file, notebook = waiting[name]
            bundle = CacheBundleIn(notebook, file, data={"execution_seconds": result.time})
            cache.cache_notebook_bundle(bundle, check_validity=False, overwrite=True)
    if failed:
        raise ExtensionError("\n\n".join(failed))


def setup(app: Sphinx) -> None:
    """Executes after the settings are read."""
    app.connect("builder-inited", execute_all, priority=600)
