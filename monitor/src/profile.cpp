#include "profile.hpp"

#include <fcntl.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <bit>
#include <cerrno>
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
constexpr std::size_t least_released = 4 * page;  // smaller ranges are not worth a system call

// Identifies the file of this process, whatever the program does with its working directory and descriptors.
struct Place {
  const char* path;
  dev_t device;
  ino_t number;
};
Place place{};

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
  for (Table& table : tables) {
    table.offset = end;
    end = (end + table.stride * table.rows + page - 1) / page * page;
  }
  return tables;
}

std::string program_path() {
  char path[4096];
  const ssize_t length = readlink("/proc/self/exe", path, sizeof path);
  return length > 0 ? std::string(path, static_cast<std::size_t>(length)) : "";
}

// The program's arguments as a JSON list that is short enough for the header.
std::string arguments() {
  std::ifstream file("/proc/self/cmdline", std::ios::binary);
  const std::string all((std::istreambuf_iterator<char>(file)), std::istreambuf_iterator<char>());
  std::string out;
  for (std::size_t begin = 0; begin < all.size() && out.size() < 8000;) {
    const std::size_t end = std::min(all.find('\0', begin), all.size());
    out += (out.empty() ? "" : ",") + json_quoted(all.substr(begin, std::min<std::size_t>(end - begin, 2000)));
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
  for (const Table& table : tables)
    text << "table " << table.name << " offset " << table.offset << " rows " << table.rows << " stride "
         << table.stride << " columns " << table.columns << '\n';
  return text.str();
}

// Creates a file for this process only: after exec, the new program finds the name taken.
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

void note_place(int file, const std::string& path) {
  struct stat facts{};
  if (fstat(file, &facts) == 0)
    place = {realpath(path.c_str(), nullptr), facts.st_dev, facts.st_ino};  // never freed: needed at the end
}

// Reopens the file; negative if it is not found.
int reopened() {
  if (!place.path) return -1;
  struct stat facts{};
  const int file = open(place.path, O_RDWR | O_CLOEXEC | O_NOFOLLOW);
  if (file < 0 || (fstat(file, &facts) == 0 && facts.st_dev == place.device && facts.st_ino == place.number))
    return file;
  close(file);
  return -1;
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
  // Preallocates the file: with holes in it, a full disk would end the program with SIGBUS.
  void* memory = MAP_FAILED;
  int error = posix_fallocate(file, 0, static_cast<off_t>(bytes));
  if (error == 0) {
    memory = mmap(nullptr, bytes, PROT_READ | PROT_WRITE, MAP_SHARED, file, 0);
    if (memory == MAP_FAILED) error = errno;
  }
  if (memory != MAP_FAILED) note_place(file, path);
  close(file);
  if (memory == MAP_FAILED) {
    unlink(path.c_str());
    return refuse(path, error);
  }
  for (const Table& table : tables) *table.where = static_cast<char*>(memory) + table.offset;
  const std::string text = header(options, identity, tables);
  std::memcpy(memory, text.data(), std::min(text.size(), header_bytes - 1));
  return true;
}

// Uses a descriptor instead of the mapping, where a file system error would be fatal.
void release_unused_pages() {
  const int file = reopened();
  if (file < 0) return;
  u8 contents[page / sizeof(u8)];
  off_t unused_from = 0, at = 0;
  const auto release = [&] {
    const off_t bytes = at - unused_from;
    return bytes < static_cast<off_t>(least_released) ||
           fallocate(file, FALLOC_FL_PUNCH_HOLE | FALLOC_FL_KEEP_SIZE, unused_from, bytes) == 0;
  };
  bool more = true;
  for (; more && pread(file, contents, page, at) == static_cast<ssize_t>(page); at += page) {
    if (std::all_of(std::begin(contents), std::end(contents), [](u8 word) { return word == 0; })) continue;
    more = release();
    unused_from = at + static_cast<off_t>(page);
  }
  if (more) release();
  close(file);
}

}  // namespace scope
