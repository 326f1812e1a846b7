// A number of completed operations; reading makes progress first.
#pragma once

#include <rdma/fi_eq.h>

#include <cstdint>
#include <vector>

#include "domain.hpp"

namespace scope::provider {

class Endpoint;

struct Counter : fid_cntr {
  explicit Counter(Domain& of) : fid_cntr{}, domain(of) {}

  Domain& domain;
  std::uint64_t completed = 0;
  std::uint64_t failed = 0;
  std::vector<Endpoint*> endpoints;
};

int open_counter(fid_domain* domain, fi_cntr_attr* attributes, fid_cntr** result, void* context);

}  // namespace scope::provider
