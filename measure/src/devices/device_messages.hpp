// Messages of MPI between memories of devices: what benchmarks of messages declare and make where the memory of a rank is not
// the host's.
//
// `device` hands the library pointers to memory of a device, which many libraries do not take; `staged` copies through pinned
// memory of the host, as a program does then. In the program of the baseline there are no devices.
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
           "memory of rank 0's messages: the host's; a device's; a device's, copied through pinned memory",
           ",from device memory,from staged device memory"),
        of("receiver_memory", "the same, of rank 1's", ",to device memory,to staged device memory")}});
}

inline bool in_use(const Parameters& parameters) {
  return parameters.choice("sender_memory") != "host" || parameters.choice("receiver_memory") != "host";
}

using Make = std::unique_ptr<Benchmark>(const Parameters&, const Communicator&);
[[gnu::weak]] Make ping_pong, stream, exchange;

inline std::unique_ptr<Benchmark> made(Make* make, const Parameters& parameters,
                                       const Communicator& communicator) {
  if (make == nullptr) throw Unavailable("the baseline's program has no devices; run scope build");
  return make(parameters, communicator);
}

}  // namespace scope::devices
