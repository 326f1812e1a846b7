// Two of these processes exchange messages: one answers, the other asks, measures and checks. Used by tests and
// benchmarks. With COUNT, this many processes may ask the one that answers.
//
// usage: scope-exchange INTERFACE automatic|xdp|packet|none on|off ACTION [BYTES COUNT]
//   on|off: flow control. ACTION: latency, stream, put, check; answer; absent: answer, but only after three seconds
//   without a call
//   SCOPE_EXCHANGE_PATIENCE_S: seconds of silence after which the other process is dead
// The process writes one line, its address, and reads two lines: the session key and the other's address, all in
// hexadecimal digits. At the end, it writes one line of JSON. Exit codes: 0; 1: wrong data or a dead peer; 2: bad
// usage, or no access to the wire.
#include <algorithm>
#include <cinttypes>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <ctime>
#include <iostream>
#include <string>
#include <thread>
#include <vector>

#include "endpoint.hpp"

namespace {

using namespace scope::active_messages;
using Clock = std::chrono::steady_clock;

constexpr std::size_t spins = 20'000;  // unsuccessful polls (1 to 2 ms) before the processor is yielded
constexpr std::size_t exposed_bytes = 64 << 20;

struct Refusal : std::runtime_error {
  using std::runtime_error::runtime_error;
};

std::string digits_of(const void* memory, std::size_t bytes) {
  std::string text;
  char two[3];
  for (std::size_t index = 0; index < bytes; ++index) {
    std::snprintf(two, sizeof two, "%02x", static_cast<const unsigned char*>(memory)[index]);
    text += two;
  }
  return text;
}

void read_digits(void* memory, std::size_t bytes, const char* what) {
  std::string line;
  std::getline(std::cin, line);
  if (line.size() != 2 * bytes || line.find_first_not_of("0123456789abcdef") != std::string::npos)
    throw Refusal(std::string("standard input: ") + what + " of " + std::to_string(2 * bytes) +
                  " hexadecimal digits was expected");
  for (std::size_t index = 0; index < bytes; ++index)
    static_cast<unsigned char*>(memory)[index] =
        static_cast<unsigned char>(std::stoul(line.substr(2 * index, 2), nullptr, 16));
}

std::size_t number(const std::string& word) {
  if (word.empty() || word.size() > 12 || word.find_first_not_of("0123456789") != std::string::npos)
    throw Refusal(word + ": a whole number was expected");
  return std::stoul(word);
}

template <class Value>
Value one_of(const std::string& word, std::initializer_list<std::pair<const char*, Value>> allowed) {
  std::string names;
  for (const auto& [name, value] : allowed) {
    if (word == name) return value;
    names += std::string(names.empty() ? "" : ", ") + name;
  }
  throw Refusal(word + ": allowed are " + names);
}

// Byte `index` of message `round`: successive rounds and neighbors differ.
std::byte expected_byte(std::size_t round, std::size_t index) {
  return static_cast<std::byte>(round * 31 + index * 7 + index / 251);
}

// Both roles, with handlers in the same order.
class Process {
 public:
  explicit Process(const Options& options) : memory_(exposed_bytes), endpoint_(options) {
    region_ = endpoint_.expose(memory_.data(), memory_.size());
    const auto handle = [this](Action action) { return endpoint_.handle(action, this); };
    echo_ = handle(
        [](void* self, Peer source, Bytes header, Bytes payload) { of(self).echo(source, header, payload); });
    back_ = handle([](void* self, Peer, Bytes, Bytes payload) { of(self).back(payload); });
    count_ = handle([](void* self, Peer, Bytes, Bytes) { ++of(self).counted_; });
    ask_region_ = handle([](void* self, Peer source, Bytes, Bytes) { of(self).tell_region(source); });
    region_is_ = handle([](void* self, Peer, Bytes header, Bytes) { of(self).learn_region(header); });
    check_memory_ =
        handle([](void* self, Peer source, Bytes header, Bytes) { of(self).check_memory(source, header); });
    end_ = handle([](void* self, Peer, Bytes, Bytes) { ++of(self).ended_; });
  }

  Endpoint& endpoint() { return endpoint_; }
  void connect(const Address& other) { peer_ = endpoint_.add(other); }

  void answer(std::size_t others) {
    // Keeps polling, because our silence would count as our death.
    for (std::size_t fruitless = 0; ended_ < others;) {
      if (endpoint_.poll() > 0)
        fruitless = 0;
      else if (++fruitless > spins)
        endpoint_.wait(std::chrono::microseconds(100));
      if (++polls_ % 1024 == 0 && ended_ == 0 && endpoint_.send(peer_, count_, {}, {}) == Outcome::peer_dead)
        throw std::runtime_error(endpoint_.name(peer_) + " is dead");
    }
  }

