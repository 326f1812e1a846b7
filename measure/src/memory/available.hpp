// Memory is asked for before it is touched: the kernel would kill whoever takes too much.
#pragma once

#include <cstdint>
#include <string>

#include "mpi/communicator.hpp"

namespace scope {

// Memory that the kernel can provide without swapping and that control groups (version 1 or 2) leave to this process;
// infinite where neither says. `root`: the folder that contains /proc and /sys.
double available_bytes(const std::string& root = "");

// Throws Unavailable, naming needed and available memory, where the `bytes` that each rank of this host is
// about to allocate do not fit into its memory together. Collective.
void require_memory(std::int64_t bytes, const Communicator& communicator);

// What thousands of simulated ranks freed after earlier cases is much, and would count as taken. Elsewhere nothing.
void give_back_freed_memory(const Communicator& communicator);

// The bytes of every buffer are claimed while it lives. While claims are questioned, those that do not fit into the
// memory of this host are refused: Unavailable, naming both amounts. Else a claim costs nothing.
class QuestionedClaims : NotCopied {
 public:
  QuestionedClaims();
  ~QuestionedClaims();

  // Throws Unavailable where the claims of all ranks of this host do not fit together. Collective.
  void require_together(const Communicator& communicator) const;
};

void claim_memory(std::int64_t bytes);  // throws Unavailable
void release_memory(std::int64_t bytes);

}  // namespace scope
