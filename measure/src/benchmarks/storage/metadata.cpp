// storage.metadata: number of files per second that are created, examined, opened, renamed, listed and removed.
//
// Timed: each rank creates its files, then calls stat on each, opens (and reads) each, renames each, lists the
// directory, and removes its files. All ranks begin every step together; the slowest one counts, and a rate is the
// number of operations of all ranks over its time. The time of the case is the time of all steps together.
#include <dirent.h>
#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

#include <charconv>
#include <cstdio>

#include "benchmark.hpp"
#include "benchmarks/storage/content.hpp"
#include "benchmarks/storage/folder.hpp"
#include "files/file.hpp"

namespace scope::storage::metadata {
namespace {

enum Step { create, look, open_and_read, rename_all, list, remove_all, steps };
constexpr const char* phases[] = {"create_s", "stat_s", "open_s", "rename_s", "list_s", "remove_s"};
constexpr const char* rates[] = {"create_per_s", "stat_per_s", "open_per_s",
                                 "rename_per_s", "list_per_s", "remove_per_s"};

// Makes the paths of numbered files as fast as programs do.
class Names {
 public:
  explicit Names(std::string stem) : path_(std::move(stem)), stem_(path_.size()) {}

  // The path is valid until the next call.
  const std::string& of(std::int64_t file) {
    char digits[20];
    path_.resize(stem_);
    path_.append(digits, std::to_chars(digits, digits + sizeof(digits), file).ptr);
    return path_;
  }

 private:
  std::string path_;
  std::size_t stem_;
};

class Metadata final : public Benchmark {
 public:
  Metadata(const Parameters& parameters, const Communicator& communicator)
      : communicator_(communicator),
        shared_(parameters.choice("folder") == "shared"),
        elsewhere_(checked(parameters, communicator) == "other_rank"),
        files_(parameters.integer("files")),
        file_bytes_(parameters.integer("file_bytes")),
        folder_(communicator,
                {.shared = shared_ || elsewhere_, .rank_bytes = files_ * file_bytes_, .rank_files = files_ + 1}),
        content_(folder_.number(), Content::page_bytes),
        other_(elsewhere_ ? (communicator.rank() + folder_.partner_distance()) % communicator.size()
                          : communicator.rank()),
        created_(stem("file", communicator.rank())),
        visited_(stem("file", other_)),
        renamed_(stem("renamed", communicator.rank())),
        written_(file_bytes_),
        found_((files_ + 2) * sizeof(std::int64_t) + files_ * file_bytes_) {
    if (!shared_ && mkdir(place(communicator.rank()).c_str(), S_IRWXU) != 0) complain("mkdir");
  }

  Work work() const override { return {}; }

  void run(Repetition& repetition) override {
    ++generation_;
    found_.clear();
    double spent_s[steps];
    repetition.time([&] {
      for (int step = 0; step < steps; ++step) {
        MPI_Barrier(communicator_.handle());
        const Ticks start = repetition.ticks().now();
        if (problem_.empty()) do_step(static_cast<Step>(step));
        spent_s[step] = repetition.ticks().seconds(repetition.ticks().now() - start);
      }
      MPI_Barrier(communicator_.handle());
    });
    double slowest_s[steps];
    MPI_Allreduce(spent_s, slowest_s, steps, MPI_DOUBLE, MPI_MAX, communicator_.handle());
    const double ranks = communicator_.size();
    for (int step = 0; step < steps; ++step) {
      const double each = static_cast<double>(step == list ? listed() : files_);
      repetition.observe(phases[step], spent_s[step]);
      repetition.observe(rates[step], ranks * each / std::max(slowest_s[step], 1e-9));
    }
  }

