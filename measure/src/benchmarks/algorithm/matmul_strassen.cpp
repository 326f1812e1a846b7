// algorithm.matmul_strassen: C = A B by one level of Strassen's algorithm, with one of its seven products on
// each of seven processes, or all of them one after another on one process.
//
// Timed: the whole program on every rank, the slowest counts: allocating and filling buffers and matrices
// (initialize: A on process 0, B on process 2), sending operands, each a quarter or a sum of two (distribute),
// sums and products (compute), sending products to the process that sums a quarter of C (exchange). The
// quarters are not collected. After thesis, appendix C.

#include "benchmarks/algorithm/block_message.hpp"
#include "benchmarks/algorithm/phase_metrics.hpp"
#include "benchmarks/algorithm/values.hpp"
#include "blas/dense.hpp"
#include "memory/available.hpp"

namespace scope::matmul_strassen {
namespace {

constexpr int products = 7;
constexpr int has_a = 0;  // the process that generates A
constexpr int has_b = 2;
constexpr int a_tag = 20;
constexpr int b_tag = 21;
constexpr int product_tag = 22;
constexpr int quarter_tag = 23;

// A quarter, or the sum or difference of two; 0, 1, 2, 3 are the quarters 00, 01, 10, 11.
struct Operand {
  int first;
  int second = 0;
  double sign = 0;
};

// Product P_i multiplies the i-th operands (thesis, C.3 to C.9; C.8 and C.9 have wrong indices there and are
// corrected here so that C.10 and C.13 hold).
constexpr std::array<Operand, products> operands_a{
    {{0, 3, 1}, {2, 3, 1}, {0}, {3}, {0, 1, 1}, {2, 0, -1}, {1, 3, -1}}};
constexpr std::array<Operand, products> operands_b{
    {{0, 3, 1}, {0}, {1, 3, -1}, {2, 0, -1}, {3}, {0, 1, 1}, {2, 3, 1}}};
// Row q gives the sign with which each product enters quarter q of C (C.10 to C.13).
constexpr double signs[4][products] = {
    {1, 0, 0, 1, -1, 0, 1}, {0, 0, 1, 0, 1, 0, 0}, {0, 1, 0, 1, 0, 0, 0}, {1, -1, 1, 0, 0, 1, 0}};

// The source and destination of each product, in one global order, which each process follows for its own
// messages: none ever waits for a later message, even if the library buffers nothing.
struct Message {
  int from;
  int to;
};
struct Schedule {
  std::array<int, 4> homes;  // processes that sum the quarters of C
  std::array<Message, 8> messages;
};
// Table C.2.
constexpr Schedule original{{6, 4, 3, 0}, {{{0, 6}, {3, 6}, {4, 6}, {1, 3}, {2, 4}, {1, 0}, {2, 0}, {5, 0}}}};
// Table C.3: three rounds of messages between different pairs.
constexpr Schedule rescheduled{{6, 4, 3, 5}, {{{0, 5}, {1, 3}, {4, 6}, {2, 5}, {3, 6}, {0, 6}, {1, 5}, {2, 4}}}};

class Strassen final : public Benchmark {
 public:
  Strassen(const Parameters& parameters, const Communicator& communicator)
      : communicator_(communicator),
        size_(static_cast<int>(parameters.integer("n"))),
        half_((size_ + 1) / 2),
        schedule_(parameters.choice("schedule") == "original" ? original : rescheduled),
        owners_(alone() ? Partners::none() : Partners::these({has_a, has_b})) {
    const std::int64_t quarters = (makes_a() ? 4 : 0) + (makes_b() ? 4 : 0) + 3 + (alone() ? 4 : 3);
    const std::int64_t checked = communicator.root() ? 12 : 0;
    require_memory((quarters + checked) * quarter_values() * static_cast<std::int64_t>(sizeof(double)),
                   communicator);
    product_.emplace(parameters.choice("variant"));
    for (const Message& message : schedule_.messages) {
      meetings_.push_back(message.from == rank() ? Partners::these({message.to})
                          : message.to == rank() ? Partners::these({message.from})
                                                 : Partners::none());
    }
  }

