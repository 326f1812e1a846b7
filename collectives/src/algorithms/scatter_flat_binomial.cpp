// Blocks are distributed down a binomial tree over the ranks in order, regardless of their places.
#include "algorithms.hpp"
#include "algorithms/passing.hpp"

namespace scope {
namespace {

const Registration scatter_flat_binomial{{
    .operation = Operation::scatter,
    .name = "flat_binomial",
    .make = [](const Problem& problem) -> Schedule {
      Tree tree(problem.ranks());
      join_halving(around(problem.ranks(), problem.root), tree);
      return scatter_along(problem, std::move(tree));
    },
}};

}  // namespace
}  // namespace scope