  Check verify(std::uint64_t) override {
    const auto found = numbers();
    for (std::int64_t file = 0; file < files_ && problem_.empty(); ++file) {
      if (found[file] != file_bytes_) {
        problem_ = sentence(
            {visited_.of(file), ": stat returns ", found[file], " B, but ", file_bytes_, " B were written"});
      }
    }
    if (problem_.empty() && (found[files_] != listed() || found[files_ + 1] != 0)) {
      problem_ = sentence({"the directory listing has ", found[files_], " of ", listed(), " files, and ",
                           found[files_ + 1], " other entries"});
    }
    for (std::int64_t file = 0; file < files_ && problem_.empty() && file_bytes_ > 0; ++file) {
      const std::string wrong = content_.problem({data(file), static_cast<std::size_t>(file_bytes_)},
                                                 {generation_, other_}, start(file));
      if (!wrong.empty()) problem_ = visited_.of(file) + ": " + wrong;
    }
    if (problem_.empty()) {
      const std::int64_t left = count_of(place(communicator_.rank()), [](const std::string&) { return true; });
      if (left != 0) problem_ = sentence({"files left in the directory after the removal: ", left});
    }
    return {3 * files_ + files_ * file_bytes_, problem_};
  }

  std::span<std::byte> received() override { return found_.bytes(); }
  bool repeats() const override { return false; }
  bool loops() const override { return false; }
  bool prepares() const override { return true; }

 private:
  static std::string checked(const Parameters& parameters, const Communicator& communicator) {
    const std::string cache = parameters.choice("cache");
    if (cache == "other_rank" && communicator.size() < 2)
      throw Unavailable("cache=other_rank needs at least 2 ranks");
    return cache;
  }

  std::string place(int rank) const { return shared_ ? folder_.path() : sentence({folder_.path(), "/", rank}); }
  std::string stem(const char* kind, int rank) const { return sentence({place(rank), "/", kind, ".", rank, "."}); }
  // Position of a file in its rank's data, at the beginning of a page and thus of a stamp.
  std::int64_t start(std::int64_t file) const {
    return file * ((file_bytes_ + Content::page_bytes - 1) / Content::page_bytes) * Content::page_bytes;
  }
  std::int64_t listed() const { return shared_ ? files_ * communicator_.size() : files_; }

  // The sizes returned by stat, then the number of listed files, and of those that should not be there.
  std::span<std::int64_t> numbers() { return found_.as<std::int64_t>().first(files_ + 2); }
  std::byte* data(std::int64_t file) {
    return found_.data() + (files_ + 2) * sizeof(std::int64_t) + file * file_bytes_;
  }

  void complain(const std::string& what) {
    if (problem_.empty()) problem_ = what + ": " + last_error();
  }

  void do_step(Step step) {
    if (step == list) {
      list_folder();
      return;
    }
    for (std::int64_t file = 0; file < files_ && problem_.empty(); ++file) do_one(step, file);
  }

  void do_one(Step step, std::int64_t file) {
    switch (step) {
      case create: write(created_.of(file), file); break;
      case look: {
        struct stat facts{};
        const std::string& path = visited_.of(file);
        if (stat(path.c_str(), &facts) != 0) complain(path + ": stat");
        numbers()[file] = facts.st_size;
        break;
      }
      case open_and_read: read(visited_.of(file), file); break;
      case rename_all: {
        const std::string& from = created_.of(file);
        if (rename(from.c_str(), renamed_.of(file).c_str()) != 0) complain(from + ": rename");
        break;
      }
      case remove_all: {
        const std::string& path = renamed_.of(file);
        if (unlink(path.c_str()) != 0) complain(path + ": unlink");
        break;
      }
      default: break;
    }
  }

  void write(const std::string& path, std::int64_t file) {
    File made(open(path.c_str(), O_CREAT | O_EXCL | O_WRONLY | O_CLOEXEC, S_IRUSR | S_IWUSR));
    if (!made.is_open()) return complain(path + ": open");
    if (file_bytes_ > 0) {
      content_.write(written_.bytes(), {generation_, communicator_.rank()}, start(file));
      const std::string wrong = made.write(written_.data(), file_bytes_, 0);
      if (!wrong.empty() && problem_.empty()) problem_ = path + ": write: " + wrong;
    }
    if (!made.close()) complain(path + ": close");
  }

