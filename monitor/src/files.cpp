#include "files.hpp"

#include <sched.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <atomic>
#include <cerrno>
#include <cstdio>
#include <cstdlib>
#include <cstring>

#include "handles.hpp"
#include "routines.hpp"

namespace scope {

namespace {

constexpr u4 longest_probe = 16;

enum class Kind : u4 { unknown, ignored, known };

// A descriptor of the program. Descriptors other than regular files are ignored once they have been seen.
struct Descriptor {
  std::atomic<Kind> kind{Kind::unknown};
  bool inside;       // opened by MPI-IO
  FileRow* rows[2];  // rows of the descriptor's and of the stream's calls
  u8 position;       // file position of read and write
  u8 last_end;       // end of the last transfer
};
Descriptor descriptors[descriptor_capacity];

std::atomic_flag taken = ATOMIC_FLAG_INIT;

// Locks the tables of files, from any thread of the program; preserves errno.
class FilesLocked {
 public:
  FilesLocked() : error_(errno) {
    for (int turns = 0; taken.test_and_set(std::memory_order_acquire); ++turns)
      if (turns % 64 == 63) sched_yield();
  }
  FilesLocked(const FilesLocked&) = delete;
  ~FilesLocked() {
    taken.clear(std::memory_order_release);
    errno = error_;
  }

