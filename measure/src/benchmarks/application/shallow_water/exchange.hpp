// Messages of the model: all pass through here, so that they are counted and belong to a phase.
#pragma once

#include <mpi.h>

#include "benchmarks/application/shallow_water/decomposition.hpp"
#include "mpi/shared_slots.hpp"
#include "sampling/phases.hpp"

namespace scope::shallow_water {

// A collective sum counts as the messages of recursive doubling: ceil(log2 p), of the whole vector each.
class Exchange {
 public:
  enum class Way {
    blocking,
    nonblocking,
    shared_memory,  // blocking; transpositions among processes of one host through memory that they share
  };

  explicit Exchange(Way way) : way_(way) {}

  // From here on, messages are counted and their time belongs to `phases`; without phases, it belongs to nothing.
  void begin(Phases* phases) {
    phases_ = phases;
    messages_ = bytes_ = 0;
    meetings_ = 0;
    compute();
  }

  bool nonblocking() const { return way_ == Way::nonblocking; }
  bool shares_memory() const { return way_ == Way::shared_memory; }
  // Sent by this process since `begin`.
  std::int64_t messages() const { return messages_; }
  std::int64_t bytes() const { return bytes_; }
  // Since `begin`, of every process alike.
  std::size_t meetings() const { return meetings_; }

  void compute() { enter(Phase::compute); }
  void communicate() { enter(Phase::exchange); }
  void meet(const Partners& partners) {
    ++meetings_;
    if (phases_ != nullptr) phases_->meet(Phase::exchange, partners);
  }
  // The others of a line meet, and this process need not wait: all go through the same meetings.
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

  // Sends to one process of the line and receives from another one, or the same; returns when both are done.
  void swap(const Line& line, const double* sent, std::ptrdiff_t sent_size, int to, double* received,
            std::ptrdiff_t received_size, int from);

  // Each value becomes its sum over the processes of the line.
  void sum(const Line& line, double* values, std::ptrdiff_t size);
  // Starts the sum, which is complete when the request is.
  void start_sum(const Line& line, double* values, std::ptrdiff_t size, MPI_Request* request);

  void start_send(const Line& line, const double* sent, std::ptrdiff_t size, int to, MPI_Request* request);
  static void start_receive(const Line& line, double* received, std::ptrdiff_t size, int from,
                            MPI_Request* request);

 private:
  void enter(Phase phase) {
    if (phases_ != nullptr) phases_->enter(phase);
  }
  void count_sum(const Line& line, std::ptrdiff_t size);

  Way way_;
  Phases* phases_ = nullptr;
  std::int64_t messages_ = 0;
  std::int64_t bytes_ = 0;
  std::size_t meetings_ = 0;
  Partners nobody_ = Partners::none();
};

// Every process of a line sends one slab of doubles to every other one: by the library's all-to-all, by
// nonblocking messages, which travel while slabs of others are made and taken, or, on one host, through memory that
// they share.
class Transposition {
 public:
  struct Made {};
  struct Kept {};

  // The sizes of slabs for, and from, each process of the line, one after another in memory. Collective over the
  // line.
  Transposition(const Line& line, const std::vector<std::ptrdiff_t>& sent,
                const std::vector<std::ptrdiff_t>& received, const Exchange& exchange);

  std::ptrdiff_t sent_begin(int place) const { return sent_begins_[place]; }
  std::ptrdiff_t received_begin(int place) const { return received_begins_[place]; }
  std::ptrdiff_t sent_size() const { return sent_begins_.back(); }
  std::ptrdiff_t received_size() const { return received_begins_.back(); }

  // `make(place, slab)` fills the slab for a process, or all are `made` in `sent`; `take(place, slab)` uses the one that
  // came from it, or all are `kept` in `received`. This process's own slab is not sent: `make` may put it where it
  // belongs, or among those that are sent, where `take` finds it. The order of both is the same for either kind of
  // message.
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
  void all_to_all(Exchange& exchange, const double* sent, double* received);
  void start_receives(Exchange& exchange, double* received);
  void start_send(Exchange& exchange, const double* sent, int to);
  void finish_receive(Exchange& exchange, int from, bool first);
  void finish_sends(Exchange& exchange);
  // Another process, not this one itself.
  bool shares_with(int place) const { return shared_ && place != line_.place() && shared_->reaches(place); }
  // Between the slabs and shared memory.
  void store(Exchange& exchange, const double* sent, int to);
  void load(Exchange& exchange, double* received, int from);

  const Line& line_;
  std::vector<std::ptrdiff_t> sent_begins_;      // and their end
  std::vector<std::ptrdiff_t> received_begins_;  // and their end
  std::vector<MPI_Request> sends_;
  std::vector<MPI_Request> receives_;
  std::optional<SharedSlots> shared_;  // one slot for each process of the line
};

}  // namespace scope::shallow_water
