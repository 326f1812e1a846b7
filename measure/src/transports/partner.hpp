// The peer of a pair, and the agreement of two processes on a connection before anything is timed.
#pragma once

#include <mpi.h>

#include <exception>

#include "benchmark.hpp"

namespace scope {

struct Partner {
  MPI_Comm comm;
  int rank;     // rank of the peer
  bool leads;   // whether this process listens and the peer connects
  bool nearby;  // whether the peer is on the same host

  template <class Card>
  Card swap(const Card& mine) const {
    static_assert(std::is_trivially_copyable_v<Card>);
    Card theirs;
    MPI_Sendrecv(&mine, sizeof mine, MPI_BYTE, rank, 0, &theirs, sizeof theirs, MPI_BYTE, rank, 0, comm,
                 MPI_STATUS_IGNORE);
    return theirs;
  }

  // Does `step` on both sides and exchanges its results, if any. Both sides learn of a problem on either side, so
  // that neither waits for a peer that has given up. Throws Unavailable.
  template <class Step>
  auto agree(Step&& step) const {
    using Result = std::invoke_result_t<Step>;
    constexpr bool silent = std::is_void_v<Result>;
    struct Card {
      std::array<char, 480> problem;
      std::conditional_t<silent, char, Result> value;
    };
    Card mine{};
    try {
      if constexpr (silent)
        step();
      else
        mine.value = step();
    } catch (const std::exception& error) {
      std::strncpy(mine.problem.data(), error.what(), mine.problem.size() - 1);
    }
    const Card theirs = swap(mine);
    if (mine.problem[0] != 0) throw Unavailable(mine.problem.data());
    if (theirs.problem[0] != 0) throw Unavailable("partner: " + std::string(theirs.problem.data()));
    if constexpr (!silent) return theirs.value;
  }

  // Waits until the peer has arrived here, too.
  void meet() const {
    MPI_Sendrecv(nullptr, 0, MPI_BYTE, rank, 2, nullptr, 0, MPI_BYTE, rank, 2, comm, MPI_STATUS_IGNORE);
  }

  // Calls `serve` repeatedly until the peer has arrived here, too.
  template <class Serve>
  void meet(Serve&& serve) const {
    std::array<MPI_Request, 2> requests;
    MPI_Irecv(nullptr, 0, MPI_BYTE, rank, 1, comm, &requests[0]);
    MPI_Isend(nullptr, 0, MPI_BYTE, rank, 1, comm, &requests[1]);
    for (int done = 0; done == 0;) {
      MPI_Testall(2, requests.data(), &done, MPI_STATUSES_IGNORE);
      if (done == 0) serve();
    }
  }
};

// The partner in the other half of the communicator; the first half of the ranks leads.
inline Partner partner_in(const Communicator& communicator) {
  const int half = communicator.size() / 2;
  const bool leads = communicator.rank() < half;
  Partner partner{communicator.handle(), communicator.rank() + (leads ? half : -half), leads, false};
  std::array<char, 256> host{};
  std::strncpy(host.data(), host_name().c_str(), host.size() - 1);
  partner.nearby = partner.swap(host) == host;
  return partner;
}

// Throws Unavailable unless both are on the same host.
inline void need_one_host(const Partner& partner, const std::string& protocol) {
  if (!partner.nearby) throw Unavailable("protocol=" + protocol + ": the two ranks are on different hosts");
}

}  // namespace scope
