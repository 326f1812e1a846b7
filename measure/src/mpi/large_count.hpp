// Messages of more than 2^31-1 elements need the calls of MPI 4 with MPI_Count. Smaller messages use the
// ordinary calls, as programs do.
#pragma once

#include <mpi.h>

#include <cstdint>
#include <limits>
#include <string>

#include "declaration.hpp"
#include "mpi/optional.hpp"
#include "text/words.hpp"
#include "unavailable.hpp"

namespace scope {

// Point-to-point calls by the type of their counts.
template <class Count>
struct PointToPoint;

template <>
struct PointToPoint<int> {
  static constexpr auto send = MPI_Send;
  static constexpr auto buffered_send = MPI_Bsend;
  static constexpr auto synchronous_send = MPI_Ssend;
  static constexpr auto ready_send = MPI_Rsend;
  static constexpr auto start_send = MPI_Isend;
  static constexpr auto start_buffered_send = MPI_Ibsend;
  static constexpr auto start_synchronous_send = MPI_Issend;
  static constexpr auto start_ready_send = MPI_Irsend;
  static constexpr auto initialize_send = MPI_Send_init;
  static constexpr auto initialize_buffered_send = MPI_Bsend_init;
  static constexpr auto initialize_synchronous_send = MPI_Ssend_init;
  static constexpr auto initialize_ready_send = MPI_Rsend_init;
  static constexpr auto receive = MPI_Recv;
  static constexpr auto start_receive = MPI_Irecv;
  static constexpr auto initialize_receive = MPI_Recv_init;
};

#if defined(SCOPE_HAS_LARGE_COUNTS)
template <>
struct PointToPoint<MPI_Count> {
  static constexpr auto send = MPI_Send_c;
  static constexpr auto buffered_send = MPI_Bsend_c;
  static constexpr auto synchronous_send = MPI_Ssend_c;
  static constexpr auto ready_send = MPI_Rsend_c;
  static constexpr auto start_send = MPI_Isend_c;
  static constexpr auto start_buffered_send = MPI_Ibsend_c;
  static constexpr auto start_synchronous_send = MPI_Issend_c;
  static constexpr auto start_ready_send = MPI_Irsend_c;
  static constexpr auto initialize_send = MPI_Send_init_c;
  static constexpr auto initialize_buffered_send = MPI_Bsend_init_c;
  static constexpr auto initialize_synchronous_send = MPI_Ssend_init_c;
  static constexpr auto initialize_ready_send = MPI_Rsend_init_c;
  static constexpr auto receive = MPI_Recv_c;
  static constexpr auto start_receive = MPI_Irecv_c;
  static constexpr auto initialize_receive = MPI_Recv_init_c;
};
#endif

// A parameter that has small messages sent with the calls of large counts, too.
inline Parameter counts_parameter() {
  return call("counts", "int,large", "counts of type int, or of type MPI_Count by the calls of MPI 4 (MPI_Send_c)")
      .worded(",large counts");
}

// Calls `make` with a count of the type that this many elements need, or of the large one where it is `asked` for;
// throws Unavailable where the library has no large-count calls.
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

}  // namespace scope
