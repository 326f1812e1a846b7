"""The shallow water equations on the sphere in NumPy, written from the equations without regard to speed.

Nothing is shared with the native program: Legendre functions are scipy's, and winds and divergences use their
derivatives on the grid. Equations: Hack & Jakob 1992, NCAR/TN-343+STR; initial states: Williamson et al. 1992.
"""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray
from scipy.special import assoc_legendre_p_all, roots_legendre

Reals = NDArray[np.float64]
Complexes = NDArray[np.complex128]

RADIUS, ROTATION, GRAVITY = 6.37122e6, 7.292e-5, 9.80616


class Sphere:
    """Transforms between the grid (latitudes x longitudes) and spectral coefficients (degrees n x orders m)."""

    def __init__(self, truncation: int, latitudes: int) -> None:
        self.mu, self.weights = roots_legendre(latitudes)
        self.longitudes = 2 * np.pi * np.arange(2 * latitudes) / (2 * latitudes)
        orders = truncation + 1
        functions = [assoc_legendre_p_all(truncation, truncation, mu, norm=True, diff_n=1) for mu in self.mu]
        # Without the Condon-Shortley phase, which scipy has.
        signs = (-1.0) ** np.arange(orders)
        table = np.array(functions)[..., :orders] * signs  # latitude, derivative, degree, order
        self.p, self.slope = table[:, 0], table[:, 1]
        self.m = np.arange(orders)[None, :]
        self.n = np.arange(orders)[:, None]
        self.laplacian = -self.n * (self.n + 1) / RADIUS**2
        self.mask = self.n >= self.m

    def analyse(self, field: Reals) -> Complexes:
        """Return the coefficients of a scalar."""
        fourier = np.fft.rfft(field, axis=1)[:, : self.m.size] / self.longitudes.size
        return np.asarray(np.einsum("j,jnm,jm->nm", self.weights, self.p, fourier) * self.mask)

    def synthesise(self, coefficients: Complexes) -> Reals:
        """Return the scalar on the grid."""
        return self._grid(np.einsum("jnm,nm->jm", self.p, coefficients))

    def _grid(self, fourier: Complexes) -> Reals:
        return np.asarray(np.fft.irfft(fourier, self.longitudes.size, axis=1) * self.longitudes.size)

    def flux(self, x: Reals, y: Reals) -> Complexes:
        """Return the coefficients of -1/(a (1 - mu^2)) dx/dlongitude - 1/a dy/dmu, by parts."""
        weights = self.weights / RADIUS
        of_x = np.fft.rfft(x, axis=1)[:, : self.m.size] / self.longitudes.size / (1 - self.mu[:, None] ** 2)
        of_y = np.fft.rfft(y, axis=1)[:, : self.m.size] / self.longitudes.size
        east = np.einsum("j,jnm,jm->nm", weights, self.p, -1j * self.m * of_x)
        return np.asarray((east + np.einsum("j,jnm,jm->nm", weights, self.slope, of_y)) * self.mask)

    def winds(self, zeta: Complexes, delta: Complexes) -> tuple[Reals, Reals]:
        """Return u and v times the cosine of the latitude."""
        inverse = np.divide(1, self.laplacian, out=np.zeros_like(self.laplacian), where=self.n > 0)
        psi, chi = zeta * inverse, delta * inverse
        cosine = (1 - self.mu**2)[:, None]

        def derivatives(of: Complexes) -> tuple[Complexes, Complexes]:
            east = 1j * self.m * np.einsum("jnm,nm->jm", self.p, of) / RADIUS
            return east, cosine * np.einsum("jnm,nm->jm", self.slope, of) / RADIUS

        (psi_east, psi_north), (chi_east, chi_north) = derivatives(psi), derivatives(chi)
        return self._grid(chi_east - psi_north), self._grid(psi_east + chi_north)


