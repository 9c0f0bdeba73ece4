"""A model's bytes are those of its content now, whether it was pickled before or not."""

from __future__ import annotations

import gc
import pickle

import numpy as np
import pinocchio as pin
import pytest

from trajopt.model import pickled as pickled_module
from trajopt.model.pickled import pickled
from trajopt.robots import planar_arm

ARRAYS = [name for name in pickled_module._ARRAYS if name != "gravity981"]  # a constant of Pinocchio


def check(model: pin.Model) -> bytes:
    """The bytes, which a second call returns too."""
    data = pickled(model)
    assert data == pickled(model) == pickle.dumps(model, protocol=4)
    return data


@pytest.mark.parametrize("name", ARRAYS)
def test_a_change_of_an_array_is_noticed(name: str) -> None:
    model = planar_arm()
    before = check(model)
    setattr(model, name, np.full(np.shape(getattr(model, name)), 0.125))
    assert check(model) != before


def test_a_change_of_a_body_or_frame_is_noticed() -> None:
    model = planar_arm()
    seen = [check(model)]
    model.inertias[1] = pin.Inertia.Random()
    seen.append(check(model))
    model.jointPlacements[2] = pin.SE3.Random()
    seen.append(check(model))
    model.frames[2].placement = pin.SE3.Random()
    seen.append(check(model))
    model.gravity.linear = np.zeros(3)
    seen.append(check(model))
    model.name = "other"
    seen.append(check(model))
    model.referenceConfigurations["bent"] = np.ones(2)
    seen.append(check(model))
    assert len(set(seen)) == 7


@pytest.mark.slow
def test_nothing_is_kept_of_a_model_that_is_gone() -> None:
    gc.collect()
    before = set(pickled_module._known)
    model = planar_arm()
    check(model)
    assert len(set(pickled_module._known) - before) == 1
    del model
    gc.collect()
    assert set(pickled_module._known) <= before
