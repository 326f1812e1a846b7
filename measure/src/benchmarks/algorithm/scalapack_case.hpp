// The common part of the ScaLAPACK benchmarks: a grid, distributed matrices, and separately timed phases.
#pragma once

#include "benchmarks/algorithm/block_cyclic.hpp"
#include "benchmarks/algorithm/known_condition.hpp"
#include "blas/blas.hpp"
#include "memory/available.hpp"
#include "scalapack/scalapack.hpp"

namespace scope {

// ScaLAPACK's eps: the unit roundoff.
template <class Real>
constexpr double roundoff = std::numeric_limits<Real>::epsilon() / 2;

// A distributed matrix, on one process of its grid.
template <class Real>
struct Distributed {
  Distributed(const scalapack::Context& context, const ProcessGrid& grid, int rows, int columns, int block)
      : layout(rows, columns, block, grid),
        values(layout.values()),
        descriptor(scalapack::descriptor(context, rows, columns, block, static_cast<int>(layout.leading()))) {}

  // `element(row, column)`, rounded to the precision.
  template <class Element>
  void fill(Element element) {
    const auto rows = layout.rows.all();
    for (std::int64_t j = 0; j < layout.columns.local(); ++j) {
      const std::int64_t column = layout.columns.item(j);
      for (std::int64_t i = 0; i < layout.rows.local(); ++i)
        values[i + j * layout.leading()] = static_cast<Real>(element(rows[i], column));
    }
  }

  // The elements in the form needed by distributed_product and similar functions.
  Element stored() const {
    return [this](std::int64_t place, std::int64_t, std::int64_t) { return static_cast<double>(values[place]); };
  }

  std::span<std::byte> bytes() { return std::as_writable_bytes(std::span(values)); }

  // The matrix, starting at its first row and column; Fortran counts from one.
  auto fortran_arguments() {
    static constexpr int first = 1;
    return std::tuple(values.data(), &first, &first, descriptor.data());
  }

  Layout layout;
  std::vector<Real> values;
  scalapack::Descriptor descriptor;
};

// The element, rounded as by `Distributed::fill`.
template <class Real, class Element>
auto rounded(Element element) {
  return [element](std::int64_t, std::int64_t row, std::int64_t column) {
    return static_cast<double>(static_cast<Real>(element(row, column)));
  };
}

template <class Real>
class ScalapackCase : public Benchmark {
 public:
  void run(Repetition& repetition) override {
    prepare();
    Ticks start = 0;
    Ticks between = 0;
    Ticks stop = 0;
    const TickClock& ticks = repetition.ticks();
    repetition.time([&] {
      start = ticks.now();
      begin();
      between = ticks.now();
      finish();
      stop = ticks.now();
    });
    for (const auto& [name, seconds] : phases(ticks.seconds(between - start), ticks.seconds(stop - between)))
      repetition.observe(name, seconds);
  }

  bool loops() const override { return false; }

  Check verify(std::uint64_t seed) override {
    const std::int64_t checks = std::int64_t{n_} * n_;
    const int worst = communicator_.largest(std::abs(info_));
    if (worst != 0) return {checks, refusal(worst)};
    return {checks, problem(seed)};
  }

 protected:
  // `matrices`: how many n x n matrices the case holds, so that too many are refused before allocation.
  ScalapackCase(const Parameters& parameters, const Communicator& communicator, int matrices,
                GridOrder order = GridOrder::rows)
      : ScalapackCase(communicator, asked_grid(parameters, communicator, order),
                      static_cast<int>(parameters.integer("n")), static_cast<int>(parameters.integer("block"))) {
    const Layout layout(n_, n_, block_, grid_);
    require_memory(matrices * layout.values() * static_cast<std::int64_t>(sizeof(Real)), communicator);
  }
  ScalapackCase(const Communicator& communicator, ProcessGrid grid, int n, int block)
      : communicator_(communicator), grid_(grid), n_(n), block_(block), context_(communicator, grid) {}

  // Called before every run, not timed.
  virtual void prepare() = 0;
  // The two parts that are timed separately.
  virtual void begin() = 0;
  virtual void finish() {}
  // The names of the parts.
  virtual std::map<std::string, double> phases(double begin_s, double finish_s) const {
    return {{"factorize_s", begin_s}, {"solve_s", finish_s}};
  }
  // Empty if the result is correct. Collective.
  virtual std::string problem(std::uint64_t seed) = 0;
  virtual std::string refusal(int info) const { return sentence({"ScaLAPACK failed: info = ", info}); }

  // The routine of this precision: getrf is pdgetrf or psgetrf.
  static scalapack::Routine routine(const std::string& name) {
    return scalapack::Routine((std::is_same_v<Real, double> ? "pd" : "ps") + name);
  }

  Distributed<Real> square() const { return {context_, grid_, n_, n_, block_}; }
  Distributed<Real> vector() const { return {context_, grid_, n_, 1, block_}; }

  // Returns a message if `value` / (eps n `scale`) exceeds the threshold.
  std::string beyond(double value, double scale, double threshold) const {
    const double residual = value / (roundoff<Real> * n_ * scale);
    if (residual <= threshold) return "";  // also false for NaN
    return sentence({"scaled residual ", residual, ", must be at most ", static_cast<int>(threshold)});
  }

  const Communicator& communicator_;
  ProcessGrid grid_;
  int n_;
  int block_;
  scalapack::Context context_;
  int info_ = 0;
};

inline std::vector<Parameter> scalapack_parameters(const std::vector<Parameter>& further = {}) {
  return together(
      {{problem("precision", "double,single", "precision of the matrices and the arithmetic")
            .worded(",single precision"),
        size("n", "", 120, 1, 1'000'000, "order of the matrix").labeled("matrix order").worded("N = {}"),
        method("block", "", 32, 1, 100'000, "block size (NB) of the block-cyclic distribution")
            .labeled("block size")},
       grid_parameters(),
       further});
}
inline Parameter condition_parameter() {
  return problem("condition", "", 1000, 1, 1'000'000'000'000, "condition number of the matrix");
}
inline std::vector<Sweep> scalapack_sweeps() {
  return {{"standard", "ranks=powers n=500,1000"},
          {"standard", "ranks=2 precision=single n=1000"},
          {"advanced", "ranks=powers precision=double,single n=2000 block=32,64,128"}};
}

struct ScalapackRow {
  const char* name;
  const char* title;
  const char* summary;
  std::unique_ptr<Benchmark> (*make)(const Parameters&, const Communicator&);
  std::vector<Metric> phases = {phase("factorize_s"), phase("solve_s")};  // of a system of equations
  Text family = {};
};
inline Declaration declaration(const ScalapackRow& row, std::vector<Parameter> parameters,
                               std::vector<Sweep> sweeps) {
  std::vector<Metric> metrics = {flops_per_second(), seconds("time_s")};
  metrics.insert(metrics.end(), row.phases.begin(), row.phases.end());
  return {.name = row.name,
          .title = row.title,
          .summary = row.summary,
          .family = row.family,
          .needs = {Requirement::scalapack},
          .rungs = {arithmetic()},
          .parameters = std::move(parameters),
          .definition = Definition::max_rank,
          .metrics = std::move(metrics),
          .sweeps = std::move(sweeps),
          .make = row.make};
}

}  // namespace scope
