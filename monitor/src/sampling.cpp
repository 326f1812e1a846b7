#include "sampling.hpp"

#include <fcntl.h>
#include <sys/resource.h>
#include <unistd.h>

#include <cstdlib>
#include <cstring>

#include "files.hpp"
#include "recorder.hpp"
#include "timer/timer.hpp"

namespace scope {

namespace {

struct Usage {
  f8 user_s, system_s;
  u8 voluntary, involuntary, minor, major, peak_bytes;
};

Usage usage_now() {
  rusage usage{};
  getrusage(RUSAGE_SELF, &usage);
  const auto seconds = [](const timeval& time) {
    return static_cast<f8>(time.tv_sec) + 1e-6 * static_cast<f8>(time.tv_usec);
  };
  return {seconds(usage.ru_utime),
          seconds(usage.ru_stime),
          static_cast<u8>(usage.ru_nvcsw),
          static_cast<u8>(usage.ru_nivcsw),
          static_cast<u8>(usage.ru_minflt),
          static_cast<u8>(usage.ru_majflt),
          static_cast<u8>(usage.ru_maxrss) * 1024u};
}

// Threads and resident memory: fields 20 and 24 of /proc/self/stat (proc(5)), counted after the program's
// name, which may contain any character.
void read_stat(u8& threads, u8& resident_bytes) {
  const Unseen unseen;
  char text[1024];
  const int file = open("/proc/self/stat", O_RDONLY | O_CLOEXEC);
  if (file < 0) return;
  const ssize_t length = read(file, text, sizeof text - 1);
  close(file);
  if (length <= 0) return;
  text[length] = '\0';
  const char* at = std::strrchr(text, ')');
  for (int field = 3; at && field <= 24; ++field) {
    at = std::strchr(at + 1, ' ');
    if (at && field == 20) threads = std::strtoull(at, nullptr, 10);
    if (at && field == 24)
      resident_bytes = std::strtoull(at, nullptr, 10) * static_cast<u8>(sysconf(_SC_PAGESIZE));
  }
}

Usage zero;
TimelineRow last;  // totals at the end of the last row
u8 interval = 0;
u8 region_since = 0;
u8 region_mpi_since = 0;

// When all rows are used, pairs are merged and the interval doubles.
void merge_neighbors(u8& rows) {
  TimelineRow* row = profile.timeline;
  for (u8 i = 0; i < rows / 2; ++i) {
    TimelineRow joined = row[2 * i];
    const TimelineRow& second = row[2 * i + 1];
    joined.end_tick = second.end_tick;
    joined.mpi_ticks += second.mpi_ticks;
    joined.calls += second.calls;
    joined.sent_bytes += second.sent_bytes;
    joined.received_bytes += second.received_bytes;
    joined.user_s += second.user_s;
    joined.system_s += second.system_s;
    joined.resident_bytes = second.resident_bytes;
    row[i] = joined;
  }
  for (u8 i = rows / 2; i < rows; ++i) row[i].used = 0;
  rows /= 2;
  interval *= 2;
}

void add_row(u8 now) {
  ProcessRow& process = *profile.process;
  if (process.timeline_rows == timeline_capacity) merge_neighbors(process.timeline_rows);
  TimelineRow& row = profile.timeline[process.timeline_rows];
  row.begin_tick = last.end_tick;
  row.end_tick = now;
  row.mpi_ticks = process.mpi_ticks - last.mpi_ticks;
  row.calls = process.calls - last.calls;
  row.sent_bytes = process.sent_bytes - last.sent_bytes;
  row.received_bytes = process.received_bytes - last.received_bytes;
  row.user_s = process.user_s - last.user_s;
  row.system_s = process.system_s - last.system_s;
  row.resident_bytes = process.resident_bytes;
  row.used = 1;
  ++process.timeline_rows;
  last.end_tick = now;
  last.mpi_ticks = process.mpi_ticks;
  last.calls = process.calls;
  last.sent_bytes = process.sent_bytes;
  last.received_bytes = process.received_bytes;
  last.user_s = process.user_s;
  last.system_s = process.system_s;
}

void ask_system() {
  ProcessRow& process = *profile.process;
  const Usage usage = usage_now();
  process.user_s = usage.user_s - zero.user_s;
  process.system_s = usage.system_s - zero.system_s;
  process.voluntary_switches = usage.voluntary - zero.voluntary;
  process.involuntary_switches = usage.involuntary - zero.involuntary;
  process.minor_faults = usage.minor - zero.minor;
  process.major_faults = usage.major - zero.major;
  process.peak_resident_bytes = usage.peak_bytes;
  read_stat(process.threads, process.resident_bytes);
  const Moment moment = moment_on(CLOCK_REALTIME, 20, ticks_now);
  process.last_unix_ns = moment.nanoseconds;
  process.last_sample_tick = moment.ticks;
}

void count_region(u8 now) {
  const u8 in_mpi = profile.process->mpi_ticks;
  current_region->ticks += now - region_since;
  current_region->mpi_ticks += in_mpi - region_mpi_since;
  region_since = now;
  region_mpi_since = in_mpi;
}

RegionRow* region_row(i4 number, const char* name) {
  for (u4 i = 0; i < region_capacity; ++i) {
    RegionRow& row = profile.regions[i];
    if (row.used && row.number == number) return &row;
    if (row.used) continue;
    row.number = number;
    std::strncpy(row.name, name, sizeof row.name - 1);
    row.used = 1;
    return &row;
  }
  return nullptr;
}

}  // namespace

void begin_sampling(u8 now, u8 asked_interval) {
  zero = usage_now();
  interval = asked_interval;
  last.end_tick = region_since = now;
  current_region = region_row(0, "");
  current_region->entries = 1;
  ask_system();
  next_sample_tick = attention_tick = now + interval;
}

void sample(u8 now) {
  ask_system();
  add_row(now);
  count_region(now);
  next_sample_tick = now + interval;
}

void enter_region(i4 number, const char* name, u8 now) {
  RegionRow* row = region_row(number, name);
  if (!row) return;
  count_region(now);
  current_region = row;
  ++row->entries;
  forget_recent();
}

}  // namespace scope
