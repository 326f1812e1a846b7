// Blocks are handed down a binomial tree over the ranks in order, without regard to where they are.
#include "algorithms.hpp"
#include "algorithms/passing.hpp"

namespace scope {

Schedule scatter_flat_binomial(const Problem& problem) {
  Tree tree(problem.ranks());
  join_halving(around(problem.ranks(), problem.root), tree);
  return scatter_along(problem, std::move(tree));
}

}  // namespace scope
