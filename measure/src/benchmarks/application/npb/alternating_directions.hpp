// The common part of BT and SP: a flow in the cells of a multi-partition, with time steps that solve systems along
// x, then y, then z (RNR-94-007, section 3.3.1: approximate factorization).
#pragma once

#include "benchmarks/algorithm/partition.hpp"
#include "benchmarks/application/npb/decomposition.hpp"
#include "benchmarks/application/npb/flow_norms.hpp"
#include "benchmarks/application/npb/kernel.hpp"
#include "benchmarks/application/npb/lines.hpp"
#include "benchmarks/application/npb/right_hand_side.hpp"
#include "benchmarks/application/npb/variant.hpp"

namespace scope::npb {

// Multi-partitioning: the grid is cut into slabs along several axes, and every process holds one cell of each
// slab, so that a sweep along any axis keeps all processes busy all the time (Bruno, Cappello 1988; Naik
// 1995).
//
// q*q processes cut all three axes into q slabs and hold q cells each, on a diagonal of the cube. Any other number
// p cuts x and y into p slabs and leaves z whole: p cells for each process, on a diagonal of the square.
class Multipartition {
 public:
  // Number of points that the fourth differences need from a neighbor.
  static constexpr int fewest_points = 2;

  // Throws Unavailable, with the nearest counts that fit, if a cell would have too few points.
  Multipartition(const std::string& benchmark, int n, int processes, int rank)
      : n_(n), rank_(rank), slabs_(slabs_of(processes)) {
    const auto fits = [&](int count) { return n / slabs_of(count)[0] >= fewest_points; };
    if (!fits(processes)) {
      throw Unavailable(sentence(
          {benchmark, " needs cells of at least ", fewest_points, " points along each axis. An axis has ", n,
           " points. It is cut into q cells on q*q ranks, and into p cells on any other number p of ranks. ",
           processes, " ranks were given: ", nearest_counts(processes, fits)}));
    }
  }

  int slabs(int axis) const { return slabs_[axis]; }
  int cells() const { return slabs_[0]; }  // number of cells of each process

  // The position of this process's cell in a slab along x.
  Extents place(int slab) const {
    if (slabs_[2] == 1) return {slab, wrapped(slab - rank_), 0};
    const int z = wrapped(slab - rank_ / slabs_[0]);
    return {slab, wrapped(z + rank_ % slabs_[0]), z};
  }
  Extents begin(const Extents& place) const {
    return {first(0, place[0]), first(1, place[1]), first(2, place[2])};
  }
  Extents size(const Extents& place) const {
    Extents size;
    for (int axis = 0; axis < 3; ++axis) size[axis] = first(axis, place[axis] + 1) - first(axis, place[axis]);
    return size;
  }

  // The process that owns all cells after (or, with `step` -1, before) this process's cells along an axis.
  int neighbor(int axis, int step) const {
    Extents there = place(0);
    there[axis] = wrapped(there[axis] + step);
    return owner(there);
  }

 private:
  static Extents slabs_of(int processes) {
    const int root = static_cast<int>(std::lround(std::sqrt(processes)));
    if (root * root == processes) return {root, root, root};
    return {processes, processes, 1};
  }
  int first(int axis, int slab) const { return static_cast<int>(Partition(n_, slabs_[axis]).begin(slab)); }
  int wrapped(int slab) const { return (slab % slabs_[0] + slabs_[0]) % slabs_[0]; }
  int owner(const Extents& place) const {
    if (slabs_[2] == 1) return wrapped(place[0] - place[1]);
    return wrapped(place[0] - place[2]) * slabs_[0] + wrapped(place[1] - place[2]);
  }

  int n_;
  int rank_;
  Extents slabs_;
};

// `System<axis>` solves the lines of a cell; see BlockTridiagonal and ScalarPentadiagonal.
template <template <int> class System>
class AlternatingDirections : public Kernel {
 public:
  AlternatingDirections(const std::string& benchmark, const Parameters& parameters,
                        const Communicator& communicator, const FlowProblem& problem)
      : Kernel(benchmark, parameters, communicator),
        problem_(problem),
        flow_{problem.n, problem.dt},
        partition_(benchmark, problem.n, communicator.size(), communicator.rank()),
        width_(width_of(parameters, communicator)) {
    std::vector<int> all;
    for (int axis = 0; axis < 3; ++axis) {
      const int before = cut(axis) ? partition_.neighbor(axis, -1) : MPI_PROC_NULL;
      const int after = cut(axis) ? partition_.neighbor(axis, 1) : MPI_PROC_NULL;
      before_.push_back(Partners::these({before}));
      after_.push_back(Partners::these({after}));
      all.insert(all.end(), {before, after});
    }
    around_ = Partners::these(all);
    prepare();
  }

 protected:
  const FlowProblem& problem() const { return problem_; }

 private:
  static constexpr int derived_numbers = System<0>::needs_sound ? derived::with_sound : derived::without_sound;

