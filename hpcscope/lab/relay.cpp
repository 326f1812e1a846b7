// relay: a network of switches in user space. Frames pass one after another at the rate of each wire. Links can have
// latency, share a medium, lose, repeat, delay or damage frames, drop long packets, stop, and police connections.
//
// Ports are TAP devices, each in the network namespace of a process. A frame crosses one way after another: from a port
// to its switch, between switches, and from the last switch to a port, which is learned as a switch learns it. On each
// way it waits until the medium is free, occupies it for length / rate, and arrives `latency` after its last bit. A
// frame begins the next way only when it has come whole (store and forward). The kernel hands over several frames of a
// TCP connection as one. They cross a way one after another and are delivered with the last, or are cut where each is
// treated on its own. Ways that name the same medium share it, round robin: a bus, a half-duplex line. A way without a
// rate takes no time. A frame before which more than `queue-bytes` wait is dropped.
//
//   relay WAYS STATISTICS TRAFFIC
//
// Each line of the file WAYS is `FROM TO KEY=VALUE...`, with the keys of `parse`. An end with a colon is the port
// `PID:INTERFACE`, another one is a switch. Between two switches is one path. Says "ready" when all ports exist, and
// again when SIGHUP has made it read WAYS again; ports and switches stay. Writes how late deliveries were to STATISTICS
// four times a second. TRAFFIC has the bytes of each way with `counted` and of its opposite in the format of
// /proc/net/dev; frames that were delivered are counted. Ends on SIGTERM.
#include <fcntl.h>
#include <linux/if_tun.h>
#include <net/if.h>
#include <poll.h>
#include <sched.h>
#include <sys/ioctl.h>
#include <sys/prctl.h>
#include <sys/uio.h>
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
#include <iomanip>
#include <iostream>
#include <limits>
#include <map>
#include <random>
#include <sstream>
#include <stdexcept>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

namespace {

using Nanoseconds = std::int64_t;

constexpr Nanoseconds second = 1'000'000'000;
constexpr Nanoseconds between_tellings = second / 4;
// Frames are taken so long before a shared medium is free that a late wake-up leaves no gap.
constexpr Nanoseconds ahead = 1'000'000;
// A sleep ends some 50 us late; what is left before a delivery is spent awake.
constexpr Nanoseconds awake = 70'000;
// Awake before every frame, the relays of a few streams would take all processors, and the ranks would have none.
// During a stream frames are therefore delivered so late at most, several per wake-up, except the last one.
constexpr Nanoseconds gathered = 250'000;
// A stream has occupied its medium for twice so long without a rest. Shorter messages are delivered on time.
constexpr Nanoseconds streaming = 3'000'000;
constexpr std::size_t longest_frame = 1 << 17;
constexpr std::size_t header_bytes = 14;
// A frame out of order comes after the next ones: it is late by so many times its own length.
constexpr double overtaken_by = 3.5;
// A wire with pauses stops so often.
constexpr Nanoseconds between_pauses = second / 10;
// A policer lets so much pass at once: the bucket of a switch, some ten packets.
constexpr double policed_burst_bits = 8.0 * 16'000;
// So many frames are read from a port before others have their turn.
constexpr int most_at_once = 64;
// So many connections a policer tells apart.
constexpr std::size_t most_connections = 4096;

constexpr Nanoseconds never = std::numeric_limits<Nanoseconds>::max();

volatile std::sig_atomic_t asked_to_end = 0;
volatile std::sig_atomic_t asked_to_read = 0;

Nanoseconds now() {
  timespec time;
  clock_gettime(CLOCK_MONOTONIC, &time);
  return time.tv_sec * second + time.tv_nsec;
}

[[noreturn]] void fail(const std::string& what) { throw std::runtime_error(what + ": " + std::strerror(errno)); }

// One direction of a link.
struct Options {
  double rate_mbit = 0;  // 0: a frame takes no time
  double latency_us = 0;
  double loss = 0;
  double duplication = 0;
  double reordering = 0;
  double corruption = 0;
  double largest_packet_bytes = 0;  // 0: all pass
  double paused_ms = 0;             // at the beginning of every `between_pauses`
  double policed_mbit_per_s = 0;    // of every second connection; 0: of none
  double queue_bytes = 0;           // 0: no limit
  std::string medium;               // of its own where it has no name
  std::string counted;              // under this name; not counted where it has none

