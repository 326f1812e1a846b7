// What the environment says about the transport: docs/how-to/active-messages.md.
#pragma once

#include "../src/endpoint.hpp"

namespace scope::provider {

// FI_SCOPE_IFACE, FI_SCOPE_WIRE, FI_SCOPE_FLOW_CONTROL, FI_SCOPE_KEY. Throws active_messages::Error with the
// variable, its value and what is allowed.
active_messages::Options settings();

}  // namespace scope::provider
