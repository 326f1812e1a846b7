// Faults that tests inject through the environment variable SCOPE_FAULT (several separated by blanks), to
// show that every check of the program can fail:
// - corrupt-payload:BENCHMARK: alters the data that the last rank received, before verification
// - wrong-result:BENCHMARK: alters the result of rank 0, before verification
// - wrong-pivot:BENCHMARK: a factorization exchanges other rows than the chosen ones
// - flip-byte:TRANSPORT:NUMBER: one byte of the receive of that number is wrong, in every case on this transport
// - lose-data:TRANSPORT: receives on this transport end without data
// - sleep:BENCHMARK: the last rank never arrives at a repetition
// - slow-check:RANK:SECONDS: that rank takes this long to check its data after every repetition; the case fails if another
//   rank times anything in the meantime
// - late-entry:RANK:SECONDS: after every third wait for a common start, that rank loses its processor for this long
// - no-resynchronization: ranks do not wait for each other after checks, as that fault must show
// - host-per-rank: every rank believes that it has a host of its own
// - clock-skew:RANK:OFFSET_S:DRIFT: that rank's clock is off and drifts
#pragma once

#include <cstddef>
#include <cstdint>
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

  void corrupt_if_asked(std::string_view benchmark, const Communicator& world, std::span<std::byte> data) const;
  void hang_if_asked(std::string_view benchmark, const Communicator& world) const;
  double delay_s(std::string_view kind, int rank) const;  // 0 where none is asked for
  std::string host(int rank) const;                       // the host on which this rank believes to run
  ClockSkew clock_skew(int rank) const;
  bool asks(std::string_view kind, std::string_view subject) const;
  bool asks(std::string_view kind) const;  // with any subject, or none
  // The number, from 1, of the receive that is to go wrong; 0 where none is.
  std::int64_t wrong_receive(std::string_view transport) const;

 private:
  // What follows the subject of an injected fault; empty where it is not asked for.
  std::vector<std::string> arguments(std::string_view kind, const std::string& subject) const;

  std::vector<std::string> faults_;
};

}  // namespace scope
