// The incompressible Navier-Stokes equations on a staggered grid (Harlow & Welch 1965): pressures in the middles
// of cells, velocities in the middles of their faces.
//
// A time step: convection and diffusion by central differences and the explicit Adams-Bashforth rule of second
// order, then a pressure that makes the velocities free of divergence (Chorin 1968). Its equation is iterated
// until an error criterion is met: successive over-relaxation of cells in two colors, of which each depends on
// the other only. No sum is taken over processes, so that all values are the same on any number of them.
#pragma once

#include <cstdint>
#include <span>
#include <vector>

#include "benchmarks/application/cfd/block.hpp"
#include "benchmarks/application/cfd/flow.hpp"
#include "benchmarks/application/cfd/halo.hpp"
#include "benchmarks/application/npb/vectors.hpp"
#include "memory/buffer.hpp"

namespace scope::cfd {

struct Methods {
  npb::Width width = npb::Width::scalar;
  bool fused = false;       // iterations up to the next look at the criterion in one pass over memory
  bool overlapped = false;  // messages travel while the interior is relaxed
};

struct Diagnosis {
  double error;          // largest error of a velocity, 0 where no solution is known
  double divergence;     // largest flow out of a cell over the flow through a face at unit velocity
  double profile_error;  // largest difference to Ghia's velocities, 0 where there are none
};

class Solver {
 public:
  // `tolerance`: the largest divergence, as in Diagnosis, that ends the iterations for the pressure.
  Solver(const Flow& flow, const Block& block, const Methods& methods, double tolerance, Halo& halo);

  void start();  // the initial state
  void step();

  double time() const { return time_; }
  // For the pressure since the start, of both colors together.
  std::int64_t iterations() const { return iterations_; }
  bool converged() const { return converged_; }
  Diagnosis diagnose();  // of the own cells
  // Three velocities and the pressure of all own cells, one field after another, x fastest.
  std::vector<double> state() const;

  static std::int64_t bytes(const Extents& cells);
  // Operations of a step and of an iteration on one cell.
  static constexpr double step_flops = 122;
  static constexpr double iteration_flops = 10;

 private:
  // Cells begin ... end-1 along each dimension.
  struct Box {
    Extents begin;
    Extents end;
  };
  // The cells whose neighbors up to some distance are here, without those that are copied along z, and the others.
  struct Parts {
    Box interior;
    std::vector<Box> shell;
  };

  double wall(int c, int d, bool above, Index x, Index y, Index z) const;
  double velocity(int c, Index x, Index y, Index z) const;
  // Through walls, and `along` them.
  void set_boundary(const Velocities& velocities, bool along);
  void accelerate();
  void find_pressure();
  void subtract_gradient();
  Parts parts(int distance) const;
  double iterate();
  double iterate_fused();
  double sweep(int color, const Box& box, bool looking);
  double sweep(int color, const std::vector<Box>& boxes, bool looking);
  double plane(int color, int z, const Box& box, bool looking);
  template <int lanes, bool looking>
  double relaxed_plane(int color, int z, const Box& box);
  void find_divergence();
  void join_pressures(Index z);
  double profile_difference() const;
  Box whole() const { return {{0, 0, 0}, block_.size()}; }

  const Flow& flow_;
  const Block& block_;
  Methods methods_;
  double tolerance_;
  Halo& halo_;
  double spacing_;
  double step_s_;
  Buffer memory_;  // of all fields together: large pages fit, and few addresses are translated
  std::span<double> free_;
  Field velocities_[3];
  Field next_[3];
  Field rates_[3];
  Field pressure_;        // times the time step over the spacing
  Field pressures_[2];    // the same by color, so that vectors hold one
  Field divergences_[2];  // times the spacing
  Velocities now_;
  Velocities then_;
  std::vector<Parts> parts_;  // by distance
  double relaxation_;
  double time_ = 0;
  std::int64_t steps_ = 0;
  std::int64_t iterations_ = 0;
  bool converged_ = true;
};

}  // namespace scope::cfd
