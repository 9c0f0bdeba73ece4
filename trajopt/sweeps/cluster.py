"""Number of workers of a Dask cluster, and the warning if there are none."""

from __future__ import annotations

from concurrent.futures import Executor

NO_WORKERS = (
    "the cluster has no workers, and the sweep waits for them. Start workers: cluster.scale(n) of a LocalCluster, or "
    "cluster.adapt(minimum=n, maximum=n), which replaces lost workers. Or stop with Ctrl-C; finished rows are kept in "
    "%s"
)


def count_workers(executor: Executor) -> int | None:
    """Returns the number of workers of a Dask client's executor; None for other executors.

    It is None too if the scheduler does not answer. The scheduler's end cancels all calls, which is reported
    elsewhere.

    Args:
        executor: The executor.
    """
    client = getattr(executor, "_client", None)  # Dask's executor has no public access to its client
    try:
        return None if client is None else len(client.nthreads())
    except (AttributeError, TypeError, OSError, RuntimeError, ValueError, TimeoutError):
        return None
