// What the environment says about the transport: docs/how-to/active-messages.md.
#pragma once

#include "../src/endpoint.hpp"

namespace scope::provider {

enum class Progress { calls, thread };

// FI_SCOPE_PROGRESS. Throws active_messages::Error with the variable, its value and what is allowed, as settings()
// does for the others.
Progress progress_setting();

struct Settings {
  active_messages::Options transport;  // FI_SCOPE_IFACE, _WIRE, _FLOW_CONTROL, _KEY, _PEER_TIMEOUT_S
  Progress progress;
};
Settings settings();

}  // namespace scope::provider
