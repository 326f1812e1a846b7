// The folder in which a case of storage.* keeps its files: private, made for the case, removed with it.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "mpi/communicator.hpp"

namespace scope::storage {

// Throws Unavailable on all ranks where a rank has a problem; the first one is named. Collective.
void agree(const Communicator& communicator, const std::string& problem);

// What a case puts into its folder.
struct Needs {
  bool shared = true;           // all hosts must see the same folder
  std::int64_t rank_bytes = 0;  // of every rank's files
  std::int64_t rank_files = 0;
  std::string cache = "cached";  // what the page cache must allow: `dropped` pages, or `direct` transfers
};

// Writes what is dirty of a file of this host and evicts its pages. Empty, or what went wrong.
std::string evict(const std::string& path);
// The share of the file's pages that this host's page cache holds.
double resident_share(const std::string& path, std::int64_t bytes);

class Folder : NotCopied {
 public:
  // Makes a folder below $SCOPE_STORAGE; without that variable in the working directory. Where `needs.shared` is false,
  // hosts with file systems of their own make one each. Throws Unavailable, on all ranks, where the folder cannot
  // be made or seen, or has no room. Collective; no rank may throw between this and the last collective operation of
  // a constructor.
  Folder(const Communicator& communicator, const Needs& needs);
  ~Folder();  // not collective: all files are closed by then

  const std::string& path() const { return path_; }
  bool one_for_all() const { return one_for_all_; }  // all ranks see the same folder
  // A number that no other case has, whenever it ran.
  std::uint64_t number() const { return number_; }
  // The distance to a rank that runs on another host, for as many ranks as possible: from 1 to ranks-1, 0 for a
  // single rank.
  int partner_distance() const { return partner_distance_; }
  // Bytes that each rank may write so that 5 % stay free. Collective; throws Unavailable where that is not known.
  std::int64_t room_of_rank(const Communicator& communicator) const;

 private:
  void make_on_root(const Communicator& communicator);
  void share(const Communicator& communicator, bool required);
  void require_room(const Communicator& communicator, const Needs& needs) const;
  void require_cache(const Communicator& communicator, const std::string& cache) const;
  bool seen() const;
  void remove() const;

  std::string place_;  // the folder that was asked for
  std::string path_;
  bool made_ = false;
  bool one_for_all_ = true;
  std::uint64_t number_ = 0;
  int partner_distance_ = 0;
  std::vector<std::string> hosts_;
};

}  // namespace scope::storage
