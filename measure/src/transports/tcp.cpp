// TCP over IPv4, which most message-passing libraries use without special hardware.
#include <netinet/tcp.h>

#include "transports/route.hpp"

namespace scope {
namespace {

class Tcp final : public SocketStream {
 public:
  Tcp(Socket socket, const TransportOptions& options) : SocketStream(std::move(socket), options) {
    connection().lose(options.lost_per_million);
    // With segmentation offload, the kernel would drop up to 64 KiB at once.
    if (options.lost_per_million > 0) send_single_packets(connection().get(IPPROTO_TCP, TCP_MAXSEG));
  }

  double repeated() const override {
    tcp_info info{};
    socklen_t length = sizeof info;
    getsockopt(connection().descriptor(), IPPROTO_TCP, TCP_INFO, &info, &length);
    return info.tcpi_total_retrans;
  }
};

}  // namespace

std::unique_ptr<Transport> connect_tcp(const Partner& partner, const TransportOptions& options) {
  Socket connection = call_by_tcp(partner, options.socket_buffer_bytes);
  connection.set(IPPROTO_TCP, TCP_NODELAY, options.nodelay ? 1 : 0);
  return std::make_unique<Tcp>(std::move(connection), options);
}

}  // namespace scope
