// The state of this process, written to its slot of a shared file twice a second, so that an observer can tell
// which rank is late or silent and what it was doing. The timed path only counts in memory.
#pragma once

#include <fcntl.h>
#include <unistd.h>

#include <array>
#include <atomic>
#include <cerrno>
#include <chrono>
#include <condition_variable>
#include <cstdint>
#include <cstdio>
#include <cstring>
#include <mutex>
#include <string>
#include <system_error>
#include <thread>

#include "memory/not_copied.hpp"
#include "mpi/communicator.hpp"
#include "mpi/simulated.hpp"
#include "text/words.hpp"

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

constexpr int progress_slot_bytes = 256;
constexpr auto interval = std::chrono::milliseconds(500);

inline const Names<Stage> stages = {
    {Stage::connecting, "connecting"}, {Stage::synchronizing_clocks, "synchronizing-clocks"},
    {Stage::preparing, "preparing"},   {Stage::warming_up, "warming-up"},
    {Stage::sampling, "sampling"},     {Stage::verifying, "verifying"},
    {Stage::writing, "writing"},       {Stage::sentinel, "sentinel"},
    {Stage::finished, "finished"}};

class Progress : NotCopied {
 public:
  // Without a path, counts but does not write. Throws std::system_error if the file cannot be opened.
  Progress(const std::string& path, int rank) : rank_(rank), host_(host_name()) {
    if (path.empty()) return;
    file_ = open(path.c_str(), O_WRONLY | O_CREAT | O_CLOEXEC, 0644);
    if (file_ < 0) throw std::system_error(errno, std::generic_category(), path);
    write_slot();
    // Simulated ranks run one at a time, and other threads must not call functions that the simulation replaces.
    if (!mpi_simulates) heart_ = std::thread([this] { beat(); });
  }
  ~Progress() {
    if (file_ < 0) return;
    {
      const std::lock_guard lock(mutex_);
      stopping_ = true;
    }
    stop_.notify_one();
    if (heart_.joinable()) heart_.join();
    write_slot();
    close(file_);
  }

  void begin_case(int position) {
    position_.store(position, std::memory_order_relaxed);
    repetition_.store(0, std::memory_order_relaxed);
    enter(Stage::preparing);
    if (file_ >= 0) write_slot();
  }
  void enter(Stage stage) { stage_.store(stage, std::memory_order_relaxed); }
  void count_repetition() { repetition_.fetch_add(1, std::memory_order_relaxed); }

 private:
  void beat() {
    std::unique_lock lock(mutex_);
    while (!stop_.wait_for(lock, interval, [this] { return stopping_; })) write_slot();
  }
  void write_slot() const {
    timespec now;
    clock_gettime(CLOCK_REALTIME, &now);
    std::array<char, progress_slot_bytes + 1> slot;
    const int length =
        std::snprintf(slot.data(), progress_slot_bytes,
                      "rank=%d host=%.100s pid=%d position=%d stage=%s repetition=%lld beat_unix_s=%.3f", rank_,
                      host_.c_str(), static_cast<int>(getpid()), position_.load(), stages.at(stage_.load()),
                      static_cast<long long>(repetition_.load()),
                      static_cast<double>(now.tv_sec) + static_cast<double>(now.tv_nsec) * 1e-9);
    std::memset(slot.data() + length, ' ', progress_slot_bytes - length);
    slot[progress_slot_bytes - 1] = '\n';
    // If the write fails, the observer sees an old heartbeat; nothing better can be done here.
    [[maybe_unused]] const auto written =
        pwrite(file_, slot.data(), progress_slot_bytes, off_t{progress_slot_bytes} * rank_);
  }

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
