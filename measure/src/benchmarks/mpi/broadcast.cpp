// mpi.broadcast: how long until the last process has the root's message.
//
// Timed: from the agreed start to the last exit on the synchronised clock; other definitions from the same
// raw times. Buffers are warm. Model 6.16 of the thesis.
#include "benchmark.hpp"
#include "memory/buffer.hpp"

namespace scope {
namespace {

class Broadcast final : public Benchmark {
 public:
  Broadcast(const Parameters& parameters, const Communicator& communicator)
      : communicator_(communicator), message_(parameters.integer("message_bytes")) {
    message_.clear();
  }

  // Effective bandwidth counts the payload of all p processes (thesis, eq. 6.1).
  Work work() const override {
    return {.bytes = static_cast<double>(message_.size()) * communicator_.size(),
            .messages = static_cast<double>(communicator_.size() - 1)};
  }

  void fill(std::uint64_t seed) override {
    communicator_.root() ? write_pattern(message_.bytes(), seed) : message_.clear();
  }

  void run(Repetition& repetition) override {
    const int count = static_cast<int>(message_.size());
    repetition.time([&] { MPI_Bcast(message_.data(), count, MPI_BYTE, 0, communicator_.handle()); });
  }

  Check verify(std::uint64_t seed) override {
    return {static_cast<std::int64_t>(message_.size()), pattern_problem(message_.bytes(), seed)};
  }

  std::span<std::byte> received() override { return message_.bytes(); }

 private:
  const Communicator& communicator_;
  Buffer message_;
};

const Registration registration{{
    .name = "mpi.broadcast",
    .summary = "broadcast from rank 0: from the common start to the last exit",
    .minimum_ranks = 2,
    .parameters = {integer("message_bytes", "B", 1024, 0, 1 << 28, "payload that every process gets")},
    .definition = Definition::global,
    .metrics = {seconds("time_s"), bytes_per_second()},
    .sweeps = {{"baseline", "ranks=powers message_bytes=1,64,1Ki,4Ki,16Ki,64Ki,256Ki,1Mi"}},
    .make = [](const Parameters& parameters, const Communicator& communicator) -> std::unique_ptr<Benchmark> {
      return std::make_unique<Broadcast>(parameters, communicator);
    },
}};

}  // namespace
}  // namespace scope