  // Seconds of each round trip.
  std::vector<double> latency(std::size_t bytes, std::size_t count) {
    const std::vector<std::byte> message(bytes);
    std::vector<double> seconds;
    for (std::size_t round = 0; round < count; ++round) {
      const auto begin = Clock::now();
      returned_ = false;
      send(echo_, {}, message);
      until([&] { return returned_; });
      seconds.push_back(std::chrono::duration<double>(Clock::now() - begin).count());
    }
    return seconds;
  }

  // Seconds of each batch of messages in one direction.
  std::vector<double> stream(std::size_t bytes, std::size_t count) {
    const std::vector<std::byte> message(bytes);
    const auto begin = Clock::now();
    for (std::size_t round = 1; round < count; ++round) send(count_, {}, message);
    returned_ = false;
    send(echo_, {}, message);
    until([&] { return returned_; });
    return {std::chrono::duration<double>(Clock::now() - begin).count()};
  }

  // Seconds of each put.
  std::vector<double> put(std::size_t bytes, std::size_t count) {
    const std::vector<std::byte> source(bytes, std::byte{1});
    ask_for_region();
    std::vector<double> seconds;
    for (std::size_t round = 0; round < count; ++round) {
      const auto begin = Clock::now();
      put_and_wait(source, count_, {});
      seconds.push_back(std::chrono::duration<double>(Clock::now() - begin).count());
    }
    return seconds;
  }

  // Messages of all lengths up to `bytes` that come back, and puts whose bytes the other side compares.
  void check(std::size_t bytes, std::size_t count) {
    ask_for_region();
    for (std::size_t round = 0; round < count; ++round) {
      const std::size_t length = std::min(bytes, endpoint_.message_limit(peer_)) * round / count;
      outgoing_.resize(length);
      for (std::size_t index = 0; index < length; ++index) outgoing_[index] = expected_byte(round, index);
      returned_ = false;
      send(echo_, {}, outgoing_);
      until([&] { return returned_; });
      if (!equal_) throw std::runtime_error("message " + std::to_string(round) + " came back changed");

      std::vector<std::byte> source(bytes * (round + 1) / count);
      for (std::size_t index = 0; index < source.size(); ++index) source[index] = expected_byte(round, index);
      const std::size_t question[2] = {round, source.size()};
      outgoing_ = {std::byte{1}};
      returned_ = false;
      put_and_wait(source, check_memory_, {reinterpret_cast<const std::byte*>(question), sizeof question});
      until([&] { return returned_; });
      if (!equal_) throw std::runtime_error("put " + std::to_string(round) + " did not arrive whole");
    }
  }

  void end() { send(end_, {}, {}); }

 private:
  static Process& of(void* self) { return *static_cast<Process*>(self); }

