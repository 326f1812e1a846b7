// Counts the bytes that cross each link during an operation, where counters exist: in an emulated cluster.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "mpi/communicator.hpp"
#include "sampling/repetition.hpp"

namespace scope {

// Rank 0's environment names the counters, `SCOPE_LINK_COUNTERS=FILE HERE>THERE=INTERFACE ...`: a file like
// /proc/net/dev, and the interface through which traffic from HERE to THERE leaves. The observed quantities
// are `HERE>THERE_bytes` and `THERE>HERE_bytes`, including packet headers: on rank 0, and 0 on the others.
class LinkCounters {
 public:
  // Collective. Counts nothing unless `wanted`: looped operations are too short.
  LinkCounters(const Communicator& world, bool wanted);

  void begin();
  // Collective: all messages have arrived.
  void end(Repetition& repetition);

 private:
  struct Link {
    std::string here;
    std::string there;
    std::string interface;
  };
  struct Bytes {
    std::uint64_t received;
    std::uint64_t sent;
  };
  // In the order of the links.
  std::vector<Bytes> read() const;

  const Communicator& world_;
  std::string file_;
  std::vector<Link> links_;
  std::vector<Bytes> before_;
};

}  // namespace scope
