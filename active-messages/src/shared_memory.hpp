// The channel between processes of one host.
#pragma once

#include <memory>

#include "channel.hpp"

namespace scope::active_messages {

// `self` is this endpoint's complete address. Throws Error if memory cannot be shared here.
std::unique_ptr<Channel> shared_memory(const Options& options, const Address& self);

}  // namespace scope::active_messages
