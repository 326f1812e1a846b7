// relay: a wire in user space, for what the kernel's token bucket cannot do: latency, one medium for all, shares
// of the frames that are lost, delivered twice, delivered late or damaged, packets that are silently dropped for their
// length, stops, and a policer of every second connection.
//
// Ports are TAP devices, each in the network namespace of a process. A frame that enters a port waits until
// its medium is free, occupies it for length / rate, and is delivered `latency` after its last bit. Either
// every port has a medium of its own (a full-duplex line) or all share one, round robin (a bus, a half-duplex
// line). Frames wait in the kernel's queue of the port, so that senders feel the pressure.
//
//   relay --rate-mbit=10 --latency-us=0 --loss=0 --duplication=0 --reordering=0 --corruption=0
//         --largest-packet-bytes=0 --paused-ms=0 --policed-mbit-per-s=0 [--shared]
//         --statistics=FILE PID:INTERFACE PID:INTERFACE...
//
// Says "ready" when all ports exist. Writes how late deliveries were to FILE four times a second. Ends on SIGTERM.
#include <fcntl.h>
#include <linux/if_tun.h>
#include <net/if.h>
#include <poll.h>
#include <sched.h>
#include <sys/ioctl.h>
#include <sys/prctl.h>
#include <time.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <cerrno>
#include <csignal>
#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <fstream>
#include <iostream>
#include <map>
#include <queue>
#include <random>
#include <stdexcept>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

namespace {

using Nanoseconds = std::int64_t;

constexpr Nanoseconds second = 1'000'000'000;
constexpr Nanoseconds between_tellings = second / 4;
// Frames are taken from a port so long before their medium is free that a late wake-up leaves no gap.
constexpr Nanoseconds ahead = 1'000'000;
// A sleep ends some 50 us late; what is left before a delivery is spent awake.
constexpr Nanoseconds awake = 70'000;
// Awake before every frame, the relays of a few streams would take all processors, and the ranks would have none.
// During a stream frames are therefore delivered so late at most, several per wake-up, except the last one.
constexpr Nanoseconds gathered = 100'000;
// A stream has occupied its medium for twice so long without a rest. Shorter messages are delivered on time.
constexpr Nanoseconds streaming = 3'000'000;
constexpr std::size_t longest_frame = 9018;
constexpr std::size_t header_bytes = 14;
// A frame out of order comes after the next ones: it is late by so many times its own length.
constexpr double overtaken_by = 3.5;
// A wire with pauses stops so often.
constexpr Nanoseconds between_pauses = second / 10;
// A policer lets so much pass at once: the bucket of a switch, some ten packets.
constexpr double policed_burst_bits = 8.0 * 16'000;
// So many connections a policer tells apart.
constexpr std::size_t most_connections = 4096;

volatile std::sig_atomic_t asked_to_end = 0;

Nanoseconds now() {
  timespec time;
  clock_gettime(CLOCK_MONOTONIC, &time);
  return time.tv_sec * second + time.tv_nsec;
}

[[noreturn]] void fail(const std::string& what) { throw std::runtime_error(what + ": " + std::strerror(errno)); }

struct Options {
  double rate_bits_per_s = 0;
  Nanoseconds latency = 0;
  double loss = 0;
  double duplication = 0;
  double reordering = 0;
  double corruption = 0;
  std::size_t largest_packet_bytes = 0;  // 0: all pass
  Nanoseconds paused = 0;                // at the beginning of every `between_pauses`
  double policed_bits_per_s = 0;         // of every second connection; 0: of none
  bool shared = false;
  std::string statistics;
  std::vector<std::string> ports;
};

Options parse(int count, char** words) {
  Options options;
  for (int i = 1; i < count; ++i) {
    const std::string_view word = words[i];
    const std::string value(word.substr(std::min(word.size(), word.find('=') + 1)));
    if (word.starts_with("--rate-mbit="))
      options.rate_bits_per_s = std::stod(value) * 1e6;
    else if (word.starts_with("--latency-us="))
      options.latency = static_cast<Nanoseconds>(std::stod(value) * 1e3);
    else if (word.starts_with("--loss="))
      options.loss = std::stod(value);
    else if (word.starts_with("--duplication="))
      options.duplication = std::stod(value);
    else if (word.starts_with("--reordering="))
      options.reordering = std::stod(value);
    else if (word.starts_with("--corruption="))
      options.corruption = std::stod(value);
    else if (word.starts_with("--largest-packet-bytes="))
      options.largest_packet_bytes = std::stoul(value);
    else if (word.starts_with("--paused-ms="))
      options.paused = static_cast<Nanoseconds>(std::stod(value) * 1e6);
    else if (word.starts_with("--policed-mbit-per-s="))
      options.policed_bits_per_s = std::stod(value) * 1e6;
    else if (word.starts_with("--statistics="))
      options.statistics = value;
    else if (word == "--shared")
      options.shared = true;
    else
      options.ports.emplace_back(word);
  }
  if (options.rate_bits_per_s <= 0 || options.ports.size() < 2)
    throw std::runtime_error("needs --rate-mbit=NUMBER and two ports PID:INTERFACE");
  return options;
}

// Makes a TAP device in the network namespace of a process.
int open_port(const std::string& port) {
  const auto colon = port.find(':');
  if (colon == std::string::npos) throw std::runtime_error(port + ": must be PID:INTERFACE");
  const std::string where = "/proc/" + port.substr(0, colon) + "/ns/net";
  const int space = open(where.c_str(), O_RDONLY);
  if (space < 0 || setns(space, CLONE_NEWNET) != 0) fail(where);
  close(space);
  const int descriptor = open("/dev/net/tun", O_RDWR | O_NONBLOCK);
  if (descriptor < 0) fail("/dev/net/tun");
  ifreq request{};
  port.copy(request.ifr_name, IFNAMSIZ - 1, colon + 1);
  request.ifr_flags = IFF_TAP | IFF_NO_PI;
  if (ioctl(descriptor, TUNSETIFF, &request) != 0) fail(port);
  return descriptor;
}

// How late frames were delivered, in powers of two of a nanosecond.
class Lateness {
 public:
  void add(Nanoseconds late) {
    int bin = 0;
    while (late > 1 && bin < 39) late >>= 1, ++bin;
    ++counts_[bin];
    ++total_;
  }
  std::uint64_t total() const { return total_; }
  // Upper end of the bin that holds this share of the frames.
  double quantile_us(double share) const {
    std::uint64_t below = 0;
    for (std::size_t bin = 0; bin < counts_.size(); ++bin) {
      below += counts_[bin];
      if (below >= share * static_cast<double>(total_)) return static_cast<double>(2LL << bin) / 1e3;
    }
    return 0;
  }

