// Checks memory before it is touched, because the kernel would kill a process that takes too much.
#pragma once

#include <cstdint>
#include <string>

#include "mpi/communicator.hpp"

namespace scope {

// Memory that the kernel can provide without swapping and that control groups (version 1 or 2) leave to this
// process; infinite if neither reports it. `root`: the directory that contains /proc and /sys.
double available_bytes(const std::string& root = "");

// Throws Unavailable, naming needed and available memory, if the `bytes` that all ranks of this host are about to
// allocate do not fit into its memory. Collective.
void require_memory(std::int64_t bytes, const Communicator& communicator);

// In simulations, returns the memory that thousands of ranks freed to the system, as it would count as used.
void give_back_freed_memory(const Communicator& communicator);

// The bytes of every buffer are claimed for its lifetime. While an object of this class exists, claims that do not
// fit into the memory of this host throw Unavailable, naming both amounts. Otherwise claims cost nothing.
class QuestionedClaims : NotCopied {
 public:
  QuestionedClaims();
  ~QuestionedClaims();

  // Throws Unavailable if the claims of all ranks of this host do not fit together. Collective.
  void require_together(const Communicator& communicator) const;
};

void claim_memory(std::int64_t bytes);  // throws Unavailable
void release_memory(std::int64_t bytes);

}  // namespace scope
