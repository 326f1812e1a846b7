#include "benchmarks/application/npb/decomposition.hpp"

#include <limits>

#include "benchmarks/algorithm/partition.hpp"
#include "text/words.hpp"
#include "unavailable.hpp"

namespace scope::npb {
namespace {

Extents chosen(const std::string& benchmark, const Extents& points, int processes, int least) {
  const auto found = process_extents(points, processes, least);
  if (found) return *found;
  const auto fits = [&](int count) { return process_extents(points, count, least).has_value(); };
  throw Unavailable(
      sentence({benchmark, " needs at least ", least, " points of its grid along each dimension for every rank; ",
                processes, " were given: ", nearest_counts(processes, fits)}));
}

}  // namespace

std::optional<Extents> process_extents(const Extents& points, int processes, int least) {
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

std::string nearest_counts(int processes, const std::function<bool(int)>& fits) {
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

Decomposition::Decomposition(const std::string& benchmark, const Extents& points, int processes, int rank,
                             int least)
    : processes_(chosen(benchmark, points, processes, least)),
      place_{rank % processes_[0], rank / processes_[0] % processes_[1], rank / processes_[0] / processes_[1]} {
  for (int d = 0; d < 3; ++d) {
    const Partition parts(points[d], processes_[d]);
    begin_[d] = static_cast<int>(parts.begin(place_[d]));
    size_[d] = static_cast<int>(parts.size(place_[d]));
  }
}

}  // namespace scope::npb
