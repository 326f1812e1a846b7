// A grid of points cut into blocks along three dimensions, one block for each process.
#pragma once

#include <array>
#include <functional>
#include <optional>
#include <string>

namespace scope::npb {

using Extents = std::array<int, 3>;  // along x, y, z

// Processes along each dimension: of all products x y z = processes that leave every process `least` points
// along each dimension, the one whose largest block has the least surface. Empty where there is none.
std::optional<Extents> process_extents(const Extents& points, int processes, int least);

// "N processes": the nearest counts, below and above, that `fits` accepts; for an error message.
std::string nearest_counts(int processes, const std::function<bool(int)>& fits);

// The block of one process. Ranks are numbered along x first.
class Decomposition {
 public:
  // Throws Unavailable, with the nearest counts that fit, where `processes` cannot divide the points.
  Decomposition(const std::string& benchmark, const Extents& points, int processes, int rank, int least);

  const Extents& processes() const { return processes_; }
  const Extents& place() const { return place_; }  // of this process among them
  const Extents& begin() const { return begin_; }  // the first point of the block
  const Extents& size() const { return size_; }    // its points along each dimension

  // Rank of the neighbor `step` blocks away along a dimension; the process grid is a torus.
  int around(int dimension, int step) const {
    Extents there = place_;
    const int count = processes_[dimension];
    there[dimension] = ((there[dimension] + step) % count + count) % count;
    return there[0] + processes_[0] * (there[1] + processes_[1] * there[2]);
  }
  // The neighbor on a grid with walls; -1 where there is none.
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
