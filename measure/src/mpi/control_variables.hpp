// What the MPI library itself says of its settings: the control variables of the MPI tools interface.
#pragma once

#include <cstdint>
#include <string>
#include <variant>
#include <vector>

namespace scope {

struct ControlVariable {
  std::string name;
  std::variant<std::int64_t, std::string> value;
};

// Opens the tools interface for as long as it lives. Opened before MPI, it costs Open MPI 4 nothing, which
// else registers all its components a second time, for 0.2 s. Closed after MPI, Open MPI removes its files
// twice.
class ToolsInterface {
 public:
  ToolsInterface();
  ~ToolsInterface();
  ToolsInterface(const ToolsInterface&) = delete;
  ToolsInterface& operator=(const ToolsInterface&) = delete;

  // The sizes at which the library changes its protocol or algorithm, then which components and algorithms it
  // was told to take; at most 100. What is left to the library is left out. Empty where it does not tell.
  std::vector<ControlVariable> settings() const;

 private:
  bool open_;
};

}  // namespace scope
