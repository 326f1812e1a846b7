// How many bytes crossed each link while an operation ran, where somebody can tell: in an emulated cluster.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "mpi/communicator.hpp"
#include "sampling/repetition.hpp"

namespace scope {

// The environment of rank 0 says where to look, `SCOPE_LINK_COUNTERS=FILE HERE>THERE=INTERFACE ...`: a file
// as /proc/net/dev, and the interface through which what goes from here to there leaves. Observed are then
// `HERE>THERE_bytes` and `THERE>HERE_bytes`, headers of packets included: on rank 0, and 0 on the others.
class LinkCounters {
 public:
  // Collective. Counts nothing unless `wanted`: what is looped takes too short for it.
  LinkCounters(const Communicator& world, bool wanted);

  void begin();
  // Collective: all have what they were sent.
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
