// The directory for the files of a case of storage.*: private, created for the case, removed with it.
#pragma once

#include <fcntl.h>
#include <sys/stat.h>
#include <sys/statvfs.h>
#include <unistd.h>

#include <algorithm>
#include <cstdint>
#include <cstdlib>
#include <filesystem>
#include <string>
#include <system_error>
#include <vector>

#include "files/file.hpp"
#include "memory/buffer.hpp"
#include "mpi/communicator.hpp"
#include "text/words.hpp"
#include "unavailable.hpp"

namespace scope::storage {

inline std::string variable(const char* name) {
  const char* value = std::getenv(name);
  return value != nullptr ? value : "";
}

inline std::string storage_place() {
  const std::string asked = variable("SCOPE_STORAGE");
  return asked.empty() ? std::filesystem::current_path().string() : asked;
}

// Required free space relative to the data, as the file system needs some itself.
constexpr double spare = 1.05;

// If more than this fraction of a file stays in memory despite eviction, it is read from memory.
constexpr double tolerated_resident = 0.05;
constexpr std::int64_t probe_bytes = 1 << 20;

// Why a file in this directory cannot be used as `cache` requires; empty if it can.
inline std::string cache_problem(const std::string& path, const std::string& cache) {
  if (cache != "dropped" && cache != "direct") return "";
  const File file(open(path.c_str(), O_RDWR | O_CREAT | O_EXCL | O_CLOEXEC, S_IRUSR | S_IWUSR));
  if (!file.is_open()) return "cannot create a file: " + last_error();
  if (file.in_memory()) return "is in memory (tmpfs), where every file stays in the page cache";
  if (cache == "direct")
    return file.bypass_cache() ? "" : "this file system does not support O_DIRECT: " + last_error();
  Buffer zeros(probe_bytes);
  const std::string problem = file.write(zeros.data(), probe_bytes, 0);
  if (!problem.empty()) return problem;
  if (fsync(file.descriptor()) != 0) return "fsync: " + last_error();
  file.leave_cache();
  const double resident = file.resident_share(probe_bytes);
  if (resident <= tolerated_resident) return "";
  return sentence({"this file system keeps files in memory despite eviction (", static_cast<int>(100 * resident),
                   " % of the pages)"});
}

// Throws Unavailable with the first problem on all ranks if any rank has a problem. Collective.
inline void agree(const Communicator& communicator, const std::string& problem) {
  for (const auto& rank_problem : communicator.all_gather(problem))
    if (!rank_problem.empty()) throw Unavailable(rank_problem);
}

// The requirements of a case on its directory.
struct Needs {
  bool shared = true;           // all hosts must see the same directory
  std::int64_t rank_bytes = 0;  // size of every rank's files
  std::int64_t rank_files = 0;
  std::string cache = "cached";  // what the page cache must allow: `dropped` pages, or `direct` transfers
};

// Writes back this host's dirty pages of a file and evicts its pages. Returns the problem, empty if there is none.
inline std::string evict(const std::string& path) {
  const File file(open(path.c_str(), O_RDONLY | O_CLOEXEC | O_NOFOLLOW));
  if (!file.is_open()) return path + ": " + last_error();
  if (fsync(file.descriptor()) != 0) return path + ": fsync: " + last_error();
  file.leave_cache();
  return "";
}
// The fraction of the file's pages in this host's page cache.
inline double resident_share(const std::string& path, std::int64_t bytes) {
  const File file(open(path.c_str(), O_RDONLY | O_CLOEXEC | O_NOFOLLOW));
  return file.is_open() ? file.resident_share(bytes) : 1;
}

class Folder : NotCopied {
 public:
  // Makes a directory in $SCOPE_STORAGE or, without that variable, in the working directory. If `needs.shared` is
  // false, hosts with separate file systems make one each. Throws Unavailable on all ranks if the directory cannot
  // be made or seen or has too little space. Collective; no rank may throw between this call and the last
  // collective operation of a constructor.
  Folder(const Communicator& communicator, const Needs& needs) : hosts_(communicator.all_gather(host_name())) {
    make_on_root(communicator);
    try {
      share(communicator, needs.shared);
      require_room(communicator, needs);
      require_cache(communicator, needs.cache);
    } catch (...) {
      remove();
      throw;
    }
    for (const char letter : path_) number_ = pattern_word(number_ + static_cast<unsigned char>(letter), 1);
    const int ranks = communicator.size();
    int most = -1;
    for (int distance = 1; distance < ranks; ++distance) {
      int elsewhere = 0;
      for (int rank = 0; rank < ranks; ++rank) elsewhere += hosts_[rank] != hosts_[(rank + distance) % ranks];
      if (elsewhere > most) {
        most = elsewhere;
        partner_distance_ = distance;
      }
      if (elsewhere == ranks) break;
    }
  }
  // Not collective, because all files are already closed.
  ~Folder() { remove(); }

