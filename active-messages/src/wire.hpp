// Frames out and in: what AF_PACKET, AF_XDP and the impaired wire of the tests have in common.
#pragma once

#include <memory>
#include <string>

#include "endpoint.hpp"
#include "interface.hpp"

namespace scope::active_messages {

class EthernetWire {
 public:
  virtual ~EthernetWire() = default;
  virtual std::string name() const = 0;
  // The longest frame, its Ethernet header included.
  virtual std::size_t longest_frame() const = 0;
  // The longest that can travel together with others; 0 where frames travel, and are understood, only alone.
  virtual std::size_t longest_together() const { return 0; }
  // Whether a queue discipline limits the rate, so that headers cost time.
  virtual bool shaped() const { return false; }
  // How many frames can wait to be received before one is lost.
  virtual std::size_t receive_slots() const = 0;

  // Takes a frame, which begins with `head`. `together`: it may travel with others to the same destination, and its
  // body stays as it is until flush(); else the frame is copied. False: no room now; flush() and repeat.
  virtual bool send(Bytes head, Bytes body, bool together = false) = 0;
  // Hands all that was sent to the interface.
  virtual void flush() = 0;
  // The next frame, valid until the next call. Empty: none has arrived.
  virtual Bytes receive() = 0;
  // Readable when a frame has arrived.
  virtual int descriptor() const = 0;
};

// `loss`: Options::loss; `remark`: why it was chosen, for its name.
std::unique_ptr<EthernetWire> packet_wire(const Interface& interface, std::uint16_t port, double loss = 0,
                                          const std::string& remark = {});               // Error
std::unique_ptr<EthernetWire> xdp_wire(const Interface& interface, std::uint16_t port);  // Error

// The asked one, or the best that is allowed; its name tells why no better one.
std::unique_ptr<EthernetWire> open_wire(Wire asked, const Interface& interface, std::uint16_t port,
                                        double loss);  // Error

}  // namespace scope::active_messages
