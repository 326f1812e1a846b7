// The box of grid cells of one process, and fields on it.
#pragma once

#include <algorithm>
#include <array>
#include <cstddef>
#include <limits>
#include <span>

#include "benchmarks/algorithm/partition.hpp"
#include "benchmarks/application/npb/decomposition.hpp"
#include "text/words.hpp"
#include "unavailable.hpp"

namespace scope::cfd {

using npb::Extents;
using Index = std::ptrdiff_t;

enum class Partitioning { slabs, pencils, blocks };  // along z; z and y; z, y and x

// The process grid; x = y = z = 0 if none fits.
inline Extents chosen(const Extents& cells, Partitioning partitioning, int processes) {
  Extents best{};
  double least = std::numeric_limits<double>::infinity();
  for (int x = 1; x <= (partitioning == Partitioning::blocks ? processes : 1); ++x) {
    if (processes % x != 0) continue;
    for (int y = 1; y <= (partitioning == Partitioning::slabs ? 1 : processes / x); ++y) {
      if (processes / x % y != 0) continue;
      const Extents candidate{x, y, processes / x / y};
      std::array<double, 3> size{};
      bool fits = true;
      for (int d = 0; d < 3; ++d) {
        fits = fits && cells[d] >= candidate[d];
        size[d] = static_cast<double>(Partition(cells[d], candidate[d]).largest());
      }
      double surface = 0;
      for (int d = 0; d < 3; ++d)
        if (candidate[d] > 1) surface += size[(d + 1) % 3] * size[(d + 2) % 3];
      // Ties go to the grid with most processes along z, whose faces are contiguous.
      if (fits && surface < least) {
        least = surface;
        best = candidate;
      }
    }
  }
  return best;
}

// Ranks are numbered along x first.
class Block {
 public:
  // Chooses the process grid of this kind whose largest block has the smallest surface. `periodic`: whether the
  // first and last cells along a dimension are neighbors. Throws Unavailable if a process would have no cell.
  Block(const Extents& cells, const std::array<bool, 3>& periodic, Partitioning partitioning, int processes,
        int rank)
      : cells_(cells), periodic_(periodic), processes_(chosen(cells, partitioning, processes)) {
    if (processes_[0] == 0) {
      throw Unavailable(sentence({cells[0], " x ", cells[1], " x ", cells[2], " cells: each of ", processes,
                                  " ranks needs at least one layer of cells"}));
    }
    place_ = {rank % processes_[0], rank / processes_[0] % processes_[1], rank / processes_[0] / processes_[1]};
    for (int d = 0; d < 3; ++d) {
      const Partition parts(cells[d], processes_[d]);
      begin_[d] = static_cast<int>(parts.begin(place_[d]));
      size_[d] = static_cast<int>(parts.size(place_[d]));
    }
  }

  const Extents& cells() const { return cells_; }  // of the whole grid
  const Extents& processes() const { return processes_; }
  const Extents& begin() const { return begin_; }  // the first cell of this process
  const Extents& size() const { return size_; }
  bool split(int d) const { return processes_[d] > 1; }
  bool wall_below(int d) const { return !periodic_[d] && begin_[d] == 0; }
  bool wall_above(int d) const { return !periodic_[d] && begin_[d] + size_[d] == cells_[d]; }
  // Whether the dimension is periodic and this process has all cells along it.
  bool wraps(int d) const { return periodic_[d] && !split(d); }
  // The neighbor before (-1) or after (1) along a dimension; -1 at a wall.
  int neighbor(int d, int step) const {
    if (step < 0 ? wall_below(d) : wall_above(d)) return -1;
    Extents there = place_;
    there[d] = (there[d] + step + processes_[d]) % processes_[d];
    return there[0] + processes_[0] * (there[1] + processes_[1] * there[2]);
  }
  // Cells have two colors, like the squares of a chessboard; this is the first cell of a color, 0 or 1, in a row
  // of this process or of its halo. In a field of that color the row's other cells follow.
  int first(int color, Index y, Index z) const {
    return static_cast<int>((begin_[0] + begin_[1] + begin_[2] + y + z + color) & 1);
  }

 private:
  Extents cells_;
  std::array<bool, 3> periodic_;
  Extents processes_;
  Extents place_;
  Extents begin_{};
  Extents size_{};
};

// One double per cell, with a halo of one cell. Cells along x follow one another; four doubles separate two rows:
// the first is the halo after the earlier row, the last the halo before the later row. Vectors of four that begin
// at a multiple of four are aligned and end before the next row's halo.
class Field {
 public:
  // Removes the memory that it needs from the beginning of `memory`.
  Field(const Extents& size, std::span<double>& memory)
      : size_(size),
        row_(row(size)),
        plane_(row_ * (size[1] + 2)),
        values_(memory.first(doubles(size))),
        first_(values_.data() + plane_ + row_ + between) {
    memory = memory.subspan(values_.size());
  }

  static std::size_t doubles(const Extents& size) {
    return static_cast<std::size_t>(row(size)) * (size[1] + 2) * (size[2] + 2) + between;
  }
  // The cell (0, y, z), followed by the others along x.
  double* at(Index y, Index z) { return first_ + y * row_ + z * plane_; }
  const double* at(Index y, Index z) const { return first_ + y * row_ + z * plane_; }
  // The cells of a layer across z, with the doubles between its rows.
  std::span<double> plane(Index z) { return {at(0, z), plane_doubles(size_)}; }
  static std::size_t plane_doubles(const Extents& size) {
    return static_cast<std::size_t>(row(size) * (size[1] - 1) + size[0]);
  }
  // The distance between neighbors along each dimension.
  std::array<Index, 3> strides() const { return {1, row_, plane_}; }
  const Extents& size() const { return size_; }
  void clear() { std::ranges::fill(values_, 0.0); }

 private:
  static constexpr Index between = 4;
  static Index row(const Extents& size) { return (size[0] + 3) / 4 * 4 + between; }

  Extents size_;
  Index row_;
  Index plane_;
  std::span<double> values_;
  double* first_;
};

}  // namespace scope::cfd
