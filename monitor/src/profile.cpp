#include "profile.hpp"

#include <fcntl.h>
#include <sys/mman.h>
#include <unistd.h>

#include <algorithm>
#include <bit>
#include <cerrno>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <fstream>
#include <iterator>
#include <sstream>
#include <vector>

#include "json/json.hpp"
#include "routines.hpp"

namespace scope {

namespace {

constexpr std::size_t page = 4096;
constexpr std::size_t least_released = 4 * page;  // less is not worth a system call

// All of the file.
char* mapped = nullptr;
std::size_t mapped_bytes = 0;

struct Table {
  const char* name;
  std::string_view columns;
  std::size_t stride;
  u4 rows;
  void** where;
  std::size_t offset = 0;
};

template <typename Row>
Table table(const char* name, u4 rows, Row*& where) {
  return {name, Row::columns, sizeof(Row), rows, reinterpret_cast<void**>(&where)};
}

std::vector<Table> layout(const Options& options, const Identity& identity) {
  profile.call_rows = static_cast<u4>(options.rows);
  profile.partner_rows = std::min(static_cast<u4>(identity.ranks) + 1, partner_capacity);
  profile.place_rows = identity.python ? most_places : 1;
  profile.event_rows = options.trace_s > 0 ? static_cast<u4>(options.trace_rows) : 1;
  profile.site_rows = options.depth > 1 ? path_rows : site_rows;
  profile.sample_rows = options.sample_hz > 0 ? most_samples : 1;
  profile.file_rows = options.files > 0 ? static_cast<u4>(options.files) : 1;
  std::vector<Table> tables = {
      table("process", 1, profile.process),
      table("calls", profile.call_rows, profile.calls),
      table("waits", wait_capacity, profile.waits),
      table("partners", profile.partner_rows, profile.partners),
      table("sites", profile.site_rows, profile.sites),
      table("modules", module_capacity, profile.modules),
      table("places", profile.place_rows, profile.places),
      table("timeline", timeline_capacity, profile.timeline),
      table("regions", region_capacity, profile.regions),
      table("events", profile.event_rows, profile.events),
      table("files", profile.file_rows, profile.files),
      table("samples", profile.sample_rows, profile.samples),
  };
  std::size_t end = header_bytes;
  for (Table& each : tables) {
    each.offset = end;
    end = (end + each.stride * each.rows + page - 1) / page * page;
  }
  return tables;
}

std::string program_path() {
  char path[4096];
  const ssize_t length = readlink("/proc/self/exe", path, sizeof path);
  return length > 0 ? std::string(path, static_cast<std::size_t>(length)) : "";
}

// A JSON list, short enough to fit into a header.
std::string arguments() {
  std::ifstream file("/proc/self/cmdline", std::ios::binary);
  const std::string all((std::istreambuf_iterator<char>(file)), std::istreambuf_iterator<char>());
  std::string out;
  for (std::size_t begin = 0; begin < all.size() && out.size() < 8000;) {
    const std::size_t end = std::min(all.find('\0', begin), all.size());
    out +=
        (out.empty() ? "" : ",") + json_quoted(all.substr(begin, std::min<std::size_t>(end - begin, 2000)));
    begin = end + 1;
  }
  return '[' + out + ']';
}

std::string host_name() {
  char name[256] = "unknown";
  gethostname(name, sizeof name - 1);
  return name;
}

// An identifier shared by all processes of one launch, taken from the launcher's environment.
std::string job_name() {
  for (const char* name : {"PMIX_NAMESPACE", "OMPI_MCA_orte_ess_jobid", "PMI_JOBID", "PALS_APID"})
    if (const char* value = std::getenv(name)) return value;
  const char* job = std::getenv("SLURM_JOB_ID");
  const char* step = std::getenv("SLURM_STEP_ID");
  return job && step ? std::string(job) + '.' + step : "";
}

std::string header(const Options& options, const Identity& identity, const std::vector<Table>& tables) {
  std::ostringstream text;
  text.precision(17);
  text << "scope-profile 1\nbyte_order " << (std::endian::native == std::endian::little ? "little" : "big")
       << "\nrank " << identity.rank << "\nranks " << identity.ranks << "\nhost " << host_name() << "\npid "
       << getpid() << "\nprogram " << json_quoted(program_path()) << "\narguments " << arguments() << "\nmpi "
       << identity.mpi << "\nmpi_standard " << identity.mpi_version << '.' << identity.mpi_subversion
       << "\nthread_level " << identity.thread_level << "\ninterval_s " << options.interval_s << "\ntrace "
       << options.trace_start_s << ':' << options.trace_s << "\ndepth " << options.depth << "\nsample_hz "
       << options.sample_hz << "\ntick_rate_hz " << identity.tick_rate_hz << '\n';
  if (const Tools& tools = identity.tools; !tools.file.empty()) {
    text << "other_tool " << tools.file << '\n';
    if (!tools.hidden.empty()) text << "hidden_routines" << tools.hidden << '\n';
  }
  if (const std::string job = job_name(); !job.empty()) text << "job " << job << '\n';
  text << "routines";
  for (int i = 1; i < routine_count; ++i) text << " MPI_" << routine_names[i];
  text << '\n';
  for (const Table& each : tables)
    text << "table " << each.name << " offset " << each.offset << " rows " << each.rows << " stride "
         << each.stride << " columns " << each.columns << '\n';
  return text.str();
}

// A file of this process alone: after exec, the new program finds the name taken.
int create(const std::string& directory, std::string& path) {
  const std::string stem = directory + '/' + host_name() + '.' + std::to_string(getpid());
  path = stem + ".profile";
  int file = open(path.c_str(), O_RDWR | O_CREAT | O_EXCL | O_CLOEXEC, 0644);
  for (int again = 2; file < 0 && errno == EEXIST && again < 100; ++again) {
    path = stem + '.' + std::to_string(again) + ".profile";
    file = open(path.c_str(), O_RDWR | O_CREAT | O_EXCL | O_CLOEXEC, 0644);
  }
  return file;
}

bool is_unused(const char* begin, std::size_t bytes) {
  const u8* words = reinterpret_cast<const u8*>(begin);
  return std::all_of(words, words + bytes / sizeof *words, [](u8 word) { return word == 0; });
}

bool refuse(const std::string& path, int error) {
  complain(path + ": cannot be created: " + std::strerror(error) + "; the program runs unmonitored");
  return false;
}

}  // namespace

bool open_profile(const Options& options, const Identity& identity) {
  const std::vector<Table> tables = layout(options, identity);
  const std::size_t bytes =
      (tables.back().offset + tables.back().stride * tables.back().rows + page - 1) / page * page;
  std::string path;
  const int file = create(options.directory, path);
  if (file < 0) return refuse(path, errno);
  // Preallocate: with holes in the file, a full disk would end the program with SIGBUS.
  void* memory = MAP_FAILED;
  int error = posix_fallocate(file, 0, static_cast<off_t>(bytes));
  if (error == 0) {
    memory = mmap(nullptr, bytes, PROT_READ | PROT_WRITE, MAP_SHARED, file, 0);
    if (memory == MAP_FAILED) error = errno;
  }
  close(file);
  if (memory == MAP_FAILED) {
    unlink(path.c_str());
    return refuse(path, error);
  }
  mapped = static_cast<char*>(memory);
  mapped_bytes = bytes;
  for (const Table& each : tables) *each.where = mapped + each.offset;
  const std::string text = header(options, identity, tables);
  std::memcpy(memory, text.data(), std::min(text.size(), header_bytes - 1));
  return true;
}

void release_unused_pages() {
  const auto system_page = static_cast<std::size_t>(sysconf(_SC_PAGESIZE));
  const auto end_of = [&](std::size_t begin, bool unused) {
    while (begin < mapped_bytes && is_unused(mapped + begin, system_page) == unused) begin += system_page;
    return begin;
  };
  for (std::size_t begin = 0; begin < mapped_bytes;) {
    const std::size_t end = end_of(begin, true);
    // Where the file system cannot free a part of a file, everything stays as it is.
    if (end - begin >= least_released && madvise(mapped + begin, end - begin, MADV_REMOVE) != 0) return;
    begin = end_of(end, false);
  }
}

}  // namespace scope
