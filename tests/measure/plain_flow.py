"""Incompressible flow in a periodic box in NumPy, written from the equations without regard to speed.

Nothing is shared with the native program: a pressure is found at once, by Fourier transforms, instead of by
iterations, and convection is written out for each pair of velocities. Scheme: Harlow & Welch 1965; a step of
Adams and Bashforth's rule, then Chorin's projection.
"""

from __future__ import annotations

from itertools import product

import numpy as np
from numpy.typing import NDArray

Reals = NDArray[np.float64]

SPEEDS = {"beltrami": 3 * np.sqrt(2.0), "taylor_green": np.sqrt(2.0)}
"""At most |u| + |v| + |w|."""


def velocity_error(case: str, n: int, depth: int, reynolds: float, steps: int) -> float:
    """Return the largest error of a velocity after so many steps of a flow with a known solution."""
    spacing = 2 * np.pi / n
    viscosity = 1 / reynolds
    step = min(0.3 * spacing / SPEEDS[case], 0.7 * spacing**2 / (12 * viscosity))
    shape = (n, n, depth)
    velocity = exact(case, shape, spacing, viscosity, 0.0)
    last: list[Reals] | None = None
    for _ in range(steps):
        rate = [acceleration(velocity, c, spacing, viscosity) for c in range(3)]
        change = (
            rate if last is None else [1.5 * now - 0.5 * before for now, before in zip(rate, last, strict=True)]
        )
        velocity = projected([u + step * du for u, du in zip(velocity, change, strict=True)])
        last = rate
    solution = exact(case, shape, spacing, viscosity, steps * step)
    return float(max(np.abs(u - v).max() for u, v in zip(velocity, solution, strict=True)))


def exact(case: str, shape: tuple[int, int, int], spacing: float, viscosity: float, time: float) -> list[Reals]:
    """Return the means of the velocities over cell faces, each of the shape (x, y, z)."""
    mean = np.sin(spacing / 2) / (spacing / 2)
    components = []
    for c in range(3):
        places = [spacing * (np.arange(cells) + (0.0 if d == c else 0.5)) for d, cells in enumerate(shape)]
        x, y, z = np.meshgrid(*places, indexing="ij")
        if case == "taylor_green":
            fields = [np.sin(x) * np.cos(y), -np.cos(x) * np.sin(y), np.zeros(shape)]
            components.append(fields[c] * mean * np.exp(-2 * viscosity * time))
        else:
            fields = [np.sin(z) + np.cos(y), np.sin(x) + np.cos(z), np.sin(y) + np.cos(x)]
            components.append(fields[c] * mean * np.exp(-viscosity * time))
    return components


def after(field: Reals, d: int) -> Reals:
    """Return the neighbors after every cell along a dimension."""
    return np.roll(field, -1, axis=d)


def before(field: Reals, d: int) -> Reals:
    """Return the neighbors before every cell along a dimension."""
    return np.roll(field, 1, axis=d)


def acceleration(velocity: list[Reals], c: int, spacing: float, viscosity: float) -> Reals:
    """Return what convection and diffusion change of a velocity in unit time."""
    u = velocity[c]
    result = np.zeros_like(u)
    for d in range(3):
        if d == c:
            middle = (u + after(u, c)) / 2  # in the middles of cells
            flux = middle * middle
            result -= (flux - before(flux, c)) / spacing
        else:
            # On the edges before the faces, along d.
            carried = (u + before(u, d)) / 2
            carrier = (velocity[d] + before(velocity[d], c)) / 2
            flux = carried * carrier
            result -= (after(flux, d) - flux) / spacing
        result += viscosity * (after(u, d) - 2 * u + before(u, d)) / spacing**2
    return result


def projected(velocity: list[Reals]) -> list[Reals]:
    """Return the velocities less the gradient that makes them free of divergence."""
    divergence = sum((after(velocity[d], d) - velocity[d] for d in range(3)), np.zeros_like(velocity[0]))
    shape = divergence.shape
    eigenvalues = np.zeros(shape)
    for place in product(*(range(cells) for cells in shape)):
        eigenvalues[place] = sum(
            2 * np.cos(2 * np.pi * k / cells) - 2 for k, cells in zip(place, shape, strict=True)
        )
    eigenvalues[0, 0, 0] = 1  # a constant pressure does nothing
    pressure = np.fft.ifftn(np.fft.fftn(divergence) / eigenvalues).real
    return [velocity[d] - (pressure - before(pressure, d)) for d in range(3)]
