// When a relay of labs delivers frames that come at given times: its schedule without devices and with an invented
// clock.
//
//   relay_schedule WAYS < FRAMES
//
// Each line of FRAMES is `NANOSECONDS FROM TO BYTES PAYLOAD`, in order, with numbers of ports; 99 is nobody's. With a
// PAYLOAD above 0 it is several frames of TCP with so much each. Every port has said before who it is. Prints
// `FRAME PORT NANOSECONDS SEQUENCE` for each delivery, with frames numbered from 1 and TCP's sequence number. At the end
// it prints the traffic of counted ways to standard error.
#define main relay_main
#include "../../hpcscope/lab/relay.cpp"  // NOLINT(bugprone-suspicious-include): the program under test is one file
#undef main

namespace {

constexpr std::uint16_t tcp_begin = header_bytes + 20;

std::vector<unsigned char> frame(std::size_t from, std::size_t to, std::size_t bytes, unsigned char number) {
  std::vector<unsigned char> made(bytes);
  made[5] = static_cast<unsigned char>(to);
  made[11] = static_cast<unsigned char>(from);
  made[header_bytes] = number;
  if (bytes > tcp_begin + 12) made[tcp_begin + 12] = 8 << 4;  // 32 bytes of TCP header
  return made;
}

int sequence(const std::vector<unsigned char>& bytes) {
  return bytes.size() < tcp_begin + 8u ? 0 : bytes[tcp_begin + 6] << 8 | bytes[tcp_begin + 7];
}

}  // namespace

int main(int, char** words) {
  const auto ways = read_ways(words[1]);
  Schedule schedule(ways);
  schedule.set(ways);
  Nanoseconds time = 0;
  for (std::size_t port = 0; port < schedule.ports().size(); ++port)
    schedule.receive(port, frame(port, port, 60, 0), time);
  const auto carry_until = [&](Nanoseconds end) {
    while (true) {
      schedule.advance(time);
      schedule.deliver([&] { return time; },
                       [](std::size_t port, const Frame& due) {
                         std::cout << int(due.bytes[header_bytes]) << ' ' << port << ' ' << due.due - second << ' '
                                   << sequence(due.bytes) << '\n';
                       });
      if (time >= end) return;
      // A relay is awake from some time before a frame is due.
      time = std::min(end, std::max(time + 1000, schedule.next(time)));
    }
  };
  std::size_t from = 0, to = 0, bytes = 0;
  unsigned char number = 0;
  std::uint16_t payload = 0;
  for (Nanoseconds comes = 0; std::cin >> comes >> from >> to >> bytes >> payload;) {
    carry_until(second + comes);
    const Offload offload{.gso_type = payload > 0, .gso_size = payload, .csum_start = tcp_begin};
    schedule.receive(from, frame(from, to, bytes, ++number), time, offload);
  }
  carry_until(time + 10 * second);
  std::cerr << schedule.traffic();
}
