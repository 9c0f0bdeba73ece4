"""Workers of a Dask cluster, for which a sweep may wait in vain."""

from __future__ import annotations

from concurrent.futures import Executor

NO_WORKERS = (
    "the cluster has no workers, and the sweep waits for some: start workers, with a LocalCluster cluster.scale(n) "
    "(cluster.adapt(minimum=n, maximum=n) replaces all that are lost); or end it with Ctrl-C, rows that are done are "
    "in %s"
)


def count_workers(executor: Executor) -> int | None:
    """Number of workers that the scheduler of a Dask client's executor knows; None of other executors.

    None too where the scheduler does not answer: its end cancels what it has, and that is told elsewhere.

    Args:
        executor: The executor.
    """
    client = getattr(executor, "_client", None)  # nothing that is public leads from Dask's executor to its client
    try:
        return None if client is None else len(client.nthreads())
    except (AttributeError, TypeError, OSError, RuntimeError, ValueError, TimeoutError):
        return None
