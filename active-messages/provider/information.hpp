// The capabilities of the provider: reliable datagram endpoints with tagged and plain messages and remote memory
// access.
#pragma once

#include <rdma/fabric.h>

#include <cstddef>
#include <cstdint>

namespace scope::provider {

inline constexpr char provider_name[] = "scope";
inline constexpr char fabric_name[] = "scope-active-messages";
inline constexpr std::uint32_t provider_version = FI_VERSION(1, 0);

inline constexpr std::size_t inject_limit = 1024;       // always fits in one message
inline constexpr std::size_t atomic_bytes_limit = 512;  // limit of one operand: two fit in one message
inline constexpr std::size_t operations_limit = 256;    // operations in flight at one endpoint
inline constexpr std::size_t operation_bytes_limit = std::size_t{1} << 40;

int getinfo(std::uint32_t version, const char* node, const char* service, std::uint64_t flags,
            const fi_info* hints, fi_info** info);

}  // namespace scope::provider
