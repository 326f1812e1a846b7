// Counts the bytes that cross each link during an operation if counters exist, as in an emulated cluster.
#pragma once

#include <array>
#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <fstream>
#include <optional>
#include <sstream>
#include <string>
#include <vector>

#include "mpi/communicator.hpp"
#include "sampling/repetition.hpp"
#include "synchronization/dissemination.hpp"

namespace scope {

// The value of rank 0's environment variable, on every rank.
inline std::string told(const Communicator& world) {
  const char* const words = world.root() ? std::getenv("SCOPE_LINK_COUNTERS") : nullptr;
  return world.broadcast(words != nullptr ? words : "", 0);
}

// Rank 0's environment names the counters, `SCOPE_LINK_COUNTERS=HERE>THERE=FILE:INTERFACE ...`: a file like
// /proc/net/dev, and the interface through which traffic from HERE to THERE leaves. The observed quantities are
// `HERE>THERE_bytes` and `THERE>HERE_bytes`, including packet headers, on rank 0; they are 0 on the others.
class LinkCounters {
 public:
  // Collective. Counts only if `wanted`, since looped operations are too short.
  LinkCounters(const Communicator& world, bool wanted) : world_(world) {
    if (!wanted) return;
    std::istringstream words(told(world));
    for (std::string word; words >> word;) {
      const auto arrow = word.find('>');
      const auto equals = word.find('=', arrow);
      const auto colon = word.rfind(':');
      if (arrow == std::string::npos || equals == std::string::npos || colon == std::string::npos) continue;
      links_.push_back({word.substr(0, arrow), word.substr(arrow + 1, equals - arrow - 1),
                        word.substr(equals + 1, colon - equals - 1), word.substr(colon + 1)});
    }
    // If the root does not find all interfaces, nothing is counted.
    int found = world.root() && read().size() == links_.size() ? 1 : 0;
    MPI_Bcast(&found, 1, MPI_INT, 0, world.handle());
    if (found == 0) links_.clear();
  }

  void begin() {
    if (!links_.empty() && world_.root()) before_ = read();
  }
  // Collective, so that all messages have arrived.
  void end(Repetition& repetition) {
    if (links_.empty()) return;
    dissemination_barrier(world_);
    const std::vector<Bytes> now = world_.root() ? read() : std::vector<Bytes>();
    for (std::size_t i = 0; i < links_.size(); ++i) {
      const bool known = i < now.size() && i < before_.size();
      const auto& [here, there, file, interface] = links_[i];
      const double sent = known ? static_cast<double>(now[i].sent - before_[i].sent) : 0;
      const double received = known ? static_cast<double>(now[i].received - before_[i].received) : 0;
      repetition.observe(here + '>' + there + "_bytes", sent);
      repetition.observe(there + '>' + here + "_bytes", received);
    }
  }

 private:
  struct Link {
    std::string here;
    std::string there;
    std::string file;
    std::string interface;
  };
  struct Bytes {
    std::uint64_t received;
    std::uint64_t sent;
  };
  // In the order of the links.
  std::vector<Bytes> read() const {
    std::vector<Bytes> found;
    for (const auto& link : links_)
      if (const auto bytes = read(link)) found.push_back(*bytes);
    return found;
  }
  // Reads the format of /proc/net/dev, proc(5): name and colon, received bytes and seven more counts, then sent bytes.
  static std::optional<Bytes> read(const Link& link) {
    std::ifstream file(link.file);
    for (std::string line; std::getline(file, line);) {
      std::array<char, 256> name{};
      Bytes bytes{};
      if (std::sscanf(line.c_str(), " %255[^:]:%lu%*u%*u%*u%*u%*u%*u%*u%lu", name.data(), &bytes.received,
                      &bytes.sent) == 3 &&
          link.interface == name.data())
        return bytes;
    }
    return std::nullopt;
  }

  const Communicator& world_;
  std::vector<Link> links_;
  std::vector<Bytes> before_;
};

}  // namespace scope
