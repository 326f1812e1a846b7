// One clock for all ranks of a launch: the clock of rank 0.
//
// Ranks of one host share the host's ticks. The first rank of every other host learns a linear model of rank 0's
// clock hierarchically: in ceil(log2 hosts) rounds, synchronized hosts teach the others (S. Hunold and A.
// Carpen-Amarie, "Hierarchical Clock Synchronization in MPI", CLUSTER 2018: HCA3). From each set of exchanges, the
// offset of the shortest round trip is used (SKaMPI). A slope learnt in a fraction of a second is too inexact to
// be valid for a minute, so `refresh` adds points before every case and fits the slope to all of them.
#pragma once

#include <sys/types.h>

#include <deque>
#include <vector>

#include "clocks/tick_clock.hpp"
#include "mpi/hosts.hpp"

namespace scope {

// Converts seconds on this host's clock to rank 0's clock: global = local + offset + drift * (local - origin).
struct LinearClock {
  double origin_s = 0;
  double offset_s = 0;
  double drift = 0;

  double global(double local_s) const { return local_s + offset_s + drift * (local_s - origin_s); }
};

// Disturbs this rank's clock, so that tests know the error that the synchronization must find.
struct ClockSkew {
  double offset_s = 0;
  double drift = 0;
};

class GlobalClock {
 public:
  // The ranks of a host share a clock. Collective.
  GlobalClock(const Communicator& world, const TickClock& ticks, const Hosts& hosts, ClockSkew skew = {});

  void synchronize();  // first model of every host's clock; collective
  void refresh();      // a few more points, and a new fit; collective, cheap on one host
  // Largest offset in s found between the clocks of two hosts, or of two ranks of a host. Collective.
  double measure_error();

  double now() const { return global(ticks_.now()); }
  double global(Ticks ticks) const { return model_.global(local(ticks)); }

  int hosts() const { return hosts_.number(); }
  bool one_host() const { return hosts_.number() == 1; }
  std::vector<double> drifts() const;  // of every host, in host order; collective

 private:
  struct Offset {
    double local_s;
    double offset_s;
    double round_trip_s;
  };

  double local(Ticks ticks) const;
  // One pass over the tree; each level adds `points` offsets, `pause_us` apart.
  void learn(int points, useconds_t pause_us);
  // The client's and the reference's side of this many exchanges between two of `ranks`.
  Offset measure(const Communicator& ranks, int reference, int exchanges) const;
  void answer(const Communicator& ranks, int client, int exchanges) const;
  double error_against_mirror(const Communicator& ranks) const;
  double error_against(const Communicator& ranks, int reference) const;
  void fit();
  void share_with_host();

  const Communicator& world_;
  const TickClock& ticks_;
  const Hosts& hosts_;
  ClockSkew skew_;
  Ticks base_ = 0;
  LinearClock model_;
  std::deque<Offset> offsets_;
};

}  // namespace scope
