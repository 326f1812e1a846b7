// The state of this process, written to its slot of a shared file twice a second, so that an observer can
// tell which rank is late or silent and what it was doing. The timed path only counts in memory.
#pragma once

#include <atomic>
#include <condition_variable>
#include <cstdint>
#include <mutex>
#include <string>
#include <thread>

#include "memory/not_copied.hpp"

namespace scope {

enum class Stage {
  connecting,
  synchronizing_clocks,
  preparing,
  warming_up,
  sampling,
  verifying,
  writing,
  sentinel,
  finished
};

class Progress : NotCopied {
 public:
  // Without a path, counts and writes nothing. Throws std::system_error when the file cannot be opened.
  Progress(const std::string& path, int rank);
  ~Progress();

  void begin_case(int position);
  void enter(Stage stage) { stage_.store(stage, std::memory_order_relaxed); }
  void count_repetition() { repetition_.fetch_add(1, std::memory_order_relaxed); }

 private:
  void beat();
  void write_slot() const;

  int file_ = -1;
  int rank_;
  std::string host_;
  std::atomic<int> position_{-1};
  std::atomic<Stage> stage_{Stage::connecting};
  std::atomic<std::int64_t> repetition_{0};
  std::mutex mutex_;
  std::condition_variable stop_;
  bool stopping_ = false;
  std::thread heart_;
};

}  // namespace scope
