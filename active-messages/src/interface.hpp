// An Ethernet interface, as the kernel describes it.
#pragma once

#include <string>

#include "frame.hpp"

namespace scope::active_messages {

struct Interface {
  std::string name;
  unsigned index;
  Ethernet address;
  std::size_t mtu;
};

// Error where there is no such interface, where it is no Ethernet, or where it is down.
Interface interface_named(const std::string& name);

// The kind of the queue discipline that shapes or impairs what leaves an interface, "tbf" for one; empty where none
// does. AF_XDP in copy mode goes past it.
std::string shaping(const Interface& interface);

// How much may be handed over at once for the card to cut, without the Ethernet header; 0 where the kernel does not say.
std::size_t longest_offload(const Interface& interface);

}  // namespace scope::active_messages
