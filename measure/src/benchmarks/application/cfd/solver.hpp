// The incompressible Navier-Stokes equations on a staggered grid (Harlow & Welch 1965): pressures in the middles
// of cells, velocities in the middles of their faces.
//
// A time step: convection and diffusion by central differences and the explicit Adams-Bashforth rule of second
// order, then a pressure that makes the velocities divergence-free (Chorin 1968). The pressure equation is
// iterated until an error criterion is met: successive over-relaxation of cells in two colors, each of which
// depends only on the other. Without sums over processes, all values are the same on any number of processes.
#pragma once

#include <cstdint>
#include <numbers>
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
  bool fused = false;       // do all iterations until the next convergence check in one pass over memory
  bool overlapped = false;  // send messages while the interior is relaxed
};

struct Diagnosis {
  double error;          // largest error of a velocity, 0 if the solution is unknown
  double divergence;     // largest flow out of a cell over the flow through a face at unit velocity
  double profile_error;  // largest difference from Ghia's velocities, 0 if there are none
};

using npb::each;

using npb::lanes_of;

using npb::load;

using npb::store;

using npb::Vector;

// A time step as a fraction of the time in which the flow crosses a cell, and of h^2/12 over the viscosity, above
// which the Adams-Bashforth rule is unstable for diffusion. For convection alone the rule is weakly unstable: per
// step, a wave grows by a quarter of the fourth power of its fraction, which any viscosity used here outweighs.
constexpr double convection_share = 0.3;
constexpr double diffusion_share = 0.7;

// Iterations between two convergence checks, for each of which all processes wait.
constexpr int between_looks = 4;

// Computes dq/dt of velocity component `c` in one row, and from it the velocity after the step.
template <int lanes, int c>
SCOPE_INLINE inline void accelerate_row(const double* const velocity[3], const Index stride[3], double* rate,
                                        double* next, int cells, double quarter, double diffusion, double now,
                                        double before) {
  using Real = typename Vector<lanes>::Type;
  const Index own = stride[c];
  for (int x = 0; x < cells; x += lanes) {
    const double* const q = velocity[c] + x;
    const Real here = load<Real>(q);
    Real convected{};
    Real around{};
    each<3>([&](auto d) SCOPE_INLINE {
      const Index along = stride[d];
      const double* const carrier = velocity[d] + x;
      const Real after = load<Real>(q + along);
      const Real behind = load<Real>(q - along);
      const Real out = load<Real>(carrier + along) + load<Real>(carrier + along - own);
      const Real in = load<Real>(carrier) + load<Real>(carrier - own);
      convected += (here + after) * out - (behind + here) * in;
      around += after + behind;
    });
    const Real found = diffusion * (around - 6.0 * here) - quarter * convected;
    const Real last = load<Real>(rate + x);
    store(rate + x, found);
    store(next + x, here + (now * found + before * last));
  }
}

// A row of cells of one color, and their neighbors, which have the other color.
struct Row {
  double* own;
  const double* before;  // along x
  const double* after;
  const double* below;
  const double* above;
  const double* front;
  const double* back;
  const double* divergence;
};

template <int lanes>
struct Bits {
  typedef std::int64_t Mask __attribute__((vector_size(lanes * sizeof(double))));
};

// The largest residual, for each lane.
template <int lanes>
struct Largest {
  using Real = typename Vector<lanes>::Type;
  using Mask = typename Bits<lanes>::Mask;

  SCOPE_INLINE void include(const Real& residual)
    requires(lanes > 1)
  {
    const Real magnitude = (Real)((Mask)residual & ~(Mask{} + INT64_MIN));
    of_vectors = magnitude > of_vectors ? magnitude : of_vectors;
  }
  SCOPE_INLINE void include(double residual) { of_cells = std::max(of_cells, std::abs(residual)); }
  SCOPE_INLINE double all() const {
    double most = of_cells;
    for (int lane = 0; lane < lanes; ++lane) most = std::max(most, npb::number(of_vectors, lane));
    return most;
  }

  Real of_vectors{};
  double of_cells = 0;
};

