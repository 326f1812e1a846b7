// Streams of chunks between ranks, and the throughput of each while all run.
#pragma once

#include <algorithm>
#include <chrono>
#include <cstdint>
#include <fstream>
#include <functional>
#include <vector>

#include "faults/faults.hpp"
#include "memory/buffer.hpp"
#include "mpi/communicator.hpp"
#include "probing/waiting.hpp"

namespace scope {

struct Transfer {
  int from = 0;
  int to = 0;
  std::int64_t chunk_bytes = 0;
  int window = 0;          // maximum number of chunks in flight
  double bytes_per_s = 0;  // maximum rate of sending; 0: as fast as chunks are granted
};

struct Delivery {
  double bytes = 0;          // arrived in the middle part of the stream
  double seconds = 0;        // time in which they arrived, on the receiver's clock
  double starved = 0;        // fraction of the time in which the receiver waited for a CPU
  std::int64_t correct = 1;  // 0: wrong contents arrived
};

using Clock = std::chrono::steady_clock;
constexpr int first_tag = 100;                     // each transfer has a tag for its chunks and one for its grants
constexpr std::chrono::seconds longest_delay{30};  // in addition to a stream's own time
constexpr double settling = 0.25;                  // fraction of a stream's time
constexpr std::int64_t closing = -1;               // number of a chunk that ends the stream

// A number, followed by a pattern that differs between transfers.
class Chunk {
 public:
  explicit Chunk(std::int64_t bytes) : bytes_(bytes) {}

  std::byte* data() { return bytes_.data(); }
  std::int64_t& number() { return bytes_.as<std::int64_t>()[0]; }
  std::span<std::byte> payload() { return bytes_.bytes().subspan(sizeof(std::int64_t)); }

 private:
  Buffer bytes_;
};

inline std::vector<Chunk> chunks_of(const Transfer& transfer) {
  std::vector<Chunk> chunks;
  for (int slot = 0; slot < transfer.window; ++slot) chunks.emplace_back(transfer.chunk_bytes);
  return chunks;
}

class Sender {
 public:
  Sender(const Transfer& transfer, std::size_t index, MPI_Comm world)
      : transfer_(transfer),
        tag_(first_tag + 2 * static_cast<int>(index)),
        world_(world),
        chunks_(chunks_of(transfer)),
        sends_(transfer.window, MPI_REQUEST_NULL) {
    for (Chunk& chunk : chunks_) write_pattern(chunk.payload(), index);
  }

  void start(double seconds) {
    begin_ = Clock::now();
    end_ = begin_ + std::chrono::duration_cast<Clock::duration>(std::chrono::duration<double>(seconds));
    use_free_slots();
  }

  // Makes as much progress as possible without waiting; returns whether there was any.
  bool advance() {
    if (done_) return false;
    const bool granted = take_grant();
    const bool sent = use_free_slots();
    if (closed_ == transfer_.window) finish();
    return granted || sent;
  }

  bool done() const { return done_; }

 private:
  // Returns whether the receiver has taken a chunk, which it does in the order of the slots.
  bool take_grant() {
    if (granted_ == sent_) return false;
    if (grant_ == MPI_REQUEST_NULL) MPI_Irecv(&token_, 1, MPI_CHAR, transfer_.to, tag_ + 1, world_, &grant_);
    int arrived = 0;
    MPI_Test(&grant_, &arrived, MPI_STATUS_IGNORE);
    if (arrived == 0) return false;
    ++granted_;
    return true;
  }

  // Uses slots round-robin, and closes them when the time is over.
  bool use_free_slots() {
    bool used = false;
    while (sent_ - granted_ + closed_ < transfer_.window && (Clock::now() >= end_ || due())) {
      const auto slot = static_cast<int>((sent_ + closed_) % transfer_.window);
      used = true;
      if (Clock::now() < end_) {
        send(slot, sent_++, transfer_.chunk_bytes);
      } else {
        send(slot, closing, sizeof(std::int64_t));
        ++closed_;
      }
    }
    return used;
  }

