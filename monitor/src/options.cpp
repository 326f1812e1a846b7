#include "options.hpp"

#include <cmath>
#include <cstdio>
#include <cstdlib>
#include <sstream>

#include "tables.hpp"

namespace scope {

namespace {

// Parses the whole text as a number within the limits.
bool number(const std::string& text, double lowest, double highest, double& value) {
  char* end = nullptr;
  const double read = std::strtod(text.c_str(), &end);
  if (text.empty() || *end != '\0' || !std::isfinite(read) || read < lowest || read > highest) return false;
  value = read;
  return true;
}

bool integer(const std::string& text, int lowest, int highest, int& value) {
  double read = 0;
  if (!number(text, lowest, highest, read) || read != std::floor(read)) return false;
  value = static_cast<int>(read);
  return true;
}

bool window(const std::string& text, double& start, double& length) {
  const auto colon = text.find(':');
  return colon != std::string::npos && number(text.substr(0, colon), 0, 1e9, start) &&
         number(text.substr(colon + 1), 0, 1e9, length);
}

// Returns an empty text if the option is valid, else the allowed values.
std::string take(const std::string& name, const std::string& value, Options& options) {
  if (name == "interval")
    return number(value, 1e-3, 1e6, options.interval_s) ? "" : "must be from 0.001 to 1e6 seconds";
  if (name == "trace")
    return window(value, options.trace_start_s, options.trace_s) ? "" : "must be written START:SECONDS";
  if (name == "depth") return integer(value, 0, frame_capacity, options.depth) ? "" : "must be from 0 to 32";
  if (name == "sample") return number(value, 0, 1000, options.sample_hz) ? "" : "must be from 0 to 1000 Hz";
  if (name == "rows") return integer(value, 16, 8192, options.rows) ? "" : "must be from 16 to 8192";
  if (name == "trace_rows") return integer(value, 1, 65536, options.trace_rows) ? "" : "must be from 1 to 65536";
  if (name == "files")
    return integer(value, 0, 0, options.files) || integer(value, 16, 8192, options.files)
               ? ""
               : "must be 0, or from 16 to 8192";
  return "no such option; allowed: interval, trace, depth, sample, rows, trace_rows, files";
}

}  // namespace

bool is_asked_for() {
  const char* directory = std::getenv("SCOPE_MONITOR");
  return directory && *directory;
}

Options read_options() {
  Options options;
  if (is_asked_for()) options.directory = std::getenv("SCOPE_MONITOR");
  const char* text = std::getenv("SCOPE_MONITOR_OPTIONS");
  std::istringstream words(text ? text : "");
  for (std::string word; words >> word;) {
    const auto equals = word.find('=');
    const std::string value = equals == std::string::npos ? "" : word.substr(equals + 1);
    const std::string objection = take(word.substr(0, equals), value, options);
    if (!objection.empty()) complain("SCOPE_MONITOR_OPTIONS: " + word + ": " + objection);
  }
  return options;
}

void complain(const std::string& what) { std::fprintf(stderr, "scope-monitor: %s\n", what.c_str()); }

}  // namespace scope
