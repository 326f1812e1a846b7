// Messages of the model: all pass through here, so that they are counted and assigned to a phase.
#pragma once

#include <mpi.h>

#include <bit>
#include <numeric>

#include "benchmarks/application/shallow_water/decomposition.hpp"
#include "mpi/shared_slots.hpp"
#include "sampling/phases.hpp"

namespace scope::shallow_water {

constexpr int tag = 31;

inline int as_count(std::ptrdiff_t size) { return static_cast<int>(size); }

inline std::vector<std::ptrdiff_t> begins_of(const std::vector<std::ptrdiff_t>& sizes) {
  std::vector<std::ptrdiff_t> begins(sizes.size() + 1);
  std::partial_sum(sizes.begin(), sizes.end(), begins.begin() + 1);
  return begins;
}

// Counts and beginnings of slabs for MPI; the count of this process's own slab is 0.
struct Parcels {
  std::vector<int> counts;
  std::vector<int> begins;

  Parcels(const std::vector<std::ptrdiff_t>& all, int own) {
    for (std::size_t place = 0; place + 1 < all.size(); ++place) {
      counts.push_back(static_cast<int>(place) == own ? 0 : as_count(all[place + 1] - all[place]));
      begins.push_back(as_count(all[place]));
    }
  }
};

// A collective sum is counted as the messages of recursive doubling: ceil(log2 p) messages of the whole vector.
class Exchange {
 public:
  enum class Way {
    blocking,
    nonblocking,
    shared_memory,  // blocking; transpositions between processes of one host use shared memory
  };

  explicit Exchange(Way way) : way_(way) {}

  // From now on, messages are counted from zero, and their time is assigned to `phases` if it is not null.
  void begin(Phases* phases) {
    phases_ = phases;
    messages_ = bytes_ = 0;
    meetings_ = 0;
    compute();
  }

  bool nonblocking() const { return way_ == Way::nonblocking; }
  bool shares_memory() const { return way_ == Way::shared_memory; }
  // Messages sent by this process since `begin`, and their bytes.
  std::int64_t messages() const { return messages_; }
  std::int64_t bytes() const { return bytes_; }
  // Meetings since `begin`, the same on every process.
  std::size_t meetings() const { return meetings_; }

  void compute() { enter(Phase::compute); }
  void communicate() { enter(Phase::exchange); }
  void meet(const Partners& partners) {
    ++meetings_;
    if (phases_ != nullptr) phases_->meet(Phase::exchange, partners);
  }
  // For a process that need not wait when the others of a line meet: all count the same meetings.
  void pass() {
    meet(nobody_);
    compute();
  }
  void offer() {
    if (phases_ != nullptr) phases_->offer();
  }
  void count(std::int64_t messages, std::int64_t doubles) {
    messages_ += messages;
    bytes_ += doubles * static_cast<std::int64_t>(sizeof(double));
  }

  // Sends to one process of the line and receives from the same or another one; returns when both are done.
  void swap(const Line& line, const double* sent, std::ptrdiff_t sent_size, int to, double* received,
            std::ptrdiff_t received_size, int from) {
    meet(line.at(from));
    MPI_Sendrecv(sent, as_count(sent_size), MPI_DOUBLE, to, tag, received, as_count(received_size), MPI_DOUBLE,
                 from, tag, line.handle(), MPI_STATUS_IGNORE);
    count(1, sent_size);
    compute();
  }

  // Each value becomes its sum over the processes of the line.
  void sum(const Line& line, double* values, std::ptrdiff_t size) {
    meet(line.others());
    MPI_Allreduce(MPI_IN_PLACE, values, as_count(size), MPI_DOUBLE, MPI_SUM, line.handle());
    count_sum(line, size);
    compute();
  }
  // Starts the sum, which is complete when the request is complete.
  void start_sum(const Line& line, double* values, std::ptrdiff_t size, MPI_Request* request) {
    communicate();
    MPI_Iallreduce(MPI_IN_PLACE, values, as_count(size), MPI_DOUBLE, MPI_SUM, line.handle(), request);
    count_sum(line, size);
    compute();
  }

  void start_send(const Line& line, const double* sent, std::ptrdiff_t size, int to, MPI_Request* request) {
    communicate();
    MPI_Isend(sent, as_count(size), MPI_DOUBLE, to, tag, line.handle(), request);
    count(1, size);
    compute();
  }
  static void start_receive(const Line& line, double* received, std::ptrdiff_t size, int from,
                            MPI_Request* request) {
    MPI_Irecv(received, as_count(size), MPI_DOUBLE, from, tag, line.handle(), request);
  }

 private:
  void enter(Phase phase) {
    if (phases_ != nullptr) phases_->enter(phase);
  }
  void count_sum(const Line& line, std::ptrdiff_t size) {
    const int rounds = std::bit_width(static_cast<unsigned>(line.size() - 1));
    count(rounds, rounds * size);
  }

  Way way_;
  Phases* phases_ = nullptr;
  std::int64_t messages_ = 0;
  std::int64_t bytes_ = 0;
  std::size_t meetings_ = 0;
  Partners nobody_ = Partners::none();
};

// Every process of a line sends one slab of doubles to every other one: by the library's all-to-all, by
// nonblocking messages, which are in flight while other slabs are made and taken, or, on one host, through shared
// memory.
class Transposition {
 public:
  struct Made {};
  struct Kept {};

