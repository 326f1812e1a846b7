// The collectives that reduce the vectors of all ranks, each as one row of a table.
//
// Timed: see collective.hpp. Every element of every result is compared, with new contents for each group of
// repetitions; each rank contributes different data, so that a rank that is missing or counted twice is noticed.
// Sums add doubles that are whole numbers, which is exact in any order. MPI_LOR is the thesis's single-cycle
// operation. Effective bandwidth after the thesis, eq. 6.1: the vectors of all p ranks divided by the time.
#include "benchmarks/mpi/collective.hpp"

namespace scope::collective_reduction {
namespace {

// The part of the reduced vector that a rank receives.
enum class Result { all_on_root, all, up_to_me, before_me, my_block };

struct Row : CollectiveRow {
  Result result;
};

const Row rows[] = {
    {{"mpi.reduce", "reduce", "reduce: the root receives the reduced vector", "size of one rank's vector", false,
      SCOPE_CALLS(Reduce, Ireduce, a.send, a.receive, a.count, a.type, a.op, a.root, a.comm)},
     Result::all_on_root},
    {{"mpi.allreduce", "allreduce", "allreduce: every rank receives the reduced vector",
      "size of one rank's vector", false,
      SCOPE_CALLS(Allreduce, Iallreduce, a.send, a.receive, a.count, a.type, a.op, a.comm)},
     Result::all},
    {{"mpi.scan", "scan", "scan: each rank receives the reduction over all ranks up to its own",
      "size of one rank's vector", false,
      SCOPE_CALLS(Scan, Iscan, a.send, a.receive, a.count, a.type, a.op, a.comm)},
     Result::up_to_me},
    {{"mpi.exscan", "exclusive scan", "exscan: each rank receives the reduction over all lower ranks",
      "size of one rank's vector", false,
      SCOPE_CALLS(Exscan, Iexscan, a.send, a.receive, a.count, a.type, a.op, a.comm)},
     Result::before_me},
    {{"mpi.reduce_scatter_block", "reduce-scatter (equal blocks)",
      "reduce-scatter: each rank receives its block of the reduced vector", "size of each rank's block", false,
      SCOPE_CALLS(Reduce_scatter_block, Ireduce_scatter_block, a.send, a.receive, a.count, a.type, a.op, a.comm)},
     Result::my_block},
    {{"mpi.reduce_scatter", "reduce-scatter", "reduce-scatter of blocks of different lengths",
      "mean length of the block that one rank receives", true,
      SCOPE_CALLS(Reduce_scatter, Ireduce_scatter, a.send, a.receive, a.receives.counts, a.type, a.op, a.comm)},
     Result::my_block},
};

// Rank r contributes a + r b to a sum; a and b are whole and depend on the element.
struct Sum {
  using Item = double;
  static MPI_Datatype type() { return MPI_DOUBLE; }
  static MPI_Op op() { return MPI_SUM; }
  static Item contribution(std::uint64_t word, std::uint64_t rank, std::uint64_t /*ranks*/) {
    return static_cast<Item>(first(word) + rank * second(word));
  }
  // The reduction over the first `count` ranks.
  static Item combination(std::uint64_t word, std::uint64_t count, std::uint64_t /*ranks*/) {
    return static_cast<Item>(count * first(word) + count * (count - 1) / 2 * second(word));
  }

 private:
  static std::uint64_t first(std::uint64_t word) { return word % 65536; }
  static std::uint64_t second(std::uint64_t word) { return (word >> 32) % 256; }
};

// At most one rank contributes true.
struct LogicalOr {
  using Item = int;
  static MPI_Datatype type() { return MPI_INT; }
  static MPI_Op op() { return MPI_LOR; }
  static Item contribution(std::uint64_t word, std::uint64_t rank, std::uint64_t ranks) {
    return word % (ranks + 1) == rank ? 1 : 0;
  }
  static Item combination(std::uint64_t word, std::uint64_t count, std::uint64_t ranks) {
    return word % (ranks + 1) < count ? 1 : 0;
  }
};

template <class Operator>
class Reduction final : public CollectiveOfData {
 public:
  using Item = typename Operator::Item;

