"""Type aliases of the whole package."""

from __future__ import annotations

import numpy as np
import numpy.typing as npt

Reals = npt.NDArray[np.float64]
Ints = npt.NDArray[np.int64]
