"""Accelerations that contacts keep at zero, and their derivatives, in the falling frame of `dynamics.falling`."""

from __future__ import annotations

from collections.abc import Mapping

import casadi as ca
from casadi import SX

from trajopt.contacts.stack import ContactStack
from trajopt.dynamics.falling import FrameMotion
from trajopt.instant import Instant


def held_acceleration(contacts: ContactStack, motions: Mapping[str, FrameMotion]) -> SX:
    """Accelerations of all contacts, active or not (nc,) [m/s², rad/s²]; linear in a'.

    Args:
        contacts: The contacts.
        motions: Motion of their frames for a' = a + c.
    """
    return with_gravity(motions, contacts.acceleration(motions))


def held_derivative(instant: Instant, contacts: ContactStack, motions: Mapping[str, FrameMotion]) -> SX:
    """Derivative of `held_acceleration` by x at fixed a' (nc, ndx).

    Args:
        instant: Symbol of x.
        contacts: The contacts.
        motions: Motion of their frames for a' = a + c, where a' is a symbol.
    """
    nc, nv = contacts.nc, contacts.state.nv
    rows = contacts.acceleration(motions)
    by_x, _ = instant.derivative(rows)
    for motion in motions.values():
        by_fall = ca.jacobian(rows, motion.fall)
        by_x = by_x + ca.horzcat(by_fall @ motion.gravity_derivative(), SX(nc, nv))
    return with_gravity(motions, by_x)


def with_gravity(motions: Mapping[str, FrameMotion], expression: SX) -> SX:
    """Adds gravity to the accelerations of the frames in an expression."""
    if not motions:
        return expression
    symbols, values = zip(*((m.fall, m.gravity) for m in motions.values()))
    return SX(ca.substitute(expression, ca.vertcat(*symbols), ca.vertcat(*values)))


def with_turning_pushes(instant: Instant, motions: Mapping[str, FrameMotion], dq: SX, wrenches: Mapping[str, SX]) -> SX:
    """∂/∂q of M w + e - Jᵀ λ (nv, nv), from that for wrenches constant in their frames' axes."""
    for frame, wrench in wrenches.items():
        by_q = instant.derivative(wrench)[0][:, : dq.shape[1]]
        dq = dq - ca.mtimes(motions[frame].jacobian.T, by_q)
    return dq
