// network.shared_memory: a ping-pong through memory that both processes map, without messages of MPI.
//
// Timed: a message from rank 0 to rank 1 and its answer, on rank 0's clock; half of it is the latency.
#include <atomic>
#include <cstring>
#include <thread>

#include "benchmarks/mpi/echo.hpp"

namespace scope {
namespace {

class SharedMemory final : public Echo {
 public:
  SharedMemory(const Parameters& parameters, const Communicator& communicator)
      : Echo(communicator, parameters.integer("message_bytes")) {
    MPI_Comm host = MPI_COMM_NULL;
    MPI_Comm_split_type(communicator.handle(), MPI_COMM_TYPE_SHARED, communicator.rank(), MPI_INFO_NULL, &host);
    int members = 0;
    MPI_Comm_size(host, &members);
    if (members == communicator.size()) {
      void* own = nullptr;
      MPI_Win_allocate_shared(offset + parameters.integer("message_bytes"), 1, MPI_INFO_NULL, host, &own,
                              &window_);
      MPI_Aint bytes = 0;
      int unit = 0;
      void* other = nullptr;
      MPI_Win_shared_query(window_, partner_, &bytes, &unit, &other);
      outbox_ = static_cast<std::byte*>(own);
      inbox_ = static_cast<std::byte*>(other);
      new (outbox_) std::atomic<std::uint64_t>(0);
      MPI_Barrier(host);
    }
    MPI_Comm_free(&host);
    if (members != communicator.size()) throw Unavailable("the two ranks are on different hosts");
  }
  ~SharedMemory() override { MPI_Win_free(&window_); }

  void run(Repetition& repetition) override {
    time_round_trips(repetition, first_, [this] { send(); }, [this] { receive(); });
  }

 private:
  static constexpr std::size_t offset = 64;  // of the message: behind the cache line of its number

  static std::atomic<std::uint64_t>& number(std::byte* box) {
    return *reinterpret_cast<std::atomic<std::uint64_t>*>(box);
  }
  void send() {
    std::memcpy(outbox_ + offset, message_.data(), message_.size());
    number(outbox_).store(++sent_, std::memory_order_release);
  }
  void receive() {
    ++received_;
    while (number(inbox_).load(std::memory_order_acquire) < received_) std::this_thread::yield();
    std::memcpy(message_.data(), inbox_ + offset, message_.size());
  }

  MPI_Win window_ = MPI_WIN_NULL;
  std::byte* outbox_ = nullptr;
  std::byte* inbox_ = nullptr;
  std::uint64_t sent_ = 0;
  std::uint64_t received_ = 0;
};

const Registration registration{{
    .name = "network.shared_memory",
    .title = "shared-memory ping-pong",
    .summary = "a message and its answer through memory that both processes map",
    .ranks = Ranks::exactly(2),
    .rungs = {{Pattern::ping_pong}},
    .parameters = {path("protocol", "shm", "memory that both processes map"),
                   size("message_bytes", "B", 8, 0, 1 << 30, "payload of each message")},
    .definition = Definition::half_round_trip,
    .metrics = {seconds("latency_s"), bytes_per_second()},
    .sweeps = {{"standard", "ranks=2 message_bytes=8,1Ki,64Ki"}},
    .make = make<SharedMemory>,
}};

}  // namespace
}  // namespace scope
