// Every cluster's blocks go to its leader, and over the slow link in one message.
#include "algorithms.hpp"
#include "algorithms/passing.hpp"

namespace scope {
namespace {

const Registration gather_multilevel_tree{{
    .operation = Operation::gather,
    .name = "multilevel_tree",
    .shapes = collecting_shapes,
    .make = [](const Problem& problem) -> Schedule { return gather_along(problem, multilevel_tree(problem)); },
}};

}  // namespace
}  // namespace scope
