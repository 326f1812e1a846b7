// The four send modes of MPI (thesis, Fig. 6.2), and the buffer space of buffered sends.
#pragma once

#include <limits>

#include "benchmark.hpp"

namespace scope {

// Messages of more than 2^31-1 elements need the MPI 4 calls with MPI_Count. Smaller messages use the ordinary
// calls, as programs do.

// Point-to-point calls by the type of their counts.
template <class Count>
struct PointToPoint;

// Gives each call the same name for all types of counts.
#define SCOPE_POINT_TO_POINT(COUNT, SUFFIX)                                     \
  template <>                                                                   \
  struct PointToPoint<COUNT> {                                                  \
    static constexpr auto send = MPI_Send##SUFFIX;                              \
    static constexpr auto buffered_send = MPI_Bsend##SUFFIX;                    \
    static constexpr auto synchronous_send = MPI_Ssend##SUFFIX;                 \
    static constexpr auto ready_send = MPI_Rsend##SUFFIX;                       \
    static constexpr auto start_send = MPI_Isend##SUFFIX;                       \
    static constexpr auto start_buffered_send = MPI_Ibsend##SUFFIX;             \
    static constexpr auto start_synchronous_send = MPI_Issend##SUFFIX;          \
    static constexpr auto start_ready_send = MPI_Irsend##SUFFIX;                \
    static constexpr auto initialize_send = MPI_Send_init##SUFFIX;              \
    static constexpr auto initialize_buffered_send = MPI_Bsend_init##SUFFIX;    \
    static constexpr auto initialize_synchronous_send = MPI_Ssend_init##SUFFIX; \
    static constexpr auto initialize_ready_send = MPI_Rsend_init##SUFFIX;       \
    static constexpr auto receive = MPI_Recv##SUFFIX;                           \
    static constexpr auto start_receive = MPI_Irecv##SUFFIX;                    \
  };

SCOPE_POINT_TO_POINT(int, )
#if defined(SCOPE_HAS_LARGE_COUNTS)
SCOPE_POINT_TO_POINT(MPI_Count, _c)
#endif
#undef SCOPE_POINT_TO_POINT

// A parameter that selects the large-count calls even for small messages.
inline Parameter counts_parameter() {
  return call("counts", "int,large", "type of the counts: int, or MPI_Count with the MPI 4 calls (MPI_Send_c)")
      .worded(",large counts");
}

// Calls `make` with a count of the type that this many elements need, or of the large type if `asked` for it.
// Throws Unavailable if large-count calls are needed and the library has none.
template <class Make>
auto with_count(std::int64_t elements, Make make, bool asked = false) {
  if (elements <= std::numeric_limits<int>::max() && !asked) return make(int{0});
#if defined(SCOPE_HAS_LARGE_COUNTS)
  if (library_has("MPI_Send_c")) return make(MPI_Count{0});
#endif
  const std::string what = asked ? "counts=large needs" : sentence({elements, " elements in one message need"});
  int version = 0;
  int subversion = 0;
  MPI_Get_version(&version, &subversion);
  throw Unavailable(
      sentence({what, " the large-count calls of MPI 4; this library implements MPI ", version, ".", subversion}));
}

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

// Buffer space for this many buffered sends, attached for its lifetime; none for other modes. At least one byte,
// since some libraries need a buffer, though no space in it, for empty messages.
class AttachedBuffer : NotCopied {
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

 private:
  static std::int64_t checked(std::int64_t bytes) {
    if (bytes <= std::numeric_limits<int>::max()) return bytes;
    throw Unavailable(sentence({"mode=buffered: the messages in flight need ", bytes,
                                " bytes of attached buffer; MPI_Buffer_attach takes at most 2^31-1"}));
  }

  Buffer memory_;
};

}  // namespace scope
