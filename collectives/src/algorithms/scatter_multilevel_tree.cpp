// A cluster's blocks go over the slow link in one message, and are handed out there.
#include "algorithms.hpp"
#include "algorithms/passing.hpp"

namespace scope {

Schedule scatter_multilevel_tree(const Problem& problem) {
  return scatter_along(problem, multilevel_tree(problem));
}

}  // namespace scope
