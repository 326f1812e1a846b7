// algorithm.matmul_cannon: C = A B by Cannon's algorithm on a square grid of processes, plain loops.
//
// Timed: the whole algorithm on every rank, the slowest counts. Its parts: initialise (the root makes A and
// B), communicate (distribution with alignment, shifts, collection), compute (local products), idle (waiting
// for a partner that had not come yet). After thesis 6.7.3 and appendices F.2 and G (B transposed as it is
// distributed).
#include <cmath>
#include <cstdio>
#include <cstring>
#include <random>
#include <vector>

#include "benchmark.hpp"
#include "benchmarks/algorithm/phase_metrics.hpp"
#include "memory/buffer.hpp"
#include "sampling/phases.hpp"

namespace scope {
namespace {

constexpr int shift_a_tag = 8;
constexpr int shift_b_tag = 9;

// Row-major blocks; every block is stored b x b, zero beyond the matrix, so that any N fits any grid.
struct Grid {
  int side;
  int row;
  int column;
  int block;

  int rank(int r, int c) const { return (r + side) % side * side + (c + side) % side; }
};

Grid make_grid(int size, const Communicator& communicator) {
  const int side = static_cast<int>(std::lround(std::sqrt(communicator.size())));
  return {side, communicator.rank() / side, communicator.rank() % side, (size + side - 1) / side};
}

class Cannon final : public Benchmark {
 public:
  Cannon(const Parameters& parameters, const Communicator& communicator)
      : communicator_(communicator),
        size_(static_cast<int>(parameters.integer("size"))),
        transposed_(parameters.choice("variant") == "transposed"),
        grid_(make_grid(size_, communicator)),
        a_(block_elements()),
        b_(block_elements()),
        c_(block_elements()),
        senders_(Partners::these({right(), down()})),
        collected_(communicator.root() ? Partners::everyone() : Partners::none()) {
    if (communicator.root()) {
      for (auto* matrix : {&whole_a_, &whole_b_, &whole_c_})
        matrix->resize(static_cast<std::size_t>(size_) * size_);
      blocks_.resize(block_elements() * communicator.size());
    }
  }

  Work work() const override {
    const double n = size_;
    const double p = communicator_.size();
    const double block_bytes = static_cast<double>(block_elements()) * sizeof(double);
    return {.bytes = (3 * p + 2 * p * (grid_.side - 1)) * block_bytes,
            .flops = 2 * n * n * n,
            .messages = 3 * p + 2 * p * (grid_.side - 1)};
  }

  void fill(std::uint64_t seed) override { seed_ = seed; }

  void run(Repetition& repetition) override {
    std::optional<Phases> phases;
    repetition.time([&] {
      phases.emplace(repetition, grid_.side + 1);
      make_matrices();
      phases->meet(Phase::distribute, distributed_);
      distribute();
      for (int step = 0; step < grid_.side; ++step) {
        phases->enter(Phase::compute);
        multiply();
        if (step + 1 == grid_.side) break;
        phases->meet(Phase::exchange, senders_);
        shift();
      }
      phases->meet(Phase::collect, collected_);
      collect();
      phases->leave();
    });
    phases->observe(repetition, communicator_);
  }

  // Freivalds: C x = A (B x) for a random x. The bound is that of a matrix product in floating point,
  // |C - fl(C)| <= n eps |A||B| (Higham, Accuracy and Stability, 2nd ed., eq. 3.13), taken for the three
  // products.
  Check verify(std::uint64_t seed) override {
    if (!communicator_.root()) return {};
    std::mt19937_64 random(seed);
    std::uniform_real_distribution<double> uniform(-1, 1);
    std::vector<double> x(size_);
    for (auto& value : x) value = uniform(random);
    const auto expected = times(whole_a_, times(whole_b_, x));
    const auto found = times(whole_c_, x);
    const double n = size_;
    // |A|, |B|, |x| are at most 1 in every element, so (|A||B||x|) is at most n^2.
    const double bound = 3 * n * 1.11e-16 * n * n;
    for (int i = 0; i < size_; ++i) {
      if (!(std::abs(found[i] - expected[i]) <= bound)) {
        return {size_, wrong_row(i, found[i] - expected[i], bound)};
      }
    }
    return {size_, ""};
  }

  // The whole product on the root; on other ranks there is nothing to corrupt that anyone looks at.
  std::span<std::byte> received() override { return std::as_writable_bytes(std::span(whole_c_)); }
  bool loops() const override { return false; }

 private:
  static std::string wrong_row(int row, double error, double bound) {
    char text[120];
    std::snprintf(text, sizeof text, "row %d of the product is off by %.3g, more than %.3g", row, error,
                  bound);
    return text;
  }

  std::size_t block_elements() const { return static_cast<std::size_t>(grid_.block) * grid_.block; }

  void make_matrices() {
    if (!communicator_.root()) return;
    std::minstd_rand random(static_cast<std::minstd_rand::result_type>(seed_ + 1));
    std::uniform_real_distribution<double> uniform(-1, 1);
    for (auto& value : whole_a_) value = uniform(random);
    for (auto& value : whole_b_) value = uniform(random);
  }

