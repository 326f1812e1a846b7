// The profile of this process: a file that is mapped from the start, so that it is complete at any time and
// nothing is lost, however the process ends. All sizes are fixed at creation.
#pragma once

#include <string>

#include "options.hpp"
#include "tables.hpp"
#include "tools.hpp"

namespace scope {

inline constexpr std::size_t header_bytes = 65536;
inline constexpr u4 wait_capacity = 1024;
inline constexpr u4 partner_capacity = 8192;
inline constexpr u4 site_rows = 1024;
inline constexpr u4 path_rows = 4096;  // rows for sites that are call paths
inline constexpr u4 most_samples = 4096;
inline constexpr u4 module_capacity = 256;
inline constexpr u4 most_places = 1024;
inline constexpr u4 timeline_capacity = 1024;
inline constexpr u4 region_capacity = 64;

// The tables in memory. Every table has at least one row; row 0 of `calls` and `partners` collects entries for
// which there is no free row.
struct Profile {
  ProcessRow* process = nullptr;
  CallRow* calls = nullptr;
  WaitRow* waits = nullptr;
  PartnerRow* partners = nullptr;
  SiteRow* sites = nullptr;
  ModuleRow* modules = nullptr;
  PlaceRow* places = nullptr;
  TimelineRow* timeline = nullptr;
  RegionRow* regions = nullptr;
  EventRow* events = nullptr;
  FileRow* files = nullptr;
  SampleRow* samples = nullptr;
  u4 call_rows = 0;
  u4 partner_rows = 0;
  u4 place_rows = 0;
  u4 event_rows = 0;
  u4 file_rows = 0;
  u4 site_rows = 0;
  u4 sample_rows = 0;
};
inline Profile profile;

// Constant fields of the header.
struct Identity {
  int rank;
  int ranks;
  std::string mpi;
  int mpi_version;
  int mpi_subversion;
  const char* thread_level;
  double tick_rate_hz;
  Tools tools;
  bool python;  // whether Python lines are the call sites
};

// Creates the file and `profile`; returns false, with a line on stderr, on failure.
bool open_profile(const Options& options, const Identity& identity);

// Frees the disk blocks of all-zero pages if the file system supports it; a row in use is never all zero. The file
// keeps its length and content. Nothing may be counted afterwards, because a new row in a released page would be
// fatal on a full disk.
void release_unused_pages();

}  // namespace scope
