// The rate of change of the flow: the right-hand side of the equations by central differences of second order
// and the fourth-order dissipation, plus the forcing term (RNR-94-007, sections 3.2 and 3.3.1).
#pragma once

#include "benchmarks/application/npb/cell.hpp"

namespace scope::npb {

// Fills `derived` at the cell's points and in the layer around it; the speed of sound only if it is stored.
template <int lanes>
SCOPE_INLINE inline void derive(Cell& cell, bool sound) {
  const Stride mu = cell.u.component();
  const Stride md = cell.derived.component();
  for (int k = cell.outer_begin(2, 1); k < cell.outer_end(2, 1); ++k) {
    for (int j = cell.outer_begin(1, 1); j < cell.outer_end(1, 1); ++j) {
      in_runs<lanes>(cell.outer_begin(0, 1), cell.outer_end(0, 1), [&](auto run, int i) SCOPE_INLINE {
        using Real = typename decltype(run)::Real;
        const double* const u = cell.u.at(i, j, k);
        double* const d = cell.derived.at(i, j, k);
        const Real volume = 1.0 / load<Real>(u);
        Real kinetic{};
        each<3>([&](auto m) SCOPE_INLINE {
          const Real velocity = load<Real>(u + (m + 1) * mu) * volume;
          kinetic += velocity * velocity;
          store(d + (derived::velocity + m) * md, velocity);
        });
        kinetic *= 0.5;
        const Real energy = load<Real>(u + 4 * mu) * volume;
        store(d + derived::volume * md, volume);
        store(d + derived::kinetic * md, kinetic);
        store(d + derived::energy * md, energy);
        if (sound) {
          const Real squared = k1 * k2 * (energy - kinetic);
          store(d + derived::sound * md, square_root(squared));
        }
      });
    }
  }
}

// The data that the differences need at a point.
template <class Real>
struct State {
  SCOPE_INLINE State(const double* u, Stride mu, const double* d, Stride md) {
    each<quantities>([&](auto m) SCOPE_INLINE { conserved[m] = load<Real>(u + m * mu); });
    each<3>([&](auto m) SCOPE_INLINE { velocity[m] = load<Real>(d + (derived::velocity + m) * md); });
    kinetic = load<Real>(d + derived::kinetic * md);
    energy = load<Real>(d + derived::energy * md);
  }

  SCOPE_INLINE Real pressure() const { return k2 * (conserved[4] - kinetic * conserved[0]); }

  Real conserved[quantities];
  Real velocity[3];
  Real kinetic;
  Real energy;
};

// Adds the differences along one axis: convection (E, F, G of the report) and viscosity (T, V, W).
template <int axis, class Real>
SCOPE_INLINE inline void add_differences(Real (&sum)[quantities], const State<Real>& behind,
                                         const State<Real>& here, const State<Real>& ahead, const Flow& flow) {
  const double first = flow.first_difference();
  const double second = flow.second_difference();
  const auto curvature = [](const Real& low, const Real& middle, const Real& high)
                             SCOPE_INLINE { return low - 2.0 * middle + high; };
  each<quantities>([&](auto m) SCOPE_INLINE {
    sum[m] += second * diffusion[axis] * curvature(behind.conserved[m], here.conserved[m], ahead.conserved[m]);
  });
  const Real& back = behind.velocity[axis];
  const Real& middle = here.velocity[axis];
  const Real& front = ahead.velocity[axis];
  const Real pressure_behind = behind.pressure();
  const Real pressure_ahead = ahead.pressure();
  sum[0] -= first * (ahead.conserved[axis + 1] - behind.conserved[axis + 1]);
  each<3>([&](auto m) SCOPE_INLINE {
    Real convection = ahead.conserved[m + 1] * front - behind.conserved[m + 1] * back;
    if constexpr (m == axis) convection += pressure_ahead - pressure_behind;
    sum[m + 1] += second * viscosity * stretching(axis, m) *
                      curvature(behind.velocity[m], here.velocity[m], ahead.velocity[m]) -
                  first * convection;
  });
  sum[4] +=
      second * viscosity *
          ((1 - k1 * k5) * curvature(behind.kinetic, here.kinetic, ahead.kinetic) +
           1.0 / 6.0 * curvature(back * back, middle * middle, front * front) +
           k1 * k5 * curvature(behind.energy, here.energy, ahead.energy)) -
      first * ((ahead.conserved[4] + pressure_ahead) * front - (behind.conserved[4] + pressure_behind) * back);
}

// Writes `scale` times the right-hand side at the inner points of the cell into `to`; ghost points are unchanged.
// Needs u in two layers and `derived` in one layer around the cell.
template <int lanes>
SCOPE_INLINE inline void right_hand_side(Cell& cell, const Flow& flow, double scale, Field& to, bool forced) {
  const Stride mu = cell.u.component();
  const Stride md = cell.derived.component();
  const Stride mf = cell.forcing.component();
  const Stride mr = to.component();
  const auto row = [&](int j, int k) SCOPE_INLINE {
    in_runs<lanes>(cell.inner_begin(0), cell.inner_end(0), [&](auto run, int i) SCOPE_INLINE {
      using Real = typename decltype(run)::Real;
      const double* const u = cell.u.at(i, j, k);
      const double* const d = cell.derived.at(i, j, k);
      const double* const forcing = cell.forcing.at(i, j, k);
      double* const result = to.at(i, j, k);
      Real sum[quantities];
      each<quantities>([&](auto m) SCOPE_INLINE { sum[m] = forced ? load<Real>(forcing + m * mf) : Real{}; });
      const State<Real> here(u, mu, d, md);
      each<3>([&](auto axis) SCOPE_INLINE {
        const Stride su = cell.u.along(axis);
        const Stride sd = cell.derived.along(axis);
        add_differences<axis>(sum, State<Real>(u - su, mu, d - sd, md), here, State<Real>(u + su, mu, d + sd, md),
                              flow);
        Real weight[5];
        each<5>([&](auto w) SCOPE_INLINE {
          const double* const weights = cell.fourth[axis].weights[w].data();
          if constexpr (axis == 0)
            weight[w] = dissipation * load<Real>(weights + i);
          else
            weight[w] = dissipation * weights[axis == 1 ? j : k] + Real{};
        });
        each<quantities>([&](auto m) SCOPE_INLINE {
          const double* const um = u + m * mu;
          sum[m] -= weight[0] * load<Real>(um - 2 * su) + weight[1] * load<Real>(um - su) +
                    weight[2] * here.conserved[m] + weight[3] * load<Real>(um + su) +
                    weight[4] * load<Real>(um + 2 * su);
        });
      });
      each<quantities>([&](auto m) SCOPE_INLINE {
        const Real scaled = scale * sum[m];
        store(result + m * mr, scaled);
      });
    });
  };
  // The five planes around a point stay in cache for this many rows.
  constexpr int rows = 16;
  for (int first = cell.inner_begin(1); first < cell.inner_end(1); first += rows) {
    const int end = std::min(first + rows, cell.inner_end(1));
    for (int k = cell.inner_begin(2); k < cell.inner_end(2); ++k)
      for (int j = first; j < end; ++j) row(j, k);
  }
}

// The forcing term that keeps the exact solution steady; leaves that solution in u.
inline void set_forcing(Cell& cell, const Flow& flow) {
  set_u(cell, Cell::u_ghost, exact_solution);
  derive<1>(cell, false);
  right_hand_side<1>(cell, flow, -1, cell.forcing, false);
}

}  // namespace scope::npb
