#include "progress/progress.hpp"

#include <fcntl.h>
#include <unistd.h>

#include <array>
#include <cerrno>
#include <chrono>
#include <cstdio>
#include <cstring>
#include <system_error>

#include "mpi/communicator.hpp"
#include "mpi/simulated.hpp"
#include "text/words.hpp"

namespace scope {
namespace {

constexpr int progress_slot_bytes = 256;
constexpr auto interval = std::chrono::milliseconds(500);

const Names<Stage> stages = {
    {Stage::connecting, "connecting"}, {Stage::synchronizing_clocks, "synchronizing-clocks"},
    {Stage::preparing, "preparing"},   {Stage::warming_up, "warming-up"},
    {Stage::sampling, "sampling"},     {Stage::verifying, "verifying"},
    {Stage::writing, "writing"},       {Stage::sentinel, "sentinel"},
    {Stage::finished, "finished"}};

}  // namespace

Progress::Progress(const std::string& path, int rank) : rank_(rank), host_(host_name()) {
  if (path.empty()) return;
  file_ = open(path.c_str(), O_WRONLY | O_CREAT | O_CLOEXEC, 0644);
  if (file_ < 0) throw std::system_error(errno, std::generic_category(), path);
  write_slot();
  // Simulated ranks run one at a time, and no other thread may call what the simulation replaces.
  if (!mpi_simulates) heart_ = std::thread([this] { beat(); });
}

Progress::~Progress() {
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

void Progress::begin_case(int position) {
  position_.store(position, std::memory_order_relaxed);
  repetition_.store(0, std::memory_order_relaxed);
  enter(Stage::preparing);
  if (file_ >= 0) write_slot();
}

void Progress::beat() {
  std::unique_lock lock(mutex_);
  while (!stop_.wait_for(lock, interval, [this] { return stopping_; })) write_slot();
}

void Progress::write_slot() const {
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
  // If the write fails, the watcher sees an old heartbeat; nothing better can be done here.
  [[maybe_unused]] const auto written =
      pwrite(file_, slot.data(), progress_slot_bytes, off_t{progress_slot_bytes} * rank_);
}

}  // namespace scope
