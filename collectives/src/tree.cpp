#include "tree.hpp"

#include <algorithm>

namespace scope {

std::vector<int> around(int ranks, int root) {
  std::vector<int> order(ranks);
  for (int i = 0; i < ranks; ++i) order[i] = (root + i) % ranks;
  return order;
}

void join_heap(const std::vector<int>& order, Tree& tree) {
  for (std::size_t i = 1; i < order.size(); ++i) tree.join(order[(i - 1) / 2], order[i]);
}

void join_doubling(const std::vector<int>& order, Tree& tree) {
  for (std::size_t bit = 1; bit < order.size(); bit *= 2)
    for (std::size_t i = bit; i < std::min(2 * bit, order.size()); ++i) tree.join(order[i - bit], order[i]);
}

void join_radix(const std::vector<int>& order, int radix, Tree& tree) {
  std::size_t span = 1;
  while (span < order.size()) span *= radix;
  for (std::size_t part = span / radix; part >= 1; part /= radix) {
    for (std::size_t head = 0; head < order.size(); head += part * radix)
      for (int i = 1; i < radix && head + i * part < order.size(); ++i)
        tree.join(order[head], order[head + i * part]);
  }
}

void join_halving(const std::vector<int>& order, Tree& tree) { join_radix(order, 2, tree); }

void join_chain(const std::vector<int>& order, Tree& tree) {
  for (std::size_t i = 1; i < order.size(); ++i) tree.join(order[i - 1], order[i]);
}

void join_star(const std::vector<int>& order, Tree& tree) {
  for (std::size_t i = 1; i < order.size(); ++i) tree.join(order[0], order[i]);
}

Branch led_by(Branch branch, int root) {
  const auto holds = [&](const Branch& part) {
    return std::find(part.ranks.begin(), part.ranks.end(), root) != part.ranks.end();
  };
  const auto first = std::find_if(branch.parts.begin(), branch.parts.end(), holds);
  if (first == branch.parts.end()) return branch;
  *first = led_by(std::move(*first), root);
  std::rotate(branch.parts.begin(), first, first + 1);
  branch.ranks.clear();
  for (const Branch& part : branch.parts)
    branch.ranks.insert(branch.ranks.end(), part.ranks.begin(), part.ranks.end());
  return branch;
}

namespace {

void collect_clusters(const Branch& branch, std::vector<Branch>& found) {
  if (branch.cluster || branch.host || branch.parts.empty())
    found.push_back(branch);
  else
    for (const Branch& part : branch.parts) collect_clusters(part, found);
}

std::vector<int> leaders(const std::vector<Branch>& parts) {
  std::vector<int> first;
  for (const Branch& part : parts) first.push_back(part.ranks.front());
  return first;
}

// Joins everything below the branch's leader; returns the rank from which a chain would continue.
int join_branch(const Problem& problem, Branch branch, Tree& tree) {
  const int leader = branch.ranks.front();
  if (branch.parts.empty()) return leader;
  if (branch.host) {
    join_doubling(leaders(branch.parts), tree);
    return leader;
  }
  if (!branch.cluster)  // slow links first, because they determine the time
    std::stable_sort(branch.parts.begin() + 1, branch.parts.end(), [&](const Branch& one, const Branch& other) {
      return problem.network->bytes_per_s(leader, one.ranks.front()) <
             problem.network->bytes_per_s(leader, other.ranks.front());
    });
  const std::vector<int> heads = leaders(branch.parts);
  const bool in_chain = problem.shape == Shape::tail || (branch.cluster && problem.shape == Shape::chain);
  if (!in_chain && branch.cluster && problem.shape == Shape::binomial)
    join_doubling(heads, tree);
  else if (!in_chain)
    join_star(heads, tree);
  int end = leader;
  for (std::size_t i = 0; i < branch.parts.size(); ++i) {
    if (in_chain && i > 0) tree.join(end, heads[i]);
    end = join_branch(problem, std::move(branch.parts[i]), tree);
  }
  return in_chain ? end : leader;
}

}  // namespace

std::vector<Branch> clusters(const Branch& tree) {
  std::vector<Branch> found;
  collect_clusters(tree, found);
  return found;
}

Tree multilevel_tree(const Problem& problem) {
  return multilevel_tree(problem, led_by(problem.network->tree(), problem.root));
}

Tree multilevel_tree(const Problem& problem, const Branch& branch) {
  Tree tree(problem.ranks());
  join_branch(problem, branch, tree);
  return tree;
}

std::vector<int> depth_first(const Tree& tree, int root) {
  std::vector<int> order;
  std::vector<int> open = {root};
  while (!open.empty()) {
    const int rank = open.back();
    open.pop_back();
    order.push_back(rank);
    const std::vector<int>& below = tree.children[rank];
    open.insert(open.end(), below.rbegin(), below.rend());
  }
  return order;
}

std::vector<std::int64_t> subtree_sizes(const Tree& tree, int root) {
  std::vector<std::int64_t> sizes(tree.parent.size(), 1);
  std::vector<int> order = depth_first(tree, root);
  for (auto rank = order.rbegin(); rank != order.rend(); ++rank)
    if (tree.parent[*rank] >= 0) sizes[tree.parent[*rank]] += sizes[*rank];
  return sizes;
}

int height(const Tree& tree, int root) {
  int highest = 0;
  std::vector<int> depth(tree.parent.size(), 0);
  for (const int rank : depth_first(tree, root))
    if (tree.parent[rank] >= 0) highest = std::max(highest, depth[rank] = depth[tree.parent[rank]] + 1);
  return highest;
}

}  // namespace scope
