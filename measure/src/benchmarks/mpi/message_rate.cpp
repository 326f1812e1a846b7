// mpi.message_rate: messages per second that all pairs together can send and receive.
//
// The first half of the ranks sends to the second half. Timed: a window of messages from every sender and an
// empty acknowledgement back, on every rank's own clock after a common start; the slowest rank counts.

#include "benchmark.hpp"

namespace scope::message_rate {
namespace {

constexpr int tag = 13;
constexpr int acknowledgement_tag = 14;

class MessageRate final : public Benchmark {
 public:
  MessageRate(const Parameters& parameters, const Communicator& communicator)
      : pairs_(communicator.size() / 2),
        sender_(communicator.rank() < pairs_),
        partner_(sender_ ? communicator.rank() + pairs_ : communicator.rank() - pairs_),
        comm_(communicator.handle()),
        message_bytes_(parameters.integer("message_bytes")),
        requests_(parameters.integer("window")),
        messages_(sender_ ? window_bytes() : 0),
        arrived_(sender_ ? 0 : window_bytes()) {}

  Work work() const override {
    const double messages = static_cast<double>(pairs_) * static_cast<double>(requests_.size());
    return {.bytes = messages * static_cast<double>(message_bytes_), .messages = messages};
  }

  void fill(std::uint64_t seed) override {
    sender_ ? write_pattern(messages_.bytes(), seed_of(seed)) : arrived_.clear();
  }

  void run(Repetition& repetition) override {
    const int bytes = static_cast<int>(message_bytes_);
    if (sender_) {
      repetition.time([&] {
        for (int i = 0; i < window(); ++i)
          MPI_Isend(messages_.data() + i * message_bytes_, bytes, MPI_BYTE, partner_, tag, comm_, &requests_[i]);
        MPI_Waitall(window(), requests_.data(), MPI_STATUSES_IGNORE);
        MPI_Recv(nullptr, 0, MPI_BYTE, partner_, acknowledgement_tag, comm_, MPI_STATUS_IGNORE);
      });
    } else {
      arrived_.use(repetition.calls());
      repetition.time([&](std::int64_t number) {
        for (int i = 0; i < window(); ++i)
          MPI_Irecv(arrived_[number] + i * message_bytes_, bytes, MPI_BYTE, partner_, tag, comm_, &requests_[i]);
        MPI_Waitall(window(), requests_.data(), MPI_STATUSES_IGNORE);
        MPI_Send(nullptr, 0, MPI_BYTE, partner_, acknowledgement_tag, comm_);
      });
    }
  }

  // Each message has its own slot, so that lost or duplicate messages are noticed.
  Check verify(std::uint64_t seed) override {
    if (sender_) return {};
    return {arrived_.count() * window_bytes(), arrived_.pattern_problem(seed_of(seed))};
  }

  std::span<std::byte> received() override { return sender_ ? std::span<std::byte>() : arrived_.bytes(); }
  std::int64_t most_operations() const override { return MessageSlots::most(window_bytes()); }

 private:
  int window() const { return static_cast<int>(requests_.size()); }
  std::int64_t window_bytes() const { return std::int64_t{window()} * message_bytes_; }
  std::uint64_t seed_of(std::uint64_t seed) const {
    return seed * pairs_ + (sender_ ? partner_ - pairs_ : partner_);
  }

  int pairs_;
  bool sender_;
  int partner_;
  MPI_Comm comm_;
  std::ptrdiff_t message_bytes_;
  std::vector<MPI_Request> requests_;
  Buffer messages_;       // of a sender: the messages of one window
  MessageSlots arrived_;  // of a receiver: one window for each operation
};

const Registration registration{{
    .name = "mpi.message_rate",
    .title = "message rate",
    .summary = "messages per second of all pairs together, from the first half of the ranks to the second half",
    .ranks = Ranks::even(),
    .parameters = {size("message_bytes", "B", 8, 0, 1 << 20, "payload of each message"),
                   call("window", "", 64, 1, 4096, "messages in flight from each sender")},
    .definition = Definition::max_rank,
    .metrics = {messages_per_second(), bytes_per_second()},
    .sweeps = {{"baseline", "ranks=2,4 message_bytes=8"},
               {"standard", "ranks=powers message_bytes=0,8,64,1Ki"},
               {"standard", "ranks=nodes placement=node message_bytes=8,1Ki"}},
    .make = make<MessageRate>,
}};

}  // namespace
}  // namespace scope::message_rate
