// A grid of points cut into blocks along three dimensions, one block for each process.
#pragma once

#include <array>
#include <functional>
#include <limits>
#include <optional>
#include <string>

#include "benchmarks/algorithm/partition.hpp"
#include "text/words.hpp"
#include "unavailable.hpp"

namespace scope::npb {

using Extents = std::array<int, 3>;  // along x, y, z

// Number of processes along each dimension: the product x y z = processes whose largest block has the smallest
// surface, if every process has at least `least` points along each dimension. Empty if there is none.
inline std::optional<Extents> process_extents(const Extents& points, int processes, int least) {
  std::optional<Extents> best;
  double least_surface = std::numeric_limits<double>::infinity();
  for (int x = 1; x <= processes; ++x) {
    if (processes % x != 0) continue;
    for (int y = 1; y <= processes / x; ++y) {
      if (processes / x % y != 0) continue;
      const Extents candidate{x, y, processes / x / y};
      std::array<double, 3> block{};
      bool fits = true;
      for (int d = 0; d < 3; ++d) {
        fits = fits && points[d] / candidate[d] >= least;
        block[d] = static_cast<double>(Partition(points[d], candidate[d]).largest());
      }
      const double yz = x > 1 ? block[1] * block[2] : 0;
      const double xz = y > 1 ? block[0] * block[2] : 0;
      const double xy = candidate[2] > 1 ? block[0] * block[1] : 0;
      // Ties go to the grid with most processes along z, whose faces are contiguous.
      if (fits && yz + xz + xy < least_surface) {
        least_surface = yz + xz + xy;
        best = candidate;
      }
    }
  }
  return best;
}

// The nearest counts, below and above, that `fits` accepts, as "N processes" for an error message.
inline std::string nearest_counts(int processes, const std::function<bool(int)>& fits) {
  std::string text;
  for (int below = processes - 1; below >= 1; --below) {
    if (!fits(below)) continue;
    text = std::to_string(below);
    break;
  }
  for (int above = processes + 1; above <= 4 * processes; ++above) {
    if (!fits(above)) continue;
    text += sentence({(text.empty() ? "" : " or "), above});
    break;
  }
  return text + " would work";
}

inline Extents chosen(const std::string& benchmark, const Extents& points, int processes, int least) {
  const auto found = process_extents(points, processes, least);
  if (found) return *found;
  const auto fits = [&](int count) { return process_extents(points, count, least).has_value(); };
  throw Unavailable(sentence({benchmark, " needs blocks of at least ", least, " points along each dimension; ",
                              processes, " ranks were given: ", nearest_counts(processes, fits)}));
}

// The block of one process. Ranks are numbered along x first.
class Decomposition {
 public:
  // Throws Unavailable, with the nearest counts that fit, if `processes` cannot divide the points.
  Decomposition(const std::string& benchmark, const Extents& points, int processes, int rank, int least)
      : processes_(chosen(benchmark, points, processes, least)),
        place_{rank % processes_[0], rank / processes_[0] % processes_[1], rank / processes_[0] / processes_[1]} {
    for (int d = 0; d < 3; ++d) {
      const Partition parts(points[d], processes_[d]);
      begin_[d] = static_cast<int>(parts.begin(place_[d]));
      size_[d] = static_cast<int>(parts.size(place_[d]));
    }
  }

  const Extents& processes() const { return processes_; }
  const Extents& place() const { return place_; }  // position of this process in the process grid
  const Extents& begin() const { return begin_; }  // the first point of the block
  const Extents& size() const { return size_; }    // number of points along each dimension

  // Rank of the neighbor `step` blocks away along a dimension; the process grid is a torus.
  int around(int dimension, int step) const {
    Extents there = place_;
    const int count = processes_[dimension];
    there[dimension] = ((there[dimension] + step) % count + count) % count;
    return there[0] + processes_[0] * (there[1] + processes_[1] * there[2]);
  }
  // Rank of the neighbor on a grid with walls; -1 if there is none.
  int beside(int dimension, int step) const {
    const int there = place_[dimension] + step;
    return there < 0 || there >= processes_[dimension] ? -1 : around(dimension, step);
  }

 private:
  Extents processes_;
  Extents place_;
  Extents begin_{};
  Extents size_{};
};

}  // namespace scope::npb
