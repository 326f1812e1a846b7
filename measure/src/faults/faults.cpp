#include "faults/faults.hpp"

#include <unistd.h>

#include <algorithm>
#include <array>
#include <cstdlib>
#include <stdexcept>

#include "text/words.hpp"

namespace scope {
namespace {

constexpr std::array kinds = {"corrupt-payload", "wrong-result", "wrong-pivot",         "flip-byte",
                              "lose-data",       "sleep",        "host-per-rank",       "clock-skew",
                              "slow-check",      "late-entry",   "no-resynchronization"};

}  // namespace

Faults Faults::from_environment() {
  Faults faults;
  const char* asked = std::getenv("SCOPE_FAULT");
  faults.faults_ = split(asked != nullptr ? asked : "", ' ');
  for (const auto& fault : faults.faults_) {
    const std::string kind = fault.substr(0, fault.find(':'));
    if (std::find(kinds.begin(), kinds.end(), kind) == kinds.end()) {
      throw std::invalid_argument(
          "SCOPE_FAULT=" + fault + ": must be one of corrupt-payload:BENCHMARK, " +
          "wrong-result:BENCHMARK, wrong-pivot:BENCHMARK, flip-byte:TRANSPORT:NUMBER, " +
          "lose-data:TRANSPORT, sleep:BENCHMARK, host-per-rank, clock-skew:RANK:OFFSET_S:DRIFT, " +
          "slow-check:RANK:SECONDS, late-entry:RANK:SECONDS, no-resynchronization");
    }
  }
  return faults;
}

bool Faults::asks(std::string_view kind, std::string_view subject) const {
  return std::find(faults_.begin(), faults_.end(), std::string(kind) + ":" + std::string(subject)) !=
         faults_.end();
}

bool Faults::asks(std::string_view kind) const {
  return std::any_of(faults_.begin(), faults_.end(),
                     [&](const std::string& fault) { return fault.substr(0, fault.find(':')) == kind; });
}

std::vector<std::string> Faults::arguments(std::string_view kind, const std::string& subject) const {
  for (const auto& fault : faults_) {
    auto parts = split(fault, ':');
    if (parts.size() > 2 && parts[0] == kind && parts[1] == subject) return {parts.begin() + 2, parts.end()};
  }
  return {};
}

double Faults::delay_s(std::string_view kind, int rank) const {
  const auto given = arguments(kind, std::to_string(rank));
  return given.empty() ? 0 : std::stod(given[0]);
}

std::int64_t Faults::wrong_receive(std::string_view transport) const {
  const auto given = arguments("flip-byte", std::string(transport));
  return given.empty() ? 0 : std::stoll(given[0]);
}

void Faults::corrupt_if_asked(std::string_view benchmark, const Communicator& world,
                              std::span<std::byte> data) const {
  const bool payload = asks("corrupt-payload", benchmark) && world.rank() == world.size() - 1;
  const bool result = asks("wrong-result", benchmark) && world.rank() == 0;
  if (data.empty() || !(payload || result)) return;
  // The top byte of a double in the middle: sign and exponent, so that no tolerance hides it.
  const std::size_t middle = std::min(data.size() - 1, (data.size() / 2) | 7u);
  data[middle] ^= std::byte{0x55};
}

void Faults::hang_if_asked(std::string_view benchmark, const Communicator& world) const {
  if (faults_.empty() || world.rank() != world.size() - 1) return;
  while (asks("sleep", benchmark)) sleep(1);
}

std::string Faults::host(int rank) const {
  return asks("host-per-rank") ? host_name() + "-" + std::to_string(rank) : host_name();
}

ClockSkew Faults::clock_skew(int rank) const {
  const auto given = arguments("clock-skew", std::to_string(rank));
  return given.size() == 2 ? ClockSkew{std::stod(given[0]), std::stod(given[1])} : ClockSkew{};
}

}  // namespace scope
