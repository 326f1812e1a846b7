// File use of the program: calls of POSIX, of C's streams and of MPI-IO, one row per file and layer.
#pragma once

#include <mpi.h>

#include <optional>

#include "recorder.hpp"

namespace scope {

enum class Layer : u4 { posix = 0, stream = 1, mpi_io = 2, inside_mpi_io = 3 };
inline constexpr u4 layers = 4;

// The effect of a call on a file.
enum class Action { open, read, write, sync, other };

// Calls of the program are counted while this is true; the monitor's own calls are not counted.
inline bool watches_files = false;
inline bool watching() { return watches_files && recording && counting && !thread.in_files; }

// Guards the monitor's own work on files and their tables, which signal handlers must not enter meanwhile.
class Unseen {
 public:
  Unseen() : before_(thread.in_files) { thread.in_files = true; }
  Unseen(const Unseen&) = delete;
  ~Unseen() { thread.in_files = before_; }

 private:
  bool before_;
};

// Descriptors below this number are followed; calls on others are not counted.
inline constexpr int descriptor_capacity = 4096;

// Whether a call on this descriptor is to be timed: false for sockets, pipes, terminals and devices once seen.
bool followed(int descriptor);

// Whether it is a regular file that has been counted, so that closing it is counted, too.
bool is_known(int descriptor);

// Called after the call that started at `begin`. They preserve errno.
void opened_descriptor(int descriptor, const char* path, u8 begin, Layer layer);
void transferred(int descriptor, Action action, u8 begin, i8 bytes, std::optional<u8> offset);
void streamed(int descriptor, Action action, u8 begin, u8 bytes);
void moved(int descriptor, u8 begin, i8 position);
void synchronized(int descriptor, u8 begin);
void closed_descriptor(int descriptor, u8 begin, Layer layer);
// Called before the call, after which the number may mean another file.
void forget_descriptor(int descriptor);

// MPI-IO: the row of a file by its name, null if files are not counted; and a call on the file.
FileRow* file_of_name(const char* name);
void count_file(u4 routine, const File& file, u8 bytes, u8 ticks, bool memory_has_gaps = false);

// Once `recording` is false: whether no thread is about to take a new row. After that, none will, even at the end
// of a call that started earlier. Does not wait, because a file system may hang.
bool files_are_settled();

// Whether calls on descriptors are currently made by MPI-IO, which has its own layer for them.
bool in_mpi_io();

}  // namespace scope
