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
      path("protocol", transport_names(), "what carries the messages"),
      size("message_bytes", "B", default_message_bytes, 1, 1 << 30, "payload of each message")};
  parameters.insert(parameters.end(), more.begin(), more.end());
  parameters.push_back(
      path("wait", {"polling", "blocking"}, "spin as message-passing libraries do, or sleep in the kernel"));
  parameters.push_back(path("nodelay", {"on", "off"}, "TCP_NODELAY: send small messages at once"));
  parameters.push_back(path("flow", {"credits", "none"},
                            "udp, ethernet: stop before the receiver's buffer is full, or send on"));
  parameters.push_back(
      path("socket_buffer_bytes", "B", 0, 0, 1 << 30, "SO_SNDBUF and SO_RCVBUF; 0: as the system has them")
          .labelled("socket buffer"));
  return parameters;
}

// Under MPI stands the transport set as MPI libraries set it, over whichever protocol the ladder asks for;
// raw frames are a layer of their own.
inline std::vector<Rung> network_rungs(Pattern pattern) {
  const std::string as_libraries = " wait=polling nodelay=on flow=credits socket_buffer_bytes=0";
  return {{pattern, "", "protocol=*" + as_libraries},
          {pattern, "", "protocol=ethernet" + as_libraries, "frames"}};
}

inline Metric retransmitted_packets() {
  return count("retransmitted_packets", "").labelled("retransmitted packets");
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
