// Trees over ranks.
#pragma once

#include <bit>
#include <cstdint>
#include <vector>

#include "schedule.hpp"

namespace scope {

struct Tree {
  explicit Tree(int ranks) : parent(ranks, -1), children(ranks) {}
  void join(int above, int below) {
    parent[below] = above;
    children[above].push_back(below);
  }

  std::vector<int> parent;                 // -1 at the root
  std::vector<std::vector<int>> children;  // in the order in which they are served
};

// The largest power of two that is not above `ranks`.
inline int whole_power_of_two(int ranks) { return static_cast<int>(std::bit_floor(static_cast<unsigned>(ranks))); }

// Ranks in order, starting with the root and wrapping around.
std::vector<int> around(int ranks, int root);

// The first rank is the root in each of these.
void join_heap(const std::vector<int>& order, Tree& tree);  // i sends to 2i+1 and 2i+2
void join_doubling(const std::vector<int>& order,
                   Tree& tree);  // i sends to i+1, i+2, i+4 … above its own bits
void join_halving(const std::vector<int>& order,
                  Tree& tree);  // the same subtree sizes, contiguous, largest first
void join_chain(const std::vector<int>& order, Tree& tree);
void join_star(const std::vector<int>& order, Tree& tree);
void join_radix(const std::vector<int>& order, int radix, Tree& tree);  // halving, in `radix` parts

// A branch reordered so that `root`, if it contains it, comes first, with all other parts unchanged: the first
// rank of a branch is its leader.
Branch led_by(Branch branch, int root);

// The clusters of a tree: its leaf groups, and hosts without a group.
std::vector<Branch> clusters(const Branch& tree);

// The message crosses every link of a level once. Children behind slower links are served first.
Tree multilevel_tree(const Problem& problem);                        // below the root
Tree multilevel_tree(const Problem& problem, const Branch& branch);  // below the leader of one branch

// Depth-first order: every subtree is contiguous.
std::vector<int> depth_first(const Tree& tree, int root);

// For each rank, the size of its subtree, including itself.
std::vector<std::int64_t> subtree_sizes(const Tree& tree, int root);

int height(const Tree& tree, int root);

}  // namespace scope