  // Whether frames may travel together: on a shared medium others have their turn, and faults are those of a frame.
  bool takes_several() const {
    return medium.empty() && loss + duplication + reordering + corruption == 0 &&
           largest_packet_bytes + paused_ms + policed_mbit_per_s == 0;
  }
  bool is_full(double bytes) const { return queue_bytes > 0 && bytes > queue_bytes; }
  Nanoseconds latency() const { return static_cast<Nanoseconds>(latency_us * 1e3); }
  Nanoseconds duration(std::size_t bytes) const {
    return rate_mbit > 0 ? static_cast<Nanoseconds>(8e3 * static_cast<double>(bytes) / rate_mbit) : 0;
  }
};

Options parse(std::istream& words) {
  static const std::map<std::string, double Options::*> numbers{
      {"rate-mbit", &Options::rate_mbit},
      {"latency-us", &Options::latency_us},
      {"loss", &Options::loss},
      {"duplication", &Options::duplication},
      {"reordering", &Options::reordering},
      {"corruption", &Options::corruption},
      {"largest-packet-bytes", &Options::largest_packet_bytes},
      {"paused-ms", &Options::paused_ms},
      {"policed-mbit-per-s", &Options::policed_mbit_per_s},
      {"queue-bytes", &Options::queue_bytes}};
  Options options;
  for (std::string word; words >> word;) {
    const auto equals = std::min(word.size(), word.find('='));
    const std::string key = word.substr(0, equals), value = word.substr(std::min(word.size(), equals + 1));
    if (key == "medium" || key == "counted")
      (key == "medium" ? options.medium : options.counted) = value;
    else
      options.*numbers.at(key) = std::stod(value);
  }
  return options;
}

// A way as it is read.
struct Line {
  std::string from, to;
  Options options;
};

std::vector<Line> read_ways(const std::string& path) {
  std::ifstream file(path);
  std::vector<Line> ways;
  for (std::string line; std::getline(file, line);) {
    std::istringstream words(line);
    Line way;
    if (!(words >> way.from >> way.to)) throw std::runtime_error(line + ": must be FROM TO KEY=VALUE...");
    way.options = parse(words);
    ways.push_back(way);
  }
  if (ways.empty()) throw std::runtime_error(path + ": must have a way");
  return ways;
}

bool is_port(const std::string& end) { return end.find(':') != std::string::npos; }

// Makes a TAP device in the network namespace of a process.
int open_port(const std::string& port) {
  const auto colon = port.find(':');
  const std::string where = "/proc/" + port.substr(0, colon) + "/ns/net";
  const int space = open(where.c_str(), O_RDONLY);
  if (space < 0 || setns(space, CLONE_NEWNET) != 0) fail(where);
  close(space);
  const int descriptor = open("/dev/net/tun", O_RDWR | O_NONBLOCK);
  if (descriptor < 0) fail("/dev/net/tun");
  ifreq request{};
  port.copy(request.ifr_name, IFNAMSIZ - 1, colon + 1);
  request.ifr_flags = IFF_TAP | IFF_NO_PI | IFF_VNET_HDR;
  if (ioctl(descriptor, TUNSETIFF, &request) != 0) fail(port);
  if (ioctl(descriptor, TUNSETOFFLOAD, TUN_F_CSUM | TUN_F_TSO4) != 0) fail(port);
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

// The kernel's header before a frame, virtio_net_hdr, whose declaration C++ does not take: what is left to be done.
struct Offload {
  std::uint8_t flags = 0;
  std::uint8_t gso_type = 0;  // 0: a single frame
  std::uint16_t hdr_len = 0;
  std::uint16_t gso_size = 0;    // payload of each frame
  std::uint16_t csum_start = 0;  // where the header of TCP begins
  std::uint16_t csum_offset = 0;
};

// One frame, or several of a connection that travel together.
struct Frame {
  Nanoseconds due;  // when it, the first of several, has come to the end of its way and may begin the next one
  std::uint64_t number;  // of frames due together the first to enter leaves first
  std::vector<unsigned char> bytes;
  Offload offload{};
  Nanoseconds whole = due;  // when the last has come
  bool streamed = false;    // part of a stream

  std::size_t headers() const {
    const std::size_t tcp = offload.csum_start;
    return tcp + 4 * (bytes[tcp + 12] >> 4);
  }
  bool is_single() const { return offload.gso_type == 0; }
  std::size_t count() const {
    return is_single() ? 1 : (bytes.size() - headers() + offload.gso_size - 1) / offload.gso_size;
  }
  // The bytes of the first, of the last, and of all of them on the wire, each with its headers.
  struct Sizes {
    std::size_t first, last, all;
  };
  Sizes sizes() const {
    if (is_single()) return {bytes.size(), bytes.size(), bytes.size()};
    const std::size_t further = count() - 1, full = headers() + offload.gso_size;
    return {std::min(full, bytes.size()), bytes.size() - further * offload.gso_size,
            bytes.size() + further * headers()};
  }
  Frame piece(std::size_t which, std::uint64_t numbered) const;
  void finish_checksum();
  bool operator>(const Frame& other) const { return due != other.due ? due > other.due : number > other.number; }
};

// The sum of 16-bit words, as IP and TCP sum up.
std::uint16_t word_sum(const unsigned char* bytes, std::size_t length, std::uint32_t sum = 0) {
  for (std::size_t at = 0; at < length; ++at) sum += std::uint32_t(bytes[at]) << (at % 2 == 0 ? 8 : 0);
  while (sum > 0xffff) sum = (sum & 0xffff) + (sum >> 16);
  return static_cast<std::uint16_t>(sum);
}

void put(unsigned char* at, std::size_t value, int bytes) {
  while (bytes-- > 0) *at++ = static_cast<unsigned char>(value >> (8 * bytes));
}

// One of several frames of TCP over IPv4, as a card would cut it. Its checksum is left to the kernel, as theirs was.
Frame Frame::piece(std::size_t which, std::uint64_t numbered) const {
  const std::size_t tcp = offload.csum_start, begin = headers() + which * offload.gso_size;
  const std::size_t end = std::min(bytes.size(), begin + offload.gso_size);
  Frame made{due, numbered, {bytes.begin(), bytes.begin() + headers()}, offload};
  made.bytes.insert(made.bytes.end(), bytes.begin() + begin, bytes.begin() + end);
  made.offload.gso_type = 0;
  unsigned char* const packet = made.bytes.data() + header_bytes;
  unsigned char* const segment = made.bytes.data() + tcp;
  const std::size_t length = made.bytes.size() - tcp;
  put(packet + 2, made.bytes.size() - header_bytes, 2);
  put(packet + 4, word_sum(packet + 4, 2) + which, 2);
  put(packet + 10, 0, 2);
  put(packet + 10, 0xffff - word_sum(packet, tcp - header_bytes), 2);
  put(segment + 4,
      (std::size_t(word_sum(segment + 4, 2)) << 16 | word_sum(segment + 6, 2)) + which * offload.gso_size, 4);
  if (which > 0) segment[13] &= 0x7f;            // the congestion window was reduced once
  if (which + 1 < count()) segment[13] &= 0xf6;  // the end, and what is to be pushed, come last
  put(segment + offload.csum_offset, word_sum(packet + 12, 8, static_cast<std::uint32_t>(6 + length)), 2);
  // Frames on a wire take time by their bytes.
  const Sizes all = sizes();
  const double since_first = static_cast<double>(which * (headers() + offload.gso_size));
  if (which + 1 == count())
    made.due = whole;
  else if (all.all > all.first)
    made.due +=
        static_cast<Nanoseconds>(since_first / static_cast<double>(all.all - all.first) * double(whole - due));
  made.whole = made.due;
  return made;
}

// Where the kernel left the checksum to the card, the receiver would not look at it.
void Frame::finish_checksum() {
  if (!(std::exchange(offload.flags, 0) & 1)) return;
  unsigned char* const segment = bytes.data() + offload.csum_start;
  const int sum = 0xffff - word_sum(segment, bytes.size() - offload.csum_start);
  put(segment + offload.csum_offset, sum == 0 ? 0xffff : std::size_t(sum), 2);
}

// Frames by their time. `pop` moves the first one out; std::priority_queue would copy it.
class Frames {
 public:
  bool empty() const { return heap_.empty(); }
  const Frame& top() const { return heap_.front(); }
  void push(Frame frame) {
    heap_.push_back(std::move(frame));
    std::push_heap(heap_.begin(), heap_.end(), std::greater<>());
  }
  Frame pop() {
    std::pop_heap(heap_.begin(), heap_.end(), std::greater<>());
    Frame first = std::move(heap_.back());
    heap_.pop_back();
    return first;
  }

 private:
  std::vector<Frame> heap_;
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

struct Medium {
  std::vector<std::size_t> ways;  // that share it
  std::size_t next = 0;           // of these, the first to be asked
  Nanoseconds free = 0;
  // How long it was occupied, less half of the time that has passed: high only after a stream.
  Nanoseconds load = 0;
  Nanoseconds since = 0;

  Nanoseconds load_at(Nanoseconds time) const { return std::max<Nanoseconds>(0, load - (time - since) / 2); }
  bool in_stream(Nanoseconds time) const { return load_at(time) > streaming; }
  bool shared() const { return ways.size() > 1; }
  // Frames wait for a shared medium until it is nearly free, so that every way has its turn.
  bool is_open(Nanoseconds time) const { return !shared() || free <= time + ahead; }
  void occupy(Nanoseconds until, Nanoseconds length, Nanoseconds time) {
    free = until;
    load = std::min(load_at(time) + length, 2 * streaming);
    since = time;
  }
};

constexpr std::size_t none = std::numeric_limits<std::size_t>::max();

// One direction of a link at work. Ends are numbers of ports or, behind these, of switches.
struct Way {
  std::size_t from = 0;
  std::size_t to = 0;
  std::size_t opposite = none;
  Options options{};
  std::size_t medium = 0;
  Policer policer{0};
  Frames waiting{};  // for the medium; each is due when it came
  double waiting_bytes = 0;
  Frames carried{};  // delivered when they are due; of ways to ports only
  Nanoseconds last_due = 0;
  std::uint64_t bytes = 0;  // that have crossed
};

// When which frame leaves which port. It knows no clock and no device: it is told what comes when.
class Schedule {
 public:
  explicit Schedule(const std::vector<Line>& lines) {
    std::map<std::string, std::size_t> number_of;
    for (const bool port : {true, false})
      for (const Line& line : lines)
        for (const std::string& end : {line.from, line.to})
          if (is_port(end) == port && number_of.emplace(end, number_of.size()).second && port)
            ports_.push_back(end);
    leaving_.resize(number_of.size());
    into_.resize(ports_.size(), none);
    onward_.resize(number_of.size(), std::vector<std::size_t>(ports_.size(), none));
    for (const Line& line : lines) {
      const std::size_t number = ways_.size(), from = number_of.at(line.from), to = number_of.at(line.to);
      ways_.push_back({.from = from, .to = to});
      if (is_port_number(from)) into_[from] = number;
      leaving_[from].push_back(number);
      for (std::size_t other = 0; other < number; ++other)
        if (ways_[other].from == to && ways_[other].to == from)
          ways_[number].opposite = other, ways_[other].opposite = number;
    }
    for (std::size_t port = 0; port < ports_.size(); ++port) find_paths(port, port);
  }

  // Names of the ports, by number.
  const std::vector<std::string>& ports() const { return ports_; }

  // Frames that wait or are carried stay where they are.
  void set(const std::vector<Line>& lines) {
    std::map<std::string, std::size_t> named;
    media_.clear();
    for (std::size_t number = 0; number < ways_.size(); ++number) {
      Way& way = ways_[number];
      way.options = lines[number].options;
      way.policer = Policer(way.options.policed_mbit_per_s * 1e6);
      const std::string& name = way.options.medium;
      way.medium = name.empty() ? media_.size() : named.emplace(name, media_.size()).first->second;
      if (way.medium == media_.size()) media_.emplace_back();
      media_[way.medium].ways.push_back(number);
    }
  }

  void receive(std::size_t port, std::vector<unsigned char> bytes, Nanoseconds time, const Offload& offload = {}) {
    where_[address(bytes, 6)] = port;
    if (into_[port] != none) offer(ways_[into_[port]], {time, number_++, std::move(bytes), offload});
  }

  // Frames that wait for a medium begin to cross it, one after another.
  void advance(Nanoseconds time) {
    // What has crossed one way may begin the next.
    for (bool crossed = true; std::exchange(crossed, false);)
      for (Medium& medium : media_) crossed |= advance(medium, time);
  }

  // Hands over every frame that is due, by a clock that goes on meanwhile.
  template <typename Clock, typename Deliver>
  void deliver(const Clock& clock, const Deliver& deliver) {
    for (Way& way : ways_)
      while (!way.carried.empty() && way.carried.top().due <= clock()) deliver(way.to, way.carried.pop());
  }

  // When something must be done again.
  Nanoseconds next(Nanoseconds time) const {
    Nanoseconds first = never;
    for (const Way& way : ways_) first = std::min(first, next_of(way, time));
    return first;
  }

  // The bytes that have crossed any way.
  std::uint64_t crossed_bytes() const { return crossed_bytes_; }

  // The bytes of every counted way and of its opposite, one line for each, in the format of /proc/net/dev.
  std::string traffic() const {
    std::ostringstream text;
    for (const Way& way : ways_) {
      if (way.options.counted.empty()) continue;
      const auto back = way.opposite == none ? 0 : ways_[way.opposite].bytes;
      text << way.options.counted << ": " << std::setw(20) << back << " 0 0 0 0 0 0 0 " << std::setw(20)
           << way.bytes << '\n';
    }
    return text.str();
  }

 private:
  bool is_port_number(std::size_t end) const { return end < ports_.size(); }

  // Lets every end that leads to this one know the first way from there to the port.
  void find_paths(std::size_t port, std::size_t end) {
    for (std::size_t number = 0; number < ways_.size(); ++number) {
      const Way& way = ways_[number];
      if (way.to != end || is_port_number(way.from) || onward_[way.from][port] != none) continue;
      onward_[way.from][port] = number;
      find_paths(port, way.from);
    }
  }

  static Address address(const std::vector<unsigned char>& bytes, std::size_t at) {
    Address found{};
    if (bytes.size() >= at + found.size()) std::copy_n(bytes.begin() + at, found.size(), found.begin());
    return found;
  }

  // Lets the frames that wait for a medium begin to cross it; says whether any did.
  bool advance(Medium& medium, Nanoseconds time) {
    bool crossed = false;
    std::size_t asked = 0;
    while (asked < medium.ways.size() && medium.is_open(time)) {
      Way& way = ways_[medium.ways[medium.next]];
      medium.next = (medium.next + 1) % medium.ways.size();
      if (way.waiting.empty() || way.waiting.top().due > time) {
        ++asked;
        continue;
      }
      asked = 0;
      crossed = true;
      Frame frame = way.waiting.pop();
      way.waiting_bytes -= static_cast<double>(frame.bytes.size());
      cross(way, medium, std::move(frame), time);
    }
    return crossed;
  }

  // Drops what is not to pass without a word to anyone, as a device does whose own link takes no such packets.
  void offer(Way& way, Frame frame) {
    if (!frame.is_single() && !way.options.takes_several()) {
      for (std::size_t which = 0; which < frame.count(); ++which) offer(way, frame.piece(which, number_++));
      return;
    }
    const auto length = static_cast<double>(frame.bytes.size());
    const Options& options = way.options;
    if (options.largest_packet_bytes > 0 && length - header_bytes > options.largest_packet_bytes) return;
    if (way.policer.drops(frame.bytes.data(), frame.bytes.size(), frame.due)) return;
    if (media_[way.medium].shared() && options.is_full(way.waiting_bytes)) return;
    way.last_due = std::max(way.last_due, frame.whole + options.duration(frame.sizes().last) + options.latency());
    way.waiting_bytes += length;
    way.waiting.push(std::move(frame));
  }

  void cross(Way& way, Medium& medium, Frame frame, Nanoseconds time) {
    const Options& options = way.options;
    const auto sizes = frame.sizes();
    const Nanoseconds begin = after_pause(options, std::max(medium.free, frame.due));
    // A medium of its own is occupied in advance, so that the time tells how many bytes were before the frame.
    const double before_bytes = static_cast<double>(medium.free - frame.due) * options.rate_mbit / 8e3;
    if (!medium.shared() && options.is_full(before_bytes)) return;
    const Nanoseconds occupies = options.duration(sizes.all);
    medium.occupy(end_of(options, begin, frame), occupies, time);
    way.bytes += sizes.all;
    crossed_bytes_ += sizes.all;
    // The acknowledgements of a stream are part of it.
    frame.streamed |=
        medium.in_stream(time) || (way.opposite != none && media_[ways_[way.opposite].medium].in_stream(time));
    if (happens(options.loss)) return;
    frame.whole = medium.free + options.latency();
    frame.due = is_port_number(way.to) ? frame.whole : begin + options.duration(sizes.first) + options.latency();
    if (happens(options.reordering)) frame.whole = frame.due += static_cast<Nanoseconds>(overtaken_by * occupies);
    way.last_due = std::max(way.last_due, frame.due);
    if (happens(options.duplication)) pass(way, frame);
    if (happens(options.corruption)) damage(frame);
    pass(way, std::move(frame));
  }

  // When a frame that begins then has crossed a medium. The last of several does not begin before it has come.
  static Nanoseconds end_of(const Options& options, Nanoseconds begin, const Frame& frame) {
    const auto sizes = frame.sizes();
    return std::max(begin + options.duration(sizes.all), frame.whole + options.duration(sizes.last));
  }

  // At the end of its way a frame begins the next one, or waits until it is delivered. For an unknown address it takes
  // all ways but back.
  void pass(Way& way, Frame frame) {
    if (is_port_number(way.to)) {
      way.carried.push(std::move(frame));
      return;
    }
    const auto known = where_.find(address(frame.bytes, 0));
    const std::size_t onward = known == where_.end() ? none : onward_[way.to][known->second];
    for (const std::size_t number : leaving_[way.to])
      if (number != way.opposite && (known == where_.end() || number == onward)) offer(ways_[number], frame);
  }

  // When a frame that could begin now does.
  static Nanoseconds after_pause(const Options& options, Nanoseconds begin) {
    const Nanoseconds into = begin % between_pauses;
    const auto paused = static_cast<Nanoseconds>(options.paused_ms * 1e6);
    return into < paused ? begin + paused - into : begin;
  }

  bool happens(double share) { return share > 0 && chance_(generator_) < share; }

  // Flips a bit behind the header, which leads the frame to its destination.
  void damage(Frame& frame) {
    if (frame.bytes.size() <= header_bytes) return;
    frame.finish_checksum();
    const std::size_t bits = 8 * (frame.bytes.size() - header_bytes);
    const auto bit = static_cast<std::size_t>(chance_(generator_) * static_cast<double>(bits));
    frame.bytes[header_bytes + bit / 8] ^= static_cast<unsigned char>(1 << bit % 8);
  }

  Nanoseconds next_of(const Way& way, Nanoseconds time) const {
    const Medium& medium = media_[way.medium];
    Nanoseconds due = never;
    bool streamed = false;
    if (!way.carried.empty()) {
      due = way.carried.top().due;
      streamed = way.carried.top().streamed;
    }
    if (!way.waiting.empty()) {
      // Half of the frames that fit into this time are taken at once.
      if (!medium.is_open(time)) return std::min(due, medium.free - ahead / 2);
      const Frame& first = way.waiting.top();
      const Nanoseconds crossed =
          end_of(way.options, std::max(medium.free, first.due), first) + way.options.latency();
      if (crossed < due) {
        due = crossed;
        streamed = first.streamed || medium.in_stream(time);
      }
    }
    if (due == never) return never;
    if (!streamed) return due - awake;
    return std::min(due + gathered, std::max(due, way.last_due));
  }

  std::vector<std::string> ports_;
  std::vector<Way> ways_;
  std::vector<std::size_t> into_;                  // of each port the way that begins there
  std::vector<std::vector<std::size_t>> leaving_;  // of each end the ways that begin there
  std::vector<std::vector<std::size_t>> onward_;   // of each end the first way to each port
  std::vector<Medium> media_;
  std::map<Address, std::size_t> where_;
  std::uint64_t number_ = 0;
  std::uint64_t crossed_bytes_ = 0;
  std::mt19937_64 generator_{1};
  std::uniform_real_distribution<double> chance_;
};

// The devices between which a schedule carries frames.
class Wire {
 public:
  Wire(std::string ways, std::string statistics, const std::string& traffic)
      : file_(std::move(ways)),
        statistics_(std::move(statistics)),
        traffic_(open(traffic.c_str(), O_WRONLY | O_CREAT | O_TRUNC | O_CLOEXEC, 0644)),
        lines_(read_ways(file_)),
        schedule_(lines_) {
    if (traffic_ < 0) fail(traffic);
    for (const auto& port : schedule_.ports()) polled_.push_back({open_port(port), POLLIN, 0});
    tell_schedule();
  }

  void run(const sigset_t& open_to_signals) {
    Nanoseconds told = now();
    while (!asked_to_end) {
      if (std::exchange(asked_to_read, 0)) {
        const auto before = std::exchange(lines_, read_ways(file_));
        const auto same = [](const Line& one, const Line& other) {
          return one.from == other.from && one.to == other.to;
        };
        if (!std::equal(before.begin(), before.end(), lines_.begin(), lines_.end(), same))
          throw std::runtime_error(file_ + ": must have the same ways");
        tell_schedule();
      }
      schedule_.advance(now());
      tell_traffic();
      schedule_.deliver(now, [this](std::size_t port, Frame frame) { send(port, std::move(frame)); });
      if (now() - told > between_tellings && lateness_.total() != told_) {
        tell();
        told = now();
      }
      rest(open_to_signals);
    }
    tell();
  }

 private:
  void tell_schedule() {
    schedule_.set(lines_);
    tell();
    std::cout << "ready" << std::endl;
  }

  // Before any delivery, so that whoever received a message finds it counted.
  void tell_traffic() {
    if (std::exchange(told_bytes_, schedule_.crossed_bytes()) == schedule_.crossed_bytes()) return;
    const std::string text = schedule_.traffic();
    if (pwrite(traffic_, text.data(), text.size(), 0) < 0) fail("the file of the traffic");
  }

  void send(std::size_t port, Frame frame) {
    lateness_.add(now() - frame.due);
    const std::array<iovec, 2> parts{
        {{&frame.offload, sizeof(Offload)}, {frame.bytes.data(), frame.bytes.size()}}};
    while (writev(polled_[port].fd, parts.data(), parts.size()) < 0 && errno == EAGAIN) {
    }
  }

  // Sleeps until a frame comes in or the next one is nearly due; reads what came.
  void rest(const sigset_t& open_to_signals) {
    const Nanoseconds time = now();
    const Nanoseconds longest = time + (lateness_.total() == told_ ? second : between_tellings);
    const Nanoseconds left = std::max<Nanoseconds>(0, std::min(longest, schedule_.next(time)) - time);
    const timespec pause{left / second, left % second};
    if (ppoll(polled_.data(), polled_.size(), &pause, &open_to_signals) <= 0) return;
    for (std::size_t port = 0; port < polled_.size(); ++port) {
      if (!(polled_[port].revents & POLLIN)) continue;
      for (int taken = 0; taken < most_at_once; ++taken) {
        Offload offload{};
        const std::array<iovec, 2> parts{{{&offload, sizeof offload}, {buffer_.data(), buffer_.size()}}};
        const auto length = readv(polled_[port].fd, parts.data(), parts.size()) - ssize_t(sizeof offload);
        if (length <= 0) break;
        schedule_.receive(port, {buffer_.begin(), buffer_.begin() + length}, now(), offload);
      }
    }
  }

  void tell() {
    told_ = lateness_.total();
    const std::string fresh = statistics_ + ".new";
    std::ofstream(fresh) << "{\"frames\": " << told_ << ", \"late_median_us\": " << lateness_.quantile_us(0.5)
                         << ", \"late_p99_us\": " << lateness_.quantile_us(0.99) << "}\n";
    std::rename(fresh.c_str(), statistics_.c_str());
  }

  std::string file_;
  std::string statistics_;
  int traffic_;
  std::uint64_t told_bytes_ = 0;
  std::vector<Line> lines_;
  Schedule schedule_;
  std::vector<pollfd> polled_;
  std::array<unsigned char, longest_frame> buffer_;
  Lateness lateness_;
  std::uint64_t told_ = 0;
};

}  // namespace

int main(int count, char** words) {
  std::signal(SIGTERM, [](int) { asked_to_end = 1; });
  std::signal(SIGHUP, [](int) { asked_to_read = 1; });
  // Signals come while it rests only, so that none is missed.
  sigset_t masked, before;
  sigemptyset(&masked);
  for (const int number : {SIGTERM, SIGHUP}) sigaddset(&masked, number);
  sigprocmask(SIG_BLOCK, &masked, &before);
  prctl(PR_SET_TIMERSLACK, 1);
  const sched_param urgent{10};
  sched_setscheduler(0, SCHED_FIFO, &urgent);  // where it is allowed: a wire must not wait for ranks
  try {
    if (count != 4) throw std::runtime_error("needs the files WAYS, STATISTICS and TRAFFIC");
    Wire(words[1], words[2], words[3]).run(before);
  } catch (const std::exception& error) {
    std::cerr << "relay: " << error.what() << '\n';
    return 1;
  }
}
