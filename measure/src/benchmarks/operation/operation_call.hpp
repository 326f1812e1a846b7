// How an operation calls MPI: blocking; nonblocking with an immediate wait; or nonblocking with an equally long
// computation between start and wait (thesis, section 8.4).
#pragma once

#include "benchmark.hpp"
#include "sampling/overlapped.hpp"

namespace scope {

inline Parameter operation_call() {
  return call("call", "blocking,nonblocking,overlapped",
              "blocking, nonblocking, or nonblocking overlapped with a computation of equal length")
      .worded(",nonblocking,overlapped with computation");
}
inline std::vector<Metric> operation_metrics(std::vector<Metric> rates) {
  rates.insert(rates.begin(), seconds("time_s"));
  rates.push_back(result("hidden_share", "", Better::higher).labeled("fraction hidden behind computation"));
  return rates;
}

class OperationCall {
 public:
  OperationCall(const Parameters& parameters, const Communicator& communicator)
      : mode_(parameters.choice("call")), overlapped_(communicator) {}

  // Number of sets of buffers that a repetition needs: if overlapped, the operation is also timed alone.
  int sets() const { return mode_ == "overlapped" ? 2 : 1; }

  // Times `block(set)`, or `start(set)` and `finish(set)` with a computation in between. Collective if overlapped.
  template <class Block, class Start, class Finish>
  void time(Repetition& repetition, Block block, Start start, Finish finish) {
    if (mode_ == "blocking") {
      repetition.time([&] { block(0); });
    } else if (mode_ == "nonblocking") {
      repetition.time([&] {
        start(0);
        finish(0);
      });
    } else {
      overlapped_.run(
          repetition,
          [&](std::int64_t set) {
            start(static_cast<int>(set));
            finish(static_cast<int>(set));
          },
          [&](std::int64_t set, Computation& computation, std::int64_t steps) {
            start(static_cast<int>(set));
            computation.run(steps);
            finish(static_cast<int>(set));
          });
    }
  }

 private:
  std::string mode_;
  Overlapped overlapped_;
};

}  // namespace scope
