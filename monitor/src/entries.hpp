// The common part of the wrappers: the bytes of a call, computed from its arguments.
#pragma once

#include <mpi.h>

#include "handles.hpp"
#include "lifetime.hpp"
#include "options.hpp"
#include "recorder.hpp"
#include "waiting.hpp"

#define SCOPE_ENTRY extern "C" __attribute__((visibility("default")))

// A program may call MPI's query routines before MPI is initialized, and may load its MPI late.
#define SCOPE_NEXT                 \
  if (!next_is_known) [[unlikely]] \
    know_next();

namespace scope {

// Standards and libraries disagree on whether this is const.
template <typename Function>
struct SecondArgument;
template <typename Result, typename First, typename Second, typename... Others>
struct SecondArgument<Result(First, Second, Others...)> {
  using Type = Second;
};

inline u8 init_begins() {
  note_init_begin();
  return ticks_now();
}

// A cache of datatype sizes, because a query costs as much as the rest of the wrapper.
struct KnownType {
  std::uint64_t key;
  u8 bytes;
  bool known;
};
inline constexpr std::size_t known_type_capacity = 1 << 8;
inline KnownType known_types[known_type_capacity];
inline KnownType& known_type(MPI_Datatype type) { return known_types[spread(key_of(type)) >> 56]; }

inline u8 size_of_type(MPI_Datatype type) {
  KnownType& known = known_type(type);
  if (known.known && known.key == key_of(type)) [[likely]]
    return known.bytes;
  MPI_Count bytes = 0;
  next.Type_size_x(type, &bytes);
  known = {key_of(type), bytes > 0 ? static_cast<u8>(bytes) : 0, true};
  return known.bytes;
}

// Whether there are gaps in or between several values of the type.
inline bool has_gaps(MPI_Datatype type) {
  MPI_Count size = 0, lower = 0, extent = 0, true_lower = 0, true_extent = 0;
  next.Type_size_x(type, &size);
  next.Type_get_extent_x(type, &lower, &extent);
  next.Type_get_true_extent_x(type, &true_lower, &true_extent);
  return size > 0 && (size != extent || size != true_extent);
}

inline void forget_type(MPI_Datatype type) { known_type(type).known = false; }

template <typename Count>
u8 bytes_of(Count count, MPI_Datatype type) {
  return count > 0 ? static_cast<u8>(count) * size_of_type(type) : 0;
}

inline bool is_in_place(const void* buffer) { return buffer == MPI_IN_PLACE; }

inline u8 size_of(MPI_Comm comm) { return members_of(comm).size; }
inline u8 peers_of(MPI_Comm comm) { return members_of(comm).peers; }
inline u8 neighbors_of(MPI_Comm comm) { return static_cast<u8>(neighbors(members_of(comm))); }

template <typename Counts>
u8 sum_of(u8 number, Counts counts, MPI_Datatype type) {
  u8 sum = 0;
  for (u8 i = 0; i < number; ++i) sum += static_cast<u8>(counts[i]);
  return number ? sum * size_of_type(type) : 0;
}

template <typename Counts, typename Types>
u8 sum_of_each(u8 number, Counts counts, const Types& types) {
  u8 sum = 0;
  for (u8 i = 0; i < number; ++i) sum += bytes_of(counts[i], types[i]);
  return sum;
}

template <typename Counts>
u8 own_bytes(MPI_Comm comm, Counts counts, MPI_Datatype type) {
  const Members& members = members_of(comm);
  return members.rank >= 0 ? bytes_of(counts[members.rank], type) : 0;
}

// On intercommunicators, only the processes of the group without the root contribute data.
inline bool contributes(int root) { return root != MPI_ROOT && root != MPI_PROC_NULL; }

template <typename Count>
u8 gathered(MPI_Comm, int root, const void* send, Count send_count, MPI_Datatype send_type, Count receive_count,
            MPI_Datatype receive_type) {
  if (!contributes(root)) return 0;
  return is_in_place(send) ? bytes_of(receive_count, receive_type) : bytes_of(send_count, send_type);
}

template <typename Count, typename Counts>
u8 gathered_v(MPI_Comm comm, int root, const void* send, Count send_count, MPI_Datatype send_type,
              Counts receive_counts, MPI_Datatype receive_type) {
  if (!contributes(root)) return 0;
  return is_in_place(send) ? own_bytes(comm, receive_counts, receive_type) : bytes_of(send_count, send_type);
}

inline bool scatters(const Members& members, int root) {
  return members.between_groups ? root == MPI_ROOT : root == members.rank;
}

template <typename Count>
u8 scattered(MPI_Comm comm, int root, Count count, MPI_Datatype type) {
  const Members& members = members_of(comm);
  return scatters(members, root) ? members.peers * bytes_of(count, type) : 0;
}

template <typename Counts>
u8 scattered_v(MPI_Comm comm, int root, Counts counts, MPI_Datatype type) {
  const Members& members = members_of(comm);
  return scatters(members, root) ? sum_of(members.peers, counts, type) : 0;
}

}  // namespace scope

using namespace scope;
