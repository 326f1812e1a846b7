// The root sends every rank its block.
#include "algorithms.hpp"
#include "algorithms/passing.hpp"

namespace scope {
namespace {

const Registration scatter_flat_linear{{
    .operation = Operation::scatter,
    .name = "flat_linear",
    .make = [](const Problem& problem) -> Schedule {
      Tree tree(problem.ranks());
      join_star(around(problem.ranks(), problem.root), tree);
      return scatter_along(problem, std::move(tree));
    },
}};

}  // namespace
}  // namespace scope
