#pragma once

#include <stdexcept>

namespace scope {

// Thrown if a case cannot run here through no fault of its own; this is recorded, and the plan continues.
class Unavailable : public std::runtime_error {
  using std::runtime_error::runtime_error;
};

}  // namespace scope
