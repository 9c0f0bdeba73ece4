"""Properties of one expression."""

from __future__ import annotations

import inspect

import pytest

from trajopt.mpc import ParameterSchedule
from trajopt.objects.read import Read


class Box:
    """A box.

    Attributes:
        width: Width of the box, which may be
            zero [m].
        area: Area of its floor [m²].
    """

    size = 2.0
    width = Read[float](lambda box: box.size)
    area = Read[float](lambda box: box.size**2)


def test_help_shows_the_line_of_the_class() -> None:
    assert inspect.getdoc(vars(Box)["width"]) == "Width of the box, which may be zero [m]."
    assert inspect.getdoc(vars(Box)["area"]) == "Area of its floor [m²]."
    assert all(read.__doc__ for read in vars(ParameterSchedule).values() if isinstance(read, Read))


def test_it_can_be_read_but_not_set() -> None:
    box = Box()
    assert (box.width, box.area) == (2.0, 4.0)
    with pytest.raises(AttributeError):
        box.width = 3.0  # type: ignore[misc]
