// The common part of all ping-pongs: a message is echoed from the buffer in which it arrived, so that any wrong
// byte persists to the end.
#pragma once

#include "benchmark.hpp"

namespace scope {

// The plain loop: the first rank sends and waits for the answer, the other answers. `send` and `receive`
// should hold their data by value.
template <class Send, class Receive>
void time_round_trips(Repetition& repetition, bool first, Send send, Receive receive) {
  if (first) {
    repetition.time([=]() mutable {
      send();
      receive();
    });
  } else {
    repetition.time([=]() mutable {
      receive();
      send();
    });
  }
}

class Echo : public Benchmark {
 public:
  Echo(const Communicator& communicator, std::int64_t message_bytes)
      : first_(communicator.root()),
        partner_(1 - communicator.rank()),
        comm_(communicator.handle()),
        message_(message_bytes) {
    message_.clear();
  }

  Work work() const override { return {.bytes = static_cast<double>(message_.size()), .messages = 1}; }

  void fill(std::uint64_t seed) override { first_ ? write_pattern(message_.bytes(), seed) : message_.clear(); }

  Check verify(std::uint64_t seed) override {
    return {static_cast<std::int64_t>(message_.size()), pattern_problem(message_.bytes(), seed)};
  }

  std::span<std::byte> received() override { return message_.bytes(); }

 protected:
  bool first_;
  int partner_;
  MPI_Comm comm_;
  Buffer message_;
};

}  // namespace scope
