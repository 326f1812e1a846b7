// mpi.shared_window: the ping-pong with plain loads and stores in a window shared by two ranks of a host.
//
// Timed: a copy of the message from one rank's segment of the window to the other's, a signal that it has arrived, and
// the same back, on rank 0's clock; half of it is the latency. The message is copied back from the place of its arrival.
#include <sched.h>

#include <atomic>

#include "benchmarks/mpi/echo.hpp"
#include "mpi/shared_segments.hpp"

namespace scope::shared_window {
namespace {

constexpr int tag = 22;
// A flag has two cache lines to itself, because neighboring lines are fetched together.
constexpr std::int64_t flag_bytes = 2 * cache_line;
constexpr int looks_before_yielding = 4096;

// A segment for each rank, with its flag and the message.
class Window {
 public:
  Window(const Communicator& host, std::int64_t message_bytes) : segments_(host, flag_bytes + message_bytes) {}

  std::span<std::byte> message_of(int rank) const { return segments_.of(rank).subspan(flag_bytes); }
  std::atomic_ref<std::int64_t> flag_of(int rank) const {
    return std::atomic_ref(*reinterpret_cast<std::int64_t*>(segments_.of(rank).data()));
  }
  void synchronize() const { segments_.synchronize(); }

 private:
  SharedSegments segments_;
};

class SharedWindow final : public Benchmark {
 public:
  SharedWindow(const Parameters& parameters, const Communicator& communicator)
      : first_(communicator.root()),
        stores_(parameters.choice("access") == "store"),
        by_flag_(parameters.choice("signal") == "flag"),
        partner_(1 - communicator.rank()),
        comm_(communicator.handle()),
        host_(one_host(communicator)),
        window_(host_, parameters.integer("message_bytes")),
        own_(window_.message_of(communicator.rank())),
        theirs_(window_.message_of(partner_)),
        own_flag_(window_.flag_of(communicator.rank())),
        their_flag_(window_.flag_of(partner_)) {
    own_flag_.store(0);
    MPI_Barrier(comm_);
  }

  Work work() const override { return {.bytes = static_cast<double>(own_.size()), .messages = 1}; }

  void fill(std::uint64_t seed) override {
    if (first_)
      write_pattern(own_, seed);
    else
      std::ranges::fill(own_, std::byte{0});
    window_.synchronize();
    MPI_Barrier(comm_);  // prevents stores into a segment that is being filled
  }

  void run(Repetition& repetition) override {
    time_round_trips(repetition, first_, [this] { send(); }, [this] { receive(); });
  }

  Check verify(std::uint64_t seed) override {
    return {static_cast<std::int64_t>(own_.size()), pattern_problem(own_, seed)};
  }

  std::span<std::byte> received() override { return own_; }

 private:
  void copy(std::span<std::byte> to, std::span<const std::byte> from) {
    if (!from.empty()) std::memcpy(to.data(), from.data(), from.size());
  }
  void send() {
    if (stores_) copy(theirs_, own_);
    window_.synchronize();
    if (by_flag_)
      their_flag_.store(++sent_, std::memory_order_release);
    else
      MPI_Send(nullptr, 0, MPI_BYTE, partner_, tag, comm_);
  }
  void receive() {
    if (by_flag_) {
      ++received_;
      for (int looks = 0; own_flag_.load(std::memory_order_acquire) < received_; ++looks)
        if (looks >= looks_before_yielding) sched_yield();  // more ranks than processors
    } else {
      MPI_Recv(nullptr, 0, MPI_BYTE, partner_, tag, comm_, MPI_STATUS_IGNORE);
    }
    window_.synchronize();
    if (!stores_) copy(own_, theirs_);
  }

  bool first_;
  bool stores_;
  bool by_flag_;
  int partner_;
  MPI_Comm comm_;
  Communicator host_;
  Window window_;
  std::span<std::byte> own_;
  std::span<std::byte> theirs_;
  std::atomic_ref<std::int64_t> own_flag_;
  std::atomic_ref<std::int64_t> their_flag_;
  std::int64_t sent_ = 0;
  std::int64_t received_ = 0;
};

const Registration registration{{
    .name = "mpi.shared_window",
    .title = "shared-memory window",
    .summary = "ping-pong by loads and stores in a window of MPI_Win_allocate_shared",
    .ranks = Ranks::exactly(2),
    .parameters = {problem("access", "store,load",
                           "the sender stores into the partner's segment, or the receiver loads from it")
                       .worded("store,load"),
                   call("signal", "flag,message",
                        "how the partner is notified: a flag in the window, or an empty message")
                       .worded(",signaled by messages"),
                   size("message_bytes", "B", 1024, 0, 1 << 30, "bytes that each copy moves")},
    .definition = Definition::half_round_trip,
    .metrics = {seconds("latency_s"), bytes_per_second()},
    .sweeps = {{"baseline", "ranks=2 placement=core access=store message_bytes=8,64Ki"},
               {"standard",
                "ranks=2 placement=core access=store,load signal=flag,message message_bytes=0,8,1Ki,64Ki,1Mi"}},
    .make = make<SharedWindow>,
}};

}  // namespace
}  // namespace scope::shared_window
