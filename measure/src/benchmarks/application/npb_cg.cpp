// application.npb_cg: the smallest eigenvalue of a random sparse matrix, by inverse iteration with conjugate
// gradients.
//
// Timed: all iterations, of 25 steps of conjugate gradients each; the slowest process counts. After kernel CG
// of the NAS Parallel Benchmarks (RNR-94-007, section 2.2.2). Vector pieces are short, and two sums over all
// processes follow every product: the kernel is bound by latency.
#include "benchmarks/algorithm/partition.hpp"
#include "benchmarks/application/npb/kernel.hpp"
#include "benchmarks/application/npb/random_numbers.hpp"
#include "mpi/process_grid.hpp"

namespace scope::npb::cg {

// The random sparse matrix of kernel CG, stored row by row (compressed sparse rows).
struct SparseMatrix {
  std::vector<std::int64_t> begins{0};  // beginning of each row, and the end of the last
  std::vector<std::int32_t> columns;
  std::vector<double> values;

  int rows() const { return static_cast<int>(begins.size()) - 1; }

  // `result` = matrix `vector`.
  void multiply(const double* vector, double* result) const {
    const std::int32_t* const column = columns.data();
    const double* const value = values.data();
    for (int row = 0; row < rows(); ++row) {
      // Four partial sums, so that additions are independent.
      double sums[4] = {0, 0, 0, 0};
      std::int64_t k = begins[row];
      const std::int64_t end = begins[row + 1];
      for (; k + 4 <= end; k += 4) {
        sums[0] += value[k] * vector[column[k]];
        sums[1] += value[k + 1] * vector[column[k + 1]];
        sums[2] += value[k + 2] * vector[column[k + 2]];
        sums[3] += value[k + 3] * vector[column[k + 3]];
      }
      for (; k < end; ++k) sums[0] += value[k] * vector[column[k]];
      result[row] = (sums[0] + sums[1]) + (sums[2] + sums[3]);
    }
  }
};

// A sum of outer products of sparse random vectors, weighted so that the eigenvalues are between 1 and the
// reciprocal condition number, minus a shift on the diagonal (RNR-94-007, section 2.2.2).
class RandomMatrix {
 public:
  // `nonzeros`: number in each vector, in addition to the diagonal one.
  RandomMatrix(int order, int nonzeros, double shift) : shift_(shift), vectors_(order), vectors_with_(order) {
    RandomNumbers random(314159265);
    random.next();  // NPB draws one number before
    const auto power_of_two = static_cast<double>(std::bit_ceil(static_cast<unsigned>(order)));
    std::vector<int> last_in(order, -1);  // the last vector with a value at each position
    for (int k = 0; k < order; ++k) {
      auto& vector = vectors_[k];
      while (static_cast<int>(vector.size()) < nonzeros) {
        const double value = random.next();
        const int place = static_cast<int>(power_of_two * random.next());
        if (place >= order || last_in[place] == k) continue;
        last_in[place] = k;
        vector.push_back({place, value});
      }
      set_diagonal(vector, k);
      for (const Element& element : vector) vectors_with_[element.place].push_back({k, element.value});
    }
  }

  // Rows [begin, end), with only the columns whose position in the product's input is not negative.
  SparseMatrix block(int begin, int end, std::span<const int> place_of_column) const {
    SparseMatrix block;
    const int order = static_cast<int>(vectors_.size());
    const double ratio = std::pow(reciprocal_condition, 1.0 / order);
    std::vector<double> weights(order, 1.0);
    for (int k = 1; k < order; ++k) weights[k] = weights[k - 1] * ratio;

    std::vector<double> row(order, 0.0);
    std::vector<char> filled(order, 0);
    std::vector<std::pair<int, int>> entries;  // position, column
    for (int i = begin; i < end; ++i) {
      entries.clear();
      for (const auto& [k, own_value] : vectors_with_[i]) {
        for (const auto& [column, value] : vectors_[k]) {
          if (place_of_column[column] < 0) continue;
          if (!filled[column]) entries.push_back({place_of_column[column], column});
          filled[column] = 1;
          row[column] += value * (weights[k] * own_value);
          if (column == i && k == i) row[column] += reciprocal_condition - shift_;
        }
      }
      std::sort(entries.begin(), entries.end());
      for (const auto& [place, column] : entries) {
        block.columns.push_back(place);
        block.values.push_back(row[column]);
        row[column] = 0;
        filled[column] = 0;
      }
      block.begins.push_back(static_cast<std::int64_t>(block.values.size()));
    }
    return block;
  }

