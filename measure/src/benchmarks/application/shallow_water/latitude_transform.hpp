// Legendre transforms along latitudes that are divided among a column of processes: by transposition, so that
// every process has some wave numbers on all latitudes, or by sums over the processes, either at once
// (allreduce) or block by block around a ring (Worley & Foster 1994; Foster & Worley 1997, SIAM J. Sci. Comput.
// 18, 806-837).
#pragma once

#include "benchmarks/application/shallow_water/decomposition.hpp"
#include "benchmarks/application/shallow_water/exchange.hpp"
#include "benchmarks/application/shallow_water/legendre_transform.hpp"
#include "memory/large_pages.hpp"

namespace scope::shallow_water {

// From Fourier coefficients of all wave numbers of the column on this process's pairs of latitudes, as in
// `LegendreTransform`, to spectral coefficients of `own_wavenumbers`, 2 `values` doubles each, and back.
class LatitudeTransform {
 public:
  LatitudeTransform(const Decomposition& decomposition, const LegendreTransform& table, int values,
                    Exchange& exchange)
      : decomposition_(decomposition),
        table_(table),
        exchange_(exchange),
        width_(2 * values),
        pairs_(decomposition.pairs()) {
    const Line& column = decomposition_.column();
    if (column.size() == 1) return;
    const LegendreMethod method = decomposition_.methods().legendre;
    if (method == LegendreMethod::transposition) {
      std::vector<std::ptrdiff_t> blocks;
      std::vector<std::ptrdiff_t> own_block;
      for (int row = 0; row < column.size(); ++row) {
        blocks.push_back(LegendreTransform::fourier_size(decomposition_.block(row), pairs_, width_));
        own_block.push_back(LegendreTransform::fourier_size(decomposition_.block(column.place()),
                                                            decomposition_.pairs(row), width_));
      }
      to_latitudes_.emplace(column, blocks, own_block, exchange_);
      from_latitudes_.emplace(column, own_block, blocks, exchange_);
      on_all_latitudes_.resize(to_latitudes_->received_size());
    } else if (method == LegendreMethod::ring) {
      std::ptrdiff_t most = 0;
      for (int row = 0; row < column.size(); ++row) most = std::max(most, spectral_size(row));
      traveling_.resize(most);
      arriving_.resize(most);
      share_.resize(most);
    }
  }

  void analyse(const double* fourier, double* spectral) {
    if (decomposition_.column().size() == 1) {
      const Range all = decomposition_.all_wavenumbers();
      std::fill_n(spectral, table_.spectral_size(all, width_), 0.0);
      return table_.analyse(all, pairs_, fourier, spectral, width_);
    }
    switch (decomposition_.methods().legendre) {
      case LegendreMethod::transposition: return analyse_transposed(fourier, spectral);
      case LegendreMethod::allreduce: return analyse_at_once(fourier, spectral);
      case LegendreMethod::ring: return analyse_round_ring(fourier, spectral);
    }
  }
  void synthesize(const double* spectral, double* fourier) {
    const LegendreMethod method = decomposition_.methods().legendre;
    if (decomposition_.column().size() == 1 || method == LegendreMethod::allreduce)
      return table_.synthesize(decomposition_.all_wavenumbers(), pairs_, spectral, fourier, width_);
    if (method == LegendreMethod::transposition) return synthesize_transposed(spectral, fourier);
    synthesize_round_ring(spectral, fourier);
  }

  // Wave numbers and bands of latitudes that a `LegendreTransform` needs for these methods.
  static std::vector<int> tabulated_wavenumbers(const Decomposition& decomposition) {
    const auto& all = decomposition.wavenumbers();
    if (decomposition.methods().legendre != LegendreMethod::transposition) return all;
    const Range own = decomposition.own_wavenumbers();
    return {all.begin() + own.begin, all.begin() + own.end};
  }
  static std::vector<Range> tabulated_bands(const Decomposition& decomposition) {
    if (decomposition.methods().legendre != LegendreMethod::transposition) return {decomposition.pairs()};
    std::vector<Range> bands;
    for (int row = 0; row < decomposition.column().size(); ++row) bands.push_back(decomposition.pairs(row));
    return bands;
  }

  // Number of floating-point operations of either direction, for all processes together.
  static double flops(const Resolution& resolution, int values) {
    const double coefficients = 0.5 * (resolution.truncation + 1) * (resolution.truncation + 4);
    return 2 * coefficients * resolution.pairs() * 2 * values;
  }

