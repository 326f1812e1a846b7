// Everyone sends its block to the root.
#include "algorithms.hpp"
#include "algorithms/passing.hpp"

namespace scope {

Schedule gather_flat_linear(const Problem& problem) {
  Tree tree(problem.ranks());
  join_star(around(problem.ranks(), problem.root), tree);
  return gather_along(problem, std::move(tree));
}

}  // namespace scope