 private:
  struct Element {
    int place;
    double value;
  };
  using SparseVector = std::vector<Element>;
  static constexpr double reciprocal_condition = 0.1;

  // The element at `place` becomes 1/2.
  static void set_diagonal(SparseVector& vector, int place) {
    const auto there =
        std::find_if(vector.begin(), vector.end(), [&](const Element& element) { return element.place == place; });
    if (there == vector.end())
      vector.push_back({place, 0.5});
    else
      there->value = 0.5;
  }

  double shift_;
  std::vector<SparseVector> vectors_;
  // For each row, the vectors with an element in it, and the element's value.
  std::vector<SparseVector> vectors_with_;
};

namespace {

constexpr const char* name = "application.npb_cg";
constexpr int steps = 25;
constexpr int expand_tag = 20;
constexpr int fold_tag = 21;

struct Problem {
  int order;
  int nonzeros;
  int iterations;
  double shift;
  double zeta;

  std::string size() const { return sentence({order, " rows"}); }
};

// RNR-94-007, table 2.2 (A, B); NPB 3.4 (S, W, C, and all digits).
constexpr PerClass<Problem> problems{{{1400, 7, 15, 10, 8.5971775078648},
                                      {7000, 8, 15, 12, 10.362595087124},
                                      {14000, 11, 15, 20, 17.130235054029},
                                      {75000, 13, 75, 60, 22.712745482631},
                                      {150000, 15, 75, 110, 28.973605592845}}};

using Vector = std::vector<double>;

double dot(std::span<const double> a, std::span<const double> b) {
  double sums[4] = {0, 0, 0, 0};
  std::size_t i = 0;
  for (; i + 4 <= a.size(); i += 4)
    for (int lane = 0; lane < 4; ++lane) sums[lane] += a[i + lane] * b[i + lane];
  for (; i < a.size(); ++i) sums[0] += a[i] * b[i];
  return (sums[0] + sums[1]) + (sums[2] + sums[3]);
}

// The matrix is distributed over a process grid. Its rows are divided among the rows of the grid, and the rows of
// a grid row are divided into pieces among its columns: piece (i, j) of every vector belongs to process (i, j). A
// grid column holds the matrix columns of its pieces. On each process, a product thus needs the pieces of its grid
// column (expand) and sums over its grid row (fold), and nothing has to be transposed.
class Pieces {
 public:
  Pieces(int order, const ProcessGrid& grid) : grid_(grid), rows_(order, grid.rows()) {}

  int begin(int row, int column) const {
    const auto rows = static_cast<int>(rows_.begin(row));
    return rows + static_cast<int>(Partition(rows_.size(row), grid_.columns()).begin(column));
  }
  int size(int row, int column) const {
    return static_cast<int>(Partition(rows_.size(row), grid_.columns()).size(column));
  }
  int rows_begin() const { return static_cast<int>(rows_.begin(grid_.row())); }
  int rows_end() const { return static_cast<int>(rows_.end(grid_.row())); }

 private:
  const ProcessGrid& grid_;
  Partition rows_;
};

class ConjugateGradient final : public Kernel {
 public:
  ConjugateGradient(const Parameters& parameters, const Communicator& communicator)
      : Kernel(name, parameters, communicator),
        problem_(of_class(problems, parameters)),
        grid_(communicator, squarest_rows(communicator.size())),
        pieces_(problem_.order, grid_) {
    if (ranks() > problem_.order) {
      throw Unavailable(sentence(
          {name, " of this class has a matrix of order ", problem_.order, ": there are more ranks than rows"}));
    }
    require(needed_bytes());
    make_matrix();
    const int mine = pieces_.size(grid_.row(), grid_.column());
    for (Vector* vector : {&x_, &z_, &r_, &q_}) vector->resize(mine);
    partial_.resize(matrix_.rows());
    std::vector<int> column_ranks;
    std::vector<int> row_ranks;
    for (int row = 0; row < grid_.rows(); ++row)
      if (row != grid_.row()) column_ranks.push_back(grid_.rank(row, grid_.column()));
    for (int column = 0; column < grid_.columns(); ++column)
      if (column != grid_.column()) row_ranks.push_back(grid_.rank(grid_.row(), column));
    incoming_.resize(row_ranks.size() * mine);
    in_column_ = Partners::these(column_ranks);
    in_row_ = Partners::these(row_ranks);
  }

