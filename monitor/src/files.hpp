// What the program does with files: the calls of POSIX and of C's streams, and MPI-IO, one row per file and layer.
#pragma once

#include <mpi.h>

#include "recorder.hpp"

namespace scope {

enum class Layer : u4 { posix = 0, stream = 1, mpi_io = 2, inside_mpi_io = 3 };
inline constexpr u4 layers = 4;

// What a call does with a file.
enum class Action { open, read, write, sync, other };

// Calls of the program are counted while this holds. The monitor's own calls of the library are not.
inline bool watches_files = false;
inline bool watching() { return watches_files && recording && counting && !thread.in_files; }

// The monitor's own work on files, and the tables of files, which no signal handler may enter meanwhile.
class Unseen {
 public:
  Unseen() : before_(thread.in_files) { thread.in_files = true; }
  Unseen(const Unseen&) = delete;
  ~Unseen() { thread.in_files = before_; }

 private:
  bool before_;
};

// Descriptors up to here are followed; calls on others are not counted.
inline constexpr int descriptor_capacity = 4096;

// Whether a call on this descriptor is to be timed: false for sockets, pipes, terminals and devices once seen.
bool followed(int descriptor);

// Whether it is a regular file that has been counted: its end is to be counted, too.
bool is_known(int descriptor);

// After the call, `begin` before it. They keep errno.
void opened_descriptor(int descriptor, const char* path, u8 begin, Layer layer);
void transferred(int descriptor, Action action, u8 begin, i8 bytes);
void transferred_at(int descriptor, Action action, u8 begin, i8 bytes, u8 offset);
void streamed(int descriptor, Action action, u8 begin, u8 bytes);
void moved(int descriptor, u8 begin, i8 position);
void synchronized(int descriptor, u8 begin, Layer layer);
void closed_descriptor(int descriptor, u8 begin, Layer layer);
// Before the call: the number will mean another file.
void forget_descriptor(int descriptor);

// MPI-IO: the row of a file by its name, null where files are not counted; and a call on it.
FileRow* file_of_name(const char* name);
void count_file(u4 routine, const File& file, u8 bytes, u8 ticks, bool memory_has_gaps = false);

// Once `recording` is false: whether no thread is about to take a new row. None will then, even at the end of a call that
// began before. Does not wait: a file system may hang.
bool files_are_settled();

// The layer of calls on descriptors now: those that MPI-IO makes are its own.
bool in_mpi_io();

}  // namespace scope
