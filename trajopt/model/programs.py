"""Programs that are built once: kept with their model, and in the disk cache for the next process.

Building the expressions of a robot takes longer than loading their machine code. An entry is found by all that
determines what it was built from: content and code of the model, versions of the libraries, processor (CasADi computes
constants by the C library). A model that holds what is not known that well, such as a user's function, is built anew
in every process.
"""

from __future__ import annotations

import pickle
import sys
from collections.abc import Callable, Hashable
from typing import TypeVar

import casadi as ca
import numpy as np
import pinocchio as pin

from trajopt import cache
from trajopt.kernels import compiler
from trajopt.model import content
from trajopt.model.base import Model

T = TypeVar("T")

_CONTENT = "content of the model when it was first asked for a program"


def kept(model: Model, name: Hashable, build: Callable[[], T]) -> T:
    """What `build` makes of a model: as it was made before, by this process or another, or made now.

    Args:
        model: The model.
        name: What is made of it; its repr is part of the key.
        build: Makes it: a program, or what can be pickled and holds programs.
    """
    if name not in model.built:
        model.built[name] = _loaded(model, name, build)
    result: T = model.built[name]
    return result


def _loaded(model: Model, name: Hashable, build: Callable[[], T]) -> T:
    entry = _key(model, name)
    if entry is None:
        return build()
    stored = cache.load(entry)
    if stored is not None:
        result: T = pickle.loads(stored)  # the cache has verified that we wrote it
        return result
    result = build()
    if _key(model, name) == entry:  # building did not show anything new about the model
        cache.store(entry, pickle.dumps(result))
    return result


def _key(model: Model, name: Hashable) -> str | None:
    """Key of the entry in the disk cache; None if there is to be none."""
    if cache.directory() is None:
        return None
    try:
        now = content.model_hash(model)
    except (content.UnknownContentError, RecursionError):
        return None
    if model.built.setdefault(_CONTENT, now) != now:  # it was changed: what it derived before may not fit any more
        return None
    return cache.key("program", repr(name), now, _libraries(), compiler.target_description())


def _libraries() -> str:
    """Versions and settings of what builds expressions."""
    versions = (sys.version, ca.CasadiMeta.version(), ca.CasadiMeta.git_revision(), pin.printVersion(), np.__version__)
    options = ca.GlobalOptions
    settings = (options.getSimplificationOnTheFly(), options.getHierarchicalSparsity(), options.getMaxNumDir())
    return repr((versions, settings))