  // Allocates all data. Throws Unavailable if they do not fit.
  void prepare() {
    std::vector<Box> boxes;
    for (int slab = 0; slab < partition_.cells(); ++slab) {
      places_.push_back(partition_.place(slab));
      boxes.push_back({problem_.n, partition_.begin(places_.back()), partition_.size(places_.back())});
    }
    const auto [kept, message, faces] = line_sizes(boxes);
    std::size_t numbers = kept + 2 * message + 2 * faces;
    std::size_t bytes = 0;
    for (const Box& box : boxes) bytes += Cell::bytes(box, derived_numbers, 0);
    require(static_cast<std::int64_t>(bytes + numbers * sizeof(double)));
    kept_.resize(kept);
    sent_.resize(message);
    received_.resize(message);
    for (const Box& box : boxes) set_forcing(cells_.emplace_back(box, derived_numbers, 0), flow_);
  }

  bool cut(int axis) const { return partition_.slabs(axis) > 1; }

  // Number of doubles that the lines of a box need: factors kept between the forward and the backward sweep, for
  // all lines if they continue on other processes, else for a few lines at a time; and data sent forward and back.
  struct LineMemory {
    std::size_t kept;
    std::size_t kept_at_once;
    std::size_t forward;
    std::size_t backward;
  };
  static LineMemory line_memory(const Box& box, int axis) {
    return with_axis(axis, [&](auto a) -> LineMemory {
      const auto lines = static_cast<std::size_t>(Lines<a>::count(box));
      const auto points = static_cast<std::size_t>(Lines<a>::length(box)) * System<a>::kept;
      return {lines * points, most_lanes * points, lines * System<a>::forward, lines * System<a>::backward};
    });
  }

  struct Sizes {
    std::size_t kept = 0;
    std::size_t message = 0;
    std::size_t faces = 0;
  };
  Sizes line_sizes(const std::vector<Box>& boxes) const {
    Sizes sizes;
    for (int axis = 0; axis < 3; ++axis) {
      std::size_t kept = 0;
      for (const Box& box : boxes) {
        const LineMemory memory = line_memory(box, axis);
        kept = cut(axis) ? kept + memory.kept : std::max(kept, memory.kept_at_once);
        if (!cut(axis)) continue;
        sizes.message = std::max({sizes.message, memory.forward, memory.backward});
        sizes.faces += 2 * face_numbers(box, axis);
      }
      sizes.kept = std::max(sizes.kept, kept);
    }
    return sizes;
  }

  // Calls `action` with the axis as a constant.
  template <class Action>
  static decltype(auto) with_axis(int axis, Action&& action) {
    if (axis == 0) return action(std::integral_constant<int, 0>{});
    if (axis == 1) return action(std::integral_constant<int, 1>{});
    return action(std::integral_constant<int, 2>{});
  }

  void solve(Cell& cell, int axis, double* kept, const Passage& passage) {
    with_axis(axis, [&](auto a) {
      in_lanes(width_,
               [&]<int lanes>() SCOPE_INLINE { System<a>(cell, flow_, kept).template solve<lanes>(passage); });
    });
  }

  // NPB's rule: do one step untimed, then restore everything.
  void initialize() override {
    set_initial_values();
    step();
    set_initial_values();
  }
  void set_initial_values() {
    for (Cell& cell : cells_) set_u(cell, 0, initial_values);
  }

  void iterate() override {
    for (int iteration = 1; iteration <= problem_.iterations; ++iteration) {
      if (iteration == problem_.iterations) exchange().expose();
      step();
    }
  }

  void step() {
    find_residual();
    for (int axis = 0; axis < 3; ++axis) {
      if (cut(axis))
        sweep(axis);
      else
        for (Cell& cell : cells_) solve(cell, axis, kept_.data(), {true, true, nullptr, nullptr});
    }
    for (Cell& cell : cells_) add_change(cell);
  }

  std::vector<double> results() override {
    find_residual();
    SquareSums sums;
    for (Cell& cell : cells_) sums.add(cell, flow_);
    return sums.norms(flow_, exchange());
  }
  std::vector<Published> published() const override { return published_norms(problem_); }
  std::vector<std::span<const std::byte>> solution() override {
    std::vector<std::span<const std::byte>> fields;
    for (Cell& cell : cells_) {
      fields.push_back(cell.u.bytes());
      fields.push_back(cell.residual.bytes());
    }
    return fields;
  }
  int iterations() const override { return problem_.iterations; }
  std::size_t meetings() const override {
    std::size_t in_step = partition_.cells() > 1 ? 1 : 0;
    for (int axis = 0; axis < 3; ++axis) in_step += 2 * (partition_.slabs(axis) - 1);
    return in_step * problem_.iterations;
  }

