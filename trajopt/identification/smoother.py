"""Least squares over a linearised log: states, controls and parameters, by one pass forward and one back.

    x_{t+1} = A x_t + B u_t + G η + d,   r_t = x_t + noise,   s_t = u_t + noise,   all changes from a trajectory.

The forward pass is Kalman's filter, whose mean is affine in η; with its innovations e_t = e⁰_t - E_t η of covariance
S_t, the least squares of everything else is Σ e_tᵀ S_t⁻¹ e_t. The backward pass gives the states and controls.

Source: Durbin and Koopman, Time Series Analysis by State Space Methods, 2nd ed. 2012, ch. 4 and 6.2.3.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from trajopt.types import Reals


@dataclass(frozen=True)
class LinearLog:
    """A log around a trajectory of N steps.

    Attributes:
        A: Derivatives by states (N, n, n).
        B: Derivatives by controls (N, n, m).
        G: Derivatives by parameters (N, n, k).
        d: Gaps, what the model says minus the next state (N, n).
        r: Measured states minus those of the trajectory (N + 1, n).
        s: Measured controls minus those of the trajectory (N, m).
    """

    A: Reals
    B: Reals
    G: Reals
    d: Reals
    r: Reals
    s: Reals


class Smoother:
    """Forward pass over a linearised log.

    Args:
        log: The log.
        R: Variances of measured states (n,), > 0.
        Q: Variances of measured controls (m,), >= 0.

    Attributes:
        information: Information matrix Σ Eᵀ S⁻¹ E of the parameters (k, k).
        gradient: Σ Eᵀ S⁻¹ e⁰ (k,).
        chi2: Σ e⁰ᵀ S⁻¹ e⁰, the least sum of squares without a change of the parameters [-].
    """

    def __init__(self, log: LinearLog, R: Reals, Q: Reals) -> None:
        self._log, self._Q = log, Q
        (N, n, k), noise = log.G.shape, np.diag(R)
        self._mean, self._P = np.zeros((N + 1, n, 1 + k)), np.zeros((N + 1, n, n))
        self._inverse, self._innovation = np.zeros((N, n, n)), np.zeros((N, n, 1 + k))
        mean, P = np.zeros((n, 1 + k)), noise.copy()
        mean[:, 0] = log.r[0]
        total = np.zeros((1 + k, 1 + k))
        for t in range(N):
            self._mean[t], self._P[t] = mean, P  # given the measurements up to t
            mean = log.A[t] @ mean
            mean[:, 0] += log.B[t] @ log.s[t] + log.d[t]
            mean[:, 1:] += log.G[t]
            P = log.A[t] @ P @ log.A[t].T + (log.B[t] * Q) @ log.B[t].T
            innovation = -mean
            innovation[:, 0] += log.r[t + 1]
            inverse = np.linalg.inv(P + noise)
            gain = P @ inverse
            total += innovation.T @ inverse @ innovation
            mean = mean + gain @ innovation
            rest = np.eye(n) - gain
            P = rest @ P @ rest.T + (gain * R) @ gain.T
            self._inverse[t], self._innovation[t] = inverse, innovation
        self._mean[N], self._P[N] = mean, P
        self.information, self.gradient, self.chi2 = total[1:, 1:], -total[1:, 0], float(total[0, 0])

    def changes(self, eta: Reals) -> tuple[Reals, Reals]:
        """Changes of states (N + 1, n) and controls (N, m) with the least squares, for a change of parameters (k,)."""
        log, both = self._log, np.append(1.0, eta)
        N, m = log.B.shape[0], log.B.shape[2]
        states, controls = self._mean @ both, np.zeros((N, m))
        costate = np.zeros(states.shape[1])  # of the state after the measurement at t + 1
        for t in reversed(range(N)):
            predicted = self._inverse[t] @ (self._innovation[t] @ both)
            P = log.A[t] @ self._P[t] @ log.A[t].T + (log.B[t] * self._Q) @ log.B[t].T
            costate = predicted + costate - self._inverse[t] @ (P @ costate)  # before this measurement
            controls[t] = log.s[t] + self._Q * (log.B[t].T @ costate)
            costate = log.A[t].T @ costate
            states[t] += self._P[t] @ costate
        return states, controls
