// application.npb_mg: V-cycles of a multigrid for the Poisson equation on a periodic cube.
//
// Timed: the initial residual, a fixed number of V-cycles with the residual after each, and the norms; the slowest
// process counts. After kernel MG of the NAS Parallel Benchmarks (RNR-94-007, section 2.2.3). Fine grids are bound
// by memory bandwidth and the exchange of faces; coarse grids, on which most processes wait, by latency.
#include <bit>

#include "benchmarks/algorithm/partition.hpp"
#include "benchmarks/application/npb/decomposition.hpp"
#include "benchmarks/application/npb/exchange.hpp"
#include "benchmarks/application/npb/kernel.hpp"
#include "benchmarks/application/npb/multigrid.hpp"
#include "benchmarks/application/npb/random_numbers.hpp"
#include "benchmarks/application/npb/variant.hpp"

namespace scope::npb::mg {

// The halo of neighbors' values around a block of a periodic grid at one level of a multigrid.
//
// On coarse grids blocks may be empty; the neighbor is the nearest non-empty block. An empty block still has a
// halo if its process has points on the next finer grid, which are interpolated from it.
class Halo {
 public:
  using Bounds = std::vector<std::pair<int, int>>;  // begin and end of every block along a dimension

  // `bounds` on this grid of `points` and `finer` on the next finer one, for each dimension.
  Halo(const Decomposition& decomposition, int points, const std::array<Bounds, 3>& bounds,
       const std::array<Bounds, 3>& finer) {
    std::array<bool, 3> takes_part{};
    for (int d = 0; d < 3; ++d) takes_part[d] = part(bounds[d], finer[d], decomposition.place()[d]);
    for (int d = 0; d < 3; ++d) {
      split_[d] = decomposition.processes()[d] > 1;
      if (takes_part[0] && takes_part[1] && takes_part[2]) connect(d, decomposition, points, bounds[d], finer[d]);
      std::vector<int> from;
      for (const Source& source : {lines_[d].below, lines_[d].above})
        if (source.rank >= 0 && !source.itself) from.push_back(source.rank);
      partners_[d] = Partners::these(from);
    }
  }

  // Updates one dimension after another, so that edges and corners are included.
  void update(HaloField& field, Exchange& exchange) {
    for (int d = 0; d < 3; ++d) {
      const Line& line = lines_[d];
      const int last = field.size()[d] - 1;
      if (split_[d]) swap(field, d, exchange);
      if (line.below.itself) copy(field, d, last, -1);
      if (line.above.itself) copy(field, d, 0, last + 1);
    }
  }

 private:
  struct Source {
    int rank = -1;
    bool itself = false;
  };
  // Along one dimension: the sources of the lower and upper halo, and the destinations of this block's first
  // and last points.
  struct Line {
    Source below;
    Source above;
    std::vector<int> first_to;
    std::vector<int> last_to;
  };
  static constexpr int below_tag = 30;
  static constexpr int above_tag = 31;

  static bool part(const Bounds& bounds, const Bounds& finer, int place) {
    return bounds[place].first < bounds[place].second || finer[place].first < finer[place].second;
  }

  void connect(int d, const Decomposition& decomposition, int points, const Bounds& bounds, const Bounds& finer) {
    const int here = decomposition.place()[d];
    const auto rank_of = [&](int place) { return decomposition.around(d, place - here); };
    const auto owner = [&](int point) {
      int place = 0;
      while (point < bounds[place].first || point >= bounds[place].second) ++place;
      return place;
    };
    for (int place = 0; place < static_cast<int>(bounds.size()); ++place) {
      if (!part(bounds, finer, place)) continue;
      const int below = owner((bounds[place].first - 1 + points) % points);
      const int above = owner(bounds[place].second % points);
      Line& line = lines_[d];
      if (place == here) {
        line.below = {rank_of(below), below == here};
        line.above = {rank_of(above), above == here};
      } else {
        if (below == here) line.last_to.push_back(rank_of(place));
        if (above == here) line.first_to.push_back(rank_of(place));
      }
    }
  }

