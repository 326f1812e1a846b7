// std::sort alone, on one core: prints the seconds of each of a number of sorts of so many floats in [0, 1].
// usage: plain_sort ELEMENTS SORTS
#include <algorithm>
#include <chrono>
#include <cstdio>
#include <cstdlib>
#include <random>
#include <vector>

int main(int argc, char** argv) {
  if (argc != 3) return 2;
  std::vector<float> items(std::strtoul(argv[1], nullptr, 10));
  for (int sort = 0; sort < std::atoi(argv[2]); ++sort) {
    std::mt19937_64 random(sort);
    for (float& item : items) item = static_cast<float>(random() >> 32) * 0x1p-32f;
    const auto start = std::chrono::steady_clock::now();
    std::sort(items.begin(), items.end());
    const std::chrono::duration<double> elapsed = std::chrono::steady_clock::now() - start;
    if (!std::is_sorted(items.begin(), items.end())) return 1;
    std::printf("%.9f\n", elapsed.count());
  }
}