  // Computes the right-hand side, times dt.
  void find_residual() {
    if (partition_.cells() > 1) exchange_faces();
    for (Cell& cell : cells_) {
      in_lanes(width_, [&]<int lanes>() SCOPE_INLINE { derive<lanes>(cell, System<0>::needs_sound); });
      in_lanes(width_, [&]<int lanes>()
                           SCOPE_INLINE { right_hand_side<lanes>(cell, flow_, flow_.dt, cell.residual, true); });
    }
  }

  void add_change(Cell& cell) {
    in_lanes(width_, [&]<int lanes>() SCOPE_INLINE { npb::add_change<lanes>(cell, 1); });
  }

  // Sweeps cell by cell along an axis, and back; at each step every process works on one of its cells.
  void sweep(int axis) {
    const int cells = partition_.slabs(axis);
    const int before = partition_.neighbor(axis, -1);
    const int after = partition_.neighbor(axis, 1);
    double* kept = kept_.data();
    for (int slab = 0; slab < cells; ++slab) {
      Cell& cell = in_slab(axis, slab);
      const bool last = slab + 1 == cells;
      const double* const from = slab == 0 ? nullptr : received_.data();
      double* const to = last ? nullptr : sent_.data();
      solve(cell, axis, kept, {true, false, from, to});
      kept += line_memory(cell, axis).kept;
      if (last) break;
      const Side side{after, std::span(sent_).first(line_memory(cell, axis).forward), before,
                      std::span(received_).first(line_memory(in_slab(axis, slab + 1), axis).forward), sweep_tag};
      exchange().swap(std::span(&side, 1), before_[axis]);
    }
    for (int slab = cells - 1; slab >= 0; --slab) {
      Cell& cell = in_slab(axis, slab);
      kept -= line_memory(cell, axis).kept;
      const double* const from = slab + 1 == cells ? nullptr : received_.data();
      double* const to = slab == 0 ? nullptr : sent_.data();
      solve(cell, axis, kept, {false, true, from, to});
      if (slab == 0) break;
      const Side side{before, std::span(sent_).first(line_memory(cell, axis).backward), after,
                      std::span(received_).first(line_memory(in_slab(axis, slab - 1), axis).backward), sweep_tag};
      exchange().swap(std::span(&side, 1), after_[axis]);
    }
  }

  // The cell of this process in a slab along an axis that is cut.
  Cell& in_slab(int axis, int slab) {
    const auto found =
        std::find_if(places_.begin(), places_.end(), [&](const Extents& place) { return place[axis] == slab; });
    return cells_[found - places_.begin()];
  }

  // Exchanges two layers of u around every cell; the faces of all cells in one direction are one message.
  void exchange_faces() {
    sides_.clear();
    for (int axis = 0; axis < 3; ++axis) {
      if (!cut(axis)) continue;
      for (const int step : {-1, 1}) {
        Face& face = faces_[2 * axis + (step > 0 ? 1 : 0)];
        face.sent.clear();
        std::size_t expected = 0;
        for_cells_beside(axis, step, [&](Cell& cell) {
          for_face(cell, axis, step, false, [&](double value) { face.sent.push_back(value); });
        });
        for_cells_beside(axis, -step, [&](Cell& cell) { expected += face_numbers(cell, axis); });
        face.received.resize(expected);
        sides_.push_back({partition_.neighbor(axis, step), face.sent, partition_.neighbor(axis, -step),
                          face.received, faces_tag + static_cast<int>(sides_.size())});
      }
    }
    exchange().swap(sides_, around_);
    for (int axis = 0; axis < 3; ++axis) {
      if (!cut(axis)) continue;
      for (const int step : {-1, 1}) {
        const double* from = faces_[2 * axis + (step > 0 ? 1 : 0)].received.data();
        for_cells_beside(axis, -step, [&](Cell& cell) {
          for_face(cell, axis, -step, true, [&](double& value) { value = *from++; });
        });
      }
    }
  }

  // Visits the cells that have a neighbor before (`step` -1) or after them, in the order of their slabs.
  template <class Action>
  void for_cells_beside(int axis, int step, Action&& action) {
    const int slabs = partition_.slabs(axis);
    for (int slab = 0; slab < slabs; ++slab)
      if (slab + step >= 0 && slab + step < slabs) action(in_slab(axis, slab));
  }

  static constexpr int sweep_tag = 31;
  static constexpr int faces_tag = 32;

  struct Face {
    std::vector<double> sent;
    std::vector<double> received;
  };

  FlowProblem problem_;
  Flow flow_;
  Multipartition partition_;
  Width width_;
  std::vector<Cell> cells_;
  std::vector<Extents> places_;
  std::vector<double> kept_;
  std::vector<double> sent_;
  std::vector<double> received_;
  std::array<Face, 6> faces_;
  std::vector<Side> sides_;
  std::vector<Partners> before_;
  std::vector<Partners> after_;
  Partners around_ = Partners::none();
};

}  // namespace scope::npb
