// MPI messages between device memories: the parameters and objects that message benchmarks use if a rank's data
// are not in host memory.
//
// `device` passes pointers to device memory to the library, which many libraries do not accept; `staged` copies
// through pinned host memory, as programs do in this case. The baseline program does not support devices.
#pragma once

#include "benchmark.hpp"

namespace scope::devices {

inline std::vector<Parameter> with_memory(std::vector<Parameter> parameters) {
  const auto of = [](Text name, Text meaning, Text words) {
    return layout(name, "host,device,staged", meaning).worded(words);
  };
  return together(
      {std::move(parameters),
       {of("sender_memory",
           "location of rank 0's messages: host memory, device memory, or device memory via pinned copies",
           ",from device memory,from staged device memory"),
        of("receiver_memory", "location of rank 1's messages", ",to device memory,to staged device memory")}});
}
inline Parameter memory_parameter() {
  return layout("memory", "host,device,staged",
                "location of every rank's data: host memory, device memory, or device memory via pinned copies")
      .worded(",in device memory,in staged device memory");
}

inline bool in_use(const Parameters& parameters) {
  return parameters.choice("sender_memory") != "host" || parameters.choice("receiver_memory") != "host";
}

// Bytes that a rank sends and receives; `in_place`: whether from and into the same memory.
struct Extent {
  std::int64_t sent;
  std::int64_t received;
  bool in_place = false;
};

// The memory of one rank, with the same contents in each slot.
class RankMemory : NotCopied {
 public:
  virtual ~RankMemory() = default;
  // The memory from which MPI sends and into which it receives; do the work before a send and after an arrival.
  virtual void* outgoing(int slot) = 0;
  virtual void* incoming(int slot) = 0;
  virtual void arrived(int slot) = 0;
  // Fill from copies on the host, and copy the data that arrived last to the host. Never timed.
  virtual void fill(std::span<const std::byte> sent, std::span<const std::byte> received) = 0;
  virtual void collect(std::span<std::byte> received) = 0;
  virtual std::vector<ControlVariable> settings() const = 0;
};

using Make = std::unique_ptr<Benchmark>(const Parameters&, const Communicator&);
[[gnu::weak]] Make ping_pong, stream, exchange, one_sided;

// Makes memory as the parameter `memory` requests, on every rank. May throw Unavailable. Collective.
using MakeMemory = std::unique_ptr<RankMemory>(const Parameters&, const Communicator&, const Extent&);
[[gnu::weak]] MakeMemory rank_memory;

template <class Made, class... Parameters, class... Arguments>
Made made(Made (*make)(Parameters...), const Arguments&... arguments) {
  if (make == nullptr) throw Unavailable("this program was compiled without device support; run `scope build`");
  return make(arguments...);
}

}  // namespace scope::devices
