// Messages of more than 2^31-1 elements need the calls of MPI 4 with MPI_Count. Smaller messages use the
// ordinary calls, as programs do.
#pragma once

#include <mpi.h>

#include <cstdint>
#include <limits>
#include <string>

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
  static constexpr auto receive = MPI_Recv;
  static constexpr auto start_receive = MPI_Irecv;
};

#if MPI_VERSION >= 4
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
  static constexpr auto receive = MPI_Recv_c;
  static constexpr auto start_receive = MPI_Irecv_c;
};
#endif

// Calls `make` with a count of the type that this many elements need; throws Unavailable where the library
// has no large-count calls.
template <class Make>
auto with_count(std::int64_t elements, Make make) {
  if (elements <= std::numeric_limits<int>::max()) return make(int{0});
#if MPI_VERSION >= 4
  return make(MPI_Count{0});
#else
  throw Unavailable(sentence(
      {elements, " elements in one message need the large-count calls of MPI 4; this library implements MPI ",
       MPI_VERSION, ".", MPI_SUBVERSION}));
#endif
}

}  // namespace scope