  // Whether the next chunk may be sent; lateness is made up for.
  bool due() const {
    if (transfer_.bytes_per_s <= 0) return true;
    const double at = static_cast<double>(sent_ * transfer_.chunk_bytes) / transfer_.bytes_per_s;
    return std::chrono::duration<double>(Clock::now() - begin_).count() >= at;
  }

  // The receiver has taken the previous chunk of this slot, so its send is complete.
  void send(int slot, std::int64_t number, std::int64_t bytes) {
    MPI_Wait(&sends_[slot], MPI_STATUS_IGNORE);
    chunks_[slot].number() = number;
    MPI_Isend(chunks_[slot].data(), static_cast<int>(bytes), MPI_BYTE, transfer_.to, tag_, world_, &sends_[slot]);
  }

  void finish() {
    MPI_Waitall(transfer_.window, sends_.data(), MPI_STATUSES_IGNORE);
    done_ = true;
  }

  Transfer transfer_;
  int tag_;
  MPI_Comm world_;
  Clock::time_point begin_, end_;
  std::vector<Chunk> chunks_;
  std::vector<MPI_Request> sends_;
  MPI_Request grant_ = MPI_REQUEST_NULL;
  char token_ = 0;
  std::int64_t sent_ = 0, granted_ = 0;
  int closed_ = 0;
  bool done_ = false;
};

class Receiver {
 public:
  Receiver(const Transfer& transfer, std::size_t index, double seconds, MPI_Comm world)
      : transfer_(transfer),
        index_(index),
        tag_(first_tag + 2 * static_cast<int>(index)),
        world_(world),
        seconds_(seconds),
        chunks_(chunks_of(transfer)),
        receives_(transfer.window, MPI_REQUEST_NULL),
        grants_(transfer.window, MPI_REQUEST_NULL) {
    for (int slot = 0; slot < transfer_.window; ++slot) receive(slot);
  }

  bool advance() {
    if (done()) return false;
    int arrived = 0;
    MPI_Test(&receives_[next_], &arrived, MPI_STATUS_IGNORE);
    if (arrived == 0) return false;
    const int slot = next_;
    next_ = (next_ + 1) % transfer_.window;
    const std::int64_t number = chunks_[slot].number();
    MPI_Wait(&grants_[slot], MPI_STATUS_IGNORE);
    if (number == closing) {
      ++closed_;
      return true;
    }
    arrivals_.push_back(Clock::now());
    correct_ = correct_ && number == expected_++;
    receive(slot);
    MPI_Isend(&token_, 1, MPI_CHAR, transfer_.from, tag_ + 1, world_, &grants_[slot]);
    return true;
  }

  bool done() const { return closed_ == transfer_.window; }

  Delivery delivery(const Communicator& world, const Faults& faults) {
    Delivery result;
    measure(result);
    verify(world, faults);
    result.correct = correct_ ? 1 : 0;
    return result;
  }

 private:
  void receive(int slot) {
    MPI_Irecv(chunks_[slot].data(), static_cast<int>(transfer_.chunk_bytes), MPI_BYTE, transfer_.from, tag_,
              world_, &receives_[slot]);
  }

  // Measures the chunks that arrived after settling and in time, or all chunks if these are too few.
  void measure(Delivery& result) const {
    const auto since = [&](std::size_t i) {
      return std::chrono::duration<double>(arrivals_[i] - arrivals_.front()).count();
    };
    if (arrivals_.size() < 2) {
      result.bytes = static_cast<double>(arrivals_.size() * transfer_.chunk_bytes);
      result.seconds = seconds_;
      return;
    }
    std::size_t first = 0;
    while (first + 1 < arrivals_.size() && since(first) < settling * seconds_) ++first;
    std::size_t last = arrivals_.size() - 1;
    while (last > first && since(last) > seconds_) --last;
    if (last < first + 2) {
      first = 0;
      last = arrivals_.size() - 1;
    }
    // The slope of a line through the arrivals, since a single late observation has little influence on it.
    const double middle = 0.5 * static_cast<double>(last - first);
    double products = 0;
    double squares = 0;
    for (std::size_t i = first; i <= last; ++i) {
      const double offset = static_cast<double>(i - first) - middle;
      products += offset * since(i);
      squares += offset * offset;
    }
    result.bytes = static_cast<double>((last - first) * transfer_.chunk_bytes);
    result.seconds = static_cast<double>(last - first) * products / squares;
  }

