// mpi.one_sided: put, get and accumulate into another process's memory, under each synchronisation mode.
//
// Timed: one operation with its synchronisation on rank 0's clock, until it is complete at both ends: a pair
// of fences, a passive-target lock and unlock, or post/start and complete/wait.
#include <vector>

#include "benchmark.hpp"
#include "memory/buffer.hpp"
#include "text/words.hpp"

namespace scope::one_sided {
namespace {

constexpr int target = 1;
constexpr int tag = 19;
constexpr std::int64_t line_bytes = 64;
constexpr std::uint64_t summand = 0x0101010101010101u;

// Memory of rank 1 that rank 0 may access, in whole cache lines as in programs.
class Window {
 public:
  Window(std::int64_t bytes, MPI_Comm comm) : bytes_(bytes) {
    const std::int64_t lines = (bytes + line_bytes - 1) / line_bytes;
    MPI_Win_allocate(lines * line_bytes, 1, MPI_INFO_NULL, comm, &memory_, &handle_);
  }
  ~Window() { MPI_Win_free(&handle_); }
  Window(const Window&) = delete;
  Window& operator=(const Window&) = delete;

  MPI_Win handle() const { return handle_; }
  std::span<std::byte> bytes() {
    return {static_cast<std::byte*>(memory_), static_cast<std::size_t>(bytes_)};
  }

 private:
  std::int64_t bytes_;
  void* memory_ = nullptr;
  MPI_Win handle_ = MPI_WIN_NULL;
};

// The other rank alone, for post and start.
class Partner {
 public:
  explicit Partner(const Communicator& communicator) {
    MPI_Group all = MPI_GROUP_NULL;
    const int other = 1 - communicator.rank();
    MPI_Comm_group(communicator.handle(), &all);
    MPI_Group_incl(all, 1, &other, &group_);
    MPI_Group_free(&all);
  }
  ~Partner() { MPI_Group_free(&group_); }
  Partner(const Partner&) = delete;
  Partner& operator=(const Partner&) = delete;

  MPI_Group group() const { return group_; }

 private:
  MPI_Group group_ = MPI_GROUP_NULL;
};

class OneSided final : public Benchmark {
 public:
  OneSided(const Parameters& parameters, const Communicator& communicator)
      : operation_(parameters.choice("operation")),
        synchronization_(parameters.choice("epoch")),
        origin_(communicator.root()),
        comm_(communicator.handle()),
        bytes_(checked(parameters)),
        local_(bytes_),
        window_(bytes_, communicator.handle()),
        partner_(communicator) {
    local_.clear();
  }

  Work work() const override { return {.bytes = static_cast<double>(bytes_), .messages = 1}; }

  // Data to be read or added to lie at the target, data to be written at the origin.
  void fill(std::uint64_t seed) override {
    done_ = 0;
    const bool source = operation_ == "put" ? origin_ : !origin_;
    set_window([&](std::span<std::byte> bytes) {
      if (source)
        write_pattern(bytes, seed);
      else
        std::fill(bytes.begin(), bytes.end(), std::byte{0});
    });
    if (operation_ == "put" && origin_) write_pattern(local_.bytes(), seed);
    if (operation_ == "get") local_.clear();
    if (operation_ == "accumulate") {
      for (auto& word : local_.as<std::uint64_t>()) word = summand;
    }
  }

  void run(Repetition& repetition) override {
    if (synchronization_ == "fence") {
      MPI_Win_fence(0, window_.handle());
      repetition.time([this] {
        if (origin_) access();
        MPI_Win_fence(0, window_.handle());
      });
    } else if (synchronization_ == "pscw") {
      repetition.time([this] { origin_ ? start_and_complete() : post_and_wait(); });
    } else if (origin_) {
      repetition.time([this] {
        MPI_Win_lock(MPI_LOCK_EXCLUSIVE, target, 0, window_.handle());
        access();
        MPI_Win_unlock(target, window_.handle());
      });
    }
    if (synchronization_ == "lock") meet();
  }

