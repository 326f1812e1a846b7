// Settings that the MPI library itself reports: the control variables of the MPI tools interface.
#pragma once

#include <cstdint>
#include <string>
#include <variant>
#include <vector>

#include "memory/not_copied.hpp"

namespace scope {

struct ControlVariable {
  std::string name;
  std::variant<std::int64_t, std::string> value;
};

// Opens the tools interface for its lifetime. With Open MPI 4, opening it before MPI is initialized costs nothing;
// later, all components are registered a second time, which takes 0.2 s. If it is closed after MPI, Open MPI
// removes its files twice.
class ToolsInterface : NotCopied {
 public:
  ToolsInterface();
  ~ToolsInterface();

  // The sizes at which the library changes its protocol or algorithm, then the components and algorithms selected
  // by the user; at most 100. Settings left to the library are omitted. Empty if the library reports none.
  std::vector<ControlVariable> settings() const;

 private:
  bool open_;
};

}  // namespace scope
