// Sending and receiving of frames: the common interface of AF_PACKET, AF_XDP and the impaired wire of the tests.
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
  // The longest frame, including its Ethernet header.
  virtual std::size_t longest_frame() const = 0;
  // The longest frame that can be sent together with others; 0 if frames are sent and understood only one by one.
  virtual std::size_t longest_together() const { return 0; }
  // Whether a queue discipline limits the rate, so that longer headers cost time.
  virtual bool shaped() const { return false; }
  // The number of frames that can wait for reception before one is lost.
  virtual std::size_t receive_slots() const = 0;

  // Accepts a frame, which begins with `head`. `together`: it may be sent with others to the same destination, and
  // its body stays unchanged until flush(); else the frame is copied. False: no room now; flush() and repeat.
  virtual bool send(Bytes head, Bytes body, bool together = false) = 0;
  // Hands all accepted frames to the interface.
  virtual void flush() = 0;
  // The next frame, valid until the next call; empty if none has arrived.
  virtual Bytes receive() = 0;
  // Readable when a frame has arrived.
  virtual int descriptor() const = 0;
};

// `loss`: Options::loss; `remark`: reason for choosing this wire, for its name.
std::unique_ptr<EthernetWire> packet_wire(const Interface& interface, std::uint16_t port, double loss = 0,
                                          const std::string& remark = {});               // Error
std::unique_ptr<EthernetWire> xdp_wire(const Interface& interface, std::uint16_t port);  // Error

// The requested wire, or the best permitted one; its name tells why a better one was not used.
std::unique_ptr<EthernetWire> open_wire(Wire asked, const Interface& interface, std::uint16_t port,
                                        double loss);  // Error

}  // namespace scope::active_messages
