// The output of an algorithm: an ordered program of steps for every rank. The executor performs one rank's steps
// with MPI; the estimator simulates all ranks' steps on the network. Neither depends on the algorithm.
#pragma once

#include <algorithm>
#include <cstdint>
#include <functional>
#include <string>
#include <vector>

#include "network.hpp"

namespace scope {

enum class Operation { broadcast, reduce, allreduce, barrier, gather, scatter, allgather, alltoall };
inline constexpr int operation_count = 8;
inline const char* name_of(Operation operation) {
  constexpr const char* names[operation_count] = {"broadcast", "reduce",  "allreduce", "barrier",
                                                  "gather",    "scatter", "allgather", "alltoall"};
  return names[static_cast<int>(operation)];
}
// Throws std::invalid_argument with a message that begins with `where` and lists the operations.
inline Operation operation_named(const std::string& where, const std::string& name) {
  std::string allowed;
  for (int i = 0; i < operation_count; ++i) {
    const char* const known = name_of(static_cast<Operation>(i));
    if (name == known) return static_cast<Operation>(i);
    allowed += (i ? ", " : "") + std::string(known);
  }
  throw std::invalid_argument(where + ": allowed: " + allowed);
}

// Memory spaces of one rank, in units: bytes, or elements if the operation reduces them.
enum class Space : std::uint8_t {
  input,     // contribution of the rank; never written
  work,      // the result in progress; initialized by the operation (see algorithms.hpp)
  incoming,  // scratch
  result     // the final result, if it is not in `work`
};

enum class Action : std::uint8_t {
  send,           // blocks until the units have left
  receive,        // blocks until the units have arrived
  start_send,     // posted; a later wait completes it
  start_receive,  //
  wait,           // for one posted step
  wait_all,       // for all posted steps that are not complete
  copy,           // into[to…] = space[begin…]
  combine         // work[to…] = work[to…] op space[begin…]; the operation commutes
};

struct Step {
  Action action;
  Space space;
  int peer;
  std::int64_t begin;
  std::int64_t count;
  std::int64_t to;  // copy and combine: target; wait: number of the posted step, from 0
  Space into = Space::work;
};

// A part of a message or of a space, in units.
struct Range {
  std::int64_t begin;
  std::int64_t count;
};

// The program of one rank.
class Program {
 public:
  void send(int peer, Space space, std::int64_t begin, std::int64_t count) {
    touch(space, begin + count);
    steps_.push_back({Action::send, space, peer, begin, count, 0});
  }
  void receive(int peer, Space space, std::int64_t begin, std::int64_t count) {
    touch(space, begin + count);
    steps_.push_back({Action::receive, space, peer, begin, count, 0});
  }
  std::int64_t start_send(int peer, Space space, std::int64_t begin, std::int64_t count) {
    touch(space, begin + count);
    steps_.push_back({Action::start_send, space, peer, begin, count, 0});
    return posted_++;
  }
  std::int64_t start_receive(int peer, Space space, std::int64_t begin, std::int64_t count) {
    touch(space, begin + count);
    steps_.push_back({Action::start_receive, space, peer, begin, count, 0});
    return posted_++;
  }
  // Sends one range while receiving another.
  void exchange(int target, Space from, const Range& given, int source, Space into, const Range& taken) {
    const std::int64_t sent = start_send(target, from, given.begin, given.count);
    receive(source, into, taken.begin, taken.count);
    wait(sent);
  }
  void wait(std::int64_t posted) { steps_.push_back({Action::wait, Space::work, -1, 0, 0, posted}); }
  void wait_all() {
    if (posted_ > 0) steps_.push_back({Action::wait_all, Space::work, -1, 0, 0, 0});
  }
  void copy(Space into, std::int64_t to, Space space, std::int64_t begin, std::int64_t count) {
    touch(space, begin + count);
    touch(into, to + count);
    steps_.push_back({Action::copy, space, -1, begin, count, to, into});
  }
  void combine(std::int64_t to, Space space, std::int64_t begin, std::int64_t count) {
    touch(space, begin + count);
    touch(Space::work, to + count);
    steps_.push_back({Action::combine, space, -1, begin, count, to});
  }

  const std::vector<Step>& steps() const { return steps_; }
  std::int64_t posted() const { return posted_; }
  std::int64_t extent(Space space) const { return extents_[static_cast<int>(space)]; }  // number of units used

 private:
  void touch(Space space, std::int64_t end) {
    std::int64_t& extent = extents_[static_cast<int>(space)];
    extent = std::max(extent, end);
  }
  std::vector<Step> steps_;
  std::int64_t posted_ = 0;
  std::int64_t extents_[4] = {0, 0, 0, 0};
};

// Adds the steps of a rank.
using Phase = std::function<void(Program& steps, int rank)>;

struct Schedule {
  Phase phase;
  // Ranks in the order of their blocks in `work` (gather, scatter, allgather) or in `input` and `result`
  // (alltoall); empty for the other operations.
  std::vector<int> order = {};

  Program program(int rank) const {
    Program steps;
    phase(steps, rank);
    return steps;
  }
};

// The shape of a multilevel tree inside a cluster and between its parts.
enum class Shape {
  chain,     // hosts in a chain; the leader feeds other clusters
  tail,      // hosts in a chain; its last host feeds the next cluster
  binomial,  // hosts in a binomial tree; the leader feeds other clusters
  star,      // the leader sends to all
};
inline const char* name_of(Shape shape) {
  switch (shape) {
    case Shape::chain: return "chain";
    case Shape::tail: return "tail";
    case Shape::binomial: return "binomial";
    case Shape::star: return "star";
  }
  return "";
}

struct Problem {
  Operation operation;
  const Network* network;
  int root = 0;
  // Units of the whole message (broadcast, reduce, allreduce) or of one block (gather, scatter, all-to-alls).
  std::int64_t units = 0;
  std::int64_t unit_bytes = 1;
  std::int64_t segment_units = 0;  // for segmented algorithms; at least 1
  Shape shape = Shape::chain;

  int ranks() const { return network->size(); }
};

// The ranges of a message's segments.
inline std::vector<Range> segments(const Problem& problem) {
  std::vector<Range> ranges;
  const std::int64_t length = std::max<std::int64_t>(1, problem.segment_units);
  for (std::int64_t begin = 0; begin < problem.units; begin += length)
    ranges.push_back({begin, std::min(length, problem.units - begin)});
  return ranges;
}

}  // namespace scope
