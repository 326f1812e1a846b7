#include "interface.hpp"

#include <linux/if_arp.h>
#include <linux/pkt_sched.h>
#include <linux/rtnetlink.h>
#include <linux/if.h>
#include <sys/ioctl.h>
#include <sys/socket.h>
#include <unistd.h>

#include <cerrno>
#include <cstring>
#include <set>

#include "descriptor.hpp"

namespace scope::active_messages {
namespace {

// Root disciplines that only order what waits for the interface.
const std::set<std::string> work_conserving = {"noqueue", "pfifo_fast", "pfifo", "bfifo", "mq",  "fq",
                                               "fq_codel", "cake_mq",    "sfq",   "prio",  "codel"};

ifreq asked(const std::string& name) {
  ifreq request{};
  if (name.empty() || name.size() >= sizeof request.ifr_name)
    throw Error("interface '" + name + "': a name has 1 to " + std::to_string(IFNAMSIZ - 1) + " characters");
  std::memcpy(request.ifr_name, name.data(), name.size());
  return request;
}

ifreq answer(const Descriptor& socket, const std::string& name, unsigned long question) {
  ifreq request = asked(name);
  if (::ioctl(socket.get(), question, &request) != 0)
    throw Error("interface '" + name + "': " + std::strerror(errno) + "; `ip -brief link` lists those of this host");
  return request;
}

}  // namespace

Interface interface_named(const std::string& name) {
  const Descriptor socket(::socket(AF_UNIX, SOCK_DGRAM | SOCK_CLOEXEC, 0));
  Interface found{name, static_cast<unsigned>(answer(socket, name, SIOCGIFINDEX).ifr_ifindex), {}, 0};
  const ifreq hardware = answer(socket, name, SIOCGIFHWADDR);
  if (hardware.ifr_hwaddr.sa_family != ARPHRD_ETHER) throw Error("interface '" + name + "': is no Ethernet");
  std::memcpy(found.address.data(), hardware.ifr_hwaddr.sa_data, found.address.size());
  if (!(answer(socket, name, SIOCGIFFLAGS).ifr_flags & IFF_UP))
    throw Error("interface '" + name + "': is down; `ip link set " + name + " up` takes it up");
  found.mtu = static_cast<std::size_t>(answer(socket, name, SIOCGIFMTU).ifr_mtu);
  return found;
}

std::string shaping(const Interface& interface) {
  const Descriptor socket(::socket(AF_NETLINK, SOCK_RAW | SOCK_CLOEXEC, NETLINK_ROUTE));
  struct {
    nlmsghdr header;
    tcmsg about;
  } question{};
  question.header = {sizeof question, RTM_GETQDISC, NLM_F_REQUEST | NLM_F_DUMP, 0, 0};
  question.about.tcm_ifindex = static_cast<int>(interface.index);
  if (::send(socket.get(), &question, sizeof question, 0) < 0) return {};
  std::string found;
  alignas(nlmsghdr) char buffer[32768];
  for (;;) {
    const ssize_t bytes = ::recv(socket.get(), buffer, sizeof buffer, 0);
    if (bytes <= 0) return found;
    int left = static_cast<int>(bytes);
    for (auto* message = reinterpret_cast<nlmsghdr*>(buffer); NLMSG_OK(message, left);
         message = NLMSG_NEXT(message, left)) {
      if (message->nlmsg_type == NLMSG_DONE || message->nlmsg_type == NLMSG_ERROR) return found;
      const auto* about = static_cast<const tcmsg*>(NLMSG_DATA(message));
      if (about->tcm_ifindex != static_cast<int>(interface.index) || about->tcm_parent != TC_H_ROOT) continue;
      int rest = static_cast<int>(TCA_PAYLOAD(message));
      for (auto* attribute = reinterpret_cast<const rtattr*>(TCA_RTA(about)); RTA_OK(attribute, rest);
           attribute = RTA_NEXT(attribute, rest))
        if (attribute->rta_type == TCA_KIND) {
          const std::string kind = static_cast<const char*>(RTA_DATA(attribute));
          if (!work_conserving.contains(kind)) found = kind;
        }
    }
  }
}

}  // namespace scope::active_messages
