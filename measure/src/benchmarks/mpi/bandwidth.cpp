// mpi.bandwidth: how much a stream of messages in one direction carries.
//
// Timed: a window of messages from rank 0 to rank 1 and an empty acknowledgement back, on rank 0's clock. The
// receives of a window are posted together. After thesis 6.5.3 (MPI_Send, MPI_Irecv, MPI_Waitall).
#include <vector>

#include "benchmark.hpp"
#include "memory/buffer.hpp"

namespace scope {
namespace {

constexpr int tag = 6;
constexpr int acknowledgement_tag = 7;

class Bandwidth final : public Benchmark {
 public:
  Bandwidth(const Parameters& parameters, const Communicator& communicator)
      : sender_(communicator.root()),
        blocking_(parameters.choice("completion") == "blocking"),
        comm_(communicator.handle()),
        bytes_(static_cast<int>(parameters.integer("message_bytes"))),
        requests_(parameters.integer("window")),
        sent_(bytes_),
        arrived_(bytes_) {
    sent_.clear();
    arrived_.clear();
  }

  Work work() const override {
    const auto window = static_cast<double>(requests_.size());
    return {.bytes = window * bytes_, .messages = window};
  }

  void fill(std::uint64_t seed) override { sender_ ? write_pattern(sent_.bytes(), seed) : arrived_.clear(); }

  void run(Repetition& repetition) override {
    if (sender_) {
      repetition.time([&] {
        blocking_ ? send_window() : start_window();
        MPI_Recv(nullptr, 0, MPI_BYTE, 1, acknowledgement_tag, comm_, MPI_STATUS_IGNORE);
      });
    } else {
      repetition.time([&] {
        receive_window();
        MPI_Send(nullptr, 0, MPI_BYTE, 0, acknowledgement_tag, comm_);
      });
    }
  }

  Check verify(std::uint64_t seed) override {
    if (sender_) return {};
    return {bytes_, pattern_problem(arrived_.bytes(), seed)};
  }

  std::span<std::byte> received() override { return sender_ ? std::span<std::byte>() : arrived_.bytes(); }

 private:
  int window() const { return static_cast<int>(requests_.size()); }

  void send_window() {
    for (int i = 0; i < window(); ++i) MPI_Send(sent_.data(), bytes_, MPI_BYTE, 1, tag, comm_);
  }
  void start_window() {
    for (auto& request : requests_) MPI_Isend(sent_.data(), bytes_, MPI_BYTE, 1, tag, comm_, &request);
    MPI_Waitall(window(), requests_.data(), MPI_STATUSES_IGNORE);
  }
  void receive_window() {
    for (auto& request : requests_) MPI_Irecv(arrived_.data(), bytes_, MPI_BYTE, 0, tag, comm_, &request);
    MPI_Waitall(window(), requests_.data(), MPI_STATUSES_IGNORE);
  }

  bool sender_;
  bool blocking_;
  MPI_Comm comm_;
  int bytes_;
  std::vector<MPI_Request> requests_;
  Buffer sent_;
  Buffer arrived_;
};

const Registration registration{{
    .name = "mpi.bandwidth",
    .summary = "windows of messages in one direction: bandwidth and message rate",
    .minimum_ranks = 2,
    .maximum_ranks = 2,
    .parameters = {integer("message_bytes", "B", 1 << 20, 1, 1 << 28, "payload of each message"),
                   integer("window", "", 64, 1, 4096, "messages sent before one acknowledgement"),
                   choice("completion", {"nonblocking", "blocking"},
                          "the sender's calls: MPI_Isend or MPI_Send")},
    .definition = Definition::local,
    .metrics = {bytes_per_second(), messages_per_second()},
    .sweeps = {{"baseline",
                "ranks=2 completion=nonblocking message_bytes=1,64,1Ki,4Ki,16Ki,64Ki,256Ki,1Mi,4Mi"},
               {"baseline", "ranks=2 completion=blocking message_bytes=1Ki,64Ki,1Mi"},
               {"baseline", "ranks=2 transport=tcp completion=nonblocking message_bytes=1Ki,64Ki,1Mi"}},
    .make = [](const Parameters& parameters, const Communicator& communicator) -> std::unique_ptr<Benchmark> {
      return std::make_unique<Bandwidth>(parameters, communicator);
    },
}};

}  // namespace
}  // namespace scope