  void swap(HaloField& field, int d, Exchange& exchange) {
    const Line& line = lines_[d];
    const int last = field.size()[d] - 1;
    const std::size_t points = points_in_layer(field, d);
    sides_.clear();
    const std::span<double> none;
    const auto packed = [&](int index, std::vector<double>& buffer) -> std::span<double> {
      if (d == 2) return {layer_begin(field, index), points};
      buffer.resize(points);
      for_each_in_layer(field, d, index, [&, to = buffer.data()](double& value) mutable { *to++ = value; });
      return buffer;
    };
    const auto place = [&](int index, std::vector<double>& buffer) -> std::span<double> {
      if (d == 2) return {layer_begin(field, index), points};
      buffer.resize(points);
      return buffer;
    };
    if (!line.first_to.empty()) {
      const auto first = packed(0, first_);
      for (const int rank : line.first_to) sides_.push_back({rank, first, MPI_PROC_NULL, none, above_tag});
    }
    if (!line.last_to.empty()) {
      const auto end = packed(last, last_);
      for (const int rank : line.last_to) sides_.push_back({rank, end, MPI_PROC_NULL, none, below_tag});
    }
    const bool from_below = line.below.rank >= 0 && !line.below.itself;
    const bool from_above = line.above.rank >= 0 && !line.above.itself;
    if (from_below) sides_.push_back({MPI_PROC_NULL, none, line.below.rank, place(-1, below_), below_tag});
    if (from_above) sides_.push_back({MPI_PROC_NULL, none, line.above.rank, place(last + 1, above_), above_tag});
    exchange.swap(sides_, partners_[d]);
    if (d == 2) return;
    const auto unpack = [&](int index, const std::vector<double>& buffer) {
      for_each_in_layer(field, d, index, [from = buffer.data()](double& value) mutable { value = *from++; });
    };
    if (from_below) unpack(-1, below_);
    if (from_above) unpack(last + 1, above_);
  }

  // The number of points in a layer across a dimension, with the halos of the other dimensions.
  static std::size_t points_in_layer(const HaloField& field, int d) {
    return static_cast<std::size_t>(HaloField::count(field.size()) / (field.size()[d] + 2));
  }
  static double* layer_begin(HaloField& field, int z) { return field.at(-1, z) - 1; }

  template <class Visit>
  static void for_each_in_layer(HaloField& field, int d, int index, Visit visit) {
    const auto [nx, ny, nz] = field.size();
    for (int z = d == 2 ? index : -1; z <= (d == 2 ? index : nz); ++z) {
      for (int y = d == 1 ? index : -1; y <= (d == 1 ? index : ny); ++y) {
        double* const row = field.at(y, z);
        for (int x = d == 0 ? index : -1; x <= (d == 0 ? index : nx); ++x) visit(row[x]);
      }
    }
  }

  void copy(HaloField& field, int d, int from, int to) {
    const std::ptrdiff_t distance = (from - to) * (d == 0 ? 1 : d == 1 ? field.row() : field.plane());
    for_each_in_layer(field, d, to, [distance](double& value) { value = (&value)[distance]; });
  }

  std::array<bool, 3> split_{};
  std::array<Line, 3> lines_;
  std::array<Partners, 3> partners_{Partners::none(), Partners::none(), Partners::none()};
  std::vector<Side> sides_;
  std::vector<double> first_;
  std::vector<double> last_;
  std::vector<double> below_;
  std::vector<double> above_;
};

namespace {

constexpr const char* name = "application.npb_mg";
constexpr std::uint64_t seed = 314159265;
constexpr int charges = 10;  // number of points of each sign

struct Problem {
  int side;
  int iterations;
  Weights smoother;
  double norm;

  std::string size() const { return sentence({side, "^3 points"}); }
};

constexpr Weights smoother_of_small{-3.0 / 8, 1.0 / 32, -1.0 / 64, 0};
constexpr Weights smoother_of_large{-3.0 / 17, 1.0 / 33, -1.0 / 61, 0};

// RNR-94-007, table 2.3 (A, B); NPB 3.4 (S, W, C).
constexpr PerClass<Problem> problems{{{32, 4, smoother_of_small, 0.5307707005734e-4},
                                      {128, 4, smoother_of_small, 0.6467329375339e-5},
                                      {256, 4, smoother_of_small, 0.2433365309069e-5},
                                      {256, 20, smoother_of_large, 0.1800564401355e-5},
                                      {512, 20, smoother_of_large, 0.5706732285740e-6}}};

// One grid of the multigrid: this process's blocks of the solution and of the residual.
struct Level {
  HaloField u;
  HaloField r;
  Halo halo;
};

class Multigrid final : public Kernel {
 public:
  Multigrid(const Parameters& parameters, const Communicator& communicator)
      : Kernel(name, parameters, communicator),
        problem_(of_class(problems, parameters)),
        width_(width_of(parameters, communicator)),
        decomposition_(name, cube(problem_.side), ranks(), rank(), 2),
        sums_(problem_.side),
        line_(problem_.side / 2 + 3) {
    const int finest = std::bit_width(static_cast<unsigned>(problem_.side)) - 1;
    depth_ = finest;
    const Extents& size = decomposition_.size();
    const std::int64_t points = HaloField::count(size);
    require((3 * points + 2 * points / 6) * static_cast<std::int64_t>(sizeof(double)));
    make_levels();
    v_.emplace(decomposition_.begin(), size);
    v_->clear();
    place_charges();
    finest_level().halo.update(*v_, exchange());
  }

