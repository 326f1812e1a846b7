#include "schedule.hpp"

#include <algorithm>

namespace scope {

const char* name_of(Operation operation) {
  constexpr const char* names[operation_count] = {"broadcast", "reduce",  "allreduce", "barrier",
                                                  "gather",    "scatter", "allgather", "alltoall"};
  return names[static_cast<int>(operation)];
}

Operation operation_named(const std::string& where, const std::string& name) {
  std::string allowed;
  for (int i = 0; i < operation_count; ++i) {
    const char* const known = name_of(static_cast<Operation>(i));
    if (name == known) return static_cast<Operation>(i);
    allowed += (i ? ", " : "") + std::string(known);
  }
  throw std::invalid_argument(where + ": allowed: " + allowed);
}

const char* name_of(Shape shape) {
  switch (shape) {
    case Shape::chain: return "chain";
    case Shape::tail: return "tail";
    case Shape::binomial: return "binomial";
    case Shape::star: return "star";
  }
  return "";
}

void Program::touch(Space space, std::int64_t end) {
  std::int64_t& extent = extents_[static_cast<int>(space)];
  extent = std::max(extent, end);
}

void Program::send(int peer, Space space, std::int64_t begin, std::int64_t count) {
  touch(space, begin + count);
  steps_.push_back({Action::send, space, peer, begin, count, 0});
}

void Program::receive(int peer, Space space, std::int64_t begin, std::int64_t count) {
  touch(space, begin + count);
  steps_.push_back({Action::receive, space, peer, begin, count, 0});
}

std::int64_t Program::start_send(int peer, Space space, std::int64_t begin, std::int64_t count) {
  touch(space, begin + count);
  steps_.push_back({Action::start_send, space, peer, begin, count, 0});
  return posted_++;
}

std::int64_t Program::start_receive(int peer, Space space, std::int64_t begin, std::int64_t count) {
  touch(space, begin + count);
  steps_.push_back({Action::start_receive, space, peer, begin, count, 0});
  return posted_++;
}

void Program::exchange(int target, Space from, const Range& given, int source, Space into, const Range& taken) {
  const std::int64_t sent = start_send(target, from, given.begin, given.count);
  receive(source, into, taken.begin, taken.count);
  wait(sent);
}

void Program::wait(std::int64_t posted) { steps_.push_back({Action::wait, Space::work, -1, 0, 0, posted}); }

void Program::wait_all() {
  if (posted_ > 0) steps_.push_back({Action::wait_all, Space::work, -1, 0, 0, 0});
}

void Program::copy(Space into, std::int64_t to, Space space, std::int64_t begin, std::int64_t count) {
  touch(space, begin + count);
  touch(into, to + count);
  steps_.push_back({Action::copy, space, -1, begin, count, to, into});
}

void Program::combine(std::int64_t to, Space space, std::int64_t begin, std::int64_t count) {
  touch(space, begin + count);
  touch(Space::work, to + count);
  steps_.push_back({Action::combine, space, -1, begin, count, to});
}

std::vector<Range> segments(const Problem& problem) {
  std::vector<Range> ranges;
  const std::int64_t length = std::max<std::int64_t>(1, problem.segment_units);
  for (std::int64_t begin = 0; begin < problem.units; begin += length)
    ranges.push_back({begin, std::min(length, problem.units - begin)});
  return ranges;
}

}  // namespace scope
