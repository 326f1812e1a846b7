#include "matching.hpp"

#include <algorithm>
#include <utility>

namespace scope::provider {

std::optional<Receive> Matching::receive_for(Peer source, const Envelope& envelope) {
  const auto found =
      std::ranges::find_if(posted_, [&](const Receive& receive) { return receive.takes(source, envelope.tag); });
  if (found == posted_.end()) return std::nullopt;
  if (found->shared) return *found;
  Receive receive = std::move(*found);
  posted_.erase(found);
  return receive;
}

void Matching::retire(const SharedBuffer& buffer) {
  posted_.remove_if([&](const Receive& receive) { return receive.shared.get() == &buffer; });
}

std::optional<Arrival> Matching::arrival_for(const Receive& receive) {
  const auto found = std::ranges::find_if(
      unexpected_, [&](const Arrival& arrival) { return receive.takes(arrival.source, arrival.envelope.tag); });
  if (found == unexpected_.end()) return std::nullopt;
  Arrival arrival = std::move(*found);
  unexpected_.erase(found);
  return arrival;
}

const Arrival* Matching::first_for(const Receive& receive) const {
  const auto found = std::ranges::find_if(
      unexpected_, [&](const Arrival& arrival) { return receive.takes(arrival.source, arrival.envelope.tag); });
  return found == unexpected_.end() ? nullptr : &*found;
}

std::vector<Receive> Matching::withdraw(Peer source) {
  std::vector<Receive> withdrawn;
  for (auto receive = posted_.begin(); receive != posted_.end();) {
    if (receive->source == source && !(source == any_peer && receive->shared)) {
      withdrawn.push_back(std::move(*receive));
      receive = posted_.erase(receive);
    } else {
      ++receive;
    }
  }
  return withdrawn;
}

std::optional<Receive> Matching::cancel(const void* context) {
  const auto found = std::ranges::find(posted_, context, &Receive::context);
  if (found == posted_.end()) return std::nullopt;
  Receive receive = std::move(*found);
  posted_.erase(found);
  return receive;
}

}  // namespace scope::provider
