// node.thread_sync: the cost of synchronization for threads of one process.
//
// Timed: `rounds` synchronizations of every thread, from the start signal of the first thread until the last one
// ends. The threads exist before and wait for the start in a loop, so that none has to be woken.
#include <pthread.h>

#include <atomic>
#include <condition_variable>
#include <mutex>
#include <thread>

#include "benchmark.hpp"
#include "processors/processors.hpp"

namespace scope::thread_sync {
namespace {

// Binds the calling thread to one processor for the lifetime of this object.
class OnProcessor : NotCopied {
 public:
  explicit OnProcessor(int processor) {
    pthread_getaffinity_np(pthread_self(), sizeof before_, &before_);
    cpu_set_t one;
    CPU_ZERO(&one);
    CPU_SET(processor, &one);
    pthread_setaffinity_np(pthread_self(), sizeof one, &one);
  }
  ~OnProcessor() { pthread_setaffinity_np(pthread_self(), sizeof before_, &before_); }

 private:
  cpu_set_t before_;
};

class ThreadSync final : public Benchmark {
 public:
  explicit ThreadSync(const Parameters& parameters, const Communicator&)
      : operation_(parameters.choice("operation")),
        threads_(static_cast<int>(parameters.integer("threads"))),
        rounds_(parameters.integer("rounds")),
        processors_(allowed_processors()),
        turns_(static_cast<std::size_t>(threads_)) {
    const int usable = usable_processors({processors_}, processor_quota());
    if (threads_ > usable)
      throw Unavailable(sentence({"threads=", threads_, ": must be at most ", usable,
                                  ", the number of the rank's processors (placement=none does not bind ranks)"}));
    pthread_barrier_init(&barrier_, nullptr, static_cast<unsigned>(threads_));
  }
  ~ThreadSync() override { pthread_barrier_destroy(&barrier_); }

  // Threads pass a barrier all in one step, but other synchronizations one after another.
  Work work() const override {
    return {.steps = static_cast<double>(rounds_) * (operation_ == "barrier" ? 1 : threads_)};
  }

  void run(Repetition& repetition) override {
    std::atomic<int> ready = 0;
    std::atomic<bool> start = false;
    std::atomic<int> running = threads_ - 1;
    count_ = 0;
    atomic_count_ = 0;
    turn_ = 0;
    early_ = 0;
    for (Turn& turn : turns_) turn.passed = 0;
    {
      const OnProcessor first(processors_[0]);
      std::vector<std::jthread> others;
      for (int thread = 1; thread < threads_; ++thread)
        others.emplace_back([&, thread] {
          const OnProcessor own(processors_[static_cast<std::size_t>(thread)]);
          ++ready;
          while (!start) {
          }
          synchronize(thread);
          --running;
        });
      while (ready < threads_ - 1) {
      }
      repetition.time([&] {
        start = true;
        synchronize(0);
        while (running != 0) {
        }
      });
    }
    results_ = {operation_ == "atomic" ? atomic_count_.load() : count_, early_.load()};
  }

  Check verify(std::uint64_t) override {
    const std::int64_t right = operation_ == "barrier" ? 0 : rounds_ * threads_;
    if (results_[0] != right) return {2, sentence({"counted ", results_[0], " synchronizations, not ", right})};
    if (results_[1] != 0)
      return {2, sentence({"threads left the barrier before others entered it (", results_[1], " times)"})};
    return {2, ""};
  }

  std::span<std::byte> received() override { return std::as_writable_bytes(std::span(results_)); }
  bool loops() const override { return false; }

 private:
  void synchronize(int thread) {
    if (operation_ == "lock") return take_locks();
    if (operation_ == "atomic") return add();
    if (operation_ == "barrier") return pass_barriers(static_cast<std::size_t>(thread));
    take_turns(thread);
  }

  void take_locks() {
    for (std::int64_t round = 0; round < rounds_; ++round) {
      const std::lock_guard held(mutex_);
      ++count_;
    }
  }
  void add() {
    for (std::int64_t round = 0; round < rounds_; ++round) ++atomic_count_;
  }
  // Each thread checks that the next one has arrived, too.
  void pass_barriers(std::size_t thread) {
    const std::atomic<std::int64_t>& next = turns_[(thread + 1) % turns_.size()].passed;
    for (std::int64_t round = 1; round <= rounds_; ++round) {
      turns_[thread].passed.store(round, std::memory_order_relaxed);
      pthread_barrier_wait(&barrier_);
      if (next.load(std::memory_order_relaxed) < round) ++early_;
    }
  }
  // The turn passes around the threads; each sleeps until it has the turn.
  void take_turns(int thread) {
    const int next = (thread + 1) % threads_;
    std::unique_lock held(mutex_);
    for (std::int64_t round = 0; round < rounds_; ++round) {
      turns_[static_cast<std::size_t>(thread)].came.wait(held, [&] { return turn_ == thread; });
      ++count_;
      turn_ = next;
      turns_[static_cast<std::size_t>(next)].came.notify_one();
    }
  }

  // State of one thread, on separate cache lines.
  struct alignas(2 * cache_line) Turn {
    std::atomic<std::int64_t> passed = 0;
    std::condition_variable came;
  };

  std::string operation_;
  int threads_;
  std::int64_t rounds_;
  std::vector<int> processors_;
  std::vector<Turn> turns_;
  pthread_barrier_t barrier_;
  std::mutex mutex_;
  alignas(2 * cache_line) std::int64_t count_ = 0;
  int turn_ = 0;
  alignas(2 * cache_line) std::atomic<std::int64_t> atomic_count_ = 0;
  std::atomic<std::int64_t> early_ = 0;
  std::array<std::int64_t, 2> results_{};
};

const Registration registration{{
    .name = "node.thread_sync",
    .title = "synchronization of threads",
    .summary = "time that threads of a process need for a lock, atomic addition, barrier or condition variable",
    .ranks = Ranks::at_most(1),
    .parameters = {problem("operation", "lock,atomic,barrier,condition", "how the threads synchronize")
                       .worded("lock,atomic addition,barrier,condition variable"),
                   problem("threads", "", 2, 2, 1024, "threads, one on each processor").worded("{} threads"),
                   problem("rounds", "", 1000, 1, 1 << 20, "synchronizations of each thread in one operation")},
    .definition = Definition::max_rank,
    .metrics = {seconds_per_step("time_s")},
    .sweeps = {{"standard",
                "nodes=types ranks=1 placement=none operation=lock,atomic,barrier,condition threads=2,4,8,16,32"}},
    .make = make<ThreadSync>,
}};

}  // namespace
}  // namespace scope::thread_sync