  const std::string& path() const { return path_; }
  bool one_for_all() const { return one_for_all_; }  // all ranks see the same directory
  // A number that differs from the numbers of all other cases, even in other runs.
  std::uint64_t number() const { return number_; }
  // The distance to a rank that is on another host, for as many ranks as possible: between 1 and ranks-1; 0 for a
  // single rank.
  int partner_distance() const { return partner_distance_; }
  // Bytes that each rank may write so that 5 % stay free. Collective; throws Unavailable if that is unknown.
  std::int64_t room_of_rank(const Communicator& communicator) const {
    const auto sharers =
        one_for_all_ ? communicator.size() : std::count(hosts_.begin(), hosts_.end(), hosts_[communicator.rank()]);
    struct statvfs facts{};
    agree(communicator, statvfs(path_.c_str(), &facts) == 0 ? "" : path_ + ": " + last_error());
    const double free = static_cast<double>(facts.f_bavail) * static_cast<double>(facts.f_frsize);
    return communicator.smallest(static_cast<std::int64_t>(free / spare / static_cast<double>(sharers)));
  }

 private:
  void make_on_root(const Communicator& communicator) {
    std::string problem;
    if (communicator.root()) {
      place_ = storage_place();
      // The launcher of a killed program recognizes its directories by the mark.
      const std::string mark = variable("SCOPE_STORAGE_MARK");
      path_ = place_ + "/scope-storage-" + (mark.empty() ? "" : mark + "-") + "XXXXXX";
      made_ = mkdtemp(path_.data()) != nullptr;
      if (!made_) problem = place_ + ": cannot create a directory: " + last_error();
    }
    agree(communicator, problem);
    place_ = communicator.broadcast(place_, 0);
    path_ = communicator.broadcast(path_, 0);
  }
  void share(const Communicator& communicator, bool required) {
    one_for_all_ = !communicator.any(!seen());
    if (one_for_all_) return;
    const int rank = communicator.rank();
    if (required) {
      agree(communicator, seen() ? ""
                                 : sentence({place_, " is on different file systems on hosts ", hosts_.front(),
                                             " and ", hosts_[rank]}));
    }
    // One host after another, because several may share a file system.
    std::string problem;
    for (int turn = 0; turn < communicator.size(); ++turn) {
      const bool first = std::find(hosts_.begin(), hosts_.end(), hosts_[turn]) == hosts_.begin() + turn;
      if (!first) continue;
      if (turn == rank && !seen()) {
        made_ = mkdir(path_.c_str(), S_IRWXU) == 0;
        if (!made_)
          problem = sentence({place_, " on host ", hosts_[rank], ": cannot create a directory: ", last_error()});
      }
      MPI_Barrier(communicator.handle());
    }
    if (problem.empty() && !seen()) problem = sentence({path_, " is not visible on host ", hosts_[rank]});
    agree(communicator, problem);
  }
  void require_room(const Communicator& communicator, const Needs& needs) const {
    const int rank = communicator.rank();
    const auto sharers =
        one_for_all_ ? communicator.size() : std::count(hosts_.begin(), hosts_.end(), hosts_[rank]);
    struct statvfs facts{};
    std::string problem;
    if (statvfs(path_.c_str(), &facts) != 0) {
      problem = path_ + ": " + last_error();
    } else {
      const double free = static_cast<double>(facts.f_bavail) * static_cast<double>(facts.f_frsize);
      const double needed = static_cast<double>(needs.rank_bytes) * static_cast<double>(sharers);
      const auto files = static_cast<std::uint64_t>(needs.rank_files) * static_cast<std::uint64_t>(sharers);
      if (needed * spare > free) {
        problem =
            sentence({place_, " on host ", hosts_[rank], ": the files need ", static_cast<std::int64_t>(needed),
                      " B, and ", static_cast<std::int64_t>(free), " B are free"});
      } else if (facts.f_files > 0 && files > facts.f_favail) {  // some file systems do not have a fixed number
        problem = sentence({place_, " on host ", hosts_[rank], ": ", static_cast<std::int64_t>(files),
                            " files are needed, and ", static_cast<std::int64_t>(facts.f_favail), " are free"});
      }
    }
    agree(communicator, problem);
  }
  void require_cache(const Communicator& communicator, const std::string& cache) const {
    const std::string file = path_ + sentence({"/probe-", communicator.rank()});
    std::string problem = cache_problem(file, cache);
    unlink(file.c_str());
    if (!problem.empty()) problem = sentence({place_, ", cache=", cache, ": ", problem});
    agree(communicator, problem);
  }
  bool seen() const {
    struct stat facts{};
    return lstat(path_.c_str(), &facts) == 0 && S_ISDIR(facts.st_mode) && facts.st_uid == geteuid();
  }
  void remove() const {
    std::error_code ignored;
    if (made_) std::filesystem::remove_all(path_, ignored);
  }

  std::string place_;  // the requested directory
  std::string path_;
  bool made_ = false;
  bool one_for_all_ = true;
  std::uint64_t number_ = 0;
  int partner_distance_ = 0;
  std::vector<std::string> hosts_;
};

}  // namespace scope::storage
