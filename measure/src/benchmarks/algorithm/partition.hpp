#pragma once

#include <algorithm>
#include <cmath>
#include <cstdint>
#include <numeric>
#include <utility>
#include <vector>

namespace scope {

// Divides N items in order into parts, whose sizes differ by at most one or are proportional to weights; if there
// are more parts than items, some are empty.
class Partition {
 public:
  Partition(std::int64_t items, int parts) : items_(items), parts_(parts) {}
  // Parts proportional to weights, which must be positive.
  Partition(std::int64_t items, const std::vector<double>& weights)
      : items_(items), parts_(static_cast<int>(weights.size())) {
    const double all = std::accumulate(weights.begin(), weights.end(), 0.0);
    double before = 0;
    for (const double weight : weights) {
      begins_.push_back(std::llround(static_cast<double>(items) * (before / all)));
      before += weight;
    }
    begins_.push_back(items);
  }

  std::int64_t begin(int part) const { return begins_.empty() ? items_ * part / parts_ : begins_[part]; }
  std::int64_t end(int part) const { return begin(part + 1); }
  std::int64_t size(int part) const { return end(part) - begin(part); }
  std::int64_t largest() const {
    std::int64_t found = 0;
    for (int part = 0; part < parts_ && !begins_.empty(); ++part) found = std::max(found, size(part));
    return begins_.empty() ? (items_ + parts_ - 1) / parts_ : found;
  }
  int parts() const { return parts_; }

 private:
  std::int64_t items_;
  int parts_;
  std::vector<std::int64_t> begins_;  // empty without weights
};

// The data of all processes, one after another: counts and displacements for MPI's vector collectives.
struct Parcels {
  Parcels() = default;
  explicit Parcels(std::vector<int> sizes) : counts(std::move(sizes)), begins(counts.size()) {
    std::exclusive_scan(counts.begin(), counts.end(), begins.begin(), 0);
  }
  // One parcel for each part, whose items have `width` elements.
  explicit Parcels(const Partition& parts, int width = 1) {
    for (auto* numbers : {&counts, &begins}) numbers->reserve(parts.parts());
    for (int part = 0; part < parts.parts(); ++part) {
      counts.push_back(static_cast<int>(parts.size(part)) * width);
      begins.push_back(static_cast<int>(parts.begin(part)) * width);
    }
  }

  int total() const { return counts.empty() ? 0 : begins.back() + counts.back(); }

  std::vector<int> counts;
  std::vector<int> begins;
};

}  // namespace scope
