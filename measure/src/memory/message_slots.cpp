#include "memory/message_slots.hpp"

#include "text/words.hpp"

namespace scope {

std::string MessageSlots::pattern_problem(std::uint64_t seed) {
  for (std::int64_t number = 0; number < count_; ++number) {
    std::string problem = scope::pattern_problem(slot(number), seed);
    if (problem.empty()) problem = overrun(number);
    if (problem.empty()) continue;
    return count_ > 1 ? sentence({"message ", number + 1, ": ", problem}) : problem;
  }
  return "";
}

std::string MessageSlots::overrun(std::int64_t number) {
  const std::byte* const begin = (*this)[number];
  const auto* const written =
      std::find_if(begin + bytes_, begin + stride_, [](std::byte byte) { return byte != std::byte{0}; });
  if (written == begin + stride_) return "";
  return sentence({"byte ", written - begin, " was written, of a message of ", bytes_});
}

}  // namespace scope
