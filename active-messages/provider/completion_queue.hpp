// Completions in order of occurrence; reading makes progress first.
#pragma once

#include <rdma/fi_eq.h>

#include <array>
#include <deque>
#include <string>
#include <vector>

#include "domain.hpp"

namespace scope::provider {

class Endpoint;

struct CompletionQueue : fid_cq {
  CompletionQueue(Domain& of, fi_cq_format as) : fid_cq{}, domain(of), format(as) {}

  struct Entry {
    fi_cq_err_entry completion;  // `err` is 0 unless the operation failed
    fi_addr_t source;
  };

  Domain& domain;
  fi_cq_format format;
  std::deque<Entry> entries;
  std::deque<std::string> causes;  // one for each failed entry
  // The cause of the error that was read last. Its reader refers to it, and may pass it back as the memory for the
  // next cause, as Open MPI does, which reads all errors into one entry.
  std::array<char, 256> cause{};
  std::vector<Endpoint*> endpoints;  // one entry per binding
  bool signaled = false;
  // Whether the last yield gave the processor to another process, and whether that process computes.
  bool switched = false, crowded = false;
};

int open_completion_queue(fid_domain* domain, fi_cq_attr* attributes, fid_cq** result, void* context);

}  // namespace scope::provider