// Relaxes one cell for each lane of Real; returns the residuals of their equations.
template <class Real>
SCOPE_INLINE inline Real relax_cells(const Row& row, int at, double neighbors, double factor) {
  const Real here = load<Real>(row.own + at);
  const Real around = ((load<Real>(row.front + at) + load<Real>(row.back + at)) +
                       (load<Real>(row.below + at) + load<Real>(row.above + at))) +
                      (load<Real>(row.before + at) + load<Real>(row.after + at));
  const Real residual = (around - load<Real>(row.divergence + at)) - neighbors * here;
  store<Real>(row.own + at, here + factor * residual);
  return residual;
}

// Relaxes cells begin ... end-1, which all have this many neighbors.
template <int lanes, bool looking>
SCOPE_INLINE inline void relax_row(const Row& row, int begin, int end, int neighbors, double factor,
                                   Largest<lanes>& largest) {
  using Real = typename Vector<lanes>::Type;
  int at = begin;
  for (; at + lanes <= end; at += lanes) {
    const Real residual = relax_cells<Real>(row, at, neighbors, factor);
    if constexpr (looking) largest.include(residual);
  }
  for (; at < end; ++at) {
    const double residual = relax_cells<double>(row, at, neighbors, factor);
    if constexpr (looking) largest.include(residual);
  }
}

// The extents of the cells of one color, which are halved along x.
inline Extents half_of(const Extents& size) { return {(size[0] + 1) / 2, size[1], size[2]}; }

inline double lowest_wave(int cells, bool periodic) {
  return cells > 1 ? (periodic ? 2 : 1) * std::numbers::pi / cells : std::numbers::pi;
}

class Solver {
 public:
  // `tolerance`: the largest divergence, as in Diagnosis, that ends the iterations for the pressure.
  Solver(const Flow& flow, const Block& block, const Methods& methods, double tolerance, Halo& halo)
      : flow_(flow),
        block_(block),
        methods_(methods),
        tolerance_(tolerance),
        halo_(halo),
        spacing_(flow.length() / block.cells()[0]),
        step_s_(std::min(convection_share * spacing_ / flow.speed(),
                         diffusion_share * spacing_ * spacing_ / (12 * flow.viscosity()))),
        memory_(static_cast<std::size_t>(bytes(block.size()))),
        free_(memory_.as<double>()),
        velocities_{{block.size(), free_}, {block.size(), free_}, {block.size(), free_}},
        next_{{block.size(), free_}, {block.size(), free_}, {block.size(), free_}},
        rates_{{block.size(), free_}, {block.size(), free_}, {block.size(), free_}},
        pressure_(block.size(), free_),
        pressures_{{half_of(block.size()), free_}, {half_of(block.size()), free_}},
        divergences_{{half_of(block.size()), free_}, {half_of(block.size()), free_}},
        now_{&velocities_[0], &velocities_[1], &velocities_[2]},
        then_{&next_[0], &next_[1], &next_[2]} {
    memory_.map();
    for (int distance = 0; distance < 2 * between_looks; ++distance) parts_.push_back(parts(distance));
    // The best factor (Young 1954), ignoring that cells at walls have fewer neighbors.
    double slowest = 0;
    for (int d = 0; d < 3; ++d) {
      const bool periodic = flow.periodic()[d];
      slowest = std::max(slowest, (2 + std::cos(lowest_wave(block.cells()[d], periodic))) / 3);
    }
    relaxation_ = 2 / (1 + std::sqrt(1 - slowest * slowest));
  }

  // Sets the initial state.
  void start() {
    time_ = 0;
    steps_ = iterations_ = 0;
    converged_ = true;
    const auto [nx, ny, nz] = block_.size();
    for (Field& half : pressures_) half.clear();
    for (int c = 0; c < 3; ++c) {
      rates_[c].clear();
      for (Index z = 0; z < nz; ++z) {
        for (Index y = 0; y < ny; ++y)
          for (Index x = 0; x < nx; ++x) now_[c]->at(y, z)[x] = flow_.known() ? velocity(c, x, y, z) : 0;
      }
    }
    halo_.exchange(now_);
    set_boundary(now_, true);
  }
  void step() {
    accelerate();
    time_ += step_s_;
    ++steps_;
    set_boundary(then_, false);
    halo_.exchange_fluxes(then_);
    find_divergence();
    find_pressure();
    subtract_gradient();
    std::swap(now_, then_);
    set_boundary(now_, false);  // a block of one layer sends the velocities at its walls
    halo_.exchange(now_);
    set_boundary(now_, true);
  }

