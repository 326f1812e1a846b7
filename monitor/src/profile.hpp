// The profile of this process: a file mapped from the beginning, so that it is complete at any time and
// nothing is lost however the process ends. All sizes are fixed at creation.
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
inline constexpr u4 path_rows = 4096;  // of sites that are call paths
inline constexpr u4 most_samples = 4096;
inline constexpr u4 module_capacity = 256;
inline constexpr u4 most_places = 1024;
inline constexpr u4 timeline_capacity = 1024;
inline constexpr u4 region_capacity = 64;

// The tables in memory; a table has at least one row, and row 0 of `calls` and `partners` takes entries that
// find no place.
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
  bool python;  // its lines are call sites
};

// Creates the file and `profile`; returns false, with a line on stderr, on failure.
bool open_profile(const Options& options, const Identity& identity);

// Frees the disk blocks of pages that are all zero, as far as the file system can; no row in use is all zero. The file
// keeps its length and reads as before. Nothing may be counted afterwards: a new row in a released page would be fatal
// on a full disk.
void release_unused_pages();

}  // namespace scope
