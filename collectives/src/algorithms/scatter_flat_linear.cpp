// The root sends everyone its block.
#include "algorithms.hpp"
#include "algorithms/passing.hpp"

namespace scope {

Schedule scatter_flat_linear(const Problem& problem) {
  Tree tree(problem.ranks());
  join_star(around(problem.ranks(), problem.root), tree);
  return scatter_along(problem, std::move(tree));
}

}  // namespace scope
