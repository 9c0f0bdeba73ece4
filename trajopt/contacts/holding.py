"""Accelerations that contacts keep at zero, with derivatives, in the falling frame of `trajopt.dynamics.falling`."""

from __future__ import annotations

from collections.abc import Mapping

import casadi as ca
from casadi import SX

from trajopt.contacts.stack import ContactStack
from trajopt.dynamics.falling import FrameMotion
from trajopt.instant import Instant


def held_acceleration(contacts: ContactStack, motions: Mapping[str, FrameMotion]) -> SX:
    """Accelerations of the contacts (nc,) [m/s², rad/s²], as if all were active; linear in a'.

    Args:
        contacts: The contacts.
        motions: How their frames move with a' = a + c.
    """
    return with_gravity(motions, contacts.acceleration(motions))


def held_derivative(instant: Instant, contacts: ContactStack, motions: Mapping[str, FrameMotion]) -> SX:
    """Its derivative by x at fixed a', (nc, ndx).

    Args:
        instant: Symbol of x.
        contacts: The contacts.
        motions: How their frames move with a' = a + c, which is a symbol.
    """
    nc, nv = contacts.nc, contacts.state.nv
    rows = contacts.acceleration(motions)
    by_x, _ = instant.derivative(rows)
    for motion in motions.values():
        by_fall = ca.jacobian(rows, motion.fall)
        by_x = by_x + ca.horzcat(by_fall @ motion.gravity_derivative(), SX(nc, nv))
    return with_gravity(motions, by_x)


def with_gravity(motions: Mapping[str, FrameMotion], expression: SX) -> SX:
    """An expression in which frames fall with gravity."""
    if not motions:
        return expression
    symbols, values = zip(*((m.fall, m.gravity) for m in motions.values()))
    return SX(ca.substitute(expression, ca.vertcat(*symbols), ca.vertcat(*values)))
