"""An SX function that a program calls; one that comes from the disk cache is unpacked when it is needed."""

from __future__ import annotations

import hashlib
import zlib
from typing import Any

import casadi as ca


class Expression:
    """An SX function, and what a program must know of it.

    Pickled, it is a compressed text that stays so until the function is asked for: a start whose machine code is in the
    cache needs no function.

    Args:
        function: The function.

    Attributes:
        digest: Hash of its content.
        instructions: Number of its instructions [-].
    """

    def __init__(self, function: ca.Function) -> None:
        self._function: ca.Function | None = function
        self._packed = b""
        self.digest = hashlib.sha256(function.serialize().encode()).hexdigest()
        self.instructions = int(function.n_instructions())

    @property
    def function(self) -> ca.Function:
        """The function."""
        return self._function or self.unpack()

    def unpack(self) -> ca.Function:
        """Makes the function ready, and returns it."""
        if self._function is None:
            self._function = ca.Function.deserialize(zlib.decompress(self._packed).decode())
        return self._function

    def __getstate__(self) -> dict[str, Any]:
        packed = self._packed or zlib.compress(self.function.serialize().encode(), level=1)
        return {"_function": None, "_packed": packed, "digest": self.digest, "instructions": self.instructions}
