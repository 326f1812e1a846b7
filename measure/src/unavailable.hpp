#pragma once

#include <stdexcept>

namespace scope {

// A case cannot run here through no fault of its own: said in the record, and the plan goes on.
class Unavailable : public std::runtime_error {
  using std::runtime_error::runtime_error;
};

}  // namespace scope
