// Blocks are collected along a binomial tree over the ranks in order, regardless of their places.
#include "algorithms.hpp"
#include "algorithms/passing.hpp"

namespace scope {
namespace {

const Registration gather_flat_binomial{{
    .operation = Operation::gather,
    .name = "flat_binomial",
    .make = [](const Problem& problem) -> Schedule {
      Tree tree(problem.ranks());
      join_halving(around(problem.ranks(), problem.root), tree);
      return gather_along(problem, std::move(tree));
    },
}};

}  // namespace
}  // namespace scope
