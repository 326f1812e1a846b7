// Communication of the NPB kernels: all their messages pass through here, so that they are counted, are assigned
// to a phase, and can be corrupted by a test.
#pragma once

#include <mpi.h>

#include <bit>

#include "benchmark.hpp"
#include "benchmarks/algorithm/partition.hpp"
#include "faults/faults.hpp"
#include "sampling/phases.hpp"

namespace scope::npb {

// Messages of this process since the timed part began.
struct Sent {
  std::int64_t messages = 0;
  std::int64_t bytes = 0;
  std::int64_t small = 0;  // messages of at most this many bytes:
  static constexpr std::size_t small_bytes = 1024;
};

// One side of a swap: data for one process and data from another; either may be MPI_PROC_NULL.
struct Side {
  int to;
  std::span<const double> sent;
  int from;
  std::span<double> received;
  int tag;
};

// A collective is counted as the messages of recursive doubling: ceil(log2 p) messages of the whole vector.
class Exchange {
 public:
  Exchange(std::string benchmark, const Communicator& communicator)
      : benchmark_(std::move(benchmark)), communicator_(communicator), faults_(Faults::from_environment()) {}

  // From now on, messages are counted from zero, and their time is assigned to `phases` if it is not null.
  void begin(Phases* phases) {
    phases_ = phases;
    exchanged_ = collected_ = {};
    waits_ = 0;
    exposed_ = phases != nullptr;
    if (phases_ != nullptr) phases_->enter(Phase::compute);
  }

  const Sent& exchanged() const { return exchanged_; }  // messages to partners
  const Sent& collected() const { return collected_; }  // messages of sums and maxima over all processes
  // The number of messages that had to be awaited one after another; each costs at least one latency.
  std::int64_t waits() const { return waits_; }

  // Exchanges all sides at once. `partners` are the sources of the sides and must live as long as the kernel.
  void swap(std::span<const Side> sides, const Partners& partners) {
    meet(Phase::exchange, partners);
    requests_.clear();
    for (const Side& side : sides)
      if (side.from != MPI_PROC_NULL)
        MPI_Irecv(side.received.data(), count(side.received), MPI_DOUBLE, side.from, side.tag, handle(),
                  &requests_.emplace_back());
    waits_ += requests_.empty() ? 0 : 1;
    for (const Side& side : sides) {
      if (side.to == MPI_PROC_NULL) continue;
      MPI_Isend(side.sent.data(), count(side.sent), MPI_DOUBLE, side.to, side.tag, handle(),
                &requests_.emplace_back());
      add(exchanged_, 1, side.sent.size_bytes());
    }
    MPI_Waitall(static_cast<int>(requests_.size()), requests_.data(), MPI_STATUSES_IGNORE);
    compute();
    const bool exposed = exposed_;
    for (const Side& side : sides) {
      if (side.from == MPI_PROC_NULL) continue;
      exposed_ = exposed;
      corrupt_if_asked(std::as_writable_bytes(side.received));
    }
  }

  // A link of a pipeline: waits for the data of the preceding process. Every process of the pipeline must call it
  // equally often, including those without a predecessor (MPI_PROC_NULL).
  void receive(std::span<double> received, int from, int tag, const Partners& partner) {
    meet(Phase::exchange, partner);
    if (from != MPI_PROC_NULL)
      MPI_Recv(received.data(), count(received), MPI_DOUBLE, from, tag, handle(), MPI_STATUS_IGNORE);
    waits_ += from != MPI_PROC_NULL ? 1 : 0;
    compute();
    if (from != MPI_PROC_NULL) corrupt_if_asked(std::as_writable_bytes(received));
  }

  // The other end of a link.
  void send(std::span<const double> sent, int to, int tag) {
    if (to == MPI_PROC_NULL) return;
    enter(Phase::exchange);
    MPI_Send(sent.data(), count(sent), MPI_DOUBLE, to, tag, handle());
    add(exchanged_, 1, sent.size_bytes());
    compute();
  }

  // Announces the counts to all processes; returns those that this process receives, packed in rank order.
  Parcels announce(const Parcels& out) {
    std::vector<int> taken(out.counts.size());
    meet(Phase::exchange, everyone_);
    MPI_Alltoall(out.counts.data(), 1, MPI_INT, taken.data(), 1, MPI_INT, handle());
    waits_ += communicator_.size() > 1 ? 1 : 0;
    compute();
    add(exchanged_, communicator_.size() - 1, (communicator_.size() - 1) * sizeof(int));
    return Parcels(std::move(taken));
  }

