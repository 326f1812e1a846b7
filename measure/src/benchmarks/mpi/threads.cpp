// mpi.threads: several threads of two ranks that use MPI concurrently.
//
// Timed: `rounds` round trips of every thread with its partner in the other rank, from the common start of the
// threads until the last one ends, on both ranks' own clocks; the slower one counts. The library is initialized
// with MPI_THREAD_MULTIPLE, in a separate launch (placement=threads), because that level slows even
// single-threaded programs.
#include <atomic>
#include <thread>

#include "benchmark.hpp"
#include "processors/processors.hpp"

namespace scope::threads {
namespace {

// Threads that repeatedly do the same work together and sleep in between.
class Team {
 public:
  Team(int threads, std::function<void(int)> work) : work_(std::move(work)) {
    for (int i = 0; i < threads; ++i) threads_.emplace_back([this, i] { live(i); });
  }
  ~Team() {
    over_ = true;
    ++epoch_;
    epoch_.notify_all();
    for (auto& thread : threads_) thread.join();
  }

  // Returns when every thread has done its work once.
  void work_once() {
    left_ = static_cast<int>(threads_.size());
    ++epoch_;
    epoch_.notify_all();
    for (int left = left_; left != 0; left = left_) left_.wait(left);
  }

 private:
  void live(int number) {
    for (int epoch = 0;;) {
      epoch_.wait(epoch);
      ++epoch;
      if (over_) return;
      work_(number);
      if (--left_ == 0) left_.notify_all();
    }
  }

  std::function<void(int)> work_;
  std::atomic<int> epoch_ = 0;
  std::atomic<int> left_ = 0;
  std::atomic<bool> over_ = false;
  std::vector<std::thread> threads_;
};

class Threads final : public Benchmark {
 public:
  Threads(const Parameters& parameters, const Communicator& communicator)
      : first_(communicator.root()),
        partner_(1 - communicator.rank()),
        threads_(static_cast<int>(parameters.integer("threads"))),
        rounds_(static_cast<int>(parameters.integer("rounds"))),
        bytes_(parameters.integer("message_bytes")) {
    refuse_what_cannot_be(parameters.choice("oversubscription") == "refused", communicator);
    for (int i = 0; i < threads_; ++i) {
      if (i == 0 || parameters.choice("communicators") == "own")
        communicators_.push_back(Communicator::duplicate(communicator.handle()));
      messages_.emplace_back(bytes_).clear();
    }
  }

  Work work() const override {
    const double messages = 2.0 * threads_ * rounds_;
    return {.bytes = messages * static_cast<double>(bytes_), .messages = messages, .steps = 2.0 * rounds_};
  }

  void fill(std::uint64_t seed) override {
    for (int i = 0; i < threads_; ++i)
      first_ ? write_pattern(messages_[i].bytes(), seed * threads_ + i) : messages_[i].clear();
  }

  void run(Repetition& repetition) override {
    // The threads exist only during the measurement, so they do not disturb other benchmarks.
    Team team(threads_, [this](int number) { exchange(number); });
    repetition.time([&] { team.work_once(); });
  }

  Check verify(std::uint64_t seed) override {
    Check check;
    for (int i = 0; i < threads_ && check.problem.empty(); ++i) {
      check.checks += bytes_;
      check.problem = pattern_problem(messages_[i].bytes(), seed * threads_ + i);
      if (!check.problem.empty()) check.problem = sentence({"thread ", i, ": ", check.problem});
    }
    return check;
  }

  std::span<std::byte> received() override { return messages_.back().bytes(); }
  std::vector<std::span<const std::byte>> computed() override {
    std::vector<std::span<const std::byte>> messages;
    for (Buffer& message : messages_) messages.push_back(message.bytes());
    return messages;
  }
  bool loops() const override { return false; }

 private:
  void refuse_what_cannot_be(bool no_oversubscription, const Communicator& communicator) const {
    int level = MPI_THREAD_SINGLE;
    MPI_Query_thread(&level);
    if (level < MPI_THREAD_MULTIPLE)
      throw Unavailable("the case needs placement=threads and an MPI library that provides MPI_THREAD_MULTIPLE");
    const auto allowed = allowed_on_host(communicator);
    const int needed = static_cast<int>(allowed.size()) * threads_;
    const int here = usable_processors(allowed, processor_quota());
    if (no_oversubscription && needed > here) {
      throw Unavailable(
          sentence({"threads=", threads_, ": needs ", needed, " processors on this host; usable: ", here}));
    }
  }

  void exchange(int number) {
    const MPI_Comm comm = communicators_[communicators_.size() > 1 ? number : 0].handle();
    void* const buffer = messages_[number].data();
    const int bytes = static_cast<int>(bytes_);
    for (int round = 0; round < rounds_; ++round) {
      if (first_) MPI_Send(buffer, bytes, MPI_BYTE, partner_, number, comm);
      MPI_Recv(buffer, bytes, MPI_BYTE, partner_, number, comm, MPI_STATUS_IGNORE);
      if (!first_) MPI_Send(buffer, bytes, MPI_BYTE, partner_, number, comm);
    }
  }

  bool first_;
  int partner_;
  int threads_;
  int rounds_;
  std::int64_t bytes_;
  std::vector<Communicator> communicators_;
  std::vector<Buffer> messages_;
};

const Registration registration{{
    .name = "mpi.threads",
    .title = "ping-pong of threads",
    .summary = "concurrent ping-pongs of several threads (MPI_THREAD_MULTIPLE)",
    .needs = {Requirement::threads},
    .ranks = Ranks::exactly(2),
    .parameters = {problem("threads", "", 1, 1, 1024, "threads of each rank").worded("{} threads each"),
                   size("message_bytes", "B", 8, 0, 1 << 24, "payload of each message"),
                   problem("rounds", "", 100, 1, 1 << 20, "round trips of each thread in one operation"),
                   call("communicators", "own,shared", "one communicator for each thread, or one for all threads")
                       .worded(",one communicator"),
                   call("oversubscription", "refused,allowed", "whether more threads than processors are allowed")
                       .worded(",oversubscribed")},
    .definition = Definition::max_rank,
    .metrics = {seconds_per_step("time_s"), messages_per_second(), bytes_per_second()},
    .sweeps = {{"standard",
                "ranks=2 placement=threads threads=1,2,4,8,16 communicators=own,shared message_bytes=8,64Ki"}},
    .make = make<Threads>,
}};

}  // namespace
}  // namespace scope::threads