 private:
  Unseen unseen_;
  int error_;
};

struct MpiAction {
  Action action = Action::other;
  bool is_file = false;
  bool collective = false;
};

constexpr MpiAction action_of(std::string_view name) {
  MpiAction found;
  found.is_file = name.starts_with("File_");
  const auto has = [&](std::string_view part) { return name.find(part) != name.npos; };
  const bool transfers = !has("_end") && !has("_get_") && !has("_set_");
  found.collective = transfers && (has("_all") || has("_ordered"));
  if (has("File_read") || has("File_iread")) found.action = transfers ? Action::read : Action::other;
  if (has("File_write") || has("File_iwrite")) found.action = transfers ? Action::write : Action::other;
  if (name == "File_open") found.action = Action::open;
  if (name == "File_sync") found.action = Action::sync;
  return found;
}

constexpr std::array<MpiAction, routine_count> mpi_actions = [] {
  std::array<MpiAction, routine_count> found{};
  for (int i = 1; i < routine_count; ++i) found[static_cast<std::size_t>(i)] = action_of(routine_names[i]);
  return found;
}();

u8 hash_of(std::string_view text) {
  u8 hash = 0xcbf29ce484222325u;  // FNV-1a
  for (const char character : text) hash = (hash ^ static_cast<unsigned char>(character)) * 0x100000001b3u;
  return hash;
}

// The first rows, one per layer, collect files for which there is no free row.
FileRow& row_of(std::string_view path, Layer layer, u4 block_bytes) {
  const u8 key = mixed(hash_of(path) + static_cast<u4>(layer)) | 1;
  const u4 rows = profile.file_rows - layers;
  for (u4 probe = 0; probe < std::min(longest_probe, rows); ++probe) {
    FileRow& row = profile.files[layers + (key + probe) % rows];
    if (row.used && row.key != key) continue;
    if (!row.used) {
      // The end of a path is more informative than its start.
      if (path.size() >= sizeof row.path) path.remove_prefix(path.size() - sizeof row.path + 1);
      std::memcpy(row.path, path.data(), path.size());
      row.key = key;
      row.layer = static_cast<u4>(layer);
      row.block_bytes = block_bytes;
      row.used = 1;
    }
    return row;
  }
  FileRow& others = profile.files[static_cast<u4>(layer)];
  others.layer = static_cast<u4>(layer);
  others.used = 1;
  return others;
}

bool is_apart(std::string_view path) {
  const bool device = path.starts_with("/dev/") && !path.starts_with("/dev/shm/");
  return device || path.starts_with("/proc/") || path.starts_with("/sys/");
}

// Whether a name means the same file in any directory; asking the system would cost more than opening the file.
bool is_absolute(std::string_view path) {
  return path.starts_with('/') && path.find("/.") == path.npos && path.find("//") == path.npos;
}

// The row of a descriptor's file in a layer; null if it is not a regular file.
FileRow* find_row(int number, Layer layer, const char* opened_as = nullptr) {
  struct stat facts;
  if (!recording) return nullptr;  // the profile is complete: `files_are_settled`
  if (fstat(number, &facts) != 0 || !S_ISREG(facts.st_mode)) return nullptr;
  char link[32], path[4096];
  std::string_view name(opened_as ? opened_as : "");
  if (!is_absolute(name)) {
    std::snprintf(link, sizeof link, "/proc/self/fd/%d", number);
    const ssize_t length = readlink(link, path, sizeof path);
    if (length <= 0) return nullptr;
    name = {path, static_cast<std::size_t>(length)};
  }
  return is_apart(name) ? nullptr : &row_of(name, layer, static_cast<u4>(facts.st_blksize));
}

// Finds out what a descriptor is; null if it is not to be counted.
Descriptor* learn(int number, Layer layer, bool fresh, const char* path = nullptr) {
  Descriptor& here = descriptors[number];
  const bool inside_mpi = thread.depth > 0;
  here.inside = inside_mpi && in_mpi_io();
  if (inside_mpi && !here.inside) {
    // MPI's own descriptors: sockets, memory shared through files.
    if (fresh) here.kind = Kind::ignored;
    return nullptr;
  }
  const u4 place = layer == Layer::stream;
  here.rows[0] = here.rows[1] = nullptr;
  FileRow* const row = find_row(number, here.inside ? Layer::inside_mpi_io : layer, path);
  here.rows[place] = row;
  const off_t position = fresh || !row ? 0 : lseek(number, 0, SEEK_CUR);
  here.position = here.last_end = position > 0 ? static_cast<u8>(position) : 0;
  here.kind = row ? Kind::known : Kind::ignored;
  return row ? &here : nullptr;
}

// The descriptor with its row in a layer; null if it is not to be counted.
Descriptor* find(int number, Layer layer) {
  Descriptor& here = descriptors[number];
  const Kind kind = here.kind;
  if (kind == Kind::ignored) return nullptr;
  if (kind == Kind::unknown) return learn(number, layer, false);
  FileRow*& row = here.rows[layer == Layer::stream];
  if (!row) row = find_row(number, here.inside ? Layer::inside_mpi_io : layer);
  return row ? &here : nullptr;
}

void add_size(u4 (&sizes)[size_classes], u8 bytes) {
  u4& place = sizes[std::min<u4>(size_class_of(bytes), size_classes - 1)];
  place += place != UINT32_MAX;
}

void add_transfer(FileRow& row, Action action, u8 ticks, u8 bytes) {
  if (action == Action::read) {
    ++row.reads;
    row.read_bytes += bytes;
    row.read_ticks += ticks;
    add_size(row.read_sizes, bytes);
  } else {
    ++row.writes;
    row.written_bytes += bytes;
    row.write_ticks += ticks;
    add_size(row.write_sizes, bytes);
  }
  row.longest_ticks = std::max(row.longest_ticks, ticks);
}

void add(FileRow& row, Action action, u8 ticks, u8 bytes) {
  switch (action) {
    case Action::open:
      ++row.opens;
      row.open_ticks += ticks;
      break;
    case Action::sync:
      ++row.syncs;
      row.sync_ticks += ticks;
      break;
    case Action::other:
      ++row.others;
      row.other_ticks += ticks;
      break;
    default: add_transfer(row, action, ticks, bytes);
  }
}

void add_place(FileRow& row, Descriptor& here, u8 offset, u8 bytes) {
  if (offset == here.last_end)
    ++row.consecutive;
  else if (offset > here.last_end)
    ++row.forward;
  here.last_end = offset + bytes;
  row.extent = std::max(row.extent, here.last_end);
  if (row.block_bytes && offset % row.block_bytes) ++row.unaligned;
}

// The duration of a call that started at `begin`; it also counts as a sign of life.
u8 ticks_since(u8 begin) {
  const u8 now = ticks_now();
  profile.process->last_tick = now;
  return now - begin;
}

}  // namespace

bool files_are_settled() {
  if (taken.test_and_set(std::memory_order_acquire)) return false;
  taken.clear(std::memory_order_release);
  return true;
}

bool in_mpi_io() { return mpi_actions[thread.routine].is_file; }

bool followed(int descriptor) {
  return watching() && descriptor >= 0 && descriptor < descriptor_capacity &&
         descriptors[descriptor].kind.load(std::memory_order_relaxed) != Kind::ignored;
}

bool is_known(int descriptor) {
  return watching() && descriptor >= 0 && descriptor < descriptor_capacity &&
         descriptors[descriptor].kind.load(std::memory_order_relaxed) == Kind::known;
}

void opened_descriptor(int descriptor, const char* path, u8 begin, Layer layer) {
  if (descriptor < 0 || descriptor >= descriptor_capacity) return;
  const u8 ticks = ticks_since(begin);
  const FilesLocked locked;
  if (const Descriptor* here = learn(descriptor, layer, true, path))
    add(*here->rows[layer == Layer::stream], Action::open, ticks, 0);
}

void transferred(int descriptor, Action action, u8 begin, i8 bytes, std::optional<u8> offset) {
  const u8 ticks = ticks_since(begin);
  const FilesLocked locked;
  const bool was_known = descriptors[descriptor].kind == Kind::known;
  Descriptor* const here = find(descriptor, Layer::posix);
  if (!here) return;
  FileRow& row = *here->rows[0];
  if (bytes < 0) return add(row, Action::other, ticks, 0);
  const u8 moved_by = static_cast<u8>(bytes);
  add_transfer(row, action, ticks, moved_by);
  if (offset) return add_place(row, *here, *offset, moved_by);
  if (!was_known && here->position >= moved_by) here->position = here->last_end = here->position - moved_by;
  add_place(row, *here, here->position, moved_by);
  here->position = here->last_end;
}

void streamed(int descriptor, Action action, u8 begin, u8 bytes) {
  const u8 ticks = ticks_since(begin);
  const FilesLocked locked;
  if (const Descriptor* here = find(descriptor, Layer::stream)) add(*here->rows[1], action, ticks, bytes);
}

void moved(int descriptor, u8 begin, i8 position) {
  const u8 ticks = ticks_since(begin);
  const FilesLocked locked;
  Descriptor* const here = find(descriptor, Layer::posix);
  if (!here) return;
  add(*here->rows[0], Action::other, ticks, 0);
  if (position >= 0) here->position = static_cast<u8>(position);
}

void synchronized(int descriptor, u8 begin) {
  const u8 ticks = ticks_since(begin);
  const FilesLocked locked;
  if (const Descriptor* here = find(descriptor, Layer::posix)) add(*here->rows[0], Action::sync, ticks, 0);
}

void closed_descriptor(int descriptor, u8 begin, Layer layer) {
  const u8 ticks = ticks_since(begin);
  const FilesLocked locked;
  // The number may already belong to another file, but the rows are still the closed file's.
  if (FileRow* row = descriptors[descriptor].rows[layer == Layer::stream]) add(*row, Action::other, ticks, 0);
}

void forget_descriptor(int descriptor) {
  if (descriptor >= 0 && descriptor < descriptor_capacity)
    descriptors[descriptor].kind.store(Kind::unknown, std::memory_order_relaxed);
}

FileRow* file_of_name(const char* name) {
  if (!watches_files) return nullptr;
  const FilesLocked locked;
  std::string_view text(name);
  // ROMIO accepts the kind of file system before a colon: "nfs:/home/a".
  const std::size_t colon = text.find(':');
  if (colon != text.npos && colon < 8 && text.substr(0, colon).find('/') == text.npos)
    text.remove_prefix(colon + 1);
  char path[4096];
  struct stat facts{};
  const bool found = realpath(text.data(), path) && stat(path, &facts) == 0;
  return &row_of(found ? path : text, Layer::mpi_io, found ? static_cast<u4>(facts.st_blksize) : 0);
}

void count_file(u4 routine, const File& file, u8 bytes, u8 ticks, bool memory_has_gaps) {
  FileRow* const row = file.row;
  if (!row) return;
  const FilesLocked locked;
  const MpiAction& meaning = mpi_actions[routine];
  add(*row, meaning.action, ticks, bytes);
  row->collective += meaning.collective;
  const bool transfers = meaning.action == Action::read || meaning.action == Action::write;
  row->file_gaps += transfers && file.has_gaps;
  row->memory_gaps += transfers && memory_has_gaps;
}

}  // namespace scope
