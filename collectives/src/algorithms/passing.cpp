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

Schedule cluster_by_cluster(const Problem& problem, bool blocking) {
  const auto local = std::make_shared<Tree>(problem.ranks());
  std::vector<int> leaders;
  for (const Branch& cluster : clusters(led_by(problem.network->tree(), problem.root))) {
    leaders.push_back(cluster.ranks.front());
    join_doubling(cluster.ranks, *local);
  }
  const auto across = std::make_shared<Tree>(problem.ranks());
  join_star(leaders, *across);
  const auto program = [=, units = problem.units](int rank) {
    Program steps;
    if (across->parent[rank] >= 0) receive_confirmed(steps, across->parent[rank], units);
    for (const int leader : across->children[rank]) steps.start_send(leader, Space::work, 0, units);
    steps.wait_all();
    for (const int leader : across->children[rank]) steps.receive(leader, Space::incoming, 0, 0);
    if (blocking) {
      pass_blocking(steps, *local, rank, units);
      return steps;
    }
    if (local->parent[rank] >= 0) receive_confirmed(steps, local->parent[rank], units);
    for (const int child : local->children[rank]) steps.start_send(child, Space::work, 0, units);
    steps.wait_all();
    for (const int child : local->children[rank]) steps.receive(child, Space::incoming, 0, 0);
    return steps;
  };
  return {program, {}};
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

namespace {

struct Layout {
  Tree tree;
  std::vector<std::int64_t> sizes;  // of every rank's subtree, in blocks
  std::vector<std::int64_t> places;
  std::vector<int> order;
};

std::shared_ptr<Layout> laid_out(Tree tree, int root) {
  const auto layout = std::make_shared<Layout>(Layout{std::move(tree), {}, {}, {}});
  layout->order = depth_first(layout->tree, root);
  layout->sizes = subtree_sizes(layout->tree, root);
  layout->places.resize(layout->order.size());
  for (std::size_t i = 0; i < layout->order.size(); ++i) layout->places[layout->order[i]] = i;
  return layout;
}

}  // namespace

Schedule gather_along(const Problem& problem, Tree tree) {
  const auto layout = laid_out(std::move(tree), problem.root);
  const auto program = [layout, units = problem.units](int rank) {
    const auto& [tree, sizes, places, order] = *layout;
    Program steps;
    for (const int child : tree.children[rank])
      steps.start_receive(child, Space::work, (places[child] - places[rank]) * units, sizes[child] * units);
    steps.wait_all();
    if (tree.parent[rank] >= 0)
      steps.send(tree.parent[rank], tree.children[rank].empty() ? Space::input : Space::work, 0,
                 sizes[rank] * units);
    return steps;
  };
  return {program, layout->order};
}

Schedule scatter_along(const Problem& problem, Tree tree) {
  const auto layout = laid_out(std::move(tree), problem.root);
  const auto program = [layout, units = problem.units](int rank) {
    const auto& [tree, sizes, places, order] = *layout;
    Program steps;
    if (tree.parent[rank] >= 0) steps.receive(tree.parent[rank], Space::work, 0, sizes[rank] * units);
    for (const int child : tree.children[rank])
      steps.start_send(child, Space::work, (places[child] - places[rank]) * units, sizes[child] * units);
    steps.wait_all();
    return steps;
  };
  return {program, layout->order};
}

Schedule folded(const Problem& problem, const std::function<void(Program&, const Folding&)>& rounds) {
  int power = 1;
  while (2 * power <= problem.ranks()) power *= 2;
  const auto program = [=, folded = problem.ranks() - power, units = problem.units](int rank) {
    Program steps;
    const bool paired = rank < 2 * folded;
    if (paired && rank % 2 == 0) {
      steps.send(rank + 1, Space::work, 0, units);
      steps.receive(rank + 1, Space::work, 0, units);
      return steps;
    }
    if (paired) {
      steps.receive(rank - 1, Space::incoming, 0, units);
      steps.combine(0, Space::incoming, 0, units);
    }
    rounds(steps, {power, folded, paired ? rank / 2 : rank - folded});
    if (paired) steps.send(rank - 1, Space::work, 0, units);
    return steps;
  };
  return {program, {}};
}

}  // namespace scope
