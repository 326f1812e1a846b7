#include "benchmarks/application/shallow_water/exchange.hpp"

#include <bit>
#include <numeric>

namespace scope::shallow_water {
namespace {

constexpr int tag = 31;

int as_count(std::ptrdiff_t size) { return static_cast<int>(size); }

std::vector<std::ptrdiff_t> begins_of(const std::vector<std::ptrdiff_t>& sizes) {
  std::vector<std::ptrdiff_t> begins(sizes.size() + 1);
  std::partial_sum(sizes.begin(), sizes.end(), begins.begin() + 1);
  return begins;
}

// For MPI: the counts of slabs, none for this process itself, and their begins.
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

}  // namespace

void Exchange::swap(const Line& line, const double* sent, std::ptrdiff_t sent_size, int to, double* received,
                    std::ptrdiff_t received_size, int from) {
  meet(line.at(from));
  MPI_Sendrecv(sent, as_count(sent_size), MPI_DOUBLE, to, tag, received, as_count(received_size), MPI_DOUBLE, from,
               tag, line.handle(), MPI_STATUS_IGNORE);
  count(1, sent_size);
  compute();
}

void Exchange::sum(const Line& line, double* values, std::ptrdiff_t size) {
  meet(line.others());
  MPI_Allreduce(MPI_IN_PLACE, values, as_count(size), MPI_DOUBLE, MPI_SUM, line.handle());
  count_sum(line, size);
  compute();
}

void Exchange::start_sum(const Line& line, double* values, std::ptrdiff_t size, MPI_Request* request) {
  communicate();
  MPI_Iallreduce(MPI_IN_PLACE, values, as_count(size), MPI_DOUBLE, MPI_SUM, line.handle(), request);
  count_sum(line, size);
  compute();
}

void Exchange::count_sum(const Line& line, std::ptrdiff_t size) {
  const int rounds = std::bit_width(static_cast<unsigned>(line.size() - 1));
  count(rounds, rounds * size);
}

void Exchange::start_send(const Line& line, const double* sent, std::ptrdiff_t size, int to,
                          MPI_Request* request) {
  communicate();
  MPI_Isend(sent, as_count(size), MPI_DOUBLE, to, tag, line.handle(), request);
  count(1, size);
  compute();
}

void Exchange::start_receive(const Line& line, double* received, std::ptrdiff_t size, int from,
                             MPI_Request* request) {
  MPI_Irecv(received, as_count(size), MPI_DOUBLE, from, tag, line.handle(), request);
}

Transposition::Transposition(const Line& line, const std::vector<std::ptrdiff_t>& sent,
                             const std::vector<std::ptrdiff_t>& received, const Exchange& exchange)
    : line_(line),
      sent_begins_(begins_of(sent)),
      received_begins_(begins_of(received)),
      sends_(sent.size(), MPI_REQUEST_NULL),
      receives_(sent.size(), MPI_REQUEST_NULL) {
  if (exchange.shares_memory() && line.size() > 1)
    shared_.emplace(line.handle(), line.size(), static_cast<std::size_t>(std::ranges::max(sent)));
}

void Transposition::all_to_all(Exchange& exchange, const double* sent, double* received) {
  const Parcels out(sent_begins_, line_.place());
  const Parcels in(received_begins_, line_.place());
  exchange.meet(line_.others());
  MPI_Alltoallv(sent, out.counts.data(), out.begins.data(), MPI_DOUBLE, received, in.counts.data(),
                in.begins.data(), MPI_DOUBLE, line_.handle());
  for (const int size : out.counts) exchange.count(size > 0 ? 1 : 0, size);
  exchange.compute();
}

void Transposition::start_receives(Exchange& exchange, double* received) {
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

void Transposition::start_send(Exchange& exchange, const double* sent, int to) {
  const double* const slab = sent + sent_begins_[to];
  const std::ptrdiff_t size = sent_begins_[to + 1] - sent_begins_[to];
  if (!shares_with(to)) return exchange.start_send(line_, slab, size, to, &sends_[to]);
  shared_->synchronize();
  exchange.start_send(line_, slab, 0, to, &sends_[to]);
  exchange.count(0, size);
}

void Transposition::store(Exchange& exchange, const double* sent, int to) {
  exchange.communicate();
  std::copy_n(sent + sent_begins_[to], sent_begins_[to + 1] - sent_begins_[to], shared_->own(to).data());
}

void Transposition::load(Exchange& exchange, double* received, int from) {
  exchange.communicate();
  std::copy_n(shared_->of(from, line_.place()), received_begins_[from + 1] - received_begins_[from],
              received + received_begins_[from]);
  exchange.compute();
}

void Transposition::finish_receive(Exchange& exchange, int from, bool first) {
  if (first)
    exchange.meet(line_.others());
  else
    exchange.communicate();
  MPI_Wait(&receives_[from], MPI_STATUS_IGNORE);
  if (shares_with(from)) shared_->synchronize();
  exchange.compute();
}

void Transposition::finish_sends(Exchange& exchange) {
  exchange.communicate();
  MPI_Waitall(static_cast<int>(sends_.size()), sends_.data(), MPI_STATUSES_IGNORE);
  exchange.compute();
}

}  // namespace scope::shallow_water
