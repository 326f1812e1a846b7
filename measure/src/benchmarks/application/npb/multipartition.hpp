// Multi-partitioning: the grid is cut into slabs along several axes, and every process holds one cell of each
// slab, so that a sweep along any axis keeps all processes busy all the time (Bruno, Cappello 1988; Naik
// 1995).
//
// q*q processes cut all three axes into q slabs and hold q cells each, on a diagonal of the cube. Any other
// number p cuts x and y into p slabs and leaves z whole: p cells for each process, on a diagonal of the
// square.
#pragma once

#include <cmath>
#include <string>

#include "benchmarks/algorithm/partition.hpp"
#include "benchmarks/application/npb/decomposition.hpp"
#include "text/words.hpp"
#include "unavailable.hpp"

namespace scope::npb {

class Multipartition {
 public:
  // Points that the fourth differences need from a neighbor.
  static constexpr int fewest_points = 2;

  // Throws Unavailable, with the nearest counts that fit, where a cell would have too few points.
  Multipartition(const std::string& benchmark, int n, int processes, int rank)
      : n_(n), processes_(processes), rank_(rank), slabs_(slabs_of(processes)) {
    const auto fits = [&](int count) { return n / slabs_of(count)[0] >= fewest_points; };
    if (!fits(processes)) {
      throw Unavailable(
          sentence({benchmark, " needs cells of at least ", fewest_points,
                    " points along each axis, on q*q processes q cells along an axis of its ", n,
                    " points, on p others p; ", processes, " were given: ", nearest_counts(processes, fits)}));
    }
  }

  int slabs(int axis) const { return slabs_[axis]; }
  int cells() const { return slabs_[0]; }  // of each process

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

  // The owner of the cells after (or, with `step` -1, before) this process's cells along an axis: one process
  // for all of them.
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
  int processes_;
  int rank_;
  Extents slabs_;
};

}  // namespace scope::npb
