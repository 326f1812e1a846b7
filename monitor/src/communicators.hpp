// Properties of communicators, windows and files: number and ranks of their processes.
#pragma once

#include <mpi.h>

#include "tables.hpp"

namespace scope {

struct Members {
  std::uint64_t key = 0;
  MPI_Comm comm;  // only for communicators
  u4 size = 0;
  u4 peers = 0;  // size of the remote group of an intercommunicator, else `size`
  int rank = -1;
  bool between_groups = false;
  bool freed = false;
  int open_receives = 0;  // pending requests that still need to look up their sender
  int out_degree = -1;    // out-degree in a process topology; -1: not queried yet
  u8 identity = 0;        // the same number on every member
  int* world = nullptr;   // ranks of the peers in MPI_COMM_WORLD; null: identical, or see `unknown`
  bool unknown = false;   // too many to translate

  // Rank in MPI_COMM_WORLD; -1 if there is none.
  int world_rank(int rank_here) const {
    if (rank_here < 0 || static_cast<u4>(rank_here) >= peers || unknown) return -1;
    return world ? world[rank_here] : rank_here;
  }
};

// Sets the ranks under which partners are counted. Called when MPI is up, with the group of all processes.
void set_world(MPI_Group group);

Members& look_up(MPI_Comm comm);
inline Members* last_communicator = nullptr;
inline Members& members_of(MPI_Comm comm) {
  if (last_communicator && last_communicator->comm == comm) [[likely]]
    return *last_communicator;
  return look_up(comm);
}
Members& members_of_window(MPI_Win window);

// Registers a new communicator, on all members in the same order; tells apart communicators with equal members.
void created(MPI_Comm comm);

// The handle is no longer valid; the data are kept until the last request that needs them completes.
void forget(MPI_Comm comm);
void forget_window(MPI_Win window);
void release(Members& members);

struct File {
  u4 sharers = 0;          // number of processes
  FileRow* row = nullptr;  // null if files are not counted
  bool has_gaps = false;   // whether its view has gaps
};
const File& opened(MPI_File file, MPI_Comm comm, const char* name);
const File& known_file(MPI_File file);
void view_file(MPI_File file, bool has_gaps);
void forget_file(MPI_File file);

// The number of neighbors to which a process sends in a process topology.
int neighbors(Members& members);

}  // namespace scope
