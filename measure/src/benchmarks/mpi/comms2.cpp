// mpi.comms2: PARKBENCH COMMS2, a simultaneous exchange of two messages by MPI_Sendrecv.
//
// Timed: an exchange on both ranks' own clocks; the slower one counts. Both messages count for the bandwidth,
// so that a full-duplex path may reach twice the ping-pong's. After Hockney and Berry 1994, PARKBENCH report
// 1, section 3.3.2, and the NetFinity study.
#include <array>

#include "benchmark.hpp"
#include "memory/buffer.hpp"

namespace scope::comms2 {
namespace {

constexpr int tag = 9;

class Comms2 final : public Benchmark {
 public:
  Comms2(const Parameters& parameters, const Communicator& communicator)
      : partner_(1 - communicator.rank()),
        comm_(communicator.handle()),
        sent_(parameters.integer("message_bytes")),
        arrived_(sent_.size()) {
    sent_.clear();
    arrived_.clear();
  }

  Work work() const override { return {.bytes = 2.0 * static_cast<double>(sent_.size()), .messages = 2}; }

  void fill(std::uint64_t seed) override {
    write_pattern(sent_.bytes(), own(seed));
    arrived_.clear();
  }

  void run(Repetition& repetition) override {
    const int bytes = static_cast<int>(sent_.size());
    repetition.time([&] {
      MPI_Sendrecv(sent_.data(), bytes, MPI_BYTE, partner_, tag, arrived_.data(), bytes, MPI_BYTE, partner_,
                   tag, comm_, MPI_STATUS_IGNORE);
    });
  }

  Check verify(std::uint64_t seed) override {
    return {static_cast<std::int64_t>(arrived_.size()), pattern_problem(arrived_.bytes(), others(seed))};
  }

  std::span<std::byte> received() override { return arrived_.bytes(); }

 private:
  // The two messages differ, so that they cannot be confused.
  std::uint64_t own(std::uint64_t seed) const { return 2 * seed + (1 - partner_); }
  std::uint64_t others(std::uint64_t seed) const { return 2 * seed + partner_; }

  int partner_;
  MPI_Comm comm_;
  Buffer sent_;
  Buffer arrived_;
};

const Registration registration{{
    .name = "mpi.comms2",
    .title = "COMMS2",
    .summary = "COMMS2: simultaneous exchange by MPI_Sendrecv, local and remote pairs",
    .ranks = Ranks::exactly(2),
    .parameters = {size("message_bytes", "B", 1024, 0, 1 << 30, "payload of each of the two messages")},
    .definition = Definition::local,
    .metrics = {seconds("time_s"), bytes_per_second()},
    .sweeps = {{"baseline", "ranks=2 placement=core,node message_bytes=0,1Ki,64Ki,1Mi"},
               {"standard",
                "ranks=2 placement=core,node message_bytes=0,1,64,256,1Ki,4Ki,16Ki,64Ki,256Ki,1Mi,4Mi"}},
    .make = make<Comms2>,
}};

}  // namespace
}  // namespace scope::comms2
