// The Jacobian matrices of the flow's convection and viscosity along one axis, 5 x 5 at each point, and the
// matrices that implicit methods build from them (RNR-94-007, section 3.3: A = dE/dU, N = dT/dU_xi, and so on).
#pragma once

#include "benchmarks/application/npb/cell.hpp"

namespace scope::npb {

// The quantities from which the matrices of a point are computed.
template <class Real>
struct Thermodynamics {
  Real volume;
  Real velocity[3];
  Real kinetic;
  Real energy;

  // Reads memory by `get`, which loads Real from an address.
  template <class Get>
  SCOPE_INLINE static inline Thermodynamics at(const double* d, Stride md, Get&& get) {
    Thermodynamics point;
    point.volume = get(d + derived::volume * md);
    each<3>([&](auto m) SCOPE_INLINE { point.velocity[m] = get(d + (derived::velocity + m) * md); });
    point.kinetic = get(d + derived::kinetic * md);
    point.energy = get(d + derived::energy * md);
    return point;
  }
};

// Whether the matrices along `axis` may be non-zero at a position.
constexpr bool present(int axis, int row, int column) {
  if (row == 0) return column == 0 || column == axis + 1;
  if (row == axis + 1 || row == 4) return true;
  return column == 0 || column == row || column == axis + 1;
}

// d(convection along axis)/d(quantities), at a position.
template <int axis, int row, int column, class Real>
SCOPE_INLINE inline Real convection_jacobian(const Thermodynamics<Real>& at) {
  constexpr int along = axis + 1;
  const Real& speed = at.velocity[axis];
  if constexpr (row == 0) {
    return Real{} + (column == along ? 1.0 : 0.0);
  } else if constexpr (row == 4) {
    const Real enthalpy = k1 * at.energy - k2 * at.kinetic;
    if constexpr (column == 0) return (k2 * at.kinetic - enthalpy) * speed;
    if constexpr (column == 4) return k1 * speed;
    if constexpr (column == along) return enthalpy - k2 * speed * speed;
    if constexpr (column != 0 && column != 4 && column != along) return -k2 * at.velocity[column - 1] * speed;
  } else if constexpr (row == along) {
    if constexpr (column == 0) return k2 * at.kinetic - speed * speed;
    if constexpr (column == 4) return Real{} + k2;
    if constexpr (column == along) return (2 - k2) * speed;
    if constexpr (column != 0 && column != 4 && column != along) return -k2 * at.velocity[column - 1];
  } else {
    if constexpr (column == 0) return -at.velocity[row - 1] * speed;
    if constexpr (column == row) return speed;
    if constexpr (column == along) return at.velocity[row - 1];
    if constexpr (column != 0 && column != row && column != along) return Real{};
  }
}

// Whether the Jacobian of viscosity may be non-zero at a position.
constexpr bool viscous(int row, int column) { return row == 4 || (row > 0 && (column == 0 || column == row)); }

// d(viscosity along axis)/d(quantities), at a position.
template <int axis, int row, int column, class Real>
SCOPE_INLINE inline Real viscosity_jacobian(const Thermodynamics<Real>& at) {
  if constexpr (!viscous(row, column)) {
    return Real{};
  } else if constexpr (row == 4) {
    if constexpr (column == 0) {
      Real sum = conductivity * at.energy;
      each<3>([&](auto m) SCOPE_INLINE {
        sum += (stretching(axis, m) * viscosity - conductivity) * at.velocity[m] * at.velocity[m];
      });
      return -sum * at.volume;
    } else if constexpr (column == 4) {
      return conductivity * at.volume;
    } else {
      return (stretching(axis, column - 1) * viscosity - conductivity) * at.velocity[column - 1] * at.volume;
    }
  } else if constexpr (column == 0) {
    return -stretching(axis, row - 1) * viscosity * at.velocity[row - 1] * at.volume;
  } else {
    return stretching(axis, row - 1) * viscosity * at.volume;
  }
}

// An implicit step is (I + dt L) change = dt R with the linearized operator L. Its matrix along one axis is block
// tridiagonal: these functions give the block of the point before or after (`side` -1 or +1), and the middle one.
template <int axis, int side, int row, int column, class Real>
SCOPE_INLINE inline Real outer_block(const Thermodynamics<Real>& at, const Flow& flow) {
  const double first = side * flow.dt * flow.first_difference();
  const double second = flow.dt * flow.second_difference();
  Real value = first * convection_jacobian<axis, row, column>(at);
  if constexpr (viscous(row, column)) value -= second * viscosity_jacobian<axis, row, column>(at);
  if constexpr (row == column) value -= second * diffusion[axis];
  return value;
}

template <int axis, int row, int column, class Real>
SCOPE_INLINE inline Real middle_block(const Thermodynamics<Real>& at, const Flow& flow) {
  const double second = 2 * flow.dt * flow.second_difference();
  Real value{};
  if constexpr (viscous(row, column)) value = second * viscosity_jacobian<axis, row, column>(at);
  if constexpr (row == column) value += 1 + second * diffusion[axis];
  return value;
}

}  // namespace scope::npb
