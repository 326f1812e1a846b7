// What the kernel refused, and the command that allows it.
#pragma once

#include <string>
#include <vector>

namespace scope::active_messages {

// Throws Error for the last failed call (errno). Where permission was missing the text has the command that gives the
// capabilities to this program.
[[noreturn]] void refuse(const std::string& what, const std::vector<std::string>& capabilities);

}  // namespace scope::active_messages
