#include "transports/partner.hpp"

namespace scope {

Partner partner_in(const Communicator& communicator) {
  const int half = communicator.size() / 2;
  const bool leads = communicator.rank() < half;
  Partner partner{communicator.handle(), communicator.rank() + (leads ? half : -half), leads, false};
  std::array<char, 256> host{};
  std::strncpy(host.data(), host_name().c_str(), host.size() - 1);
  partner.nearby = partner.swap(host) == host;
  return partner;
}

void need_one_host(const Partner& partner, const std::string& protocol) {
  if (!partner.nearby) throw Unavailable("protocol=" + protocol + ": the two ranks are on different hosts");
}

}  // namespace scope
