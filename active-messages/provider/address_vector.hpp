// The addresses that a program inserted. An fi_addr_t is the index of an insertion, for tables and maps alike.
#pragma once

#include <rdma/fi_domain.h>

#include <vector>

#include "../src/endpoint.hpp"
#include "domain.hpp"

namespace scope::provider {

class Endpoint;

struct AddressVector : fid_av {
  explicit AddressVector(Domain& of) : fid_av{}, domain(of) {}

  Domain& domain;
  std::vector<active_messages::Address> addresses;  // removed addresses stay, because indices are not reused
  std::vector<bool> removed;
  std::vector<Endpoint*> endpoints;  // endpoints bound to this vector
};

int open_address_vector(fid_domain* domain, fi_av_attr* attributes, fid_av** result, void* context);

}  // namespace scope::provider