 private:
  // As square as possible, with at least as many rows as columns: with two processes, each has whole rows.
  static std::int64_t squarest_rows(int processes) {
    int rows = processes;
    for (int candidate = processes; candidate * candidate >= processes; --candidate)
      if (processes % candidate == 0) rows = candidate;
    return rows;
  }

  // For the random vectors, twice, and the matrix block, whose rows have at most (nonzeros + 1)^2 values.
  std::int64_t needed_bytes() const {
    const std::int64_t order = problem_.order;
    const std::int64_t per_vector = problem_.nonzeros + 1;
    const std::int64_t entries = order * per_vector * per_vector / ranks();
    const std::int64_t block = 2 * entries * static_cast<std::int64_t>(sizeof(double) + sizeof(std::int32_t));
    return 2 * order * per_vector * 16 + block + 6 * order * static_cast<std::int64_t>(sizeof(double));
  }

  void make_matrix() {
    std::vector<int> place_of_column(problem_.order, -1);
    int places = 0;
    for (int row = 0; row < grid_.rows(); ++row) {
      if (row == grid_.row()) own_place_ = places;
      const int begin = pieces_.begin(row, grid_.column());
      for (int i = 0; i < pieces_.size(row, grid_.column()); ++i) place_of_column[begin + i] = places++;
    }
    expanded_.resize(places);
    const RandomMatrix matrix(problem_.order, problem_.nonzeros, problem_.shift);
    matrix_ = matrix.block(pieces_.rows_begin(), pieces_.rows_end(), place_of_column);
  }

  void initialize() override {
    start();
    invert();
    start();
  }
  void start() {
    std::fill(x_.begin(), x_.end(), 1.0);
    history_.clear();
    history_.reserve(static_cast<std::size_t>(problem_.iterations) * (steps + 2));
  }

  void iterate() override {
    for (int iteration = 1; iteration <= problem_.iterations; ++iteration) {
      if (iteration == problem_.iterations) exchange().expose();
      invert();
    }
  }

  // One step of inverse iteration: z solves A z = x, zeta follows, and z normalized is the next x.
  void invert() {
    solve();
    double sums[2] = {dot(x_, z_), dot(z_, z_)};
    exchange().sum(std::span(sums));
    zeta_ = problem_.shift + 1 / sums[0];
    history_.push_back(zeta_);
    const double scale = 1 / std::sqrt(sums[1]);
    for (std::size_t i = 0; i < x_.size(); ++i) x_[i] = scale * z_[i];
  }

  // Conjugate gradients from z = 0; returns the norm of the residual.
  void solve() {
    const std::span p = own_piece();
    std::fill(z_.begin(), z_.end(), 0.0);
    std::copy(x_.begin(), x_.end(), r_.begin());
    std::copy(x_.begin(), x_.end(), p.begin());
    double rho = summed(dot(r_, r_));
    for (int step = 0; step < steps; ++step) {
      multiply();
      const double alpha = rho / summed(dot(p, q_));
      for (std::size_t i = 0; i < p.size(); ++i) {
        z_[i] += alpha * p[i];
        r_[i] -= alpha * q_[i];
      }
      const double rho_before = rho;
      rho = summed(dot(r_, r_));
      history_.push_back(rho);
      const double beta = rho / rho_before;
      for (std::size_t i = 0; i < p.size(); ++i) p[i] = r_[i] + beta * p[i];
    }
    std::copy(z_.begin(), z_.end(), p.begin());
    multiply();
    for (std::size_t i = 0; i < p.size(); ++i) r_[i] = x_[i] - q_[i];
    residual_ = std::sqrt(summed(dot(r_, r_)));
    history_.push_back(residual_);
  }

