#pragma once

#include <stdexcept>

namespace scope {

// A case that cannot run here through no fault of its own: recorded, and the plan continues.
class Unavailable : public std::runtime_error {
  using std::runtime_error::runtime_error;
};

}  // namespace scope