  // `sent`, `received`: sizes of the slabs for and from each process of the line, one after another in memory.
  // Collective over the line.
  Transposition(const Line& line, const std::vector<std::ptrdiff_t>& sent,
                const std::vector<std::ptrdiff_t>& received, const Exchange& exchange)
      : line_(line),
        sent_begins_(begins_of(sent)),
        received_begins_(begins_of(received)),
        sends_(sent.size(), MPI_REQUEST_NULL),
        receives_(sent.size(), MPI_REQUEST_NULL) {
    if (exchange.shares_memory() && line.size() > 1)
      shared_.emplace(line.handle(), line.size(), static_cast<std::size_t>(std::ranges::max(sent)));
  }

  std::ptrdiff_t sent_begin(int place) const { return sent_begins_[place]; }
  std::ptrdiff_t received_begin(int place) const { return received_begins_[place]; }
  std::ptrdiff_t sent_size() const { return sent_begins_.back(); }
  std::ptrdiff_t received_size() const { return received_begins_.back(); }

  // `make(place, slab)` fills the slab for a process, unless all are already `made` in `sent`; `take(place, slab)`
  // uses the slab from a process, unless all are `kept` in `received`. This process's own slab is not sent: `make`
  // may put it in its final place, or among the slabs to be sent, where `take` finds it. The order of calls is the
  // same for all kinds of messages.
  template <class Sent, class Make, class Take>
  void run(Exchange& exchange, Sent* sent, double* received, Make make, Take take) {
    const int size = line_.size();
    const int own = line_.place();
    const bool at_once = !exchange.nonblocking() && !shared_;
    if (!at_once) start_receives(exchange, received);
    for (int step = 1; step <= size; ++step) {
      const int to = (own + step) % size;
      if constexpr (!std::is_same_v<Make, Made>)
        make(to, shares_with(to) ? shared_->own(to).data() : sent + sent_begin(to));
      else if (shares_with(to))
        store(exchange, sent, to);
      if (!at_once && to != own) start_send(exchange, sent, to);
    }
    if (!at_once) exchange.offer();
    if (at_once && size > 1) all_to_all(exchange, sent, received);
    if constexpr (!std::is_same_v<Take, Kept>) take(own, sent + sent_begin(own));
    for (int step = 1; step < size; ++step) {
      const int from = (own + size - step) % size;
      if (!at_once) finish_receive(exchange, from, step == 1);
      if constexpr (!std::is_same_v<Take, Kept>)
        take(from, shares_with(from) ? shared_->of(from, own) : received + received_begin(from));
      else if (shares_with(from))
        load(exchange, received, from);
    }
    if (!at_once && size > 1) finish_sends(exchange);
  }

 private:
  void all_to_all(Exchange& exchange, const double* sent, double* received) {
    const Parcels out(sent_begins_, line_.place());
    const Parcels in(received_begins_, line_.place());
    exchange.meet(line_.others());
    MPI_Alltoallv(sent, out.counts.data(), out.begins.data(), MPI_DOUBLE, received, in.counts.data(),
                  in.begins.data(), MPI_DOUBLE, line_.handle());
    for (const int size : out.counts) exchange.count(size > 0 ? 1 : 0, size);
    exchange.compute();
  }
  void start_receives(Exchange& exchange, double* received) {
    if (shared_) shared_->turn();
    exchange.communicate();
    for (int from = 0; from < line_.size(); ++from) {
      if (from == line_.place()) continue;
      const std::ptrdiff_t size = received_begins_[from + 1] - received_begins_[from];
      Exchange::start_receive(line_, received + received_begins_[from], shares_with(from) ? 0 : size, from,
                              &receives_[from]);
    }
    exchange.compute();
  }
  void start_send(Exchange& exchange, const double* sent, int to) {
    const double* const slab = sent + sent_begins_[to];
    const std::ptrdiff_t size = sent_begins_[to + 1] - sent_begins_[to];
    if (!shares_with(to)) return exchange.start_send(line_, slab, size, to, &sends_[to]);
    shared_->synchronize();
    exchange.start_send(line_, slab, 0, to, &sends_[to]);
    exchange.count(0, size);
  }
  void finish_receive(Exchange& exchange, int from, bool first) {
    if (first)
      exchange.meet(line_.others());
    else
      exchange.communicate();
    MPI_Wait(&receives_[from], MPI_STATUS_IGNORE);
    if (shares_with(from)) shared_->synchronize();
    exchange.compute();
  }
  void finish_sends(Exchange& exchange) {
    exchange.communicate();
    MPI_Waitall(static_cast<int>(sends_.size()), sends_.data(), MPI_STATUSES_IGNORE);
    exchange.compute();
  }
  // Whether another process shares memory with this one.
  bool shares_with(int place) const { return shared_ && place != line_.place() && shared_->reaches(place); }
  // Copies between the slabs and shared memory.
  void store(Exchange& exchange, const double* sent, int to) {
    exchange.communicate();
    std::copy_n(sent + sent_begins_[to], sent_begins_[to + 1] - sent_begins_[to], shared_->own(to).data());
  }
  void load(Exchange& exchange, double* received, int from) {
    exchange.communicate();
    std::copy_n(shared_->of(from, line_.place()), received_begins_[from + 1] - received_begins_[from],
                received + received_begins_[from]);
    exchange.compute();
  }

  const Line& line_;
  std::vector<std::ptrdiff_t> sent_begins_;      // and the end of the last
  std::vector<std::ptrdiff_t> received_begins_;  // and the end of the last
  std::vector<MPI_Request> sends_;
  std::vector<MPI_Request> receives_;
  std::optional<SharedSlots> shared_;  // one slot for each process of the line
};

}  // namespace scope::shallow_water
