#include "communicators.hpp"

#include <cstdlib>
#include <unordered_map>

#include "files.hpp"
#include "handles.hpp"

namespace scope {

namespace {

constexpr std::size_t translation_capacity = 1 << 18;  // total number of ranks kept, 1 MB
std::size_t translations = 0;

MPI_Group world_group;
int world_size = 0;

using MembersOf = std::unordered_map<std::uint64_t, Members*>;

struct Known {
  MembersOf communicators, windows;
  std::unordered_map<std::uint64_t, File> files;
  std::unordered_map<u8, u4> alike;
};

// Never destroyed: programs call MPI even in their own destructors.
Known& known() {
  static Known& tables = *new Known;
  return tables;
}

// Translates the ranks of the group into ranks in MPI_COMM_WORLD and records whether they differ.
void translate(MPI_Group group, Members& members) {
  const std::size_t count = members.peers;
  int* ranks = static_cast<int*>(std::malloc(2 * count * sizeof(int)));
  members.unknown = ranks == nullptr;
  if (members.unknown || count == 0) return;
  int* const world = ranks + count;
  for (std::size_t i = 0; i < count; ++i) ranks[i] = static_cast<int>(i);
  next.Group_translate_ranks(group, static_cast<int>(count), ranks, world_group, world);
  bool same = true;
  u8 hash = 0xcbf29ce484222325u;  // FNV-1a
  for (std::size_t i = 0; i < count; ++i) {
    if (world[i] == MPI_UNDEFINED) world[i] = -1;
    same = same && world[i] == ranks[i];
    hash = (hash ^ static_cast<u4>(world[i])) * 0x100000001b3u;
  }
  members.identity = hash;
  if (!same) {
    members.unknown = translations + count > translation_capacity;
    if (!members.unknown) members.world = static_cast<int*>(std::malloc(count * sizeof(int)));
    members.unknown = members.world == nullptr;
    if (!members.unknown) {
      std::memcpy(members.world, world, count * sizeof(int));
      translations += count;
    }
  }
  std::free(ranks);
}

Members* learn(MPI_Comm comm) {
  auto* members = new Members;
  members->key = key_of(comm);
  members->comm = comm;
  int size = 0, between = 0, rank = -1;
  next.Comm_size(comm, &size);
  next.Comm_rank(comm, &rank);
  next.Comm_test_inter(comm, &between);
  members->size = members->peers = static_cast<u4>(size);
  members->rank = rank;
  members->between_groups = between != 0;
  MPI_Group group;
  if (between) {
    int peers = 0;
    next.Comm_remote_size(comm, &peers);
    members->peers = static_cast<u4>(peers);
    members->size += members->peers;
    next.Comm_remote_group(comm, &group);
  } else {
    next.Comm_group(comm, &group);
  }
  translate(group, *members);
  next.Group_free(&group);
  return members;
}

void destroy(Members* members) {
  if (members->world) {
    translations -= members->peers;
    std::free(members->world);
  }
  delete members;
}

template <typename Handle>
void drop(MembersOf& table, Handle handle) {
  const auto found = table.find(key_of(handle));
  if (found == table.end()) return;
  Members* members = found->second;
  table.erase(found);
  if (members == last_communicator) last_communicator = nullptr;
  members->freed = true;
  if (members->open_receives == 0) destroy(members);
}

}  // namespace

void set_world(MPI_Group group) {
  world_group = group;
  next.Group_size(group, &world_size);
}

[[gnu::noinline]] Members& look_up(MPI_Comm comm) {
  Members*& found = known().communicators[key_of(comm)];
  if (!found) found = learn(comm);
  last_communicator = found;
  return *found;
}

Members& members_of_window(MPI_Win window) {
  Members*& found = known().windows[key_of(window)];
  if (found) return *found;
  found = new Members;
  found->key = key_of(window);
  MPI_Group group;
  int size = 0;
  next.Win_get_group(window, &group);
  next.Group_size(group, &size);
  next.Group_rank(group, &found->rank);
  found->size = found->peers = static_cast<u4>(size);
  translate(group, *found);
  next.Group_free(&group);
  return *found;
}

void created(MPI_Comm comm) {
  if (comm == constants.no_communicator) return;
  forget(comm);  // an old handle, freed by a call that the monitor did not see
  Members& members = members_of(comm);
  const u4 number = known().alike[members.identity]++;
  members.identity ^= mixed(number + 1);
}

void forget(MPI_Comm comm) { drop(known().communicators, comm); }
void forget_window(MPI_Win window) { drop(known().windows, window); }

void release(Members& members) {
  if (--members.open_receives == 0 && members.freed) destroy(&members);
}

const File& opened(MPI_File file, MPI_Comm comm, const char* name) {
  int size = 0;
  next.Comm_size(comm, &size);
  return known().files[key_of(file)] = {static_cast<u4>(size), file_of_name(name)};
}
const File& known_file(MPI_File file) {
  static const File unknown;
  const auto found = known().files.find(key_of(file));
  return found == known().files.end() ? unknown : found->second;
}
void view_file(MPI_File file, bool has_gaps) {
  if (const auto found = known().files.find(key_of(file)); found != known().files.end())
    found->second.has_gaps = has_gaps;
}
void forget_file(MPI_File file) { known().files.erase(key_of(file)); }

int neighbors(Members& members) {
  if (members.out_degree >= 0) return members.out_degree;
  int kind = MPI_UNDEFINED, out = 0;
  next.Topo_test(members.comm, &kind);
  if (kind == MPI_CART) {
    next.Cartdim_get(members.comm, &out);
    out *= 2;
  } else if (kind == MPI_GRAPH) {
    next.Graph_neighbors_count(members.comm, members.rank, &out);
  } else if (kind == MPI_DIST_GRAPH) {
    int in = 0, weighted = 0;
    next.Dist_graph_neighbors_count(members.comm, &in, &out, &weighted);
  }
  return members.out_degree = out;
}

}  // namespace scope
