"""Pinocchio objects as bytes, for hashes of their content; a model that has not changed is pickled once."""

from __future__ import annotations

import pickle
import weakref
from dataclasses import dataclass
from typing import Any

import numpy as np
import pinocchio as pin


@dataclass(frozen=True)
class _Pickled:
    """A model's bytes, with all that tells whether it has changed since.

    Pickling Talos takes 2.4 ms, this comparison 0.03 ms. A problem compares some 60 times.
    """

    model: weakref.ref[pin.Model]
    copy: pin.Model
    arrays: bytes
    data: bytes

    def belongs_to(self, model: pin.Model) -> bool:
        """True if these are the bytes of a model as it is now."""
        return self.model() is model and self.copy == model and self.arrays == _arrays(model)


_known: dict[int, _Pickled] = {}


def pickled(value: Any) -> bytes:
    """Bytes of a Pinocchio object, the same for the same content.

    Raises:
        Exception: It cannot be pickled; Boost's classes raise errors of several kinds.
    """
    if type(value) is not pin.Model:
        return pickle.dumps(value, protocol=4)
    number = id(value)
    known = _known.get(number)
    if known is None or not known.belongs_to(value):
        data = pickle.dumps(value, protocol=4)
        alive = weakref.ref(value, lambda _: _known.pop(number, None))
        known = _known[number] = _Pickled(alive, value.copy(), _arrays(value), data)
    return known.data


def _arrays(model: pin.Model) -> bytes:
    """All arrays of a model; Pinocchio's == leaves out some limits."""
    return b"".join(getattr(model, name).tobytes() for name in _ARRAYS)


_ARRAYS = [name for name in dir(pin.Model) if isinstance(getattr(pin.Model(), name, None), np.ndarray)]
