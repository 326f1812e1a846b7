// How fast each process multiplies, all of them at the same time: what work is dealt by where nodes differ.
#pragma once

#include <chrono>

#include "benchmarks/algorithm/local_product.hpp"

namespace scope {

// Long enough for a processor that is withheld for some of every few milliseconds, as a lab's slow hosts are.
constexpr std::chrono::milliseconds speed_measured_for{200};

// Products of small square blocks per second on every process, by rank. Throws as LocalProduct does.
inline std::vector<double> speeds(const Communicator& communicator, const std::string& variant, std::int64_t n) {
  const std::int64_t order = std::clamp<std::int64_t>(n, 1, 128);
  std::vector<double> a(order * order, 1.0);
  std::vector<double> b(order * order, 1.0);
  std::vector<double> c(order * order);
  const LocalProduct product(variant);
  MPI_Barrier(communicator.handle());
  const auto begin = std::chrono::steady_clock::now();
  std::chrono::duration<double> passed{0};
  double products = 0;
  do {
    product(dense(a.data(), order, order), dense(b.data(), order, order), dense(c.data(), order, order),
            Contribution::first);
    ++products;
    passed = std::chrono::steady_clock::now() - begin;
  } while (passed < speed_measured_for);
  const double mine = products / passed.count();
  std::vector<double> all(communicator.size());
  MPI_Allgather(&mine, 1, MPI_DOUBLE, all.data(), 1, MPI_DOUBLE, communicator.handle());
  return all;
}

}  // namespace scope
