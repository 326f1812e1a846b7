// mpi.shift: the circular q-shift of P-COMS; every rank i sends to rank (i + q) mod p.
//
// Timed: one shift on every rank's own clock, after a common start; the slowest rank counts.

#include "benchmark.hpp"

namespace scope::shift {
namespace {

constexpr int tag = 11;

class Shift final : public Benchmark {
 public:
  Shift(const Parameters& parameters, const Communicator& communicator)
      : ranks_(communicator.size()),
        rank_(communicator.rank()),
        shift_(static_cast<int>(parameters.integer("shift") % ranks_)),
        nonblocking_(parameters.choice("call") == "nonblocking"),
        comm_(communicator.handle()),
        sent_(parameters.integer("message_bytes")),
        arrived_(parameters.integer("message_bytes")) {
    sent_.clear();
  }

  Work work() const override {
    return {.bytes = static_cast<double>(sent_.size()) * ranks_, .messages = static_cast<double>(ranks_)};
  }

  void fill(std::uint64_t seed) override {
    write_pattern(sent_.bytes(), seed * ranks_ + rank_);
    arrived_.clear();
  }

  void run(Repetition& repetition) override {
    arrived_.use(repetition.calls());
    if (nonblocking_)
      repetition.time([&](std::int64_t number) { shift_with_requests(arrived_[number]); });
    else
      repetition.time([&](std::int64_t number) { shift(arrived_[number]); });
  }

  Check verify(std::uint64_t seed) override {
    return {arrived_.count() * static_cast<std::int64_t>(sent_.size()),
            arrived_.pattern_problem(seed * ranks_ + from())};
  }

  std::span<std::byte> received() override { return arrived_.bytes(); }
  std::int64_t most_operations() const override { return arrived_.most(); }

 private:
  int to() const { return (rank_ + shift_) % ranks_; }
  int from() const { return (rank_ + ranks_ - shift_) % ranks_; }
  int bytes() const { return static_cast<int>(sent_.size()); }

  void shift(std::byte* place) {
    MPI_Sendrecv(sent_.data(), bytes(), MPI_BYTE, to(), tag, place, bytes(), MPI_BYTE, from(), tag, comm_,
                 MPI_STATUS_IGNORE);
  }
  void shift_with_requests(std::byte* place) {
    std::array<MPI_Request, 2> requests;
    MPI_Irecv(place, bytes(), MPI_BYTE, from(), tag, comm_, &requests[0]);
    MPI_Isend(sent_.data(), bytes(), MPI_BYTE, to(), tag, comm_, &requests[1]);
    MPI_Waitall(2, requests.data(), MPI_STATUSES_IGNORE);
  }

  int ranks_;
  int rank_;
  int shift_;
  bool nonblocking_;
  MPI_Comm comm_;
  Buffer sent_;
  MessageSlots arrived_;
};

const Registration registration{{
    .name = "mpi.shift",
    .title = "circular shift",
    .summary = "circular q-shift: every rank i sends to i + q at the same time",
    .ranks = Ranks::at_least(2),
    .parameters =
        {size("message_bytes", "B", 1024, 0, 1 << 30, "size of the message that each rank sends"),
         problem("shift", "", 1, 0, 1 << 24, "distance q to the receiver, modulo the number of ranks")
             .labeled("shift q")
             .worded("by {}"),
         call("call", "sendrecv,nonblocking", "MPI_Sendrecv, or MPI_Irecv and MPI_Isend").worded(",nonblocking")},
    .definition = Definition::max_rank,
    .metrics = {seconds("time_s"), bytes_per_second()},
    .sweeps = {{"baseline", "ranks=2,4 shift=1 call=sendrecv message_bytes=1Ki,64Ki"},
               {"standard", "ranks=powers shift=1 call=sendrecv,nonblocking message_bytes=0,1Ki,64Ki,1Mi"},
               {"standard", "ranks=nodes placement=node shift=1..ranks-1 message_bytes=1Ki,1Mi"},
               {"advanced", "ranks=all shift=1..ranks-1 message_bytes=1Ki,64Ki"}},
    .make = make<Shift>,
}};

}  // namespace
}  // namespace scope::shift
