// The four send modes of MPI (thesis, Fig. 6.2), and the buffer space of buffered sends.
#pragma once

#include <limits>

#include "benchmark.hpp"
#include "mpi/large_count.hpp"

namespace scope {

template <class Count>
struct SendMode {
  int (*send)(const void*, Count, MPI_Datatype, int, int, MPI_Comm);
  int (*start)(const void*, Count, MPI_Datatype, int, int, MPI_Comm, MPI_Request*);
  int (*initialize)(const void*, Count, MPI_Datatype, int, int, MPI_Comm, MPI_Request*);
};

inline Parameter send_mode_parameter() {
  return call("mode", "standard,buffered,synchronous,ready", "send mode").worded(",buffered,synchronous,ready");
}

template <class Count>
SendMode<Count> send_mode(const std::string& name) {
  using Calls = PointToPoint<Count>;
  if (name == "buffered")
    return {Calls::buffered_send, Calls::start_buffered_send, Calls::initialize_buffered_send};
  if (name == "synchronous")
    return {Calls::synchronous_send, Calls::start_synchronous_send, Calls::initialize_synchronous_send};
  if (name == "ready") return {Calls::ready_send, Calls::start_ready_send, Calls::initialize_ready_send};
  return {Calls::send, Calls::start_send, Calls::initialize_send};
}

// Buffer space for this many buffered sends, attached for its lifetime; none for other modes. At least a byte:
// some libraries need no space for an empty message, but a buffer.
class AttachedBuffer {
 public:
  AttachedBuffer(const std::string& mode, std::int64_t messages, std::int64_t message_bytes)
      : memory_(mode == "buffered" ? checked(messages * (message_bytes + MPI_BSEND_OVERHEAD) + 1) : 0) {
    if (memory_.size() > 0) MPI_Buffer_attach(memory_.data(), static_cast<int>(memory_.size()));
  }
  ~AttachedBuffer() {
    void* address = nullptr;
    int size = 0;
    if (memory_.size() > 0) MPI_Buffer_detach(&address, &size);
  }
  AttachedBuffer(const AttachedBuffer&) = delete;
  AttachedBuffer& operator=(const AttachedBuffer&) = delete;

 private:
  static std::int64_t checked(std::int64_t bytes) {
    if (bytes <= std::numeric_limits<int>::max()) return bytes;
    throw Unavailable(sentence({"mode=buffered: the messages in flight need ", bytes,
                                " bytes of attached buffer; MPI_Buffer_attach takes at most 2^31-1"}));
  }

  Buffer memory_;
};

}  // namespace scope
