// Every rank sends its block to the root.
#include "algorithms.hpp"
#include "algorithms/passing.hpp"

namespace scope {
namespace {

const Registration gather_flat_linear{{
    .operation = Operation::gather,
    .name = "flat_linear",
    .make = [](const Problem& problem) -> Schedule {
      Tree tree(problem.ranks());
      join_star(around(problem.ranks(), problem.root), tree);
      return gather_along(problem, std::move(tree));
    },
}};

}  // namespace
}  // namespace scope
