#include "address_vector.hpp"

#include <algorithm>
#include <cstdio>
#include <cstring>

#include "endpoint.hpp"

namespace scope::provider {
namespace {

using active_messages::Address;

AddressVector& vector_of(fid_av* vector) { return object<AddressVector>(vector); }

// Returns how many addresses were inserted; unreachable ones get FI_ADDR_NOTAVAIL.
int insert(fid_av* id, const void* addresses, std::size_t count, fi_addr_t* indices, std::uint64_t, void*) {
  return guarded([&] {
    AddressVector& vector = vector_of(id);
    const Guard guard(vector.domain.lock);
    int inserted = 0;
    for (std::size_t i = 0; i < count; ++i) {
      Address address;
      std::memcpy(&address, static_cast<const std::byte*>(addresses) + i * sizeof address, sizeof address);
      vector.addresses.push_back(address);
      vector.removed.push_back(false);
      bool reached = true;
      for (Endpoint* endpoint : vector.endpoints)
        reached = endpoint->add_peer(vector.addresses.size() - 1) && reached;
      if (indices != nullptr) indices[i] = reached ? vector.addresses.size() - 1 : FI_ADDR_NOTAVAIL;
      inserted += reached;
    }
    return inserted;
  });
}

int remove(fid_av* id, fi_addr_t* indices, std::size_t count, std::uint64_t) {
  AddressVector& vector = vector_of(id);
  const Guard guard(vector.domain.lock);
  for (std::size_t i = 0; i < count; ++i) {
    if (indices[i] >= vector.addresses.size() || vector.removed[indices[i]]) return -FI_EINVAL;
    vector.removed[indices[i]] = true;
  }
  return 0;
}

int lookup(fid_av* id, fi_addr_t index, void* address, std::size_t* bytes) {
  AddressVector& vector = vector_of(id);
  const Guard guard(vector.domain.lock);
  if (index >= vector.addresses.size() || vector.removed[index]) return -FI_EINVAL;
  std::memcpy(address, &vector.addresses[index], std::min(*bytes, sizeof(Address)));
  *bytes = sizeof(Address);
  return 0;
}

const char* text(fid_av*, const void* bytes, char* buffer, std::size_t* size) {
  Address address;
  std::memcpy(&address, bytes, sizeof address);
  const auto& e = address.ethernet;
  const int length = std::snprintf(buffer, *size, "scope://%02x:%02x:%02x:%02x:%02x:%02x/%u/%016llx",
                                   std::to_integer<unsigned>(e[0]), std::to_integer<unsigned>(e[1]),
                                   std::to_integer<unsigned>(e[2]), std::to_integer<unsigned>(e[3]),
                                   std::to_integer<unsigned>(e[4]), std::to_integer<unsigned>(e[5]), address.port,
                                   static_cast<unsigned long long>(address.process));
  *size = static_cast<std::size_t>(length) + 1;
  return buffer;
}

fi_ops object_functions = closed_by(destroy_unless_bound<AddressVector, fid_av>);

fi_ops_av vector_functions{.size = sizeof(fi_ops_av),
                           .insert = insert,
                           .insertsvc = unsupported,
                           .insertsym = unsupported,
                           .remove = remove,
                           .lookup = lookup,
                           .straddr = text,
                           .av_set = unsupported};

}  // namespace

int open_address_vector(fid_domain* domain, fi_av_attr* attributes, fid_av** result, void* context) {
  // A named vector would be shared between processes.
  if (attributes != nullptr && (attributes->name != nullptr || attributes->rx_ctx_bits > 8)) return -FI_ENOSYS;
  return guarded([&] {
    if (attributes != nullptr && attributes->type == FI_AV_UNSPEC) attributes->type = FI_AV_TABLE;
    return hand_over(new AddressVector(object<Domain>(domain)), {FI_CLASS_AV, context, &object_functions},
                     vector_functions, result);
  });
}

}  // namespace scope::provider
