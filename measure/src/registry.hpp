// All benchmarks of this program, by name.
#pragma once

#include <ostream>

#include "benchmark.hpp"

namespace scope {

struct Registered {
  Declaration declaration;
  std::string source;         // relative to src/benchmarks
  std::string specification;  // the Markdown file next to it, with the benchmark's name
};

const std::vector<Registered>& registry();

// Throws std::invalid_argument with a list of the known names.
const Registered& find_benchmark(const std::string& name);

// Checks the values against the declaration and fills in the defaults. Throws std::invalid_argument, naming
// the parameter, the value and the allowed values.
Parameters parse_parameters(const Declaration& declaration, const std::map<std::string, std::string>& values);

// Writes the registry as JSON, for the programs that plan, describe and analyze.
void write_registry(std::ostream& out);

}  // namespace scope
