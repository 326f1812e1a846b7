// Faults that tests inject through the environment variable SCOPE_FAULT (several separated by blanks), to
// show that every check of the program can fail:
// - corrupt-payload:BENCHMARK: alters the data that the last rank received, before verification
// - wrong-result:BENCHMARK: alters the result of rank 0, before verification
// - wrong-pivot:BENCHMARK: a factorization exchanges different rows from the chosen ones
// - flip-byte:TRANSPORT:NUMBER: one byte of the receive with this number is wrong, in every case on this transport
// - lose-data:TRANSPORT: receives on this transport end without data
// - sleep:BENCHMARK: the last rank never arrives at a repetition
// - slow-check:RANK:SECONDS: that rank takes this long to check its data after every repetition; the case fails if another
//   rank times anything in the meantime
// - late-entry:RANK:SECONDS: after every third wait for a common start, that rank is descheduled for this long
// - cold-start:RANK:SECONDS: that rank's first two repetitions of a case take this much longer
// - no-resynchronization: ranks do not wait for each other after checks, which slow-check must reveal
// - host-per-rank: every rank believes that it is on a different host
// - clock-skew:RANK:OFFSET_S:DRIFT: that rank's clock has this offset and drift
#pragma once

#include <unistd.h>

#include <algorithm>
#include <array>
#include <cstddef>
#include <cstdint>
#include <cstdlib>
#include <span>
#include <stdexcept>
#include <string>
#include <vector>

#include "clocks/global_clock.hpp"
#include "mpi/communicator.hpp"
#include "text/words.hpp"

namespace scope {

constexpr const char* known_faults =
    "corrupt-payload:BENCHMARK wrong-result:BENCHMARK wrong-pivot:BENCHMARK flip-byte:TRANSPORT:NUMBER "
    "lose-data:TRANSPORT sleep:BENCHMARK host-per-rank clock-skew:RANK:OFFSET_S:DRIFT slow-check:RANK:SECONDS "
    "late-entry:RANK:SECONDS cold-start:RANK:SECONDS no-resynchronization";

inline std::string kind_of_fault(std::string_view fault) { return std::string(fault.substr(0, fault.find(':'))); }

class Faults {
 public:
  // Reads SCOPE_FAULT; throws std::invalid_argument for a fault that does not exist.
  static Faults from_environment() {
    Faults faults;
    const char* asked = std::getenv("SCOPE_FAULT");
    faults.faults_ = split(asked != nullptr ? asked : "", ' ');
    const auto known = split(known_faults, ' ');
    for (const auto& fault : faults.faults_)
      if (std::ranges::find(known, kind_of_fault(fault), kind_of_fault) == known.end())
        throw std::invalid_argument("SCOPE_FAULT=" + fault + ": must be one of " + joined(known, ", "));
    return faults;
  }

  void corrupt_if_asked(std::string_view benchmark, const Communicator& world, std::span<std::byte> data) const {
    const bool payload = asks("corrupt-payload", benchmark) && world.rank() == world.size() - 1;
    const bool result = asks("wrong-result", benchmark) && world.rank() == 0;
    if (data.empty() || !(payload || result)) return;
    // The top byte of a double in the middle, with sign and exponent, so that no tolerance hides the change.
    const std::size_t middle = std::min(data.size() - 1, (data.size() / 2) | 7u);
    data[middle] ^= std::byte{0x55};
  }
  void hang_if_asked(std::string_view benchmark, const Communicator& world) const {
    if (faults_.empty() || world.rank() != world.size() - 1) return;
    while (asks("sleep", benchmark)) sleep(1);
  }
  // 0 if no delay is requested
  double delay_s(std::string_view kind, int rank) const {
    const auto given = arguments(kind, std::to_string(rank));
    return given.empty() ? 0 : std::stod(given[0]);
  }
  // The host on which this rank believes that it runs.
  std::string host(int rank) const {
    return asks("host-per-rank") ? host_name() + "-" + std::to_string(rank) : host_name();
  }
  ClockSkew clock_skew(int rank) const {
    const auto given = arguments("clock-skew", std::to_string(rank));
    return given.size() == 2 ? ClockSkew{std::stod(given[0]), std::stod(given[1])} : ClockSkew{};
  }
  bool asks(std::string_view kind, std::string_view subject) const {
    return std::find(faults_.begin(), faults_.end(), std::string(kind) + ":" + std::string(subject)) !=
           faults_.end();
  }
  // Whether this kind of fault is requested, with any subject or none.
  bool asks(std::string_view kind) const {
    return std::ranges::find(faults_, kind, kind_of_fault) != faults_.end();
  }
  // The number, counted from 1, of the receive that must go wrong; 0 if none.
  std::int64_t wrong_receive(std::string_view transport) const {
    const auto given = arguments("flip-byte", std::string(transport));
    return given.empty() ? 0 : std::stoll(given[0]);
  }

 private:
  // The parts after the subject of an injected fault; empty if it is not requested.
  std::vector<std::string> arguments(std::string_view kind, const std::string& subject) const {
    for (const auto& fault : faults_) {
      auto parts = split(fault, ':');
      if (parts.size() > 2 && parts[0] == kind && parts[1] == subject) return {parts.begin() + 2, parts.end()};
    }
    return {};
  }

  std::vector<std::string> faults_;
};

}  // namespace scope