  template <class Condition>
  void until(Condition condition) {
    while (!condition()) {
      endpoint_.poll();
      if (++polls_ % 65'536 == 0 && endpoint_.send(peer_, count_, {}, {}) == Outcome::peer_dead)
        throw std::runtime_error(endpoint_.name(peer_) + " is dead");
    }
  }
  void send(Handler handler, Bytes header, Bytes payload) {
    for (Outcome outcome; (outcome = endpoint_.send(peer_, handler, header, payload)) != Outcome::done;) {
      if (outcome == Outcome::peer_dead) throw std::runtime_error(endpoint_.name(peer_) + " is dead");
      endpoint_.poll();
    }
  }
  void put_and_wait(Bytes source, Handler handler, Bytes header) {
    put_outcome_ = Outcome::again;
    const auto complete = [](void* self, Outcome outcome) { of(self).put_outcome_ = outcome; };
    while (endpoint_.put(peer_, other_region_, 0, source, handler, header, complete, this) == Outcome::again)
      endpoint_.poll();
    until([&] { return put_outcome_ != Outcome::again; });
    if (put_outcome_ == Outcome::peer_dead) throw std::runtime_error(endpoint_.name(peer_) + " is dead");
  }
  void ask_for_region() {
    send(ask_region_, {}, {});
    until([&] { return other_region_ != 0; });
  }

  void echo(Peer source, Bytes header, Bytes payload) { endpoint_.reply(source, back_, header, payload); }
  void back(Bytes payload) {
    equal_ = std::equal(payload.begin(), payload.end(), outgoing_.begin(), outgoing_.end());
    returned_ = true;
  }
  void tell_region(Peer source) {
    endpoint_.reply(source, region_is_, {reinterpret_cast<const std::byte*>(&region_), sizeof region_}, {});
  }
  void learn_region(Bytes header) {
    std::memcpy(&other_region_, header.data(), std::min(header.size(), sizeof region_));
  }
  void check_memory(Peer source, Bytes header) {
    std::size_t question[2] = {0, ~std::size_t{0}};
    std::memcpy(question, header.data(), std::min(header.size(), sizeof question));
    const auto [round, bytes] = question;
    bool equal = bytes <= memory_.size();
    for (std::size_t index = 0; equal && index < bytes; ++index)
      equal = memory_[index] == expected_byte(round, index);
    const std::byte word{equal};
    endpoint_.reply(source, back_, {}, {&word, 1});
  }

  std::vector<std::byte> memory_, outgoing_;
  Endpoint endpoint_;  // destroyed first, because peers write into the memory until then
  Region region_ = 0, other_region_ = 0;
  Peer peer_ = 0;
  Handler echo_, back_, count_, ask_region_, region_is_, check_memory_, end_;
  Outcome put_outcome_ = Outcome::again;
  std::size_t counted_ = 0, polls_ = 0, ended_ = 0;
  bool returned_ = false, equal_ = false;
};

void print(const Endpoint& endpoint, const std::vector<double>& seconds) {
  const Statistics s = endpoint.statistics();
  std::printf("{\"wire\": \"%s\", \"elapsed_s\": [", endpoint.wire().c_str());
  for (std::size_t index = 0; index < seconds.size(); ++index)
    std::printf("%s%.9g", index ? ", " : "", seconds[index]);
  std::printf("]");
  const std::pair<const char*, std::uint64_t> counts[] = {{"messages_sent", s.messages_sent},
                                                          {"messages_received", s.messages_received},
                                                          {"frames_sent", s.frames_sent},
                                                          {"frames_received", s.frames_received},
                                                          {"retransmissions", s.retransmissions},
                                                          {"duplicates", s.duplicates},
                                                          {"out_of_order", s.out_of_order},
                                                          {"corrupt", s.corrupt},
                                                          {"foreign", s.foreign},
                                                          {"credit_waits", s.credit_waits}};
  for (const auto& [name, value] : counts) std::printf(", \"%s\": %" PRIu64, name, value);
  std::printf(", \"processor_s\": %.9g}\n", static_cast<double>(std::clock()) / CLOCKS_PER_SEC);
}

int run(const std::vector<std::string>& words) {
  if (words.size() != 4 && words.size() != 6)
    throw Refusal("usage: scope-exchange INTERFACE automatic|xdp|packet|none on|off ACTION [BYTES COUNT]");
  Options options;
  options.interface = words[0];
  options.wire = one_of<Wire>(
      words[1],
      {{"automatic", Wire::automatic}, {"xdp", Wire::xdp}, {"packet", Wire::packet}, {"none", Wire::none}});
  options.flow_control = one_of<bool>(words[2], {{"on", true}, {"off", false}});
  using Measure = std::vector<double> (Process::*)(std::size_t, std::size_t);
  const auto measure = one_of<Measure>(words[3], {{"answer", nullptr},
                                                  {"absent", nullptr},
                                                  {"check", nullptr},
                                                  {"latency", &Process::latency},
                                                  {"stream", &Process::stream},
                                                  {"put", &Process::put}});
  const std::size_t bytes = words.size() > 4 ? number(words[4]) : 8,
                    count = words.size() > 4 ? number(words[5]) : 1000;
  if (count == 0 || bytes > exposed_bytes)
    throw Refusal("BYTES: at most " + std::to_string(exposed_bytes) + "; COUNT: at least 1");

  if (const char* patience = std::getenv("SCOPE_EXCHANGE_PATIENCE_S"))
    options.peer_timeout = std::chrono::seconds(number(patience));
  read_digits(options.session_key.data(), options.session_key.size(), "a session key");
  Process process(options);
  std::printf("%s\n", digits_of(&process.endpoint().address(), sizeof(Address)).c_str());
  std::fflush(stdout);
  Address other;
  read_digits(&other, sizeof other, "an address");
  process.connect(other);
  std::vector<double> seconds;
  const bool late = words[3] == "absent";
  if (late) std::this_thread::sleep_for(std::chrono::seconds(3));
  if (late || words[3] == "answer") {
    process.answer(words.size() > 4 ? count : 1);
  } else {
    if (measure != nullptr)
      seconds = (process.*measure)(bytes, count);
    else
      process.check(bytes, count);
    process.end();
  }
  print(process.endpoint(), seconds);
  return 0;
}

}  // namespace

int main(int count, char** words) {
  try {
    return run({words + 1, words + count});
  } catch (const Error& error) {
    std::fprintf(stderr, "scope-exchange: %s\n", error.what());
    return 2;
  } catch (const Refusal& error) {
    std::fprintf(stderr, "scope-exchange: %s\n", error.what());
    return 2;
  } catch (const std::exception& error) {
    std::fprintf(stderr, "scope-exchange: %s\n", error.what());
    return 1;
  }
}