 private:
  std::array<std::uint64_t, 40> counts_{};
  std::uint64_t total_ = 0;
};

using Address = std::array<unsigned char, 6>;

struct Frame {
  Nanoseconds due;
  std::uint64_t number;  // of frames due together the first to enter leaves first
  std::size_t from;
  std::vector<unsigned char> bytes;
  bool operator>(const Frame& other) const { return due != other.due ? due > other.due : number > other.number; }
};

// Drops what every second connection sends above a rate; the others pass. TCP over IPv4 alone is policed.
class Policer {
 public:
  explicit Policer(double bits_per_s) : bits_per_s_(bits_per_s) {}

  bool drops(const unsigned char* frame, std::size_t length, Nanoseconds time) {
    constexpr std::size_t shortest = header_bytes + 20 + 4;
    if (bits_per_s_ <= 0 || length < shortest || frame[12] != 0x08 || frame[13] != 0x00) return false;
    const unsigned char* const packet = frame + header_bytes;
    const std::size_t header = 4 * (packet[0] & 0xf);
    if (packet[9] != 6 || length < header_bytes + header + 4) return false;
    // Both directions of a connection are one.
    End here = end(packet + 12, packet + header);
    End there = end(packet + 16, packet + header + 2);
    if (there < here) std::swap(here, there);
    Bucket& bucket = bucket_of({here, there}, time);
    const Nanoseconds since = std::exchange(bucket.since, time);
    if (!bucket.policed) return false;
    const double refilled = bits_per_s_ * static_cast<double>(time - since) / second;
    bucket.bits = std::min(policed_burst_bits, bucket.bits + refilled);
    const double needed = 8.0 * static_cast<double>(length);
    if (bucket.bits < needed) return true;
    bucket.bits -= needed;
    return false;
  }

