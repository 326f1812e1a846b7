// The parameters for the placement of message buffers and for their state at the beginning of a repetition.
#pragma once

#include <unistd.h>

#include "benchmark.hpp"

namespace scope {

struct MessageBuffers {
  SlotLayout layout;
  bool cold = false;
};

// After NetPIPE (offsets from a page), OSU (page alignment) and the Intel MPI Benchmarks (buffers outside the caches).
inline std::vector<Parameter> with_message_buffers(std::vector<Parameter> parameters) {
  return together(
      {std::move(parameters),
       {layout("alignment", "line,page", "each message buffer begins at a cache line, or at a page")
            .worded(",aligned to pages"),
        layout("offset_bytes", "B", 0, 0, 4095, "bytes from the alignment boundary to the start of each buffer")
            .labeled("buffer offset"),
        layout("rotation", "", 1, 1, 1024, "number of message buffers; successive operations use them round-robin")
            .labeled("rotating buffers")
            .worded("{} rotating buffers"),
        layout("cache", "warm,cold",
               "cold: message buffers are flushed from all caches before each repetition (one operation)")
            .worded(",cold caches")}});
}

// The source of the data of streams, and the place where they arrive.
inline Parameter source_parameter() {
  return layout("source", "untouched,rewritten",
                "the send buffer stays unchanged, or the sender rewrites it before every repetition")
      .worded(",from rewritten memory");
}
inline Parameter receive_buffers_parameter() {
  return layout("receive_buffers", "one,many",
                "the messages of a repetition arrive in one buffer, or each in its own buffer")
      .worded(",each into its own buffer");
}

inline MessageBuffers message_buffers(const Parameters& parameters) {
  const bool cold = parameters.choice("cache") == "cold";
  if (cold && !can_flush_caches)
    throw Unavailable("cache=cold: programs cannot flush caches on this architecture");
  return {{parameters.choice("alignment") == "page" ? sysconf(_SC_PAGESIZE) : cache_line,
           parameters.integer("offset_bytes"), parameters.integer("rotation")},
          cold};
}

}  // namespace scope