  // Sends the parcels of all processes to all processes, in place.
  template <class Item>
  void transpose(const Item* sent, const Parcels& out, Item* received, const Parcels& in) {
    const auto [type, width] = type_of<Item>();
    swap_parcels(sent, in_units(out, width), received, in_units(in, width), type);
    const int rank = communicator_.rank();
    for (int to = 0; to < communicator_.size(); ++to)
      if (to != rank && out.counts[to] > 0)
        add(exchanged_, 1, static_cast<std::size_t>(out.counts[to]) * sizeof(Item));
    // Corrupts data from another process; for integers only one low byte, so that they remain valid indices.
    const int from = rank == 0 ? communicator_.size() - 1 : 0;
    const auto bytes = std::as_writable_bytes(std::span(received + in.begins[from], in.counts[from]));
    if (from != rank) corrupt_if_asked(std::is_integral_v<Item> && !bytes.empty() ? bytes.first(1) : bytes);
  }

  // Each value becomes its sum over all processes.
  template <class Item, std::size_t size>
  void sum(std::span<Item, size> values) {
    reduce<Item>(values, MPI_SUM);
  }
  void largest(std::span<double> values) { reduce<double>(values, MPI_MAX); }

  // For messages that belong to another pattern, which the kernel counts itself.
  void meet(Phase phase, const Partners& partners) {
    if (phases_ != nullptr) phases_->meet(phase, partners);
  }
  void enter(Phase phase) {
    if (phases_ != nullptr) phases_->enter(phase);
  }
  void compute() { enter(Phase::compute); }
  // If a test requests it, alters the first message (in a swap, all messages) of the timed part, and the first
  // one after `expose`.
  void corrupt_if_asked(std::span<std::byte> received) {
    if (!exposed_ || received.empty()) return;
    exposed_ = false;
    // The middle may be at the edge of a face, which no stencil reads; the point at three eighths is not.
    faults_.corrupt_if_asked(benchmark_, communicator_, received.first(received.size() - received.size() / 4));
  }
  // Marks the beginning of the last iteration, for kernels whose iterations correct earlier errors.
  void expose() { exposed_ = phases_ != nullptr; }

  const Communicator& communicator() const { return communicator_; }
  MPI_Comm handle() const { return communicator_.handle(); }

 private:
  template <class Item>
  static int count(std::span<Item> items) {
    return static_cast<int>(items.size());
  }

  static void add(Sent& sent, std::int64_t messages, std::size_t bytes) {
    sent.messages += messages;
    sent.bytes += static_cast<std::int64_t>(bytes);
    if (bytes <= static_cast<std::size_t>(messages) * Sent::small_bytes) sent.small += messages;
  }

  // The MPI datatype, and the number of elements in an item.
  template <class Item>
  static std::pair<MPI_Datatype, int> type_of() {
    if constexpr (std::is_same_v<Item, std::int32_t>) {
      return {MPI_INT32_T, 1};
    } else if constexpr (std::is_same_v<Item, std::int64_t>) {
      return {MPI_INT64_T, 1};
    } else {
      static_assert(!std::is_integral_v<Item> && sizeof(Item) % sizeof(double) == 0);
      return {MPI_DOUBLE, static_cast<int>(sizeof(Item) / sizeof(double))};
    }
  }

  static Parcels in_units(Parcels parcels, int width) {
    for (int& count : parcels.counts) count *= width;
    for (int& begin : parcels.begins) begin *= width;
    return parcels;
  }

  void swap_parcels(const void* sent, const Parcels& out, void* received, const Parcels& in, MPI_Datatype type) {
    meet(Phase::exchange, everyone_);
    MPI_Alltoallv(sent, out.counts.data(), out.begins.data(), type, received, in.counts.data(), in.begins.data(),
                  type, handle());
    waits_ += communicator_.size() > 1 ? 1 : 0;
    compute();
  }

  template <class Item>
  void reduce(std::span<Item> values, MPI_Op operation) {
    reduce(values.data(), count(values), type_of<Item>().first, values.size_bytes(), operation);
  }
  void reduce(void* values, int count, MPI_Datatype type, std::size_t bytes, MPI_Op operation) {
    if (communicator_.size() == 1) return;
    meet(Phase::collect, everyone_);
    MPI_Allreduce(MPI_IN_PLACE, values, count, type, operation, handle());
    compute();
    const int rounds = std::bit_width(static_cast<unsigned>(communicator_.size() - 1));
    add(collected_, rounds, rounds * bytes);
    waits_ += rounds;
  }

  std::string benchmark_;
  const Communicator& communicator_;
  Faults faults_;
  Phases* phases_ = nullptr;
  bool exposed_ = false;
  Sent exchanged_;
  Sent collected_;
  std::int64_t waits_ = 0;
  Partners everyone_ = Partners::everyone();
  std::vector<MPI_Request> requests_;
};

}  // namespace scope::npb
