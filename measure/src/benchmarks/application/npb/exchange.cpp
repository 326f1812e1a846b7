#include "benchmarks/application/npb/exchange.hpp"

#include <bit>

namespace scope::npb {

Exchange::Exchange(std::string benchmark, const Communicator& communicator)
    : benchmark_(std::move(benchmark)), communicator_(communicator), faults_(Faults::from_environment()) {}

void Exchange::begin(Phases* phases) {
  phases_ = phases;
  exchanged_ = collected_ = {};
  waits_ = 0;
  exposed_ = phases != nullptr;
  if (phases_ != nullptr) phases_->enter(Phase::compute);
}

void Exchange::swap(std::span<const Side> sides, const Partners& partners) {
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

void Exchange::receive(std::span<double> received, int from, int tag, const Partners& partner) {
  meet(Phase::exchange, partner);
  if (from != MPI_PROC_NULL)
    MPI_Recv(received.data(), count(received), MPI_DOUBLE, from, tag, handle(), MPI_STATUS_IGNORE);
  waits_ += from != MPI_PROC_NULL ? 1 : 0;
  compute();
  if (from != MPI_PROC_NULL) corrupt_if_asked(std::as_writable_bytes(received));
}

void Exchange::send(std::span<const double> sent, int to, int tag) {
  if (to == MPI_PROC_NULL) return;
  enter(Phase::exchange);
  MPI_Send(sent.data(), count(sent), MPI_DOUBLE, to, tag, handle());
  add(exchanged_, 1, sent.size_bytes());
  compute();
}

Parcels Exchange::announce(const Parcels& out) {
  std::vector<int> taken(out.counts.size());
  meet(Phase::exchange, everyone_);
  MPI_Alltoall(out.counts.data(), 1, MPI_INT, taken.data(), 1, MPI_INT, handle());
  waits_ += communicator_.size() > 1 ? 1 : 0;
  compute();
  add(exchanged_, communicator_.size() - 1, (communicator_.size() - 1) * sizeof(int));
  return Parcels(std::move(taken));
}

void Exchange::corrupt_if_asked(std::span<std::byte> received) {
  if (!exposed_ || received.empty()) return;
  exposed_ = false;
  // The middle may be at the edge of a face, which no stencil reads; three eighths of the message are not.
  faults_.corrupt_if_asked(benchmark_, communicator_, received.first(received.size() - received.size() / 4));
}

Parcels Exchange::in_units(Parcels parcels, int width) {
  for (int& count : parcels.counts) count *= width;
  for (int& begin : parcels.begins) begin *= width;
  return parcels;
}

void Exchange::swap_parcels(const void* sent, const Parcels& out, void* received, const Parcels& in,
                            MPI_Datatype type) {
  meet(Phase::exchange, everyone_);
  MPI_Alltoallv(sent, out.counts.data(), out.begins.data(), type, received, in.counts.data(), in.begins.data(),
                type, handle());
  waits_ += communicator_.size() > 1 ? 1 : 0;
  compute();
}

void Exchange::reduce(void* values, int count, MPI_Datatype type, std::size_t bytes, MPI_Op operation) {
  if (communicator_.size() == 1) return;
  meet(Phase::collect, everyone_);
  MPI_Allreduce(MPI_IN_PLACE, values, count, type, operation, handle());
  compute();
  const int rounds = std::bit_width(static_cast<unsigned>(communicator_.size() - 1));
  add(collected_, rounds, rounds * bytes);
  waits_ += rounds;
}

}  // namespace scope::npb
