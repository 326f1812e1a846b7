// Every cluster's blocks go to its leader, and over the slow link in one message.
#include "algorithms.hpp"
#include "algorithms/passing.hpp"

namespace scope {

Schedule gather_multilevel_tree(const Problem& problem) {
  return gather_along(problem, multilevel_tree(problem));
}

}  // namespace scope