 private:
  using End = std::array<unsigned char, 6>;
  using Ends = std::pair<End, End>;
  struct Bucket {
    bool policed;
    Nanoseconds since;  // of its last frame
    double bits = policed_burst_bits;
  };

  // Every second connection is policed. Of too many the one that has been idle longest is forgotten.
  Bucket& bucket_of(const Ends& ends, Nanoseconds time) {
    if (const auto known = connections_.find(ends); known != connections_.end()) return known->second;
    if (connections_.size() == most_connections) {
      connections_.erase(std::min_element(
          connections_.begin(), connections_.end(),
          [](const auto& one, const auto& other) { return one.second.since < other.second.since; }));
    }
    return connections_.emplace(ends, Bucket{seen_++ % 2 == 1, time}).first->second;
  }

  static End end(const unsigned char* address, const unsigned char* port) {
    End end;
    std::copy_n(port, 2, std::copy_n(address, 4, end.begin()));
    return end;
  }

  double bits_per_s_;
  std::map<Ends, Bucket> connections_;
  std::size_t seen_ = 0;
};

class Wire {
 public:
  explicit Wire(const Options& options)
      : options_(options),
        media_(options.shared ? 1 : options.ports.size()),
        policer_(options.policed_bits_per_s) {
    for (const auto& port : options.ports) ports_.push_back(open_port(port));
  }

  void run() {
    Nanoseconds told = now();
    while (!asked_to_end) {
      const bool moved = static_cast<bool>(int(take()) | int(deliver()));
      if (now() - told > between_tellings && lateness_.total() != told_) {
        tell();
        told = now();
      }
      if (!moved) rest();
    }
    tell();
  }

 private:
  struct Medium {
    Nanoseconds free = 0;
    // How long it was occupied, less half of the time that has passed: high only after a stream.
    Nanoseconds load = 0;
    Nanoseconds since = 0;

    Nanoseconds load_at(Nanoseconds time) const { return std::max<Nanoseconds>(0, load - (time - since) / 2); }
    void occupy(Nanoseconds begin, Nanoseconds length, Nanoseconds time) {
      free = begin + length;
      load = std::min(load_at(time) + length, 2 * streaming);
      since = time;
    }
  };

  Medium& medium(std::size_t port) { return media_[options_.shared ? 0 : port]; }

  bool in_stream(Nanoseconds time) const {
    return std::any_of(media_.begin(), media_.end(),
                       [time](const Medium& medium) { return medium.load_at(time) > streaming; });
  }

  // Takes a frame from each port whose medium is nearly free; the port after the last one served comes first.
  bool take() {
    bool any = false;
    const std::size_t begin = next_;
    for (std::size_t turn = 0; turn < ports_.size(); ++turn) {
      const std::size_t port = (begin + turn) % ports_.size();
      Medium& wire = medium(port);
      const Nanoseconds time = now();
      if (wire.free - time > ahead) continue;
      const auto length = read(ports_[port], buffer_.data(), buffer_.size());
      if (length <= 0) continue;
      learn(port);
      if (is_dropped(static_cast<std::size_t>(length), time)) {
        any = true;
        continue;
      }
      const double bits = 8.0 * static_cast<double>(length);
      const auto occupies = static_cast<Nanoseconds>(bits / options_.rate_bits_per_s * second);
      wire.occupy(after_pause(std::max(wire.free, time)), occupies, time);
      Frame frame{wire.free + options_.latency, number_++, port, {buffer_.begin(), buffer_.begin() + length}};
      if (happens(options_.reordering)) frame.due += static_cast<Nanoseconds>(overtaken_by * occupies);
      last_due_ = std::max(last_due_, frame.due);
      if (happens(options_.duplication)) waiting_.push(frame);
      if (happens(options_.corruption)) damage(frame);
      waiting_.push(std::move(frame));
      if (!any) next_ = (port + 1) % ports_.size();
      any = true;
    }
    return any;
  }

  // Without a word to anyone, as a device does whose own link takes no such packets.
  bool is_dropped(std::size_t length, Nanoseconds time) {
    const std::size_t largest = options_.largest_packet_bytes;
    return (largest > 0 && length > largest + header_bytes) || policer_.drops(buffer_.data(), length, time);
  }

