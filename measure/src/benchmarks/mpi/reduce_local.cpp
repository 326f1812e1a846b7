// mpi.reduce_local: the reduction of two vectors within a rank by the library's operator.
//
// Timed: MPI_Reduce_local on every rank at the same time, on its own clock; the slowest rank counts. It is the
// cost of a reduction besides its messages, and the last step of a scan that is built from an exclusive scan.
#include "benchmark.hpp"

namespace scope::reduce_local {
namespace {

// Every operation adds one vector to the other. Elements are whole numbers, so that sums are exact.
struct Sum {
  using Item = double;
  static MPI_Datatype type() { return MPI_DOUBLE; }
  static MPI_Op op() { return MPI_SUM; }
  static Item given(std::uint64_t word) { return static_cast<Item>(word % 65536); }
  static Item begun(std::uint64_t word) { return static_cast<Item>((word >> 32) % 65536); }
  static Item combined(std::uint64_t word, std::int64_t times) {
    return begun(word) + static_cast<Item>(times) * given(word);
  }
};

struct LogicalOr {
  using Item = int;
  static MPI_Datatype type() { return MPI_INT; }
  static MPI_Op op() { return MPI_LOR; }
  static Item given(std::uint64_t word) { return word % 3 == 0 ? 1 : 0; }
  static Item begun(std::uint64_t word) { return (word >> 32) % 3 == 0 ? 1 : 0; }
  static Item combined(std::uint64_t word, std::int64_t times) {
    return begun(word) != 0 || (times > 0 && given(word) != 0) ? 1 : 0;
  }
};

template <class Operator>
class ReduceLocal final : public Benchmark {
 public:
  using Item = typename Operator::Item;

  ReduceLocal(const Parameters& parameters, const Communicator& communicator)
      : ranks_(communicator.size()),
        rank_(communicator.rank()),
        count_(checked_elements(parameters.integer("message_bytes"))),
        given_(count_ * sizeof(Item)),
        result_(count_ * sizeof(Item)) {}

  Work work() const override { return {.bytes = static_cast<double>(given_.size()) * ranks_}; }

  void fill(std::uint64_t seed) override {
    times_ = 0;
    for (int i = 0; i < count_; ++i) {
      given_.template as<Item>()[i] = Operator::given(word(seed, i));
      result_.template as<Item>()[i] = Operator::begun(word(seed, i));
    }
  }

  void run(Repetition& repetition) override {
    repetition.time([this] {
      MPI_Reduce_local(given_.data(), result_.data(), count_, Operator::type(), Operator::op());
      ++times_;
    });
  }

  Check verify(std::uint64_t seed) override {
    const auto result = result_.template as<Item>();
    for (int i = 0; i < count_; ++i) {
      const Item right = Operator::combined(word(seed, i), times_);
      if (result[i] == right) continue;
      return {count_, sentence({"element ", i, " of ", count_, " is ", result[i], ", must be ", right})};
    }
    return {count_, ""};
  }

  std::span<std::byte> received() override { return result_.bytes(); }
  bool repeats() const override { return false; }  // the output is input of the next operation

 private:
  static int checked_elements(std::int64_t bytes) {
    constexpr std::int64_t item_bytes = sizeof(Item);
    if (bytes % item_bytes == 0) return static_cast<int>(bytes / item_bytes);
    throw Unavailable(sentence({"message_bytes=", bytes, ": must be a multiple of ", item_bytes,
                                ", the size of an element of this operator"}));
  }
  std::uint64_t word(std::uint64_t seed, int i) const { return pattern_word(seed * ranks_ + rank_, i); }

  int ranks_;
  int rank_;
  int count_;
  Buffer given_;
  Buffer result_;
  std::int64_t times_ = 0;  // number of reductions since `fill`
};

const Registration registration{{
    .name = "mpi.reduce_local",
    .title = "local reduction",
    .summary = "reduction of two vectors inside each rank by the library's operator",
    .routines = {{"MPI_Reduce_local"}},
    .parameters = {size("message_bytes", "B", 1024, 0, 1 << 30, "size of one rank's vector"),
                   problem("operator", "sum,lor", "MPI_SUM of doubles, or MPI_LOR of ints").worded(",logical or")},
    .definition = Definition::max_rank,
    .metrics = {seconds("time_s"), bytes_per_second()},
    .sweeps = {{"baseline", "ranks=2,4 message_bytes=1Ki,64Ki"},
               {"standard", "ranks=every message_bytes=8,64,1Ki,4Ki,16Ki,64Ki,256Ki,1Mi,4Mi"},
               {"standard", "ranks=all operator=lor message_bytes=8,1Ki,64Ki,1Mi"}},
    .make = [](const Parameters& parameters, const Communicator& communicator) -> std::unique_ptr<Benchmark> {
      if (parameters.choice("operator") == "lor")
        return std::make_unique<ReduceLocal<LogicalOr>>(parameters, communicator);
      return std::make_unique<ReduceLocal<Sum>>(parameters, communicator);
    },
}};

}  // namespace
}  // namespace scope::reduce_local
