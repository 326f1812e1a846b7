// An Ethernet interface, as the kernel describes it.
#pragma once

#include <linux/if.h>
#include <linux/if_arp.h>
#include <linux/pkt_sched.h>
#include <linux/rtnetlink.h>
#include <sys/ioctl.h>
#include <sys/socket.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <set>
#include <string>

#include "descriptor.hpp"
#include "frame.hpp"

namespace scope::active_messages {

struct Interface {
  std::string name;
  unsigned index;
  Ethernet address;
  std::size_t mtu;
};

// Root queue disciplines that only reorder waiting packets.
inline const std::set<std::string> work_conserving = {"noqueue",  "pfifo_fast", "pfifo", "bfifo", "mq",   "fq",
                                                      "fq_codel", "cake_mq",    "sfq",   "prio",  "codel"};

inline ifreq asked(const std::string& name) {
  ifreq request{};
  if (name.empty() || name.size() >= sizeof request.ifr_name)
    throw Error("interface '" + name + "': a name has 1 to " + std::to_string(IFNAMSIZ - 1) + " characters");
  std::memcpy(request.ifr_name, name.data(), name.size());
  return request;
}

inline ifreq answer(const Descriptor& socket, const std::string& name, unsigned long question) {
  ifreq request = asked(name);
  if (::ioctl(socket.get(), question, &request) != 0)
    throw Error("interface '" + name + "': " + std::strerror(errno) +
                "; `ip -brief link` lists the interfaces of this host");
  return request;
}

// Queries the kernel about an interface, and calls use(message, attribute) for each attribute of each answer.
template <class About, class Use>
void ask(std::uint16_t type, std::uint16_t flags, const About& about, Use&& use) {
  const Descriptor socket(::socket(AF_NETLINK, SOCK_RAW | SOCK_CLOEXEC, NETLINK_ROUTE));
  const struct {
    nlmsghdr header;
    About about;
  } question{{sizeof question, type, static_cast<std::uint16_t>(NLM_F_REQUEST | flags), 0, 0}, about};
  if (::send(socket.get(), &question, sizeof question, 0) < 0) return;
  alignas(nlmsghdr) char buffer[32768];
  for (bool more = true; more;) {
    const ssize_t bytes = ::recv(socket.get(), buffer, sizeof buffer, 0);
    if (bytes <= 0) return;
    more = flags & NLM_F_DUMP;
    int left = static_cast<int>(bytes);
    for (auto* message = reinterpret_cast<nlmsghdr*>(buffer); NLMSG_OK(message, left);
         message = NLMSG_NEXT(message, left)) {
      if (message->nlmsg_type == NLMSG_DONE || message->nlmsg_type == NLMSG_ERROR) return;
      const auto* answer = static_cast<const About*>(NLMSG_DATA(message));
      int rest = static_cast<int>(message->nlmsg_len - NLMSG_LENGTH(sizeof *answer));
      for (auto* attribute = reinterpret_cast<const rtattr*>(reinterpret_cast<const char*>(answer) +
                                                             NLMSG_ALIGN(sizeof *answer));
           RTA_OK(attribute, rest); attribute = RTA_NEXT(attribute, rest))
        use(*answer, *attribute);
    }
  }
}

// Error if there is no such interface, or it is not Ethernet, or it is down.
inline Interface interface_named(const std::string& name) {
  const Descriptor socket(::socket(AF_UNIX, SOCK_DGRAM | SOCK_CLOEXEC, 0));
  Interface found{name, static_cast<unsigned>(answer(socket, name, SIOCGIFINDEX).ifr_ifindex), {}, 0};
  const ifreq hardware = answer(socket, name, SIOCGIFHWADDR);
  if (hardware.ifr_hwaddr.sa_family != ARPHRD_ETHER) throw Error("interface '" + name + "': is not Ethernet");
  std::memcpy(found.address.data(), hardware.ifr_hwaddr.sa_data, found.address.size());
  if (!(answer(socket, name, SIOCGIFFLAGS).ifr_flags & IFF_UP))
    throw Error("interface '" + name + "': is down; `ip link set " + name + " up` brings it up");
  found.mtu = static_cast<std::size_t>(answer(socket, name, SIOCGIFMTU).ifr_mtu);
  return found;
}

// The kind of queue discipline that shapes or impairs outgoing packets, for example "tbf"; empty if none does.
// AF_XDP in copy mode bypasses it.
inline std::string shaping(const Interface& interface) {
  tcmsg about{};
  about.tcm_ifindex = static_cast<int>(interface.index);
  std::string found;
  ask(RTM_GETQDISC, NLM_F_DUMP, about, [&](const tcmsg& answer, const rtattr& attribute) {
    if (answer.tcm_ifindex != about.tcm_ifindex || answer.tcm_parent != TC_H_ROOT) return;
    if (attribute.rta_type != TCA_KIND) return;
    const std::string kind = static_cast<const char*>(RTA_DATA(&attribute));
    if (!work_conserving.contains(kind)) found = kind;
  });
  return found;
}

// Maximum size, without the Ethernet header, that can be handed over for the card to cut; 0 if unknown.
inline std::size_t longest_offload(const Interface& interface) {
  ifinfomsg about{};
  about.ifi_index = static_cast<int>(interface.index);
  constexpr unsigned short of_ipv4 = 63;  // IFLA_GSO_IPV4_MAX_SIZE, since Linux 6.3
  std::uint32_t found = 0;
  ask(RTM_GETLINK, 0, about, [&](const ifinfomsg&, const rtattr& attribute) {
    if (attribute.rta_type != IFLA_GSO_MAX_SIZE && attribute.rta_type != of_ipv4) return;
    std::uint32_t bytes;
    std::memcpy(&bytes, RTA_DATA(&attribute), sizeof bytes);
    found = found == 0 ? bytes : std::min(found, bytes);
  });
  return found > ethernet_bytes ? found - ethernet_bytes - 1 : 0;
}

}  // namespace scope::active_messages
