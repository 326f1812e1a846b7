// mpi.intensity: arithmetic per word from a neighbor that is needed to reach the processor's rate.
//
// Timed: two ranks exchange vectors, and each evaluates a polynomial for every element that it received, on its
// own clock; the slower rank counts. This is POLY3 of PARKBENCH: POLY1 with data from a neighbor.
#include "benchmarks/polynomial.hpp"

namespace scope::mpi_intensity {
namespace {

constexpr int tag = 23;

class Intensity final : public Benchmark {
 public:
  Intensity(const Parameters& parameters, const Communicator& communicator)
      : polynomial_(parameters.integer("intensity")),
        partner_(1 - communicator.rank()),
        ranks_(communicator.size()),
        comm_(communicator.handle()),
        own_(parameters.integer("array_bytes")),
        x_(parameters.integer("array_bytes")),
        y_(parameters.integer("array_bytes")) {}

  Work work() const override {
    const auto n = static_cast<double>(x_.size() / sizeof(double));
    return {.bytes = sizeof(double) * n * ranks_,
            .flops = 2.0 * polynomial_.order() * n * ranks_,
            .messages = static_cast<double>(ranks_)};
  }

  void fill(std::uint64_t seed) override {
    const auto own = own_.as<double>();
    for (std::size_t i = 0; i < own.size(); ++i) own[i] = argument(seed, 1 - partner_, i);
    x_.clear();
    y_.clear();
  }

  void run(Repetition& repetition) override {
    const auto x = x_.as<double>();
    double* y = y_.as<double>().data();
    const int count = static_cast<int>(x.size());
    repetition.time([&] {
      MPI_Sendrecv(own_.data(), count, MPI_DOUBLE, partner_, tag, x_.data(), count, MPI_DOUBLE, partner_, tag,
                   comm_, MPI_STATUS_IGNORE);
      polynomial_(x, y);
      asm volatile("" : : "r"(y) : "memory");  // keeps every pass
    });
  }

  Check verify(std::uint64_t seed) override {
    const auto y = y_.as<double>();
    return {static_cast<std::int64_t>(y.size()),
            polynomial_.problem(y, [=, this](std::size_t i) { return argument(seed, partner_, i); })};
  }

  std::span<std::byte> received() override { return y_.bytes(); }
  std::vector<std::span<const std::byte>> computed() override { return {x_.bytes()}; }

 private:
  static double argument(std::uint64_t seed, int rank, std::size_t i) {
    return static_cast<double>((seed + i + 7 * rank) % 1024) / 1024;
  }

  polynomials::Polynomial polynomial_;
  int partner_;
  int ranks_;
  MPI_Comm comm_;
  Buffer own_;
  Buffer x_;
  Buffer y_;
};

const Registration registration{{
    .name = "mpi.intensity",
    .title = "intensity over the network",
    .summary = "floating-point rate as a function of the operations per communicated word (POLY3)",
    .ranks = Ranks::exactly(2),
    .parameters = {polynomials::intensity_parameter()
                       .labeled("operations per word sent or received")
                       .worded("{} flop per word sent or received"),
                   size("array_bytes", "B", 64 << 10, 8, 1 << 30, "size of the vector that each rank receives")},
    .definition = Definition::max_rank,
    .metrics = {flops_per_second(), bytes_per_second(), seconds("time_s")},
    .sweeps = {{"standard", "ranks=2 placement=core,node array_bytes=8Ki,64Ki,1Mi intensity=1,2,3,4,6,8,10,16"}},
    .make = make<Intensity>,
}};

}  // namespace
}  // namespace scope::mpi_intensity
