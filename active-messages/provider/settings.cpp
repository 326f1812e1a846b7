#include "settings.hpp"

#include <unistd.h>

#include <charconv>
#include <cstdlib>
#include <initializer_list>
#include <string_view>
#include <utility>

#include "exchange.hpp"

namespace scope::provider {
namespace {

using active_messages::Error;
using active_messages::Wire;

// A process that does not answer may be stopped or swapped out, and ending a job is worse than a late answer.
constexpr auto default_peer_timeout = std::chrono::seconds(30);

constexpr std::size_t default_eager_bytes = 64 * 1024;

std::string_view variable(const char* name) {
  const char* value = std::getenv(name);
  return value == nullptr ? std::string_view() : value;
}

template <class Value>
Value choice(const char* name, std::string_view value,
             std::initializer_list<std::pair<std::string_view, Value>> allowed) {
  std::string names;
  for (const auto& [word, meaning] : allowed) {
    if (word == value) return meaning;
    names += (names.empty() ? "" : ", ") + std::string(word);
  }
  throw Error(std::string(name) + "=" + std::string(value) + ": must be one of " + names);
}

std::uint64_t number(const char* name, std::string_view value, std::uint64_t least, std::uint64_t most) {
  std::uint64_t result = 0;
  const auto [end, error] = std::from_chars(value.begin(), value.end(), result);
  if (error != std::errc() || end != value.end() || result < least || result > most)
    throw Error(std::string(name) + "=" + std::string(value) + ": must be a whole number from " +
                std::to_string(least) + " to " + std::to_string(most));
  return result;
}

// One of two independent halves, so that any text gives a complete key.
std::uint64_t half(std::string_view text, std::uint64_t seed) {
  std::uint64_t hash = seed;
  for (const char character : text) hash = (hash ^ static_cast<unsigned char>(character)) * 0x100000001b3;
  hash ^= hash >> 32;
  return hash * 0x9e3779b97f4a7c15;
}

// A text that all processes of a job share, but not other jobs. Open MPI draws a random number for this purpose;
// the other names are unique, but not secret.
std::string of_the_launcher() {
  for (const char* name : {"OMPI_MCA_orte_precondition_transports", "PMIX_NAMESPACE", "SLURM_JOB_ID", "PMI_JOBID",
                           "PBS_JOBID", "LSB_JOBID"})
    if (const std::string_view value = variable(name); !value.empty()) return std::string(value);
  return "";
}

}  // namespace

Settings settings() {
  active_messages::Options options;
  options.interface = variable("FI_SCOPE_IFACE");
  options.wire = options.interface.empty() ? Wire::none : Wire::automatic;
  if (const auto wire = variable("FI_SCOPE_WIRE"); !wire.empty())
    options.wire = choice<Wire>(
        "FI_SCOPE_WIRE", wire,
        {{"automatic", Wire::automatic}, {"xdp", Wire::xdp}, {"packet", Wire::packet}, {"none", Wire::none}});
  if (options.wire != Wire::none && options.interface.empty())
    throw Error("FI_SCOPE_WIRE=" + std::string(variable("FI_SCOPE_WIRE")) +
                ": needs FI_SCOPE_IFACE, the name of an Ethernet interface");
  if (const auto control = variable("FI_SCOPE_FLOW_CONTROL"); !control.empty())
    options.flow_control = choice<bool>("FI_SCOPE_FLOW_CONTROL", control, {{"1", true}, {"0", false}});
  std::string secret(variable("FI_SCOPE_KEY"));
  if (secret.empty()) secret = of_the_launcher() + "/" + std::to_string(geteuid());
  for (int i = 0; i < 2; ++i) {
    const std::uint64_t part = half(secret, i == 0 ? 0xcbf29ce484222325 : 0x84222325cbf29ce4);
    for (int byte = 0; byte < 8; ++byte)
      options.session_key[8 * i + byte] = static_cast<std::byte>(part >> 8 * byte);
  }
  options.peer_timeout = default_peer_timeout;
  if (const auto seconds = variable("FI_SCOPE_PEER_TIMEOUT_S"); !seconds.empty())
    options.peer_timeout = std::chrono::milliseconds(1000 * number("FI_SCOPE_PEER_TIMEOUT_S", seconds, 1, 86'400));
  Progress progress = Progress::calls;
  if (const auto who = variable("FI_SCOPE_PROGRESS"); !who.empty())
    progress =
        choice<Progress>("FI_SCOPE_PROGRESS", who, {{"calls", Progress::calls}, {"thread", Progress::thread}});
  std::size_t eager_bytes = default_eager_bytes;
  if (const auto bytes = variable("FI_SCOPE_EAGER_BYTES"); !bytes.empty())
    eager_bytes = number("FI_SCOPE_EAGER_BYTES", bytes, 0, eager_bytes_most);
  return {options, eager_bytes, progress};
}

}  // namespace scope::provider