  // Copies block (r, c) of a whole matrix, turned over if asked, or back.
  void pack(const std::vector<double>& whole, int r, int c, double* block, bool turned) const {
    const int b = grid_.block;
    for (int i = 0; i < b; ++i) {
      for (int j = 0; j < b; ++j) {
        const int row = r * b + i;
        const int column = c * b + j;
        const double value =
            row < size_ && column < size_ ? whole[static_cast<std::size_t>(row) * size_ + column] : 0.0;
        block[turned ? j * b + i : i * b + j] = value;
      }
    }
  }
  void unpack(const double* block, int r, int c, std::vector<double>& whole) const {
    const int b = grid_.block;
    for (int i = 0; i < b && r * b + i < size_; ++i) {
      const int columns = std::min(b, size_ - c * b);
      if (columns <= 0) return;
      std::memcpy(&whole[static_cast<std::size_t>(r * b + i) * size_ + c * b], block + i * b,
                  static_cast<std::size_t>(columns) * sizeof(double));
    }
  }

  // Scatters A and B so that they arrive aligned: process (r, c) gets A(r, r + c) and B(r + c, c).
  void distribute() {
    const int count = static_cast<int>(block_elements());
    scatter(whole_a_, a_, false, count, [&](int r, int c) { return std::pair(r, (r + c) % grid_.side); });
    scatter(whole_b_, b_, transposed_, count,
            [&](int r, int c) { return std::pair((r + c) % grid_.side, c); });
    std::fill(c_.begin(), c_.end(), 0.0);
  }

  template <class Alignment>
  void scatter(const std::vector<double>& whole, std::vector<double>& mine, bool turned, int count,
               Alignment aligned) {
    if (communicator_.root()) {
      for (int r = 0; r < grid_.side; ++r) {
        for (int c = 0; c < grid_.side; ++c) {
          const auto [row, column] = aligned(r, c);
          pack(whole, row, column, &blocks_[grid_.rank(r, c) * block_elements()], turned);
        }
      }
    }
    MPI_Scatter(blocks_.data(), count, MPI_DOUBLE, mine.data(), count, MPI_DOUBLE, 0, communicator_.handle());
  }

  // The plain triple loop, and the one that runs along rows of both because B came transposed.
  void multiply() {
    const int b = grid_.block;
    for (int i = 0; i < b; ++i) {
      for (int j = 0; j < b; ++j) {
        double sum = c_[i * b + j];
        if (transposed_) {
          for (int k = 0; k < b; ++k) sum += a_[i * b + k] * b_[j * b + k];
        } else {
          for (int k = 0; k < b; ++k) sum += a_[i * b + k] * b_[k * b + j];
        }
        c_[i * b + j] = sum;
      }
    }
  }

  // A moves one place to the left, B one up.
  void shift() {
    const int count = static_cast<int>(block_elements());
    MPI_Sendrecv_replace(a_.data(), count, MPI_DOUBLE, left(), shift_a_tag, right(), shift_a_tag,
                         communicator_.handle(), MPI_STATUS_IGNORE);
    MPI_Sendrecv_replace(b_.data(), count, MPI_DOUBLE, up(), shift_b_tag, down(), shift_b_tag,
                         communicator_.handle(), MPI_STATUS_IGNORE);
  }

  void collect() {
    const int count = static_cast<int>(block_elements());
    MPI_Gather(c_.data(), count, MPI_DOUBLE, blocks_.data(), count, MPI_DOUBLE, 0, communicator_.handle());
    if (!communicator_.root()) return;
    for (int r = 0; r < grid_.side; ++r) {
      for (int c = 0; c < grid_.side; ++c)
        unpack(&blocks_[grid_.rank(r, c) * block_elements()], r, c, whole_c_);
    }
  }

  int left() const { return grid_.rank(grid_.row, grid_.column - 1); }
  int right() const { return grid_.rank(grid_.row, grid_.column + 1); }
  int up() const { return grid_.rank(grid_.row - 1, grid_.column); }
  int down() const { return grid_.rank(grid_.row + 1, grid_.column); }

  std::vector<double> times(const std::vector<double>& matrix, const std::vector<double>& x) const {
    std::vector<double> y(size_, 0.0);
    for (int i = 0; i < size_; ++i) {
      for (int j = 0; j < size_; ++j) y[i] += matrix[static_cast<std::size_t>(i) * size_ + j] * x[j];
    }
    return y;
  }

  const Communicator& communicator_;
  int size_;
  bool transposed_;
  Grid grid_;
  std::vector<double> a_;
  std::vector<double> b_;
  std::vector<double> c_;
  std::vector<double> whole_a_;
  std::vector<double> whole_b_;
  std::vector<double> whole_c_;
  std::vector<double> blocks_;
  Partners distributed_ = Partners::root();
  Partners senders_;
  Partners collected_;
  std::uint64_t seed_ = 0;
};

const Registration registration{{
    .name = "algorithm.matmul_cannon",
    .summary = "matrix multiplication by Cannon's algorithm: total and its phases",
    .rank_rule = RankRule::square,
    .parameters = {integer("size", "", 120, 1, 46340, "N of the N x N matrices of doubles"),
                   choice("variant", {"plain", "transposed"},
                          "plain triple loop, or B transposed as it is distributed (appendix G)")},
    .definition = Definition::max_rank,
    .metrics = with_phases({seconds("time_s"), flops_per_second()}),
    .sweeps = {{"baseline", "ranks=squares variant=plain,transposed size=120,240,360"},
               {"baseline", "ranks=4 transport=tcp variant=plain size=360"},
               {"standard", "ranks=squares variant=plain,transposed size=600,1080"}},
    .make = [](const Parameters& parameters, const Communicator& communicator) -> std::unique_ptr<Benchmark> {
      return std::make_unique<Cannon>(parameters, communicator);
    },
}};

}  // namespace
}  // namespace scope
