#include "benchmarks/application/cfd/block.hpp"

#include <limits>

#include "benchmarks/algorithm/partition.hpp"
#include "text/words.hpp"
#include "unavailable.hpp"

namespace scope::cfd {
namespace {

// Without x = y = z = 0 where no process grid fits.
Extents chosen(const Extents& cells, Partitioning partitioning, int processes) {
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

}  // namespace

Block::Block(const Extents& cells, const std::array<bool, 3>& periodic, Partitioning partitioning, int processes,
             int rank)
    : cells_(cells), periodic_(periodic), processes_(chosen(cells, partitioning, processes)) {
  if (processes_[0] == 0) {
    throw Unavailable(sentence({cells[0], " x ", cells[1], " x ", cells[2], " cells: every one of ", processes,
                                " ranks needs a layer of them"}));
  }
  place_ = {rank % processes_[0], rank / processes_[0] % processes_[1], rank / processes_[0] / processes_[1]};
  for (int d = 0; d < 3; ++d) {
    const Partition parts(cells[d], processes_[d]);
    begin_[d] = static_cast<int>(parts.begin(place_[d]));
    size_[d] = static_cast<int>(parts.size(place_[d]));
  }
}

int Block::neighbor(int d, int step) const {
  if (step < 0 ? wall_below(d) : wall_above(d)) return -1;
  Extents there = place_;
  there[d] = (there[d] + step + processes_[d]) % processes_[d];
  return there[0] + processes_[0] * (there[1] + processes_[1] * there[2]);
}

}  // namespace scope::cfd
