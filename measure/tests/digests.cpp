// Digests of all data find every wrong byte; those of a share of the blocks find it in that share of the references.
#include "sampling/digests.hpp"

#include <vector>

#include "check.hpp"

namespace {

constexpr std::size_t block_bytes = 4096;
constexpr std::size_t blocks = 64;

// In how many of so many references, each with blocks of its own, a wrong byte is found.
int found(double share, int references, std::size_t wrong) {
  std::vector<std::byte> data(blocks * block_bytes);
  scope::Digests digests;
  int count = 0;
  for (int i = 0; i < references; ++i) {
    digests.clear(share);
    const std::vector<std::span<const std::byte>> parts{data};
    CHECK(digests.difference(parts).empty());
    CHECK(digests.difference(parts).empty());
    data[wrong] ^= std::byte{1};
    if (!digests.difference(parts).empty()) ++count;
    data[wrong] ^= std::byte{1};
  }
  return count;
}

}  // namespace

int main() {
  CHECK(found(1, 3, 0) == 3);
  CHECK(found(1, 3, blocks * block_bytes - 1) == 3);
  CHECK(found(0, 3, 17) == 0);
  // A quarter of 2000, within 8 deviations: a sound drawing fails once in 10^15 times.
  const int quarter = found(0.25, 2000, 9 * block_bytes + 1);
  CHECK(quarter > 500 - 8 * 20);
  CHECK(quarter < 500 + 8 * 20);
  CHECK(scope::Digests::affordable_share(1e-3, 1e-2) == 1);
  CHECK(scope::Digests::affordable_share(4e-3, 1e-2) == 0.25);
  CHECK(scope::Digests::affordable_share(1e-3, -1e-9) == 0);
  CHECK(scope::Digests::affordable_share(0, -1e-9) == 1);  // without data there is nothing to leave out
  return scope::testing::failures;
}
