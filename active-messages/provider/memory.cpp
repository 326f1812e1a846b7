#include "memory.hpp"

#include "domain.hpp"

namespace scope::provider {
namespace {

struct Registration : fid_mr {
  Domain* domain;
};

int close_registration(fid* id) {
  auto* registration = &object_of<Registration, fid_mr>(id);
  const Guard guard(registration->domain->lock);
  registration->domain->memory.remove(registration->key);
  delete registration;
  return 0;
}

fi_ops registration_functions{
    .size = sizeof(fi_ops),
    .close = close_registration,
    .bind = [](fid*, fid*, std::uint64_t) { return 0; },
    .control = [](fid*, int command, void*) { return command == FI_ENABLE ? 0 : -FI_ENOSYS; },
    .ops_open = unsupported,
    .tostr = nullptr,
    .ops_set = nullptr};

int add(fid* id, const iovec* pieces, std::size_t count, std::uint64_t access, std::uint64_t key, void* context,
        fid_mr** result) {
  if (count != 1) return -FI_EINVAL;
  return guarded([&] {
    Domain& domain = object_of<Domain, fid_domain>(id);
    const Guard guard(domain.lock);
    if (!domain.memory.add(key, {static_cast<std::byte*>(pieces->iov_base), pieces->iov_len, access}))
      return -FI_ENOKEY;
    auto* registration = new Registration{};
    registration->fid = {FI_CLASS_MR, context, &registration_functions};
    registration->key = key;
    registration->domain = &domain;
    *result = registration;
    return 0;
  });
}

int register_buffer(fid* id, const void* buffer, std::size_t bytes, std::uint64_t access, std::uint64_t,
                    std::uint64_t key, std::uint64_t, fid_mr** result, void* context) {
  const iovec piece{const_cast<void*>(buffer), bytes};
  return add(id, &piece, 1, access, key, context, result);
}

int register_pieces(fid* id, const iovec* pieces, std::size_t count, std::uint64_t access, std::uint64_t,
                    std::uint64_t key, std::uint64_t, fid_mr** result, void* context) {
  return add(id, pieces, count, access, key, context, result);
}

int register_attributes(fid* id, const fi_mr_attr* attributes, std::uint64_t, fid_mr** result) {
  if (attributes->iface != FI_HMEM_SYSTEM) return -FI_ENOSYS;
  return add(id, attributes->mr_iov, attributes->iov_count, attributes->access, attributes->requested_key,
             attributes->context, result);
}

}  // namespace

std::byte* MemoryTable::find(std::uint64_t key, std::uint64_t offset, std::uint64_t bytes,
                             std::uint64_t access) const {
  const auto found = entries_.find(key);
  if (found == entries_.end()) return nullptr;
  const Entry& entry = found->second;
  if ((entry.access & access) != access || bytes > entry.bytes || offset > entry.bytes - bytes) return nullptr;
  return entry.begin + offset;
}

fi_ops_mr memory_functions{
    .size = sizeof(fi_ops_mr), .reg = register_buffer, .regv = register_pieces, .regattr = register_attributes};

}  // namespace scope::provider
