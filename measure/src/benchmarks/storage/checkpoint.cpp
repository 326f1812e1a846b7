// storage.checkpoint: how much of writing a checkpoint an application can hide behind its computation.
//
// Timed: a computation and a checkpoint, on every rank's own clock after a common start; the slowest rank counts. Without
// overlap, the checkpoint (open, write, flush, close) follows the computation; else it is written by a thread or by
// nonblocking MPI-IO calls while the rank computes. In the same repetition both are timed alone; the computation takes as
// long as the checkpoint. The hidden fraction is t_checkpoint + t_computation - t_both over the smaller of the first two.
#include <unistd.h>

#include <thread>

#include "benchmarks/storage/content.hpp"
#include "benchmarks/storage/folder.hpp"
#include "benchmarks/storage/mpi_file.hpp"
#include "benchmarks/storage/open_file.hpp"
#include "sampling/overlapped.hpp"

namespace scope::storage::checkpoint {
namespace {

class Checkpoint final : public Benchmark {
 public:
  Checkpoint(const Parameters& parameters, const Communicator& communicator)
      : communicator_(communicator),
        method_(checked(parameters)),
        thread_(parameters.choice("overlap") == "thread"),
        nonblocking_(parameters.choice("overlap") == "nonblocking"),
        shared_(parameters.choice("file") == "shared"),
        sync_(parameters.choice("sync") == "fsync"),
        bytes_(parameters.integer("checkpoint_bytes")),
        transfer_bytes_(std::min(parameters.integer("transfer_bytes"), bytes_)),
        folder_(communicator, {.shared = shared_, .rank_bytes = bytes_, .rank_files = 1}),
        content_(folder_.number(), (bytes_ / Content::page_bytes + 1) * Content::page_bytes),
        state_(bytes_),
        found_(bytes_),
        overlapped_(communicator) {
    const bool elsewhere = shared_ || folder_.one_for_all();
    partner_ =
        elsewhere ? (communicator.rank() + folder_.partner_distance()) % communicator.size() : communicator.rank();
    state_.map();
    found_.map();
  }

  Work work() const override { return {.bytes = static_cast<double>(bytes_) * communicator_.size()}; }

  void fill(std::uint64_t) override {
    if (settings_.empty() && method_.interface == Interface::mpiio) {
      auto file = open(method_, Mode::create, alone);
      settings_ = file->settings();
      file->close();
    }
  }

  void run(Repetition& repetition) override {
    problem_.clear();
    ++generation_;
    content_.write(state_.bytes(), {generation_, communicator_.rank()}, 0);
    MPI_Barrier(communicator_.handle());  // some may still read the file back
    for (const char* which : {alone, beside})
      if (!shared_ || communicator_.root()) unlink(path(which, communicator_.rank()).c_str());
    MPI_Barrier(communicator_.handle());
    const TickClock& ticks = repetition.ticks();
    Ticks at[4]{};
    overlapped_.run(
        repetition,
        [&](std::int64_t) {
          at[0] = ticks.now();
          auto file = open(method_, Mode::create, alone);
          write(*file);
          file->complete();
          at[1] = ticks.now();
          if (sync_) file->sync();
          at[2] = ticks.now();
          close(*file);
          at[3] = ticks.now();
        },
        [&](std::int64_t, Computation& computation, std::int64_t steps) {
          compute_and_write(computation, steps);
        });
    repetition.observe("bandwidth_bytes_per_s",
                       work().bytes / communicator_.largest(ticks.seconds(at[3] - at[0])));
    const char* phases[] = {"write_s", "sync_s", "close_s"};
    for (int i = 0; i < 3; ++i) repetition.observe(phases[i], ticks.seconds(at[i + 1] - at[i]));
    read_back();
  }

  Check verify(std::uint64_t) override {
    if (problem_.empty()) problem_ = content_.problem(found_.bytes(), {generation_, partner_}, 0);
    return {bytes_, problem_};
  }

  std::span<std::byte> received() override { return found_.bytes(); }
  std::vector<ControlVariable> settings() const override { return settings_; }
  bool repeats() const override { return false; }
  bool loops() const override { return false; }
  bool prepares() const override { return true; }

 private:
  // Names of the checkpoint that is written alone, and of the one written during the computation.
  static constexpr const char* alone = "alone";
  static constexpr const char* beside = "beside";

  static Method checked(const Parameters& parameters) {
    const std::string overlap = parameters.choice("overlap");
    Method method;
    if (parameters.choice("interface") == "mpiio") {
      if (!has_mpi_io()) throw Unavailable("this MPI library has no MPI-IO");
      if (overlap == "thread")
        throw Unavailable("overlap=thread needs interface=posix: the thread does not call MPI");
      method.interface = Interface::mpiio;
      if (overlap == "nonblocking") {
        const std::int64_t bytes = parameters.integer("checkpoint_bytes");
        const std::int64_t each = parameters.integer("transfer_bytes");
        method.access = Access::nonblocking;
        method.in_flight = static_cast<int>((bytes + each - 1) / each);
      } else if (parameters.choice("access") == "collective") {
        method.access = Access::collective;
      }
    } else if (overlap == "nonblocking") {
      throw Unavailable("overlap=nonblocking needs interface=mpiio");
    }
    if (parameters.choice("access") == "collective" && method.access != Access::collective)
      throw Unavailable("access=collective needs interface=mpiio and overlap=none");
    return method;
  }

