// Settings of the transport from the environment (docs/how-to/active-messages.md).
#pragma once

#include "../src/endpoint.hpp"

namespace scope::provider {

// What makes progress while the program computes. Calls: nothing, but if a wire needs it, a thread reports from
// time to time that the process is alive.
enum class Progress { calls, thread };

struct Settings {
  active_messages::Options transport;  // FI_SCOPE_IFACE, _WIRE, _FLOW_CONTROL, _KEY, _PEER_TIMEOUT_S
  std::size_t eager_bytes;             // FI_SCOPE_EAGER_BYTES
  Progress progress;                   // FI_SCOPE_PROGRESS

  bool has_thread() const { return progress == Progress::thread || transport.wire != active_messages::Wire::none; }
};

// Throws active_messages::Error with the variable, its value and what is allowed.
Settings settings();

}  // namespace scope::provider
