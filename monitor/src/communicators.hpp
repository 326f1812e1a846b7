// Properties of communicators, windows and files: the number of processes and their ranks.
#pragma once

#include <mpi.h>

#include "tables.hpp"

namespace scope {

struct Members {
  std::uint64_t key = 0;
  MPI_Comm comm;  // of a communicator alone
  u4 size = 0;
  u4 peers = 0;  // of the remote group for intercommunicators, else `size`
  int rank = -1;
  bool between_groups = false;
  bool freed = false;
  int open_receives = 0;  // requests whose sender is still to be looked up
  int out_degree = -1;    // of a process topology; -1: not queried yet
  u8 identity = 0;        // the same number on every member
  int* world = nullptr;   // ranks of the peers in MPI_COMM_WORLD; null: identical, or see `unknown`
  bool unknown = false;   // too many to translate

  // Rank in MPI_COMM_WORLD; -1 where there is none.
  int world_rank(int rank_here) const {
    if (rank_here < 0 || static_cast<u4>(rank_here) >= peers || unknown) return -1;
    return world ? world[rank_here] : rank_here;
  }
};

// The ranks by which partners are counted. Called when MPI is up, with the group of all processes.
void set_world(MPI_Group group);

Members& look_up(MPI_Comm comm);
inline Members* last_communicator = nullptr;
inline Members& members_of(MPI_Comm comm) {
  if (last_communicator && last_communicator->comm == comm) [[likely]]
    return *last_communicator;
  return look_up(comm);
}
Members& members_of_window(MPI_Win window);

// A new communicator, on every member in the same order; distinguishes communicators with the same members.
void created(MPI_Comm comm);

// The handle is no longer valid; the data stay until the last request that needs them.
void forget(MPI_Comm comm);
void forget_window(MPI_Win window);
void release(Members& members);

struct File {
  u4 sharers = 0;          // processes
  FileRow* row = nullptr;  // null where files are not counted
  bool has_gaps = false;   // its view
};
const File& opened(MPI_File file, MPI_Comm comm, const char* name);
const File& known_file(MPI_File file);
void view_file(MPI_File file, bool has_gaps);
void forget_file(MPI_File file);

// The number of neighbors to which a process of a topology sends.
int neighbors(Members& members);

}  // namespace scope
