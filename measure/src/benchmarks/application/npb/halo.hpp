// The halo of neighbors' values around a block of a periodic grid, at any level of a multigrid.
//
// On coarse grids blocks may be empty; the neighbor is the nearest non-empty one. An empty block still has a
// halo where its process has points on the next finer grid, which are interpolated from it.
#pragma once

#include "benchmarks/application/npb/exchange.hpp"
#include "benchmarks/application/npb/multigrid.hpp"

namespace scope::npb {

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

  // One dimension after the other, so that edges and corners are included.
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
  // Along one dimension: the sources of the lower and upper halo, and the destinations of the own first and
  // last points.
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

  // A layer across a dimension, with the halos of the others.
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

}  // namespace scope::npb
