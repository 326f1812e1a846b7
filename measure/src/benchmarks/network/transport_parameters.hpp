// The parameters that every network benchmark has, and the connection that they ask for.
#pragma once

#include <utility>
#include <vector>

#include "benchmark.hpp"
#include "transports/transport.hpp"

namespace scope {

// TCP cannot carry an empty message.
inline std::vector<Parameter> network_parameters(std::int64_t default_message_bytes,
                                                 std::vector<Parameter> more = {}) {
  std::vector<Parameter> parameters = {
      choice("protocol", transport_names(), "what carries the messages"),
      integer("message_bytes", "B", default_message_bytes, 1, 1 << 30, "payload of each message")};
  parameters.insert(parameters.end(), more.begin(), more.end());
  parameters.push_back(choice("wait", {"polling", "blocking"},
                              "spin as message-passing libraries do, or sleep in the kernel"));
  parameters.push_back(choice("nodelay", {"on", "off"}, "TCP_NODELAY: send small messages at once"));
  parameters.push_back(choice("flow", {"credits", "none"},
                              "udp, ethernet: stop before the receiver's buffer is full, or send on"));
  parameters.push_back(integer("socket_buffer_bytes", "B", 0, 0, 1 << 30,
                               "SO_SNDBUF and SO_RCVBUF; 0: as the system has them"));
  return parameters;
}

inline std::unique_ptr<Transport> connect(const Parameters& parameters, const Partner& partner) {
  return connect(
      parameters.choice("protocol"), partner,
      TransportOptions{.sleeps = parameters.choice("wait") == "blocking",
                       .nodelay = parameters.choice("nodelay") == "on",
                       .socket_buffer_bytes = static_cast<int>(parameters.integer("socket_buffer_bytes")),
                       .credits = parameters.choice("flow") == "credits"});
}

}  // namespace scope