  double time() const { return time_; }
  // Pressure iterations since the start; each covers both colors.
  std::int64_t iterations() const { return iterations_; }
  bool converged() const { return converged_; }
  // The diagnosis of this process's cells.
  Diagnosis diagnose() {
    const auto [nx, ny, nz] = block_.size();
    Diagnosis found{};
    const auto strides = pressure_.strides();
    for (Index z = 0; z < nz; ++z) {
      for (Index y = 0; y < ny; ++y) {
        for (Index x = 0; x < nx; ++x) {
          double out = 0;
          for (int c = 0; c < 3; ++c) {
            const double* const at = now_[c]->at(y, z) + x;
            out += at[strides[c]] - at[0];
            if (flow_.known()) found.error = std::max(found.error, std::abs(*at - velocity(c, x, y, z)));
          }
          found.divergence = std::max(found.divergence, std::abs(out));
        }
      }
    }
    found.profile_error = profile_difference();
    return found;
  }
  // Three velocities and the pressure of all cells of this process, one field after another, x fastest.
  std::vector<double> state() const {
    std::vector<double> values;
    const Field* const fields[] = {now_[0], now_[1], now_[2], &pressure_};
    const auto [nx, ny, nz] = block_.size();
    for (const Field* const field : fields) {
      for (Index z = 0; z < nz; ++z) {
        for (Index y = 0; y < ny; ++y) {
          const double* const row = field->at(y, z);
          values.insert(values.end(), row, row + nx);
        }
      }
    }
    return values;
  }

  static std::int64_t bytes(const Extents& cells) {
    return static_cast<std::int64_t>(sizeof(double) *
                                     (10 * Field::doubles(cells) + 4 * Field::doubles(half_of(cells))));
  }
  // Floating-point operations per cell in a step and in an iteration.
  static constexpr double step_flops = 122;
  static constexpr double iteration_flops = 10;

 private:
  // Cells begin ... end-1 along each dimension.
  struct Box {
    Extents begin;
    Extents end;
  };
  // Interior: cells whose neighbors up to some distance are here and are not copied along z; shell: all others.
  struct Parts {
    Box interior;
    std::vector<Box> shell;
  };