  Work work() const override {
    const double n = size_;
    const double messages = alone() ? 0 : 2.0 * (products - 1) + static_cast<double>(schedule_.messages.size());
    return {.bytes = messages * static_cast<double>(quarter_values()) * sizeof(double),
            .flops = 2 * n * n * n,
            .messages = messages};
  }

  void fill(std::uint64_t seed) override { seed_ = seed; }

  // Cold by definition: the memory of the last repetition is released before the timed part, which allocates
  // it again.
  void run(Repetition& repetition) override {
    memory_.reset();
    std::optional<Phases> phases;
    repetition.time([&] {
      phases.emplace(repetition, meetings_.size() + 1);
      initialize();
      phases->meet(Phase::distribute, owners_);
      if (alone()) {
        phases->enter(Phase::compute);
        for (int index = 0; index < products; ++index) multiply_alone(index);
      } else {
        distribute(*phases);
        phases->enter(Phase::compute);
        compute(memory_->operand_a, memory_->operand_b);
        exchange(*phases);
        phases->enter(Phase::compute);
        sum_up();
      }
      phases->leave();
    });
    phases->observe(repetition, communicator_);
  }

  // |C x - A (B x)| in every row, for which C is gathered. One level of Strassen's algorithm keeps each
  // element of C within (12 (m^2 + 5 m) - 10 m) u max|A| max|B| for m = n / 2 (Higham 2002, theorem 23.2);
  // values of A and B are at most 1/2, those of x at most 1, and the check itself adds 3 n u |A| |B| |x|.
  Check verify(std::uint64_t seed) override {
    Values c = gathered();
    if (!communicator_.root()) return {};
    Values a(4 * quarter_values());
    Values b(4 * quarter_values());
    make_padded(a, seed);
    make_padded(b, ~seed);
    // Transposed matrices stored by rows are matrices stored by columns: C^T = B^T A^T.
    const double n = 2.0 * static_cast<double>(half_);
    const Vector x = probe(static_cast<std::size_t>(2 * half_), seed);
    const Vector found = multiply(c.data(), x);
    const Vector expected = multiply(b.data(), multiply(a.data(), x));
    const double limit = epsilon / 2 * n * n * (1.5 * n + 7.5);
    for (std::size_t i = 0; i < x.size(); ++i) {
      if (!(std::abs(found[i] - expected[i]) <= limit)) {
        return {std::int64_t{size_} * size_,
                sentence({"column ", i, " of the product is wrong: residual ", std::abs(found[i] - expected[i])})};
      }
    }
    return {std::int64_t{size_} * size_, ""};
  }

  // This process's part of C, or a quarter of it; empty if it has none.
  std::span<std::byte> received() override {
    if (!memory_ || home_of_quarter() < 0) return {};
    return alone() ? memory_->quarters[0].bytes() : memory_->product.bytes();
  }
  bool loops() const override { return false; }

 private:
  struct Came {
    int from;
    Values product;
  };
  struct Memory {
    Values a;  // 2 m x 2 m, on the process that generates it
    Values b;
    Values operand_a;  // m x m, like all that follow
    Values operand_b;
    Values product;
    std::vector<Came> came;
    std::vector<Values> quarters;  // of C, if one process has them all
  };

  int rank() const { return communicator_.rank(); }
  bool alone() const { return communicator_.size() == 1; }
  bool makes_a() const { return rank() == has_a; }
  bool makes_b() const { return rank() == has_b || alone(); }
  std::int64_t quarter_values() const { return half_ * half_; }
  int quarter_count() const { return static_cast<int>(quarter_values()); }

