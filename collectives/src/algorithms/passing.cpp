#include "algorithms/passing.hpp"

#include <algorithm>

namespace scope {

void send_confirmed(Program& program, int peer, std::int64_t units) {
  program.send(peer, Space::work, 0, units);
  program.receive(peer, Space::incoming, 0, 0);
}

void receive_confirmed(Program& program, int peer, std::int64_t units) {
  program.receive(peer, Space::work, 0, units);
  program.send(peer, Space::incoming, 0, 0);
}

void pass_blocking(Program& program, const Tree& tree, int rank, std::int64_t units) {
  if (tree.parent[rank] >= 0) receive_confirmed(program, tree.parent[rank], units);
  for (const int child : tree.children[rank]) send_confirmed(program, child, units);
}

namespace {
constexpr std::size_t window = 128;  // segments in flight on one connection
constexpr std::size_t ahead = 4;     // receives posted per child, each with its own memory
}  // namespace

void Feeder::hand_on(Space space, const Range& range) {
  for (std::size_t child = 0; child < children_.size(); ++child) {
    if (sent_[child].size() >= window) program_.wait(sent_[child][sent_[child].size() - window]);
    sent_[child].push_back(program_.start_send(children_[child], space, range.begin, range.count));
  }
}

Drain::Drain(Program& program, int source, Space space, const std::vector<Range>& ranges)
    : program_(program), source_(source), space_(space), ranges_(ranges) {
  for (std::size_t segment = 0; segment < std::min(window, ranges.size()); ++segment) post(segment);
}

void Drain::post(std::size_t segment) {
  posted_.push_back(program_.start_receive(source_, space_, ranges_[segment].begin, ranges_[segment].count));
}

void Drain::take(std::size_t segment) {
  program_.wait(posted_[segment]);
  if (segment + window < ranges_.size()) post(segment + window);
}

Collector::Collector(Program& program, const std::vector<int>& children, const std::vector<Range>& ranges)
    : program_(program), children_(children), ranges_(ranges), posted_(children.size()) {
  for (std::size_t segment = 0; segment < std::min(ahead, ranges.size()); ++segment)
    for (std::size_t child = 0; child < children.size(); ++child) post(child, segment);
}

void Collector::post(std::size_t child, std::size_t segment) {
  const std::int64_t slot = (child * ahead + segment % ahead) * ranges_.front().count;
  posted_[child].push_back(
      program_.start_receive(children_[child], Space::incoming, slot, ranges_[segment].count));
}

void Collector::take(std::size_t segment) {
  for (std::size_t child = 0; child < children_.size(); ++child) {
    const std::int64_t slot = (child * ahead + segment % ahead) * ranges_.front().count;
    program_.wait(posted_[child][segment]);
    program_.combine(ranges_[segment].begin, Space::incoming, slot, ranges_[segment].count);
    if (segment + ahead < ranges_.size()) post(child, segment + ahead);
  }
}

Schedule folded(const Problem& problem, const std::function<void(Program&, const Folding&)>& rounds) {
  const int power = whole_power_of_two(problem.ranks());
  const auto program = [=, folded = problem.ranks() - power, units = problem.units](Program& steps, int rank) {
    const bool paired = rank < 2 * folded;
    if (paired && rank % 2 == 0) {
      steps.send(rank + 1, Space::work, 0, units);
      steps.receive(rank + 1, Space::work, 0, units);
      return;
    }
    if (paired) {
      steps.receive(rank - 1, Space::incoming, 0, units);
      steps.combine(0, Space::incoming, 0, units);
    }
    rounds(steps, {power, folded, paired ? rank / 2 : rank - folded});
    if (paired) steps.send(rank - 1, Space::work, 0, units);
  };
  return {program};
}

}  // namespace scope
