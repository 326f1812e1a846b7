#include "endpoint.hpp"

#include <poll.h>
#include <sched.h>

#include <algorithm>
#include <condition_variable>
#include <cstring>
#include <deque>
#include <mutex>
#include <thread>
#include <tuple>
#include <unordered_map>
#include <vector>

#include "channel.hpp"
#include "identity.hpp"
#include "shared_memory.hpp"
#include "wire_channel.hpp"

namespace scope::active_messages {
namespace {

constexpr std::size_t queued_replies_limit = 256;  // per peer; above, the peer is granted nothing
constexpr std::size_t peers_limit = 65'536;
constexpr auto linger_limit = std::chrono::milliseconds(500);
constexpr int yields_before_sleep = 16;

struct Action_ {
  Action run;
  void* context;
};

// A reply that found no room. Its bytes are the endpoint's own.
struct QueuedReply {
  Handler handler;
  std::vector<std::byte> header, payload;
};

struct Known {
  Address address;
  Channel* channel;
  bool alive = true;
  std::deque<QueuedReply> replies;
};

struct Exposed {
  std::byte* memory;
  std::size_t bytes;
};

bool same_process(const Address& one, const Address& other) {
  return std::tie(one.ethernet, one.port, one.process) == std::tie(other.ethernet, other.port, other.process);
}

}  // namespace