  // The quarter of C that this process sums; negative if none.
  int home_of_quarter() const {
    if (alone()) return 0;
    const auto at = std::find(schedule_.homes.begin(), schedule_.homes.end(), rank());
    return at == schedule_.homes.end() ? -1 : static_cast<int>(at - schedule_.homes.begin());
  }

  void initialize() {
    memory_.emplace(Memory{Values(makes_a() ? 4 * quarter_values() : 0),
                           Values(makes_b() ? 4 * quarter_values() : 0),
                           Values(quarter_values()),
                           Values(quarter_values()),
                           Values(quarter_values()),
                           {},
                           {}});
    for (const Message& message : schedule_.messages)
      if (!alone() && message.to == rank()) memory_->came.push_back({message.from, Values(quarter_values())});
    for (int quarter = 0; alone() && quarter < 4; ++quarter) memory_->quarters.emplace_back(quarter_values());
    if (makes_a()) make_padded(memory_->a, seed_);
    if (makes_b()) make_padded(memory_->b, ~seed_);
  }

  // An N x N matrix in the corner of a larger one that is padded with zeros.
  void make_padded(Values& matrix, std::uint64_t seed) const {
    for (int i = 0; i < size_; ++i) {
      double* row = matrix.data() + i * 2 * half_;
      for (int j = 0; j < size_; ++j) row[j] = matrix_value(seed, std::int64_t{i} * size_ + j);
    }
  }

  Block quarter(Values& whole, int index) const {
    return dense(whole.data(), 2 * half_, 2 * half_).part(index / 2 * half_, index % 2 * half_, half_, half_);
  }

  void form(Values& whole, const Operand& operand, Values& result) const {
    const Block first = quarter(whole, operand.first);
    const Block second = quarter(whole, operand.second);
    for (std::int64_t i = 0; i < half_; ++i) {
      const double* x = first.data + i * first.stride;
      const double* y = second.data + i * second.stride;
      double* to = result.data() + i * half_;
      for (std::int64_t j = 0; j < half_; ++j) to[j] = operand.sign == 0 ? x[j] : x[j] + operand.sign * y[j];
    }
  }

  // The first session: each process receives its two operands, which their owners form.
  void distribute(Phases& phases) {
    Requests coming;
    if (!makes_a()) receive_operand(memory_->operand_a, has_a, a_tag, coming);
    if (!makes_b()) receive_operand(memory_->operand_b, has_b, b_tag, coming);
    if (makes_a()) deal(memory_->a, operands_a, memory_->operand_a, a_tag, phases);
    if (makes_b()) deal(memory_->b, operands_b, memory_->operand_b, b_tag, phases);
    finish(coming);
  }

  void receive_operand(Values& operand, int from, int tag, Requests& coming) const {
    MPI_Irecv(operand.data(), quarter_count(), MPI_DOUBLE, from, tag, communicator_.handle(),
              &coming.emplace_back());
  }

  void deal(Values& whole, const std::array<Operand, products>& operands, Values& mine, int tag, Phases& phases) {
    for (int to = 0; to < products; ++to) {
      if (to == rank()) continue;
      phases.enter(Phase::compute);
      form(whole, operands[to], mine);
      phases.enter(Phase::distribute);
      MPI_Send(mine.data(), quarter_count(), MPI_DOUBLE, to, tag, communicator_.handle());
    }
    phases.enter(Phase::compute);
    form(whole, operands[rank()], mine);
    phases.enter(Phase::distribute);
  }

  void compute(Values& a, Values& b) {
    (*product_)(dense(a.data(), half_, half_), dense(b.data(), half_, half_),
                dense(memory_->product.data(), half_, half_), Contribution::first);
  }