  Check verify(std::uint64_t seed) override {
    std::uint64_t operations = done_;
    MPI_Bcast(&operations, 1, MPI_UINT64_T, 0, comm_);
    if (operation_ == "get") {
      return origin_ ? Check{bytes_, pattern_problem(local_.bytes(), seed)} : Check{};
    }
    if (origin_) return {};
    Buffer seen(bytes_);
    set_window([&](std::span<std::byte> bytes) { std::copy(bytes.begin(), bytes.end(), seen.data()); });
    if (operation_ == "accumulate") {
      for (auto& word : seen.as<std::uint64_t>()) word -= operations * summand;
    }
    return {bytes_, pattern_problem(seen.bytes(), seed)};
  }

  std::span<std::byte> received() override {
    if (operation_ == "get") return origin_ ? local_.bytes() : std::span<std::byte>();
    return origin_ ? std::span<std::byte>() : window_.bytes();
  }

 private:
  static std::int64_t checked(const Parameters& parameters) {
    const std::int64_t bytes = parameters.integer("message_bytes");
    if (parameters.choice("operation") != "accumulate" || bytes % 8 == 0) return bytes;
    throw Unavailable(sentence({"operation=accumulate message_bytes=", bytes,
                                ": integers of 8 bytes are added; must be a multiple of 8"}));
  }

  // A process accesses its own window's memory only under a lock.
  template <class Touch>
  void set_window(Touch touch) {
    int rank = 0;
    MPI_Comm_rank(comm_, &rank);
    MPI_Win_lock(MPI_LOCK_EXCLUSIVE, rank, 0, window_.handle());
    touch(window_.bytes());
    MPI_Win_unlock(rank, window_.handle());
  }

  void access() {
    const int bytes = static_cast<int>(bytes_);
    ++done_;
    if (operation_ == "put") {
      MPI_Put(local_.data(), bytes, MPI_BYTE, target, 0, bytes, MPI_BYTE, window_.handle());
    } else if (operation_ == "get") {
      MPI_Get(local_.data(), bytes, MPI_BYTE, target, 0, bytes, MPI_BYTE, window_.handle());
    } else {
      MPI_Accumulate(local_.data(), bytes / 8, MPI_UINT64_T, target, 0, bytes / 8, MPI_UINT64_T, MPI_SUM,
                     window_.handle());
    }
  }

  void start_and_complete() {
    MPI_Win_start(partner_.group(), 0, window_.handle());
    access();
    MPI_Win_complete(window_.handle());
    MPI_Recv(nullptr, 0, MPI_BYTE, target, tag, comm_, MPI_STATUS_IGNORE);
  }
  void post_and_wait() {
    MPI_Win_post(partner_.group(), 0, window_.handle());
    MPI_Win_wait(window_.handle());
    MPI_Send(nullptr, 0, MPI_BYTE, 0, tag, comm_);
  }

  // Inside this call rank 1 lets its library make progress, and leaves when rank 0 has finished.
  void meet() { MPI_Barrier(comm_); }

  std::string operation_;
  std::string synchronization_;
  bool origin_;
  MPI_Comm comm_;
  std::int64_t bytes_;
  Buffer local_;
  Window window_;
  Partner partner_;
  std::uint64_t done_ = 0;
};

const Registration registration{{
    .name = "mpi.one_sided",
    .title = "one-sided communication",
    .summary = "put, get and accumulate with fence, lock, or post/start/complete/wait",
    .ranks = Ranks::exactly(2),
    .parameters = {problem("operation", "put,get,accumulate", "operation of rank 0 on rank 1's memory"),
                   call("epoch", "fence,lock,pscw", "synchronisation mode"),
                   size("message_bytes", "B", 1024, 8, 1 << 28, "bytes moved")},
    .definition = Definition::local,
    .metrics = {seconds("time_s"), bytes_per_second()},
    .sweeps = {{"baseline", "ranks=2 operation=put epoch=fence,lock message_bytes=8,64Ki"},
               {"standard",
                "ranks=2 placement=core,node operation=put,get,accumulate epoch=fence,lock,pscw "
                "message_bytes=8,1Ki,64Ki,1Mi"}},
    .make = make<OneSided>,
}};

}  // namespace
}  // namespace scope::one_sided
