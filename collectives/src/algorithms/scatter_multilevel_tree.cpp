// A cluster's blocks cross the slow link in one message and are distributed behind it.
#include "algorithms.hpp"
#include "algorithms/passing.hpp"

namespace scope {
namespace {

const Registration scatter_multilevel_tree{{
    .operation = Operation::scatter,
    .name = "multilevel_tree",
    .shapes = collecting_shapes,
    .make = [](const Problem& problem) -> Schedule { return scatter_along(problem, multilevel_tree(problem)); },
}};

}  // namespace
}  // namespace scope
