#pragma once

namespace scope {

// A base for classes that own a resource and are neither copied nor moved.
struct NotCopied {
  NotCopied() = default;
  NotCopied(const NotCopied&) = delete;
  NotCopied& operator=(const NotCopied&) = delete;
};

}  // namespace scope