  // A slot contains the last chunk that arrived in it; a closing chunk replaces only its number. If the sender had
  // no CPU until its time was over, slots are closed without any chunk.
  void verify(const Communicator& world, const Faults& faults) {
    const std::size_t used = std::min(arrivals_.size(), chunks_.size());
    for (std::size_t slot = 0; slot < used; ++slot) {
      faults.corrupt_if_asked("probe", world, chunks_[slot].payload());
      correct_ = correct_ && pattern_problem(chunks_[slot].payload(), index_).empty();
    }
  }

  Transfer transfer_;
  std::size_t index_;
  int tag_;
  MPI_Comm world_;
  double seconds_;
  std::vector<Chunk> chunks_;
  std::vector<MPI_Request> receives_, grants_;
  std::vector<Clock::time_point> arrivals_;
  char token_ = 0;
  std::int64_t expected_ = 0;
  int next_ = 0, closed_ = 0;
  bool correct_ = true;
};

// Time in seconds for which this process was runnable without a free processor; 0 if the kernel does not
// report it.
inline double waited_for_processor() {
  std::ifstream file("/proc/self/schedstat");
  double ran = 0;
  double waited = 0;
  return file >> ran >> waited ? 1e-9 * waited : 0;
}

template <class Ends>
bool advance_all(Ends& ends, bool& left) {
  bool moved = false;
  for (auto& end : ends) {
    moved = end.advance() || moved;
    left = left || !end.done();
  }
  return moved;
}

// Carries out the transfers that begin or end on this rank; `start_together` returns when all ranks are ready.
// Returns the deliveries in the order of the transfers that end here. A stream lasts for `seconds`. Chunks in its
// first quarter, which fills buffers, and after its time are not counted. A receiver grants a window of chunks, so
// that streams over one link get equal bandwidth and data do not accumulate in buffers. Throws Overdue if a peer
// does not answer.
inline std::vector<Delivery> carry_out(const std::vector<Transfer>& transfers, double seconds,
                                       std::chrono::microseconds nap, const Communicator& world,
                                       const Faults& faults, const std::function<void()>& start_together) {
  std::vector<Sender> senders;
  std::vector<Receiver> receivers;
  senders.reserve(transfers.size());  // MPI keeps addresses in the elements
  receivers.reserve(transfers.size());
  for (std::size_t i = 0; i < transfers.size(); ++i) {
    if (transfers[i].to == world.rank()) receivers.emplace_back(transfers[i], i, seconds, world.handle());
    if (transfers[i].from == world.rank()) senders.emplace_back(transfers[i], i, world.handle());
  }
  start_together();
  const double waited_before = waited_for_processor();
  const auto begin = Clock::now();
  for (Sender& sender : senders) sender.start(seconds);
  const std::chrono::seconds limit = longest_delay + std::chrono::seconds(static_cast<int>(seconds));
  Waiting waiting("a chunk of a transfer", nap, nap, limit);
  for (bool left = true; left;) {
    left = false;
    const bool moved_in = advance_all(receivers, left);
    const bool moved_out = advance_all(senders, left);
    if (left && !moved_in && !moved_out) waiting.pause();
  }
  const double elapsed = std::chrono::duration<double>(Clock::now() - begin).count();
  const double starved = (waited_for_processor() - waited_before) / elapsed;
  std::vector<Delivery> deliveries;
  for (Receiver& receiver : receivers) {
    deliveries.push_back(receiver.delivery(world, faults));
    deliveries.back().starved = starved;
  }
  return deliveries;
}

}  // namespace scope
