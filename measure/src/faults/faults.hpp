// Faults that tests inject, named by the environment variable SCOPE_FAULT (several separated by blanks), so
// that every check of the program can be seen to fail:
// - corrupt-payload:BENCHMARK: what the last rank received is altered before verification
// - wrong-result:BENCHMARK: what rank 0 computed is altered before verification
// - wrong-pivot:BENCHMARK: a factorisation exchanges other rows than those it chose
// - sleep:BENCHMARK: the last rank never arrives at a repetition
// - host-per-rank: every rank believes itself on a host of its own
// - clock-skew:RANK:OFFSET_S:DRIFT: that rank's clock is off and drifts
#pragma once

#include <cstddef>
#include <span>
#include <string>
#include <vector>

#include "clocks/global_clock.hpp"
#include "mpi/communicator.hpp"

namespace scope {

class Faults {
 public:
  // Reads SCOPE_FAULT; throws std::invalid_argument for a fault that does not exist.
  static Faults from_environment();

  void corrupt_if_asked(std::string_view benchmark, const Communicator& world,
                        std::span<std::byte> data) const;
  void hang_if_asked(std::string_view benchmark, const Communicator& world) const;
  std::string host(int rank) const;  // the host that this rank believes to be on
  ClockSkew clock_skew(int rank) const;
  bool asks(std::string_view kind, std::string_view benchmark) const;

 private:
  std::vector<std::string> faults_;
};

}  // namespace scope