  // The velocity at a wall, next to a cell.
  double wall(int c, int d, bool above, Index x, Index y, Index z) const {
    const Index cell[3] = {x, y, z};
    Point at{};
    for (int e = 0; e < 3; ++e) {
      const double middle = e == c ? 0 : 0.5;
      at[e] = flow_.begin() + (static_cast<double>(block_.begin()[e] + cell[e]) + middle) * spacing_;
    }
    at[d] = flow_.begin() + (above ? static_cast<double>(block_.cells()[d]) * spacing_ : 0);
    return flow_.velocity(c, at, time_, spacing_);
  }
  double velocity(int c, Index x, Index y, Index z) const {
    const Index cell[3] = {x, y, z};
    Point at{};
    for (int d = 0; d < 3; ++d) {
      const double middle = d == c ? 0 : 0.5;
      at[d] = flow_.begin() + (static_cast<double>(block_.begin()[d] + cell[d]) + middle) * spacing_;
    }
    return flow_.velocity(c, at, time_, spacing_);
  }
  // Sets velocities through walls and, with `along`, those along walls.
  // Velocities through walls are given; those along a wall continue beyond it by the parabola through the wall's
  // velocity. A straight line would leave an error of the diffusion there that does not vanish on finer grids.
  void set_boundary(const Velocities& velocities, bool along) {
    const Extents& size = block_.size();
    for (int d = 0; d < 3; ++d) {
      for (const bool above : {false, true}) {
        if (above ? !block_.wall_above(d) : !block_.wall_below(d)) continue;
        const int e = (d + 1) % 3;
        const int f = (d + 2) % 3;
        Index cell[3];
        for (cell[f] = -1; cell[f] <= size[f]; ++cell[f]) {
          for (cell[e] = -1; cell[e] <= size[e]; ++cell[e]) {
            for (int c = 0; c < 3; ++c) {
              if (c != d && !along) continue;
              Field& field = *velocities[c];
              cell[d] = above ? size[d] - 1 : 0;
              const double given = wall(c, d, above, cell[0], cell[1], cell[2]);
              double* const inner = field.at(cell[1], cell[2]) + cell[0];
              const Index outwards = above ? field.strides()[d] : -field.strides()[d];
              if (c != d)
                inner[outwards] = (8 * given - 6 * inner[0] + inner[-outwards]) / 3;
              else
                inner[above ? outwards : 0] = given;
            }
          }
        }
      }
    }
  }
  void accelerate() {
    const auto [nx, ny, nz] = block_.size();
    const auto strides = pressure_.strides();
    const Index stride[3] = {1, strides[1], strides[2]};
    const double quarter = 0.25 / spacing_;
    const double diffusion = flow_.viscosity() / (spacing_ * spacing_);
    // The first step uses Euler's rule, whose error of second order occurs only once.
    const double now = steps_ == 0 ? step_s_ : 1.5 * step_s_;
    const double before = steps_ == 0 ? 0 : -0.5 * step_s_;
    npb::in_lanes(methods_.width, [&, nx = nx, ny = ny, nz = nz]<int lanes>() SCOPE_INLINE {
      for (Index z = 0; z < nz; ++z) {
        for (Index y = 0; y < ny; ++y) {
          const double* const velocity[3] = {now_[0]->at(y, z), now_[1]->at(y, z), now_[2]->at(y, z)};
          each<3>([&](auto c) SCOPE_INLINE {
            accelerate_row<lanes, int{c}>(velocity, stride, rates_[c].at(y, z), then_[c]->at(y, z), nx, quarter,
                                          diffusion, now, before);
          });
        }
      }
    });
  }
  void find_pressure() {
    const std::int64_t most =
        1000 + 20 * static_cast<std::int64_t>(*std::max_element(block_.cells().begin(), block_.cells().end()));
    // The last step's pressure is the initial guess; its halo is still valid.
    for (std::int64_t done = 0; done < most; done += between_looks) {
      const double residual = iterate();
      iterations_ += between_looks;
      if (halo_.largest(residual) <= tolerance_) return;
    }
    converged_ = false;
  }
  void subtract_gradient() {
    const auto [nx, ny, nz] = block_.size();
    const auto strides = pressure_.strides();
    join_pressures(-1);
    npb::in_lanes(methods_.width, [&, nx = nx, ny = ny, nz = nz]<int lanes>() SCOPE_INLINE {
      using Real = typename Vector<lanes>::Type;
      for (Index z = 0; z < nz; ++z) {
        join_pressures(z);  // just before it is read, while it is in a cache
        for (Index y = 0; y < ny; ++y) {
          const double* const p = pressure_.at(y, z);
          for (int c = 0; c < 3; ++c) {
            double* const to = then_[c]->at(y, z);
            for (int x = 0; x < nx; x += lanes)
              store(to + x, load<Real>(to + x) - (load<Real>(p + x) - load<Real>(p + x - strides[c])));
          }
        }
      }
    });
  }
  Parts parts(int distance) const {
    Parts found{whole(), {}};
    for (int d = 2; d >= 0; --d) {
      if (!block_.split(d) && !(d == 2 && block_.wraps(2))) continue;
      int& begin = found.interior.begin[d];
      int& end = found.interior.end[d];
      const int below = block_.wall_below(d) ? begin : std::min(begin + distance, end);
      const int above = block_.wall_above(d) ? end : std::max(end - distance, below);
      for (const auto& [from, to] : {std::pair(begin, below), std::pair(above, end)}) {
        Box layers = found.interior;
        layers.begin[d] = from;
        layers.end[d] = to;
        if (from < to) found.shell.push_back(layers);
      }
      begin = below;
      end = above;
    }
    return found;
  }
  // Iterates until the next convergence check; returns the residual of the last iteration.
  double iterate() {
    if (methods_.fused && !methods_.overlapped) return iterate_fused();
    double residual = 0;
    for (int i = 1; i <= between_looks; ++i) {
      const bool looking = i == between_looks;
      for (int color = 0; color < 2; ++color) {
        if (methods_.overlapped) {
          residual = std::max(residual, sweep(color, parts_[1].shell, looking));
          halo_.start(pressures_[color], color);
          residual = std::max(residual, sweep(color, parts_[1].interior, looking));
        } else {
          residual = std::max(residual, sweep(color, whole(), looking));
          halo_.start(pressures_[color], color);
        }
        halo_.finish();
      }
    }
    return residual;
  }
  // In one pass over memory: every sweep follows the previous one at a distance of one plane, all in cache. Each
  // sweep ends one cell further from the halo; near the halo the sweeps are done one after another.
  double iterate_fused() {
    constexpr int sweeps = 2 * between_looks;
    const auto looks = [](int sweep) { return sweep >= sweeps - 2; };
    double residual = 0;
    for (int front = 0; front < block_.size()[2] + sweeps - 1; ++front) {
      for (int i = 0; i < sweeps; ++i) {
        const Box& interior = parts_[i].interior;
        const int z = front - i;
        if (z >= interior.begin[2] && z < interior.end[2])
          residual = std::max(residual, plane(i % 2, z, interior, looks(i)));
      }
    }
    for (int i = 0; i < sweeps; ++i) {
      residual = std::max(residual, sweep(i % 2, parts_[i].shell, looks(i)));
      halo_.start(pressures_[i % 2], i % 2);
      halo_.finish();
    }
    return residual;
  }
  double sweep(int color, const Box& box, bool looking) {
    double residual = 0;
    for (int z = box.begin[2]; z < box.end[2]; ++z) residual = std::max(residual, plane(color, z, box, looking));
    return residual;
  }
  double sweep(int color, const std::vector<Box>& boxes, bool looking) {
    double residual = 0;
    for (const Box& box : boxes) residual = std::max(residual, sweep(color, box, looking));
    return residual;
  }
  double plane(int color, int z, const Box& box, bool looking) {
    double largest = 0;
    npb::in_lanes(methods_.width, [&]<int lanes>() SCOPE_INLINE {
      largest = looking ? relaxed_plane<lanes, true>(color, z, box) : relaxed_plane<lanes, false>(color, z, box);
    });
    return largest;
  }
  template <int lanes, bool looking>
  SCOPE_INLINE double relaxed_plane(int color, int z, const Box& box) {
    const auto [nx, ny, nz] = block_.size();
    // Values common to all rows are computed once, because rows are short.
    double factors[7] = {};  // by the number of neighbors
    for (int neighbors = 1; neighbors < 7; ++neighbors) factors[neighbors] = relaxation_ / neighbors;
    struct Cells {
      int begin;
      int end;
      bool before;  // whether a wall is before the first cell, or behind the last
      bool behind;
    };
    Cells cells[2];  // of this color, if the first one of a row is cell 0, or 1
    for (int first = 0; first < 2; ++first) {
      const int begin = (box.begin[0] - first + 1) / 2;
      const int end = (box.end[0] - first + 1) / 2;
      const bool some = begin < end;
      cells[first] = {begin, end, some && block_.wall_below(0) && first + 2 * begin == 0,
                      some && block_.wall_above(0) && first + 2 * (end - 1) == nx - 1};
    }
    const int walls = (z == 0 && block_.wall_below(2)) + (z == nz - 1 && block_.wall_above(2));
    const bool wall_below = block_.wall_below(1);
    const bool wall_above = block_.wall_above(1);
    const bool wraps = block_.wraps(0);
    const Index row_stride = pressures_[color].strides()[1];
    const Index plane_stride = pressures_[color].strides()[2];
    double* own = pressures_[color].at(box.begin[1], z);
    const double* other = pressures_[1 - color].at(box.begin[1], z);
    const double* divergence = divergences_[color].at(box.begin[1], z);
    int first = block_.first(color, box.begin[1], z);
    Largest<lanes> largest;
    for (int y = box.begin[1]; y < box.end[1]; ++y) {
      const Row row{own,
                    other + first - 1,
                    other + first,
                    other - row_stride,
                    other + row_stride,
                    other - plane_stride,
                    other + plane_stride,
                    divergence};
      auto [begin, end, before, behind] = cells[first];
      const int neighbors = 6 - walls - (y == 0 && wall_below) - (y == ny - 1 && wall_above);
      if (before) {
        const int left = neighbors - 1 - (behind && end - begin == 1);
        relax_row<lanes, looking>(row, begin, begin + 1, left, factors[left], largest);
        ++begin;
      }
      if (behind && begin < end) {
        --end;
        relax_row<lanes, looking>(row, end, end + 1, neighbors - 1, factors[neighbors - 1], largest);
      }
      relax_row<lanes, looking>(row, begin, end, neighbors, factors[neighbors], largest);
      if (wraps) {
        if (first == 1)
          own[-1] = own[nx / 2 - 1];
        else
          own[nx / 2] = own[0];
      }
      own += row_stride;
      other += row_stride;
      divergence += row_stride;
      first = 1 - first;
    }
    if (block_.wraps(1)) {
      Field& field = pressures_[color];
      std::copy_n(field.at(ny - 1, z) - 1, nx / 2 + 2, field.at(-1, z) - 1);
      std::copy_n(field.at(0, z) - 1, nx / 2 + 2, field.at(ny, z) - 1);
    }
    return largest.all();
  }
  void find_divergence() {
    const auto [nx, ny, nz] = block_.size();
    const auto strides = pressure_.strides();
    std::vector<double> out(static_cast<std::size_t>(nx + npb::most_lanes));
    npb::in_lanes(methods_.width, [&, nx = nx, ny = ny, nz = nz]<int lanes>() SCOPE_INLINE {
      using Real = typename Vector<lanes>::Type;
      for (Index z = 0; z < nz; ++z) {
        for (Index y = 0; y < ny; ++y) {
          const double* const u = then_[0]->at(y, z);
          const double* const v = then_[1]->at(y, z);
          const double* const w = then_[2]->at(y, z);
          for (int x = 0; x < nx; x += lanes) {
            store(out.data() + x, (load<Real>(u + x + 1) - load<Real>(u + x)) +
                                      (load<Real>(v + x + strides[1]) - load<Real>(v + x)) +
                                      (load<Real>(w + x + strides[2]) - load<Real>(w + x)));
          }
          for (int color = 0; color < 2; ++color) {
            double* const to = divergences_[color].at(y, z);
            for (int x = block_.first(color, y, z), i = 0; x < nx; x += 2, ++i) to[i] = out[x];
          }
        }
      }
    });
  }
  // Joins both colors of a plane in one field, with the lower halo of each dimension, which differences need.
  void join_pressures(Index z) {
    const auto [nx, ny, nz] = block_.size();
    for (Index y = -1; y < ny; ++y) {
      double* const to = pressure_.at(y, z);
      for (int color = 0; color < 2; ++color) {
        const int first = block_.first(color, y, z);
        const double* const from = pressures_[color].at(y, z);
        if (first == 1) to[-1] = from[-1];
        for (int x = first, i = 0; x < nx; x += 2, ++i) to[x] = from[i];
      }
    }
  }
  // Compares Ghia's points between two of this process's cells, by linear interpolation along the line through the
  // center, which is on cell faces because the number of cells is even.
  double profile_difference() const {
    double largest = 0;
    if (flow_.known()) return largest;
    const int reynolds = static_cast<int>(std::lround(1 / flow_.viscosity()));
    for (const int c : {0, 1}) {
      const int across = 1 - c;  // the line runs along this dimension
      const Index middle = block_.cells()[0] / 2 - block_.begin()[c];
      if (middle < 0 || middle >= block_.size()[c]) continue;
      for (const ProfilePoint& point : c == 0 ? ghia_u(reynolds) : ghia_v(reynolds)) {
        const double place = point.distance / spacing_ - 0.5 - block_.begin()[across];
        const double below = std::floor(place);
        const auto cell = static_cast<Index>(below);
        // A point before the first cell of the grid is between this cell and its reflection.
        const bool first = cell == -1 && block_.begin()[across] == 0;
        if ((cell < 0 && !first) || cell >= block_.size()[across]) continue;
        const auto at = [&](Index where) {
          return c == 0 ? now_[0]->at(where, 0)[middle] : now_[1]->at(middle, 0)[where];
        };
        const double value = at(cell) + (place - below) * (at(cell + 1) - at(cell));
        largest = std::max(largest, std::abs(value - point.velocity));
      }
    }
    return largest;
  }
  Box whole() const { return {{0, 0, 0}, block_.size()}; }

  const Flow& flow_;
  const Block& block_;
  Methods methods_;
  double tolerance_;
  Halo& halo_;
  double spacing_;
  double step_s_;
  Buffer memory_;  // of all fields together, to use large pages and few TLB entries
  std::span<double> free_;
  Field velocities_[3];
  Field next_[3];
  Field rates_[3];
  Field pressure_;        // times the time step over the spacing
  Field pressures_[2];    // the same by color, so that vectors hold one color
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