  void read(const std::string& path, std::int64_t file) {
    File opened(open(path.c_str(), O_RDONLY | O_CLOEXEC | O_NOFOLLOW));
    if (!opened.is_open()) return complain(path + ": open");
    const std::string wrong = file_bytes_ > 0 ? opened.read(data(file), file_bytes_, 0) : "";
    if (!wrong.empty() && problem_.empty()) problem_ = path + ": read: " + wrong;
    if (!opened.close()) complain(path + ": close");
  }

  // The number of entries of a directory that `counts` accepts.
  template <class Counts>
  std::int64_t count_of(const std::string& folder, Counts&& counts) {
    DIR* open = opendir(folder.c_str());
    if (open == nullptr) {
      complain(folder + ": opendir");
      return 0;
    }
    std::int64_t count = 0;
    while (const dirent* entry = readdir(open)) {
      const std::string found = entry->d_name;
      if (found != "." && found != ".." && counts(found)) ++count;
    }
    closedir(open);
    return count;
  }

  void list_folder() {
    std::int64_t others = 0;
    numbers()[files_] = count_of(place(other_), [&](const std::string& found) {
      int rank = -1;
      long long file = -1;
      int length = 0;
      const bool ours = std::sscanf(found.c_str(), "renamed.%d.%lld%n", &rank, &file, &length) == 2 &&
                        length == static_cast<int>(found.size()) && file >= 0 && file < files_ && rank >= 0 &&
                        (shared_ ? rank < communicator_.size() : rank == other_);
      if (!ours) ++others;
      return ours;
    });
    numbers()[files_ + 1] = others;
  }

  const Communicator& communicator_;
  bool shared_;
  bool elsewhere_;
  std::int64_t files_;
  std::int64_t file_bytes_;
  Folder folder_;
  Content content_;
  int other_;
  Names created_;
  Names visited_;
  Names renamed_;
  Buffer written_;
  Buffer found_;
  std::uint64_t generation_ = 0;
  std::string problem_;
};

std::vector<Metric> metrics() {
  std::vector<Metric> all;
  const char* labels[] = {"files created per second", "stat calls per second",     "files opened per second",
                          "files renamed per second", "entries listed per second", "files removed per second"};
  for (int step = 0; step < steps; ++step)
    all.push_back(result(rates[step], "1/s", Better::higher).labeled(labels[step]));
  all.push_back(seconds("time_s"));
  for (const char* name : phases) all.push_back(phase(name));
  return all;
}

const Registration registration{{
    .name = "storage.metadata",
    .title = "metadata",
    .summary = "rates of file creation, stat, open, rename, listing and removal",
    .needs = {Requirement::file_system},
    .parameters = {size("files", "", 256, 1, 1 << 22, "number of files of each rank"),
                   parallel("folder", "shared,own", "one directory for all ranks, or one for each")
                       .worded("one shared directory,a directory per rank"),
                   problem("file_bytes", "B", 0, 0, 1 << 24,
                           "bytes written to each file when it is created, and read when it is opened"),
                   call("cache", "cached,other_rank",
                        "stat, open and list a rank's own files, or the files of another rank, which is on "
                        "another host if the run has several hosts")
                       .worded(",files of another rank")},
    .definition = Definition::max_rank,
    .metrics = metrics(),
    .sweeps = {{"standard", "ranks=powers folder=shared,own"},
               {"standard", "ranks=all cache=other_rank"},
               {"advanced", "ranks=powers folder=shared,own files=2000 file_bytes=0,3901 cache=other_rank"}},
    .make = make<Metadata>,
}};

}  // namespace
}  // namespace scope::storage::metadata
