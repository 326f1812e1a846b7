// The parameters of every network benchmark, and the connection that they describe.
#pragma once

#include "benchmarks/message_buffers.hpp"
#include "transports/transport.hpp"

namespace scope {

// TCP cannot carry an empty message.
inline std::vector<Parameter> network_parameters(std::int64_t default_message_bytes,
                                                 const std::vector<Parameter>& further = {}) {
  return with_message_buffers(together(
      {{path("protocol", kept(joined(transport_names(), ",")), "transport protocol")
            .worded(kept(joined(transport_words(), ","))),
        size("message_bytes", "B", default_message_bytes, 1, 1 << 30, "payload of each message")},
       further,
       {path("wait", "polling,blocking", "poll as MPI libraries do, or sleep in the kernel").worded(",sleeping"),
        path("nodelay", "on,off", "TCP_NODELAY: send small messages immediately").worded(",without TCP_NODELAY"),
        path("flow", "credits,none",
             "udp, ethernet, active_messages: stop before the receiver's buffer is full, or keep sending")
            .worded(",without flow control"),
        path("wire", "automatic,xdp,packet",
             "active_messages: AF_XDP if it works, otherwise AF_PACKET; or always one of the two")
            .worded(",AF_XDP,AF_PACKET"),
        path("lost_per_million", "", 0, 0, 500'000,
             "tcp, udp, active_messages: packets per million that the kernel drops on arrival, like a bad link")
            .labeled("lost packets per million"),
        path("socket_buffer_bytes", "B", 0, 0, 1 << 30, "SO_SNDBUF and SO_RCVBUF; 0: the system's defaults")
            .labeled("socket buffer")}}));
}

// The rung below MPI is a transport that is configured as in MPI libraries, over any protocol of the ladder; raw
// frames are a separate layer.
#define SCOPE_AS_LIBRARIES " wait=polling nodelay=on flow=credits socket_buffer_bytes=0"
inline std::vector<Rung> network_rungs(Pattern pattern) {
  return {{pattern, "", "protocol=*" SCOPE_AS_LIBRARIES},
          {pattern, "", "protocol=ethernet" SCOPE_AS_LIBRARIES, "frames"}};
}
#undef SCOPE_AS_LIBRARIES

inline Metric retransmitted_packets() {
  return count("retransmitted_packets", "").labeled("retransmitted packets");
}

inline std::unique_ptr<Transport> connect(const Parameters& parameters, const Partner& partner) {
  return connect(
      parameters.choice("protocol"), partner,
      TransportOptions{.sleeps = parameters.choice("wait") == "blocking",
                       .nodelay = parameters.choice("nodelay") == "on",
                       .socket_buffer_bytes = static_cast<int>(parameters.integer("socket_buffer_bytes")),
                       .credits = parameters.choice("flow") == "credits",
                       .wire = parameters.choice("wire"),
                       .lost_per_million = static_cast<int>(parameters.integer("lost_per_million"))});
}

// The carrier of this case's messages, if its protocol does not determine it.
inline std::vector<ControlVariable> settings_of(const Transport& transport) {
  if (transport.way().empty()) return {};
  return {{"wire", transport.way()}};
}

}  // namespace scope
