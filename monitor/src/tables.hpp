// The rows of a profile's tables, and their description in the file. Readers find columns by name (see
// docs/method/monitor.md). Every struct consists of its columns without gaps; `pad` columns fill any gaps.
#pragma once

#include <cstddef>
#include <cstdint>
#include <initializer_list>
#include <string_view>

namespace scope {

using u4 = std::uint32_t;
using u8 = std::uint64_t;
using i4 = std::int32_t;
using i8 = std::int64_t;
using f8 = double;

inline constexpr u4 no_site = 0xffffffff;
inline constexpr int histogram_buckets = 40;
inline constexpr int frame_capacity = 32;
inline constexpr int path_capacity = 256;

enum class State : u4 { running = 0, finalized = 1, aborted = 2, left = 3 };

struct ProcessRow {
  u4 state;
  i4 abort_code;
  u8 init_begin_tick, first_tick, first_unix_ns, last_tick, last_unix_ns, last_sample_tick, finalize_tick;
  u8 mpi_ticks;  // outermost calls of the thread that initialized MPI
  u8 other_threads_mpi_ticks;
  u8 finalize_ticks;  // time in MPI_Finalize, not included in `mpi_ticks`
  u8 calls;
  u8 in_since_tick;
  u4 in_routine;
  u4 pad;
  u8 lost_calls, lost_partners, lost_sites, lost_requests, lost_events;
  u8 timeline_rows, open_requests;
  u8 sent_bytes, received_bytes;
  f8 user_s, system_s;
  u8 voluntary_switches, involuntary_switches, minor_faults, major_faults;
  u8 resident_bytes, peak_resident_bytes, threads;
  u8 samples, samples_in_mpi, lost_samples;
  static constexpr std::string_view columns =
      "state:u4 abort_code:i4 init_begin_tick:u8 first_tick:u8 first_unix_ns:u8 last_tick:u8 last_unix_ns:u8 "
      "last_sample_tick:u8 finalize_tick:u8 mpi_ticks:u8 other_threads_mpi_ticks:u8 finalize_ticks:u8 calls:u8 "
      "in_since_tick:u8 in_routine:u4 pad:u4 lost_calls:u8 lost_partners:u8 lost_sites:u8 lost_requests:u8 "
      "lost_events:u8 timeline_rows:u8 open_requests:u8 sent_bytes:u8 received_bytes:u8 user_s:f8 system_s:f8 "
      "voluntary_switches:u8 involuntary_switches:u8 minor_faults:u8 major_faults:u8 resident_bytes:u8 "
      "peak_resident_bytes:u8 threads:u8 samples:u8 samples_in_mpi:u8 lost_samples:u8";
};

struct CallRow {
  u4 used, routine, site, communicator_size, size_class;
  i4 region;
  u8 calls, ticks, min_ticks, max_ticks, bytes;
  u4 histogram[histogram_buckets];  // all calls except the latest
  u8 last_ticks;                    // the latest call
  u4 pad[6];                        // to a multiple of a cache line
  static constexpr std::string_view columns =
      "used:u4 routine:u4 site:u4 communicator_size:u4 size_class:u4 region:i4 calls:u8 ticks:u8 min_ticks:u8 "
      "max_ticks:u8 bytes:u8 histogram:u4[40] last_ticks:u8 pad:u4[6]";
};

struct WaitRow {
  u4 used, operation, site, communicator_size, size_class, pad;
  u8 requests, ticks, bytes;
  static constexpr std::string_view columns =
      "used:u4 operation:u4 site:u4 communicator_size:u4 size_class:u4 pad:u4 requests:u8 ticks:u8 bytes:u8";
};

struct PartnerRow {
  u4 used;
  i4 rank;
  u8 sent_messages, sent_bytes, received_messages, received_bytes, send_ticks, receive_ticks;
  u8 put_operations, put_bytes, get_operations, get_bytes;
  static constexpr std::string_view columns =
      "used:u4 rank:i4 sent_messages:u8 sent_bytes:u8 received_messages:u8 received_bytes:u8 send_ticks:u8 "
      "receive_ticks:u8 put_operations:u8 put_bytes:u8 get_operations:u8 get_bytes:u8";
};

struct SiteRow {
  u4 used, depth;
  u8 frames[frame_capacity];
  static constexpr std::string_view columns = "used:u4 depth:u4 frames:u8[32]";
};

struct ModuleRow {
  u4 used, pad;
  u8 begin, end;
  u8 bias;  // load offset of the addresses in the file
  char path[path_capacity];
  static constexpr std::string_view columns = "used:u4 pad:u4 begin:u8 end:u8 bias:u8 path:s256";
};

// A line of an interpreted program.
struct PlaceRow {
  u4 used, line;
  char function[64];
  char file[path_capacity];
  static constexpr std::string_view columns = "used:u4 line:u4 function:s64 file:s256";
};

// Samples of the program's computation on one call path: the running instruction, then return addresses.
struct SampleRow {
  u4 used, depth;
  i4 region;
  u4 pad;
  u8 samples;
  u8 frames[frame_capacity];
  static constexpr std::string_view columns = "used:u4 depth:u4 region:i4 pad:u4 samples:u8 frames:u8[32]";
};

struct TimelineRow {
  u4 used, pad;
  u8 begin_tick, end_tick, mpi_ticks, calls, sent_bytes, received_bytes;
  f8 user_s, system_s;
  u8 resident_bytes;
  static constexpr std::string_view columns =
      "used:u4 pad:u4 begin_tick:u8 end_tick:u8 mpi_ticks:u8 calls:u8 sent_bytes:u8 received_bytes:u8 user_s:f8 "
      "system_s:f8 resident_bytes:u8";
};

struct RegionRow {
  u4 used;
  i4 number;
  u8 entries, ticks, mpi_ticks;
  char name[64];  // empty if the program only numbers its regions
  static constexpr std::string_view columns = "used:u4 number:i4 entries:u8 ticks:u8 mpi_ticks:u8 name:s64";
};

struct EventRow {
  u4 used, routine;
  u8 begin_tick, end_tick;
  u4 site, depth;
  i4 partner, tag, direction;
  u4 operation;
  u8 communicator, bytes;
  static constexpr std::string_view columns =
      "used:u4 routine:u4 begin_tick:u8 end_tick:u8 site:u4 depth:u4 partner:i4 tag:i4 direction:i4 operation:u4 "
      "communicator:u8 bytes:u8";
};

inline constexpr int size_classes = 33;

// Use of a file by the process in one layer.
struct FileRow {
  u4 used, layer;
  u8 key;
  u8 opens, open_ticks;
  u8 reads, read_bytes, read_ticks;
  u8 writes, written_bytes, write_ticks;
  u8 syncs, sync_ticks;
  u8 others, other_ticks;  // closing, seeking, locking, flushing; MPI-IO routines without data
  u8 longest_ticks;        // longest read or write
  u8 consecutive;          // transfers that start where the previous one ended
  u8 forward;              // transfers that start after that point
  u8 unaligned;            // transfers that start inside a block
  u8 collective;           // collective transfers of MPI-IO
  u8 file_gaps;            // MPI-IO transfers through a view with gaps
  u8 memory_gaps;          // MPI-IO transfers of data with gaps in memory
  u8 extent;               // end of the farthest transfer
  u4 block_bytes;          // block size of the file system
  u4 read_sizes[size_classes], write_sizes[size_classes];
  u4 pad;
  char path[path_capacity];
  static constexpr std::string_view columns =
      "used:u4 layer:u4 key:u8 opens:u8 open_ticks:u8 reads:u8 read_bytes:u8 read_ticks:u8 writes:u8 "
      "written_bytes:u8 write_ticks:u8 syncs:u8 sync_ticks:u8 others:u8 other_ticks:u8 longest_ticks:u8 "
      "consecutive:u8 forward:u8 unaligned:u8 collective:u8 file_gaps:u8 memory_gaps:u8 extent:u8 block_bytes:u4 "
      "read_sizes:u4[33] write_sizes:u4[33] pad:u4 path:s256";
};

// Size of a row in bytes; the compiler's layout must match.
constexpr std::size_t width_of(std::string_view columns) {
  std::size_t total = 0;
  while (!columns.empty()) {
    const std::size_t space = columns.find(' ');
    std::string_view type = columns.substr(0, space);
    type.remove_prefix(type.find(':') + 1);
    const auto integer = [](std::string_view digits) {
      std::size_t value = 0;
      for (const char digit : digits)
        if (digit >= '0' && digit <= '9') value = value * 10 + static_cast<std::size_t>(digit - '0');
      return value;
    };
    const std::size_t bracket = type.find('[');
    const std::size_t count = bracket == std::string_view::npos ? 1 : integer(type.substr(bracket));
    total += integer(type.substr(1, bracket == std::string_view::npos ? bracket : bracket - 1)) * count;
    columns = space == std::string_view::npos ? std::string_view() : columns.substr(space + 1);
  }
  return total;
}

template <typename... Rows>
constexpr bool described() {
  return ((width_of(Rows::columns) == sizeof(Rows)) && ...);
}
static_assert(described<ProcessRow, CallRow, WaitRow, PartnerRow, SiteRow, ModuleRow, PlaceRow, TimelineRow,
                        RegionRow, EventRow, FileRow, SampleRow>());

}  // namespace scope