 private:
  static Extents cube(int side) { return {side, side, side}; }

  // Blocks of a coarser grid follow from the blocks of the finer grid: point J is at 2 J + 1.
  void make_levels() {
    std::array<Halo::Bounds, 3> bounds;
    for (int d = 0; d < 3; ++d) {
      const Partition parts(problem_.side, decomposition_.processes()[d]);
      for (int place = 0; place < parts.parts(); ++place)
        bounds[d].emplace_back(static_cast<int>(parts.begin(place)), static_cast<int>(parts.end(place)));
    }
    auto finer = bounds;
    levels_.reserve(depth_);
    for (int points = problem_.side; points >= 2; points /= 2) {
      Extents begin{};
      Extents size{};
      for (int d = 0; d < 3; ++d) {
        const auto [from, to] = bounds[d][decomposition_.place()[d]];
        begin[d] = from;
        size[d] = to - from;
      }
      levels_.push_back(
          {HaloField(begin, size), HaloField(begin, size), Halo(decomposition_, points, bounds, finer)});
      levels_.back().r.clear();
      finer = bounds;
      for (auto& of_dimension : bounds) {
        for (auto& [from, to] : of_dimension) {
          from /= 2;
          to /= 2;
        }
      }
    }
  }

  // Every point has a random number: v is +1 at the ten largest, -1 at the ten smallest, and 0 elsewhere.
  void place_charges() {
    using Numbered = std::pair<double, std::int64_t>;
    std::vector<Numbered> least;
    std::vector<Numbered> most;
    const Extents& begin = decomposition_.begin();
    const auto [nx, ny, nz] = decomposition_.size();
    const std::int64_t side = problem_.side;
    std::vector<double> row(nx);
    const auto keep = [](std::vector<Numbered>& ten, const Numbered& one, auto before) {
      if (ten.size() == charges && !before(one, ten.back())) return;
      ten.insert(std::upper_bound(ten.begin(), ten.end(), one, before), one);
      if (ten.size() > charges) ten.pop_back();
    };
    for (int z = 0; z < nz; ++z) {
      for (int y = 0; y < ny; ++y) {
        const std::int64_t number = begin[0] + side * (begin[1] + y + side * (begin[2] + z));
        RandomNumbers random(seed);
        random.skip(static_cast<std::uint64_t>(number));
        random.fill(row);
        for (int x = 0; x < nx; ++x) {
          keep(least, {row[x], number + x}, std::less<>());
          keep(most, {row[x], number + x}, std::greater<>());
        }
      }
    }
    charge(least, -1.0, std::less<>());
    charge(most, +1.0, std::greater<>());
  }

  template <class Before>
  void charge(std::vector<std::pair<double, std::int64_t>> mine, double value, Before before) {
    std::vector<double> numbers(charges, before(0.0, 1.0) ? 2.0 : -1.0);
    std::vector<std::int64_t> places(charges, 0);
    for (std::size_t i = 0; i < mine.size(); ++i) std::tie(numbers[i], places[i]) = mine[i];
    std::vector<double> all_numbers(static_cast<std::size_t>(charges) * ranks());
    std::vector<std::int64_t> all_places(all_numbers.size());
    MPI_Allgather(numbers.data(), charges, MPI_DOUBLE, all_numbers.data(), charges, MPI_DOUBLE,
                  communicator().handle());
    MPI_Allgather(places.data(), charges, MPI_INT64_T, all_places.data(), charges, MPI_INT64_T,
                  communicator().handle());
    std::vector<std::pair<double, std::int64_t>> all;
    for (std::size_t i = 0; i < all_numbers.size(); ++i) all.emplace_back(all_numbers[i], all_places[i]);
    std::sort(all.begin(), all.end(), before);
    const Extents& begin = decomposition_.begin();
    const Extents& size = decomposition_.size();
    for (int i = 0; i < charges; ++i) {
      const std::int64_t side = problem_.side;
      const auto x = static_cast<int>(all[i].second % side) - begin[0];
      const auto y = static_cast<int>(all[i].second / side % side) - begin[1];
      const auto z = static_cast<int>(all[i].second / side / side) - begin[2];
      if (x < 0 || x >= size[0] || y < 0 || y >= size[1] || z < 0 || z >= size[2]) continue;
      v_->at(y, z)[x] = value;
    }
  }

