// application.heat: heat that spreads in a rod, by explicit time steps; each rank has a part of the rod.
//
// Timed: all time steps, on every rank's own clock after a common start; the slowest rank counts. The exchange of the
// points at the ends of the parts and the computation are told apart by the same clock.
#include <utility>

#include "benchmark.hpp"
#include "memory/buffer.hpp"

namespace scope {
namespace {

constexpr int tag = 42;

class Heat final : public Benchmark {
 public:
  Heat(const Parameters& parameters, const Communicator& communicator)
      : communicator_(communicator),
        n_(parameters.integer("n")),
        steps_(parameters.integer("iterations")),
        begin_(n_ * communicator.rank() / communicator.size()),
        points_(n_ * (communicator.rank() + 1) / communicator.size() - begin_),
        now_((points_ + 2) * sizeof(double)),
        next_(now_.size()) {
    const int rank = communicator.rank();
    left_ = rank == 0 ? MPI_PROC_NULL : rank - 1;
    right_ = rank + 1 == communicator.size() ? MPI_PROC_NULL : rank + 1;
  }

  Work work() const override {
    const double messages = 2.0 * static_cast<double>(steps_) * (communicator_.size() - 1);
    return {.bytes = 8 * messages,
            .flops = 4.0 * static_cast<double>(n_ * steps_),
            .messages = messages,
            .steps = static_cast<double>(steps_)};
  }

  void fill(std::uint64_t seed) override { seed_ = seed; }

  void run(Repetition& repetition) override {
    warm(now_, seed_);
    next_.clear();
    Ticks computing = 0;
    Ticks exchanging = 0;
    repetition.time([&] {
      for (std::int64_t step = 0; step < steps_; ++step) {
        const Ticks start = repetition.ticks().now();
        exchange();
        const Ticks exchanged = repetition.ticks().now();
        advance(now_.as<double>(), next_.as<double>());
        std::swap(now_, next_);
        computing += repetition.ticks().now() - exchanged;
        exchanging += exchanged - start;
      }
    });
    repetition.observe("compute_s", repetition.ticks().seconds(computing));
    repetition.observe("communicate_s", repetition.ticks().seconds(exchanging));
  }

  // The same steps on the whole rod, on every rank.
  Check verify(std::uint64_t seed) override {
    std::vector<double> now(n_ + 2, 0.0);
    std::vector<double> next(n_ + 2, 0.0);
    for (std::int64_t i = 0; i < n_; ++i) now[i + 1] = temperature(seed, i);
    for (std::int64_t step = 0; step < steps_; ++step) {
      advance(now, next);
      now.swap(next);
    }
    const auto mine = now_.as<double>();
    for (std::int64_t i = 1; i <= points_; ++i)
      if (mine[i] != now[begin_ + i]) return {i, "a point has another temperature than on one process"};
    return {points_, ""};
  }

  std::span<std::byte> received() override { return now_.bytes(); }
  bool loops() const override { return false; }

 private:
  static double temperature(std::uint64_t seed, std::int64_t i) {
    return static_cast<double>((seed + static_cast<std::uint64_t>(i)) % 11);
  }
  void warm(Buffer& rod, std::uint64_t seed) {
    rod.clear();
    for (std::int64_t i = 0; i < points_; ++i) rod.as<double>()[i + 1] = temperature(seed, begin_ + i);
  }
  void exchange() {
    const auto now = now_.as<double>();
    MPI_Sendrecv(&now[1], 1, MPI_DOUBLE, left_, tag, &now[points_ + 1], 1, MPI_DOUBLE, right_, tag,
                 communicator_.handle(), MPI_STATUS_IGNORE);
    MPI_Sendrecv(&now[points_], 1, MPI_DOUBLE, right_, tag, &now[0], 1, MPI_DOUBLE, left_, tag,
                 communicator_.handle(), MPI_STATUS_IGNORE);
  }
  static void advance(std::span<const double> now, std::span<double> next) {
    for (std::size_t i = 1; i + 1 < now.size(); ++i)
      next[i] = now[i] + 0.25 * (now[i - 1] - 2 * now[i] + now[i + 1]);
  }

  const Communicator& communicator_;
  std::int64_t n_;
  std::int64_t steps_;
  std::int64_t begin_;
  std::int64_t points_;
  int left_;
  int right_;
  Buffer now_;
  Buffer next_;
  std::uint64_t seed_ = 0;
};

const Registration registration{{
    .name = "application.heat",
    .title = "heat in a rod",
    .summary = "heat that spreads in a rod, by explicit time steps",
    .rungs = {communication(), arithmetic()},
    .costs = {{"compute", Step::Kind::work, "", "iterations*n/p"},
              {"exchange", Step::Kind::messages, "", "2*iterations", "8"}},
    .parameters = {size("n", "", 1 << 16, 64, std::int64_t{1} << 30, "points of the rod").labeled("points"),
                   problem("iterations", "", 20, 1, 1000000, "time steps").labeled("time steps")},
    .definition = Definition::max_rank,
    .metrics = {seconds("time_s"), flops_per_second(), phase("compute_s"), phase("communicate_s")},
    .sweeps = {{"standard", "ranks=powers n=64Ki,1Mi"}},
    .make = make<Heat>,
}};

}  // namespace
}  // namespace scope