  // The second session, with blocking calls.
  void exchange(Phases& phases) {
    auto place = memory_->came.begin();
    for (std::size_t i = 0; i < meetings_.size(); ++i) {
      const Message& message = schedule_.messages[i];
      phases.meet(Phase::exchange, meetings_[i]);
      if (message.from == rank()) {
        MPI_Send(memory_->product.data(), quarter_count(), MPI_DOUBLE, message.to, product_tag,
                 communicator_.handle());
      } else if (message.to == rank()) {
        MPI_Recv(place->product.data(), quarter_count(), MPI_DOUBLE, message.from, product_tag,
                 communicator_.handle(), MPI_STATUS_IGNORE);
        ++place;
      }
    }
  }

  // The product of this process is its quarter's first term, unchanged; it was already sent.
  void sum_up() {
    for (Came& other : memory_->came) add(other.product, signs[home_of_quarter()][other.from], memory_->product);
  }

  void multiply_alone(int index) {
    form(memory_->a, operands_a[index], memory_->operand_a);
    form(memory_->b, operands_b[index], memory_->operand_b);
    compute(memory_->operand_a, memory_->operand_b);
    for (int quarter = 0; quarter < 4; ++quarter)
      if (signs[quarter][index] != 0) add(memory_->product, signs[quarter][index], memory_->quarters[quarter]);
  }

  void add(Values& from, double sign, Values& to) const {
    const double* x = from.data();
    double* y = to.data();
    for (std::int64_t i = 0; i < quarter_values(); ++i) y[i] += sign * x[i];
  }

  // C on the root, collected from its quarters.
  Values gathered() {
    Values c(communicator_.root() ? 4 * quarter_values() : 0);
    Values arrived(communicator_.root() ? quarter_values() : 0);
    for (int index = 0; index < 4; ++index) {
      const int home = alone() ? 0 : schedule_.homes[index];
      double* here = alone() ? memory_->quarters[index].data() : memory_->product.data();
      if (home != 0 && home == rank())
        MPI_Send(here, quarter_count(), MPI_DOUBLE, 0, quarter_tag, communicator_.handle());
      if (!communicator_.root()) continue;
      if (home != 0) {
        here = arrived.data();
        MPI_Recv(here, quarter_count(), MPI_DOUBLE, home, quarter_tag, communicator_.handle(), MPI_STATUS_IGNORE);
      }
      copy(dense(here, half_, half_), quarter(c, index));
    }
    return c;
  }

  const Communicator& communicator_;
  int size_;
  std::int64_t half_;  // m
  const Schedule& schedule_;
  Partners owners_;                 // the owners of A and B, who must arrive before anything can be distributed
  std::vector<Partners> meetings_;  // one for each message
  std::optional<LocalProduct> product_;
  std::optional<Memory> memory_;
  std::uint64_t seed_ = 0;
};

const Registration registration{{
    .name = "algorithm.matmul_strassen",
    .title = "Strassen's algorithm",
    .summary = "matrix multiplication by one level of Strassen's algorithm on seven ranks",
    .family = "matrix product",
    .ranks = Ranks::among("1,7"),
    .rungs = {communication(), arithmetic()},
    .parameters =
        {size("n", "", 120, 1, 46340, "matrix order N: N x N doubles").labeled("matrix order").worded("N = {}"),
         method("variant", "plain,tuned", "triple loop or BLAS for each product").worded(",tuned"),
         parallel("schedule", "original,rescheduled",
                  "order of sending products: Table C.2 (original) or C.3 (rescheduled) of Melas 2000")
             .worded(",rescheduled")},
    .definition = Definition::max_rank,
    .metrics = with_phases({seconds("time_s"), flops_per_second()}),
    .sweeps = {{"baseline", "ranks=1 variant=plain n=360"},
               {"standard", "ranks=1 variant=plain,tuned n=240,512,1024"},
               {"standard", "ranks=7 variant=plain,tuned schedule=original,rescheduled n=240,512,1024"},
               {"advanced", "ranks=1 variant=tuned n=2048"},
               {"advanced", "ranks=7 variant=tuned schedule=original,rescheduled n=2048"}},
    .make = make<Strassen>,
}};

}  // namespace
}  // namespace scope::matmul_strassen