  std::string path(const char* which, int owner) const {
    return folder_.path() + "/" + which + (shared_ ? "" : sentence({"-", owner}));
  }
  std::int64_t offset(int owner) const { return shared_ ? owner * bytes_ : 0; }

  std::unique_ptr<OpenFile> open(const Method& method, Mode mode, const char* which) const {
    return open_file(method, communicator_, path(which, communicator_.rank()), mode, shared_);
  }

  void keep(const std::string& problem) {
    if (problem_.empty()) problem_ = problem;
  }

  void write(OpenFile& file) {
    for (std::int64_t at = 0; at < bytes_; at += transfer_bytes_)
      file.write(state_.data() + at, std::min(transfer_bytes_, bytes_ - at), offset(communicator_.rank()) + at);
  }

  void close(OpenFile& file) {
    file.close();
    keep(file.problem());
  }

  void compute_and_write(Computation& computation, std::int64_t steps) {
    if (thread_) {
      std::thread writer([&] { write_all(); });
      computation.run(steps);
      writer.join();
    } else if (nonblocking_) {
      auto file = open(method_, Mode::create, beside);
      write(*file);
      computation.run(steps);
      file->complete();
      if (sync_) file->sync();
      close(*file);
    } else {
      computation.run(steps);
      write_all();
    }
  }

  void write_all() {
    auto file = open(method_, Mode::create, beside);
    write(*file);
    if (sync_) file->sync();
    close(*file);
  }

  // Each rank reads both checkpoints of another rank.
  void read_back() {
    MPI_Barrier(communicator_.handle());
    for (const char* which : {alone, beside}) {
      if (which == beside) keep(content_.problem(found_.bytes(), {generation_, partner_}, 0));
      auto file = open_file(method_.plain(), communicator_, path(which, partner_), Mode::read, shared_);
      for (std::int64_t at = 0; at < bytes_; at += transfer_bytes_)
        file->read(found_.data() + at, std::min(transfer_bytes_, bytes_ - at), offset(partner_) + at);
      close(*file);
    }
  }

  const Communicator& communicator_;
  Method method_;
  bool thread_;
  bool nonblocking_;
  bool shared_;
  bool sync_;
  std::int64_t bytes_;
  std::int64_t transfer_bytes_;
  Folder folder_;
  Content content_;
  Buffer state_;
  Buffer found_;
  Overlapped overlapped_;
  int partner_ = 0;
  std::uint64_t generation_ = 0;
  std::string problem_;
  std::vector<ControlVariable> settings_;
};

const Registration registration{{
    .name = "storage.checkpoint",
    .title = "checkpoint",
    .summary = "writing a checkpoint after or during a computation",
    .needs = {Requirement::file_system},
    .rungs = {{Pattern::file_write, "bandwidth_bytes_per_s",
               "interface=posix,mpiio overlap=none sync=fsync transfer_bytes=*", "application"}},
    .parameters =
        {call("overlap", "none,thread,nonblocking",
              "write the checkpoint after the computation, or during it by a thread or by MPI-IO requests")
             .worded(",by a thread,nonblocking"),
         call("interface", "posix,mpiio", "calls of the operating system, or MPI-IO").worded("POSIX,MPI-IO"),
         call("access", "independent,collective", "for MPI-IO: independent or collective calls")
             .worded(",collective"),
         parallel("file", "shared,per_process", "one file for all ranks, or one for each")
             .worded("one shared file,a file per rank"),
         size("checkpoint_bytes", "B", 8 << 20, 1, std::int64_t{1} << 36, "bytes that each rank writes"),
         call("transfer_bytes", "B", 1 << 20, 1, 1 << 30, "bytes that each call transfers"),
         call("sync", "fsync,none", "whether the data are flushed to storage within the timed part")
             .worded(",without flush")},
    .definition = Definition::max_rank,
    .metrics =
        {seconds("time_s"),
         result("hidden_share", "", Better::higher).labeled("fraction hidden behind computation"),
         result("bandwidth_bytes_per_s", "B/s", Better::higher).labeled("bandwidth of the checkpoint alone"),
         phase("exchange_s").labeled("checkpoint alone"), phase("computation_s").labeled("computation alone"),
         phase("write_s"), phase("sync_s"), phase("close_s")},
    .sweeps = {{"standard", "ranks=1,all interface=posix overlap=none,thread"},
               {"standard", "ranks=all interface=mpiio overlap=none,nonblocking"},
               {"advanced",
                "ranks=powers interface=posix overlap=none,thread file=shared,per_process checkpoint_bytes=64Mi"},
               {"advanced", "ranks=powers interface=mpiio overlap=none,nonblocking checkpoint_bytes=64Mi"},
               {"advanced", "ranks=powers interface=mpiio access=collective checkpoint_bytes=8Mi,64Mi"}},
    .make = make<Checkpoint>,
}};

}  // namespace
}  // namespace scope::storage::checkpoint
