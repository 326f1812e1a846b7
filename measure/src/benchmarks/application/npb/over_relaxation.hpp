// LU's sweeps: symmetric successive over-relaxation of the implicit equations, from the first point of the
// grid to the last with the blocks below the diagonal, then back with those above it (RNR-94-007, section
// 3.3.4).
//
// No block is ever formed: its product with a vector follows from the linearized flow in a few operations,
// and the diagonal blocks are lower triangular.
#pragma once

#include "benchmarks/application/npb/jacobians.hpp"

namespace scope::npb {

constexpr double over_relaxation = 1.2;  // omega

// Adds the product of the block before or after along `axis` (`side` -1 or +1) with a change there.
template <int axis, int side, class Real>
SCOPE_INLINE inline void add_outer_block(Real (&sum)[quantities], const Thermodynamics<Real>& at,
                                         const Real (&x)[quantities], const Flow& flow) {
  const double first = side * flow.dt * flow.first_difference();
  const double second = flow.dt * flow.second_difference();
  const auto& v = at.velocity;
  // Changes of pressure, of the velocities, and of energy by conduction.
  const Real pressure = k2 * (at.kinetic * x[0] - v[0] * x[1] - v[1] * x[2] - v[2] * x[3] + x[4]);
  const Real enthalpy = k1 * at.energy - k2 * at.kinetic;
  const Real& mass = x[axis + 1];
  Real moved[3];
  each<3>([&](auto m) SCOPE_INLINE { moved[m] = x[m + 1] - v[m] * x[0]; });
  Real work = conductivity * (x[4] - at.energy * x[0]);
  each<3>([&](auto m)
              SCOPE_INLINE { work += (stretching(axis, m) * viscosity - conductivity) * v[m] * moved[m]; });
  const double spread = second * diffusion[axis];
  sum[0] += first * mass - spread * x[0];
  each<3>([&](auto m) SCOPE_INLINE {
    Real convection = v[axis] * moved[m] + v[m] * mass;
    if constexpr (m == axis) convection += pressure;
    sum[m + 1] +=
        first * convection - (second * stretching(axis, m) * viscosity) * at.volume * moved[m] - spread * x[m + 1];
  });
  sum[4] += first * (v[axis] * (pressure + x[4] - enthalpy * x[0]) + enthalpy * mass) - second * at.volume * work -
            spread * x[4];
}

// x becomes (diagonal block)^-1 x. Summed over the three axes, all velocities diffuse alike.
template <class Real>
SCOPE_INLINE inline void divide_by_diagonal(Real (&x)[quantities], const Thermodynamics<Real>& at,
                                            const Flow& flow) {
  const double second = 2 * flow.dt * flow.second_difference();
  const double own = 1 + second * (diffusion[0] + diffusion[1] + diffusion[2]);
  const double friction = second * viscosity * (stretching(0, 0) + stretching(1, 0) + stretching(2, 0));
  const double conduction = second * 3 * conductivity;
  const Real scale = 1.0 / (own + friction * at.volume);
  const Real scale_of_energy = 1.0 / (own + conduction * at.volume);
  x[0] *= 1 / own;
  Real energy = x[4] + conduction * at.volume * at.energy * x[0];
  each<3>([&](auto m) SCOPE_INLINE {
    const Real& v = at.velocity[m];
    x[m + 1] = (x[m + 1] + friction * at.volume * v * x[0]) * scale;
    energy -= (friction - conduction) * at.volume * v * (x[m + 1] - v * x[0]);
  });
  x[4] = energy * scale_of_energy;
}

class OverRelaxation {
 public:
  // Doubles of workspace for a sweep.
  static std::size_t stored(const Box& box) { return static_cast<std::size_t>(box.size[0]) * quantities; }

  OverRelaxation(Cell& cell, const Flow& flow, double* row) : cell_(cell), flow_(flow), row_(row) {}

  // One plane of the forward sweep (`side` -1) or of the backward one. The residuals of the layer before the
  // cell must be present.
  template <int side, int lanes>
  SCOPE_INLINE void sweep(int k) {
    if constexpr (side < 0)
      for (int j = cell_.inner_begin(1); j < cell_.inner_end(1); ++j) sweep_row<side, lanes>(j, k);
    else
      for (int j = cell_.inner_end(1) - 1; j >= cell_.inner_begin(1); --j) sweep_row<side, lanes>(j, k);
  }

 private:
  template <class Real>
  SCOPE_INLINE Thermodynamics<Real> derived_at(const double* d) const {
    return Thermodynamics<Real>::at(d, cell_.derived.component(),
                                    [](const double* from) SCOPE_INLINE { return load<Real>(from); });
  }
  template <class Real>
  SCOPE_INLINE void change_at(Real (&x)[quantities], const double* r) const {
    each<quantities>([&](auto m) SCOPE_INLINE { x[m] = load<Real>(r + m * cell_.residual.component()); });
  }

  // The contribution of earlier planes and rows is free of recurrences; that along the row is not.
  template <int side, int lanes>
  SCOPE_INLINE void sweep_row(int j, int k) {
    const Stride mr = cell_.residual.component();
    const int begin = cell_.inner_begin(0);
    const int end = cell_.inner_end(0);
    in_runs<lanes>(begin, end, [&](auto run, int i) SCOPE_INLINE {
      using Real = typename decltype(run)::Real;
      const double* const d = cell_.derived.at(i, j, k);
      const double* const r = cell_.residual.at(i, j, k);
      Real sum[quantities]{};
      Real x[quantities];
      each<2>([&](auto which) SCOPE_INLINE {
        constexpr int axis = which + 1;
        change_at<Real>(x, r + side * cell_.residual.along(axis));
        add_outer_block<axis, side>(sum, derived_at<Real>(d + side * cell_.derived.along(axis)), x, flow_);
      });
      each<quantities>([&](auto m) SCOPE_INLINE { store(row_ + m * cell_.size[0] + i, sum[m]); });
    });
    double x[quantities];
    const int first = side < 0 ? begin : end - 1;
    const double* d = cell_.derived.at(first, j, k);
    double* r = cell_.residual.at(first, j, k);
    const double* row = row_ + first;
    change_at<double>(x, r + side);
    for (int left = end - begin; left > 0; --left) {
      double sum[quantities];
      each<quantities>([&](auto m) SCOPE_INLINE { sum[m] = row[m * cell_.size[0]]; });
      add_outer_block<0, side>(sum, derived_at<double>(d + side), x, flow_);
      each<quantities>([&](auto m) SCOPE_INLINE {
        const double own = side < 0 ? r[m * mr] : 0;
        x[m] = own - over_relaxation * sum[m];
      });
      divide_by_diagonal(x, derived_at<double>(d), flow_);
      each<quantities>([&](auto m) SCOPE_INLINE {
        if constexpr (side > 0) x[m] += r[m * mr];
        r[m * mr] = x[m];
      });
      d -= side;
      r -= side;
      row -= side;
    }
  }

  Cell& cell_;
  const Flow& flow_;
  double* row_;
};

}  // namespace scope::npb
