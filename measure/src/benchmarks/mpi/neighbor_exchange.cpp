// mpi.neighbor_exchange: every rank of a periodic grid sends a message to each of its neighbors and receives one
// from each, as in the halo exchange of a stencil program.
//
// Timed: one exchange of all ranks, from the agreed start to the last exit, and several back to back.
#include <mpi.h>

#include "benchmark.hpp"
#include "memory/available.hpp"
#include "mpi/simulated.hpp"

namespace scope::neighbor_exchange {
namespace {

constexpr int first_tag = 51;
constexpr int most_dimensions = 3;

class NeighborExchange final : public Benchmark {
 public:
  NeighborExchange(const Parameters& parameters, const Communicator& communicator)
      : dimensions_(static_cast<int>(parameters.integer("dimensions"))),
        neighbors_(2 * dimensions_),
        ranks_(communicator.size()),
        rank_(communicator.rank()),
        block_(parameters.integer("message_bytes")),
        nonblocking_(parameters.choice("call") == "nonblocking"),
        grid_(Communicator::grid(communicator, extents(ranks_, dimensions_))) {
    if (mpi_simulates && !nonblocking_)
      throw Unavailable("call=neighbor_alltoall: SimGrid has no MPI_Neighbor_alltoall");
    // Space to send, and to receive in this many back-to-back operations.
    const std::int64_t places =
        mpi_simulates ? 1
                      : std::min(MessageSlots::most(neighbors_ * block_) / 2, slow_operations_back_to_back) + 1;
    require_memory(neighbors_ * block_ * (1 + places), communicator);
    sent_ = Buffer(neighbors_ * block_);
    sent_.clear();
    arrived_ = MessageSlots(neighbors_ * block_);
    for (int d = 0; d < dimensions_; ++d)
      MPI_Cart_shift(grid_.handle(), d, 1, &partners_[2 * d], &partners_[2 * d + 1]);
  }

  Work work() const override {
    const double messages = static_cast<double>(neighbors_) * ranks_;
    return {.bytes = messages * static_cast<double>(block_), .messages = messages};
  }

  void fill(std::uint64_t seed) override {
    for (int i = 0; i < neighbors_; ++i) write_pattern(block_of(sent_.bytes(), i), seed_of(seed, rank_, i));
    arrived_.clear();
  }

  void run(Repetition& repetition) override {
    arrived_.use(repetition.calls());
    if (nonblocking_) {
      repetition.time([&](std::int64_t number) { exchange(arrived_[number]); });
    } else {
      repetition.time([&](std::int64_t number) {
        MPI_Neighbor_alltoall(sent_.data(), bytes(), MPI_BYTE, arrived_[number], bytes(), MPI_BYTE,
                              grid_.handle());
      });
    }
  }

  Check verify(std::uint64_t seed) override {
    Check check{arrived_.count() * neighbors_ * block_, ""};
    for (std::int64_t number = 0; number < arrived_.count() && check.problem.empty(); ++number) {
      for (int i = 0; i < neighbors_ && check.problem.empty(); ++i) {
        const std::string problem =
            pattern_problem(block_of(arrived_.slot(number), i), seed_of(seed, partners_[i], i ^ 1));
        if (problem.empty()) continue;
        check.problem =
            sentence({"exchange ", number + 1, ", message of rank ", partners_[i], ", the ",
                      i % 2 ? "upper" : "lower", " neighbor along dimension ", i / 2 + 1, ": ", problem});
      }
      if (check.problem.empty()) check.problem = arrived_.overrun(number);
    }
    return check;
  }

  std::span<std::byte> received() override { return arrived_.bytes(); }
  std::int64_t most_operations() const override { return arrived_.most() / 2; }

 private:
  // Extents of a grid as close to a cube as possible. With an extent of 1, ranks would be their own neighbors.
  static std::vector<int> extents(int ranks, int dimensions) {
    std::vector<int> extents(dimensions, 0);
    MPI_Dims_create(ranks, dimensions, extents.data());
    if (std::find(extents.begin(), extents.end(), 1) != extents.end()) {
      throw Unavailable(sentence({"dimensions=", dimensions, ": ", ranks,
                                  " ranks do not form a grid with two ranks or more along each dimension"}));
    }
    return extents;
  }

  // The seed of a rank's message to its i-th neighbor, different for every message.
  std::uint64_t seed_of(std::uint64_t seed, int rank, int i) const {
    return (seed * ranks_ + rank) * neighbors_ + i;
  }

  int bytes() const { return static_cast<int>(block_); }
  std::span<std::byte> block_of(std::span<std::byte> all, int i) const { return all.subspan(i * block_, block_); }

  // A message to the lower neighbor along a dimension arrives there from the upper neighbor.
  void exchange(std::byte* place) {
    std::array<MPI_Request, 4 * most_dimensions> requests;
    MPI_Request* next = requests.data();
    for (int i = 0; i < neighbors_; ++i)
      MPI_Irecv(place + i * block_, bytes(), MPI_BYTE, partners_[i], first_tag + (i ^ 1), grid_.handle(), next++);
    for (int i = 0; i < neighbors_; ++i)
      MPI_Isend(sent_.data() + i * block_, bytes(), MPI_BYTE, partners_[i], first_tag + i, grid_.handle(), next++);
    MPI_Waitall(static_cast<int>(next - requests.data()), requests.data(), MPI_STATUSES_IGNORE);
  }

  int dimensions_;
  int neighbors_;
  int ranks_;
  int rank_;
  std::int64_t block_;  // bytes of a message
  bool nonblocking_;
  Communicator grid_;
  std::array<int, 2 * most_dimensions> partners_{};  // lower and upper along each dimension
  Buffer sent_{0};
  MessageSlots arrived_{0};
};

const Registration registration{{
    .name = "mpi.neighbor_exchange",
    .title = "exchange with neighbors",
    .summary = "exchange with all neighbors on a ring or grid of ranks, as in a stencil program",
    .ranks = Ranks::at_least(2),
    .rungs = {{Pattern::neighbor_exchange, "time_s", "dimensions=1,2,3"}},
    .parameters = {size("message_bytes", "B", 1024, 0, 1 << 30, "size of the message to each neighbor"),
                   problem("dimensions", "", 1, 1, most_dimensions,
                           "dimensions of the periodic grid; a rank has two neighbors along each dimension")
                       .worded("on a grid of {} dimensions"),
                   call("call", "nonblocking,neighbor_alltoall",
                        "MPI_Irecv and MPI_Isend, or MPI_Neighbor_alltoall")
                       .worded(",MPI_Neighbor_alltoall")},
    .definition = Definition::global,
    .metrics = {seconds("time_s"), bytes_per_second()},
    .sweeps = {{"standard",
                "ranks=powers dimensions=1 call=nonblocking,neighbor_alltoall message_bytes=0,1Ki,16Ki,64Ki,1Mi"},
               {"advanced", "ranks=4,6,9,16,64 dimensions=2 message_bytes=1Ki,16Ki,64Ki,1Mi"},
               {"advanced", "ranks=8,12,27,64 dimensions=3 message_bytes=1Ki,16Ki,64Ki,1Mi"}},
    .make = make<NeighborExchange>,
}};

}  // namespace
}  // namespace scope::neighbor_exchange