  // When a frame that could begin now does.
  Nanoseconds after_pause(Nanoseconds begin) const {
    const Nanoseconds into = begin % between_pauses;
    return into < options_.paused ? begin + options_.paused - into : begin;
  }

  bool happens(double share) { return share > 0 && chance_(generator_) < share; }

  // Flips a bit behind the header, which leads the frame to its destination.
  void damage(Frame& frame) {
    if (frame.bytes.size() <= header_bytes) return;
    const std::size_t bits = 8 * (frame.bytes.size() - header_bytes);
    const auto bit = static_cast<std::size_t>(chance_(generator_) * static_cast<double>(bits));
    frame.bytes[header_bytes + bit / 8] ^= static_cast<unsigned char>(1 << bit % 8);
  }

  void learn(std::size_t port) {
    Address source;
    std::copy_n(buffer_.begin() + 6, 6, source.begin());
    where_[source] = port;
  }

  bool deliver() {
    bool any = false;
    while (!waiting_.empty() && waiting_.top().due <= now()) {
      const Frame& frame = waiting_.top();
      lateness_.add(now() - frame.due);
      if (!happens(options_.loss)) send(frame);
      waiting_.pop();
      any = true;
    }
    return any;
  }

  void send(const Frame& frame) {
    Address destination;
    std::copy_n(frame.bytes.begin(), 6, destination.begin());
    const auto known = where_.find(destination);
    for (std::size_t port = 0; port < ports_.size(); ++port) {
      if (port == frame.from || (known != where_.end() && known->second != port)) continue;
      while (write(ports_[port], frame.bytes.data(), frame.bytes.size()) < 0 && errno == EAGAIN) {
      }
    }
  }

  // Sleeps until a frame comes in that may be taken, or the next one is nearly due.
  void rest() {
    const Nanoseconds time = now();
    Nanoseconds wake = time + (lateness_.total() == told_ ? second : between_tellings);
    if (!waiting_.empty()) {
      const Nanoseconds due = waiting_.top().due;
      wake = std::min(wake, in_stream(time) ? std::min(due + gathered, last_due_ - awake) : due - awake);
    }
    std::vector<pollfd> ready;
    for (std::size_t port = 0; port < ports_.size(); ++port) {
      // Half of the frames that fit into this time are taken at once.
      const Nanoseconds open = medium(port).free - ahead / 2;
      if (open <= time)
        ready.push_back({ports_[port], POLLIN, 0});
      else
        wake = std::min(wake, open);
    }
    if (wake <= time) return;
    const timespec pause{(wake - time) / second, (wake - time) % second};
    ppoll(ready.data(), ready.size(), &pause, nullptr);
  }

  void tell() {
    told_ = lateness_.total();
    if (options_.statistics.empty()) return;
    const std::string fresh = options_.statistics + ".new";
    std::ofstream(fresh) << "{\"frames\": " << told_ << ", \"late_median_us\": " << lateness_.quantile_us(0.5)
                         << ", \"late_p99_us\": " << lateness_.quantile_us(0.99) << "}\n";
    std::rename(fresh.c_str(), options_.statistics.c_str());
  }

  Options options_;
  std::vector<int> ports_;
  std::vector<Medium> media_;
  std::priority_queue<Frame, std::vector<Frame>, std::greater<>> waiting_;
  Nanoseconds last_due_ = 0;  // of all frames so far
  std::map<Address, std::size_t> where_;
  Policer policer_;
  std::array<unsigned char, longest_frame> buffer_;
  std::size_t next_ = 0;
  std::uint64_t number_ = 0;
  Lateness lateness_;
  std::uint64_t told_ = 0;
  std::mt19937_64 generator_{1};
  std::uniform_real_distribution<double> chance_;
};

}  // namespace

int main(int count, char** words) {
  std::signal(SIGTERM, [](int) { asked_to_end = 1; });
  prctl(PR_SET_TIMERSLACK, 1);
  const sched_param urgent{10};
  sched_setscheduler(0, SCHED_FIFO, &urgent);  // where it is allowed: a wire must not wait for ranks
  try {
    Wire wire(parse(count, words));
    std::cout << "ready" << std::endl;
    wire.run();
  } catch (const std::exception& error) {
    std::cerr << "relay: " << error.what() << '\n';
    return 1;
  }
}
