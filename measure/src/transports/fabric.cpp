#include "transports/fabric.hpp"

#include <chrono>

namespace scope {
namespace {

constexpr std::chrono::seconds greeting_limit(3);

}  // namespace

void Fabric::exchange_greetings() {
  const auto end = std::chrono::steady_clock::now() + greeting_limit;
  bool sent = false;
  bool received = false;
  while (!sent || !received) {
    if (!sent) sent = send_some(std::as_bytes(std::span(&greeting_, 1)), false) > 0;
    if (!received) received = receive_some(std::as_writable_bytes(std::span(&greeted_, 1)), false) > 0;
    if (std::chrono::steady_clock::now() > end) throw Unavailable("no message arrives from the other process");
  }
}

void Fabric::greet(const Partner& partner) {
  std::string problem;
  const auto unless_broken = [&](auto&& step) {
    if (!problem.empty()) return;
    try {
      step();
    } catch (const std::exception& error) {
      problem = error.what();
    }
  };
  unless_broken([&] { exchange_greetings(); });
  partner.meet([&] { unless_broken([&] { look(false); }); });
  partner.agree([&] {
    if (!problem.empty()) throw Unavailable(problem);
  });
}

}  // namespace scope