  double summed(double value) {
    exchange().sum(std::span(&value, 1));
    return value;
  }

  // This process's piece of the vector for the next product.
  std::span<double> own_piece() { return {expanded_.data() + own_place_, q_.size()}; }

  // q = A p.
  void multiply() {
    expand();
    matrix_.multiply(expanded_.data(), partial_.data());
    fold();
  }

  void expand() {
    if (grid_.rows() == 1) return;
    sides_.clear();
    double* place = expanded_.data();
    for (int row = 0; row < grid_.rows(); ++row) {
      const std::span piece(place, static_cast<std::size_t>(pieces_.size(row, grid_.column())));
      place += piece.size();
      const int other = grid_.rank(row, grid_.column());
      if (row != grid_.row()) sides_.push_back({other, own_piece(), other, piece, expand_tag});
    }
    exchange().swap(sides_, in_column_);
  }

  void fold() {
    const std::size_t mine = q_.size();
    const double* const own = partial_.data() + pieces_.begin(grid_.row(), grid_.column()) - pieces_.rows_begin();
    if (grid_.columns() > 1) {
      sides_.clear();
      double* place = incoming_.data();
      for (int column = 0; column < grid_.columns(); ++column) {
        if (column == grid_.column()) continue;
        const int other = grid_.rank(grid_.row(), column);
        const double* theirs = partial_.data() + pieces_.begin(grid_.row(), column) - pieces_.rows_begin();
        const auto size = static_cast<std::size_t>(pieces_.size(grid_.row(), column));
        sides_.push_back({other, {theirs, size}, other, {place, mine}, fold_tag});
        place += mine;
      }
      exchange().swap(sides_, in_row_);
    }
    std::copy(own, own + mine, q_.begin());
    for (std::size_t from = 0; from < incoming_.size(); from += mine)
      for (std::size_t i = 0; i < mine; ++i) q_[i] += incoming_[from + i];
  }

  std::vector<double> results() override { return {zeta_}; }
  std::vector<Published> published() const override { return {{"zeta", problem_.zeta, 1e-10}}; }

  // Later steps and iterations correct the errors of earlier ones, but not their residuals.
  std::vector<std::span<const std::byte>> solution() override {
    return {std::as_bytes(std::span(x_)), std::as_bytes(std::span(z_)), std::as_bytes(std::span(history_))};
  }

  // Checks a bound on the residual after 25 steps, which NPB prints and which is 1e-13 or less.
  Check verify_further() override {
    constexpr double bound = 1e-8;
    if (residual_ <= bound) return {1, ""};
    return {1, sentence({"the residual of the last system is ", residual_, ": must be at most ", bound})};
  }

  double operations() const override {
    const double pairs = problem_.nonzeros * (problem_.nonzeros + 1.0);
    return 2.0 * problem_.iterations * problem_.order * (3 + pairs + steps * (5 + pairs) + 3);
  }
  int iterations() const override { return problem_.iterations; }
  std::size_t meetings() const override {
    return static_cast<std::size_t>(problem_.iterations) * (2 * (steps + 1) + 2 * steps + 3);
  }

  Problem problem_;
  ProcessGrid grid_;
  Pieces pieces_;
  SparseMatrix matrix_;
  Vector x_;
  Vector z_;
  Vector r_;
  Vector q_;
  Vector expanded_;  // all pieces of this process's grid column
  Vector partial_;   // contribution of this process's block to each of its rows
  Vector incoming_;  // pieces of this process's rows from the rest of the grid row
  int own_place_ = 0;
  double zeta_ = 0;
  double residual_ = 0;
  Vector history_;  // of the timed part: the residual of every step, residual and zeta of every iteration
  std::vector<Side> sides_;
  Partners in_column_ = Partners::none();
  Partners in_row_ = Partners::none();
};

const Registration registration{
    declaration({.name = name,
                 .title = "NAS CG",
                 .summary = "NAS kernel CG: smallest eigenvalue of a sparse matrix by conjugate gradients",
                 .problem_class = problem_class(problems)},
                make<ConjugateGradient>)};

}  // namespace
}  // namespace scope::npb::cg