def initial(case: str, sphere: Sphere) -> tuple[Reals, Reals, Reals, Reals]:
    """Return u and v times the cosine of the latitude, the geopotential of the depth, and that of the ground."""
    latitude = np.arcsin(sphere.mu)[:, None]
    longitude = sphere.longitudes[None, :]
    sine, cosine = np.sin(latitude), np.cos(latitude)
    zeros = np.zeros((sphere.mu.size, sphere.longitudes.size))
    if case == "mountain":
        distance = np.hypot(longitude - 1.5 * np.pi, latitude - np.pi / 6)
        ground = GRAVITY * 2000 * np.maximum(0, 1 - distance / (np.pi / 9))
        surface = GRAVITY * 5960 - (RADIUS * ROTATION * 20 + 200) * sine**2
        return 20 * cosine**2 + zeros, zeros, surface - ground, ground
    k, r = 7.848e-6, 4
    a = k / 2 * (2 * ROTATION + k) * cosine**2
    a = a + k**2 / 4 * cosine ** (2 * r) * ((r + 1) * cosine**2 + (2 * r**2 - r - 2) - 2 * r**2 * cosine ** (-2))
    b = 2 * (ROTATION + k) * k / ((r + 1) * (r + 2)) * cosine**r
    b = b * ((r**2 + 2 * r + 2) - (r + 1) ** 2 * cosine**2)
    c = k**2 / 4 * cosine ** (2 * r) * ((r + 1) * cosine**2 - (r + 2))
    u = k * cosine + k * cosine ** (r - 1) * (r * sine**2 - cosine**2) * np.cos(r * longitude)
    v = -k * r * cosine ** (r - 1) * sine * np.sin(r * longitude)
    height = GRAVITY * 8000 + RADIUS**2 * (a + b * np.cos(r * longitude) + c * np.cos(2 * r * longitude))
    return RADIUS * u * cosine, RADIUS * v * cosine, height, zeros


def changes(case: str, truncation: int, latitudes: int, steps: int) -> tuple[float, float]:
    """Return the relative changes of energy and potential enstrophy over some time steps."""
    sphere = Sphere(truncation, latitudes)
    u, v, height, ground = initial(case, sphere)
    coriolis = 2 * ROTATION * sphere.mu[:, None]
    cosine2 = 1 - sphere.mu[:, None] ** 2
    mean = float(sphere.weights @ height.mean(axis=1) / 2)
    now = [sphere.flux(-v, u), sphere.flux(-u, -v), sphere.analyse(height - mean)]
    before = now
    step_s = 1200 * 42 / truncation
    damping = 5e15 * (42 * 43 / (truncation * (truncation + 1))) ** 2 * sphere.laplacian**2
    # Solid rotation is not damped; winds have no degree 0.
    of_winds = np.maximum(0, damping - damping[1])
    first = integrals(sphere, now, mean, coriolis, ground)
    for number in range(steps):
        span_s = step_s / 2 if number == 0 else step_s
        u, v = sphere.winds(now[0], now[1])
        eta, phi = sphere.synthesise(now[0]) + coriolis, sphere.synthesise(now[2])
        energy = sphere.analyse((u**2 + v**2) / (2 * cosine2) + ground)
        zeta = before[0] + 2 * span_s * sphere.flux(u * eta, v * eta)
        explicit = before[1] + 2 * span_s * (sphere.flux(-v * eta, u * eta) - sphere.laplacian * energy)
        depth = before[2] + 2 * span_s * sphere.flux(u * phi, v * phi)
        # Two equations for divergence and depth afterwards: d + x p = right, p + y d = left.
        x, y = span_s * sphere.laplacian, span_s * mean
        right, left = explicit - x * before[2], depth - y * before[1]
        delta = (right - x * left) / (1 - x * y)
        after = [zeta, delta, left - y * delta]
        after = [after[0] / (1 + 2 * span_s * of_winds), after[1] / (1 + 2 * span_s * of_winds), after[2]]
        after[2] = after[2] / (1 + 2 * span_s * damping)
        filtered = [b + 0.05 * (a - 2 * b + c) for a, b, c in zip(before, now, after, strict=True)]
        before, now = (now if number == 0 else filtered), after
    last = integrals(sphere, now, mean, coriolis, ground)
    return last[0] / first[0] - 1, last[1] / first[1] - 1


def integrals(
    sphere: Sphere, state: list[Complexes], mean: float, coriolis: Reals, ground: Reals
) -> tuple[float, float]:
    """Return energy and potential enstrophy."""
    u, v = sphere.winds(state[0], state[1])
    eta, phi = sphere.synthesise(state[0]) + coriolis, sphere.synthesise(state[2]) + mean
    kinetic = phi * (u**2 + v**2) / (2 * (1 - sphere.mu[:, None] ** 2))
    energy = (kinetic + phi**2 / 2 + phi * ground).mean(axis=1)
    enstrophy = (eta**2 / (2 * phi)).mean(axis=1)
    return float(sphere.weights @ energy / 2), float(sphere.weights @ enstrophy / 2)