 private:
  void analyse_transposed(const double* fourier, double* spectral) {
    const Range own{0, static_cast<int>(table_.wavenumbers().size())};
    std::fill_n(spectral, table_.spectral_size(own, width_), 0.0);
    to_latitudes_->run(exchange_, fourier, on_all_latitudes_.data(), Transposition::Made{},
                       [&](int row, const double* slab) {
                         table_.analyse(own, decomposition_.pairs(row), slab, spectral, width_);
                       });
  }
  void analyse_at_once(const double* fourier, double* spectral) {
    const Line& column = decomposition_.column();
    const Range all = decomposition_.all_wavenumbers();
    std::fill_n(spectral, table_.spectral_size(all, width_), 0.0);
    if (!exchange_.nonblocking()) {
      table_.analyse(all, pairs_, fourier, spectral, width_);
      return exchange_.sum(column, spectral, table_.spectral_size(all, width_));
    }
    // The sums of each block are in flight while the next block is computed.
    std::vector<MPI_Request> requests(column.size());
    double* to = spectral;
    for (int block = 0; block < column.size(); ++block) {
      table_.analyse(decomposition_.block(block), pairs_, fourier_of(fourier, block), to, width_);
      exchange_.start_sum(column, to, spectral_size(block), &requests[block]);
      to += spectral_size(block);
    }
    exchange_.offer();
    exchange_.meet(column.others());
    MPI_Waitall(column.size(), requests.data(), MPI_STATUSES_IGNORE);
    exchange_.compute();
  }
  // The sums of a block pass through all processes, each of which adds its part, and end at the block's owner.
  void analyse_round_ring(const double* fourier, double* spectral) {
    const Line& column = decomposition_.column();
    const int size = column.size();
    const auto block_at = [&](int step) { return (column.place() + 2 * size - 1 - step) % size; };
    const auto contribute = [&](int block, double* to) {
      std::fill_n(to, spectral_size(block), 0.0);
      table_.analyse(decomposition_.block(block), pairs_, fourier_of(fourier, block), to, width_);
    };
    contribute(block_at(0), traveling_.data());
    for (int step = 1; step < size; ++step) {
      const int block = block_at(step);
      const std::ptrdiff_t gone = spectral_size(block_at(step - 1));
      const std::ptrdiff_t coming = spectral_size(block);
      if (exchange_.nonblocking()) {
        MPI_Request requests[2];
        exchange_.communicate();
        Exchange::start_receive(column, arriving_.data(), coming, column.before(), &requests[0]);
        exchange_.start_send(column, traveling_.data(), gone, column.after(), &requests[1]);
        exchange_.offer();
        contribute(block, share_.data());
        exchange_.meet(column.at(column.before()));
        MPI_Waitall(2, requests, MPI_STATUSES_IGNORE);
        exchange_.compute();
      } else {
        exchange_.swap(column, traveling_.data(), gone, column.after(), arriving_.data(), coming, column.before());
        contribute(block, share_.data());
      }
      double* const sums = step + 1 < size ? traveling_.data() : spectral;
      std::transform(arriving_.data(), arriving_.data() + coming, share_.data(), sums, std::plus<>());
    }
  }
  void synthesize_transposed(const double* spectral, double* fourier) {
    const Range own{0, static_cast<int>(table_.wavenumbers().size())};
    const int here = decomposition_.column().place();
    from_latitudes_->run(
        exchange_, on_all_latitudes_.data(), fourier,
        [&](int row, double* slab) {
          double* const to = row == here ? fourier + from_latitudes_->received_begin(row) : slab;
          table_.synthesize(own, decomposition_.pairs(row), spectral, to, width_);
        },
        Transposition::Kept{});
  }
  // The coefficients of all blocks pass through all processes, which evaluate them on their latitudes.
  void synthesize_round_ring(const double* spectral, double* fourier) {
    const Line& column = decomposition_.column();
    const int size = column.size();
    const auto block_at = [&](int step) { return (column.place() + size - step) % size; };
    const auto evaluate = [&](int block, const double* from) {
      double* const to = const_cast<double*>(fourier_of(fourier, block));
      table_.synthesize(decomposition_.block(block), pairs_, from, to, width_);
    };
    std::copy_n(spectral, spectral_size(block_at(0)), traveling_.data());
    for (int step = 0; step < size; ++step) {
      const int block = block_at(step);
      if (step + 1 == size) {
        evaluate(block, traveling_.data());
        break;
      }
      const std::ptrdiff_t gone = spectral_size(block);
      const std::ptrdiff_t coming = spectral_size(block_at(step + 1));
      if (exchange_.nonblocking()) {
        MPI_Request requests[2];
        exchange_.communicate();
        Exchange::start_receive(column, arriving_.data(), coming, column.before(), &requests[0]);
        exchange_.start_send(column, traveling_.data(), gone, column.after(), &requests[1]);
        exchange_.offer();
        evaluate(block, traveling_.data());
        exchange_.meet(column.at(column.before()));
        MPI_Waitall(2, requests, MPI_STATUSES_IGNORE);
        exchange_.compute();
      } else {
        evaluate(block, traveling_.data());
        exchange_.swap(column, traveling_.data(), gone, column.after(), arriving_.data(), coming, column.before());
      }
      std::swap(traveling_, arriving_);
    }
  }

  // The size of one block of the column's wave numbers.
  std::ptrdiff_t spectral_size(int block) const {
    return table_.spectral_size(decomposition_.block(block), width_);
  }
  const double* fourier_of(const double* fourier, int block) const {
    return fourier + LegendreTransform::fourier_size({0, decomposition_.block(block).begin}, pairs_, width_);
  }

  const Decomposition& decomposition_;
  const LegendreTransform& table_;
  Exchange& exchange_;
  int width_;
  Range pairs_;
  std::optional<Transposition> to_latitudes_;    // Fourier coefficients of this process's wave numbers
  std::optional<Transposition> from_latitudes_;  // the same in reverse
  LargeArray on_all_latitudes_;
  std::vector<double> traveling_;  // the block being passed around a ring
  std::vector<double> arriving_;
  std::vector<double> share_;  // this process's part of the sums of a block
};

}  // namespace scope::shallow_water
