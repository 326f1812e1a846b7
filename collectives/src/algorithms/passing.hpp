// Common parts of the algorithms: registration, and steps along a tree that several algorithms share.
#pragma once

#include <functional>
#include <memory>
#include <vector>

#include "algorithms.hpp"
#include "tree.hpp"

namespace scope {

// Sends and waits until the receiver has everything, like blocking sends before sockets buffered megabytes.
void send_confirmed(Program& program, int peer, std::int64_t units);
void receive_confirmed(Program& program, int peer, std::int64_t units);

// Receives the whole message from the parent and sends it to one child after another.
void pass_blocking(Program& program, const Tree& tree, int rank, std::int64_t units);

// Sends segments to several children, a limited number ahead per child, so that the slowest link never idles and
// the library does not have to buffer a whole message.
class Feeder {
 public:
  Feeder(Program& program, const std::vector<int>& children)
      : program_(program), children_(children), sent_(children.size()) {}
  void hand_on(Space space, const Range& range);

 private:
  Program& program_;
  const std::vector<int>& children_;
  std::vector<std::vector<std::int64_t>> sent_;
};

// Receives the segments of a message, with a limited number of receives posted ahead.
class Drain {
 public:
  Drain(Program& program, int source, Space space, const std::vector<Range>& ranges);
  void take(std::size_t segment);  // in order

 private:
  void post(std::size_t segment);
  Program& program_;
  int source_;
  Space space_;
  const std::vector<Range>& ranges_;
  std::vector<std::int64_t> posted_;
};

// Receives the children's segments as they arrive and reduces them into `work`; a few receives are posted ahead.
class Collector {
 public:
  Collector(Program& program, const std::vector<int>& children, const std::vector<Range>& ranges);
  void take(std::size_t segment);

 private:
  void post(std::size_t child, std::size_t segment);
  Program& program_;
  const std::vector<int>& children_;
  const std::vector<Range>& ranges_;
  std::vector<std::vector<std::int64_t>> posted_;
};

// Ranks beyond a power of two are folded into a neighbor, which represents both.
struct Folding {
  int power;
  int folded;  // this many pairs of neighbors become one
  int place;   // position of the rank among the remaining ones
  int peer(int distance) const {
    const int other = place ^ distance;
    return other < folded ? 2 * other + 1 : other + folded;
  }
};
// An allreduce whose `rounds` reduce the data in `work` over a power of two of ranks.
Schedule folded(const Problem& problem, const std::function<void(Program&, const Folding&)>& rounds);

}  // namespace scope