  Level& finest_level() { return levels_.front(); }

  // One untimed V-cycle, as NPB prescribes; then u = 0 again.
  void initialize() override {
    finest_level().u.clear();
    find_residual();
    v_cycle();
    find_residual();
    finest_level().u.clear();
  }

  void iterate() override {
    find_residual();
    find_norm();
    for (int iteration = 1; iteration <= problem_.iterations; ++iteration) {
      if (iteration == problem_.iterations) exchange().expose();
      v_cycle();
      find_residual();
    }
    find_norm();
  }

  // r = v - A u.
  void find_residual() { residual_at(finest_level(), *v_); }

  void residual_at(Level& level, const HaloField& v) {
    in_lanes(width_, [&]<int lanes>() SCOPE_INLINE { residual<lanes>(level.u, v, level.r, sums_); });
    level.halo.update(level.r, exchange());
  }

  void smooth_at(Level& level) {
    in_lanes(width_, [&]<int lanes>() SCOPE_INLINE { smooth<lanes>(level.r, level.u, problem_.smoother, sums_); });
    level.halo.update(level.u, exchange());
  }

  void restrict_at(const Level& fine, Level& coarse) {
    in_lanes(width_, [&]<int lanes>() SCOPE_INLINE { restrict_to<lanes>(coarse.r, fine.r, sums_); });
  }

  void prolong_at(const Level& coarse, Level& fine, Prolongation how) {
    in_lanes(width_, [&]<int lanes>() SCOPE_INLINE { prolong<lanes>(coarse.u, fine.u, how, line_); });
  }

  // u += M r: the residual is restricted to the coarsest grid, corrections are interpolated back.
  void v_cycle() {
    for (int fine = 0; fine + 1 < depth_; ++fine) {
      Level& coarse = levels_[fine + 1];
      restrict_at(levels_[fine], coarse);
      coarse.halo.update(coarse.r, exchange());
    }
    levels_.back().u.clear();
    smooth_at(levels_.back());
    for (int fine = depth_ - 2; fine > 0; --fine) {
      Level& level = levels_[fine];
      prolong_at(levels_[fine + 1], level, Prolongation::set);
      residual_at(level, level.r);
      smooth_at(level);
    }
    prolong_at(levels_[1], finest_level(), Prolongation::add);
    find_residual();
    smooth_at(finest_level());
  }

  void find_norm() {
    double sum = sum_of_squares(finest_level().r);
    exchange().sum(std::span(&sum, 1));
    norm_ = std::sqrt(sum / std::pow(static_cast<double>(problem_.side), 3));
  }

  std::vector<double> results() override { return {norm_}; }
  std::vector<Published> published() const override { return {{"norm of the residual", problem_.norm}}; }
  std::vector<std::span<const std::byte>> solution() override {
    return {finest_level().u.bytes(), finest_level().r.bytes()};
  }

  double operations() const override {
    return 58.0 * std::pow(static_cast<double>(problem_.side), 3) * problem_.iterations;
  }
  int iterations() const override { return problem_.iterations; }
  // One per dimension, for three halos at each level of a V-cycle and one after it.
  std::size_t meetings() const override {
    return 3 * (static_cast<std::size_t>(problem_.iterations) * (3 * depth_ + 1) + 1) + 2;
  }

  Problem problem_;
  Width width_;
  Decomposition decomposition_;
  int depth_ = 0;
  std::vector<Level> levels_;  // the finest first
  std::optional<HaloField> v_;
  RowSums sums_;
  std::vector<double> line_;
  double norm_ = 0;
};

const Registration registration{
    declaration({.name = name,
                 .title = "NAS MG",
                 .summary = "NAS kernel MG: multigrid for the Poisson equation on a periodic cube",
                 .problem_class = problem_class(problems),
                 .further = {vector_variant()}},
                make<Multigrid>)};

}  // namespace
}  // namespace scope::npb::mg