  Reduction(const Row& row, const Parameters& parameters, const Communicator& communicator)
      : CollectiveOfData(parameters, communicator, scope::message_buffers(parameters)),
        ranks_(communicator_.size()),
        rank_(communicator_.rank()),
        contributors_(ranks_) {
    const std::int64_t count = checked_elements(parameters.integer("message_bytes"));
    const std::int64_t length = row.result == Result::my_block ? count * communicator_.size() : count;
    const int root = row.result == Result::all_on_root ? checked_root(parameters, communicator_) : 0;
    const auto lengths = block_lengths(row.takes_blocks ? parameters.choice("blocks") : "equal",
                                       count * communicator_.size(), communicator_.size(), root);
    choose(row.calls, row.takes_blocks ? length : count);
    std::int64_t items = count;
    if (row.result == Result::all_on_root && communicator_.rank() != root) items = 0;
    if (row.result == Result::up_to_me) contributors_ = rank_ + 1;
    if (row.result == Result::before_me) contributors_ = rank_;
    if (row.result == Result::before_me && rank_ == 0) items = 0;  // undefined on rank 0
    if (row.result == Result::my_block) {
      items = lengths[rank_];
      for (std::uint64_t rank = 0; rank < rank_; ++rank) first_ += lengths[rank];
    }
    constexpr std::int64_t item_bytes = sizeof(Item);
    // An exscan may write to the buffer of rank 0.
    const std::int64_t room = row.result == Result::before_me ? count : items;
    require_memory((requested_.layout.rotation * length + places(room * item_bytes) * room) * item_bytes,
                   communicator);
    if (requested_.layout.offset % item_bytes != 0) {
      throw Unavailable(sentence({"offset_bytes=", requested_.layout.offset, ": must be a multiple of ",
                                  item_bytes, ", the size of an element of this operator"}));
    }
    vector_bytes_ = length * item_bytes;
    items_ = items;
    Arguments arguments{.count = count, .type = Operator::type(), .op = Operator::op(), .root = root};
    if (row.takes_blocks) arguments.receives = PerRankBlocks(lengths);
    set_arguments(std::move(arguments), vector_bytes_, room * item_bytes);
    use_memory(parameters, communicator);
  }

  Work work() const override {
    if (ranks_ < 2) return {};  // a rank sends nothing to itself
    return {.bytes = groups_ * static_cast<double>(vector_bytes_) * static_cast<double>(ranks_),
            .messages = groups_ * (static_cast<double>(ranks_) - 1)};
  }

  void fill(std::uint64_t seed) override {
    received_.clear();
    sources_.each_in_turn([&](std::span<std::byte> source) {
      auto* const vector = reinterpret_cast<Item*>(source.data());
      for (std::size_t i = 0; i < source.size() / sizeof(Item); ++i)
        vector[i] = Operator::contribution(pattern_word(seed, i), rank_, ranks_);
    });
    fill_memory();
  }

  Check verify(std::uint64_t seed) override {
    const std::string problem = first_problem([&](std::span<std::byte> received) -> std::string {
      for (std::size_t i = 0; i < items_; ++i) {
        Item combined;
        std::memcpy(&combined, received.data() + i * sizeof(Item), sizeof(Item));
        const Item right = Operator::combination(pattern_word(seed, first_ + i), contributors_, ranks_);
        if (combined != right)
          return sentence({"element ", i, " of ", items_, " is ", combined, ", must be ", right});
      }
      return "";
    });
    return {received_.count() * static_cast<std::int64_t>(items_), problem};
  }

  std::span<std::byte> received() override {
    return items_ > 0 ? CollectiveOfData::received() : std::span<std::byte>();
  }

 private:
  static std::int64_t checked_elements(std::int64_t bytes) {
    constexpr std::int64_t item_bytes = sizeof(Item);
    if (bytes % item_bytes != 0) {
      throw Unavailable(sentence({"message_bytes=", bytes, ": must be a multiple of ", item_bytes,
                                  ", the size of an element of this operator"}));
    }
    return bytes / item_bytes;
  }

  std::uint64_t ranks_;
  std::uint64_t rank_;
  std::uint64_t contributors_;  // number of ranks, starting at rank 0, whose vectors the result combines
  std::uint64_t first_ = 0;     // index of the first element of the vector that is in the result
  std::size_t items_ = 0;
  std::int64_t vector_bytes_ = 0;
};

Declaration declaration(const Row& row) {
  // The call takes the whole vector that is scattered afterwards.
  const auto bytes = row.result == Result::my_block ? Binding::Bytes::total : Binding::Bytes::per_block;
  const bool main = row.result == Result::all_on_root || row.result == Result::all;
  Declaration made = collective_declaration(
      row, bytes, {problem("operator", "sum,lor", "MPI_SUM of doubles, or MPI_LOR of ints").worded(",logical or")},
      row.result == Result::all_on_root, main, "ranks=every message_bytes=8,64,1Ki,4Ki,16Ki,64Ki,256Ki,1Mi,4Mi");
  if (main) made.sweeps.push_back({"standard", "ranks=every operator=lor message_bytes=8,1Ki,64Ki,1Mi"});
  if (row.result == Result::all_on_root)
    made.sweeps.push_back({"baseline", "ranks=all operator=lor message_bytes=8,1Ki,64Ki"});
  add_last_sweeps(made, row, row.result == Result::all);
  made.make = [&row](const Parameters& parameters,
                     const Communicator& communicator) -> std::unique_ptr<Benchmark> {
    if (parameters.choice("operator") == "lor")
      return std::make_unique<Reduction<LogicalOr>>(row, parameters, communicator);
    return std::make_unique<Reduction<Sum>>(row, parameters, communicator);
  };
  return made;
}

[[maybe_unused]] const bool registered = [] {
  for (const Row& row : rows) Registration{declaration(row)};
  return true;
}();

}  // namespace
}  // namespace scope::collective_reduction
