// The collectives that move data, each as one row of a table.
//
// Timed: see collective.hpp. Every received byte is compared, with new contents for each group of repetitions; each
// block has its own pattern, so that exchanged blocks are noticed. Effective bandwidth after the thesis, eq. 6.1:
// the payloads of all p ranks divided by the time. A rank's payload is the data that it sends or that it receives,
// whichever is more; in operations with a root it is the data that each rank receives from or sends to the root.
#include "benchmarks/mpi/collective.hpp"

namespace scope::collective_movement {
namespace {

// The direction of the data.
enum class Flow { same_from_root, from_root, to_root, from_all_to_all, each_to_each };

struct Row : CollectiveRow {
  Flow flow;
};

const Row rows[] = {
    {{"mpi.broadcast", "broadcast", "broadcast: every rank receives the root's message",
      "size of the message that every rank receives", false,
      SCOPE_CALLS(Bcast, Ibcast, a.receive, a.count, a.type, a.root, a.comm)},
     Flow::same_from_root},
    {{"mpi.scatter", "scatter", "scatter: each rank receives its block from the root", "size of each block", false,
      SCOPE_CALLS(Scatter, Iscatter, a.send, a.count, a.type, a.receive, a.count, a.type, a.root, a.comm)},
     Flow::from_root},
    {{"mpi.scatterv", "scatter (v)", "scatter of blocks of different lengths", "mean length of a block", true,
      SCOPE_CALLS(Scatterv, Iscatterv, a.send, a.sends.counts, a.sends.offsets, a.type, a.receive, a.count, a.type,
                  a.root, a.comm)},
     Flow::from_root},
    {{"mpi.gather", "gather", "gather: the root receives the blocks of all ranks", "size of each block", false,
      SCOPE_CALLS(Gather, Igather, a.send, a.count, a.type, a.receive, a.count, a.type, a.root, a.comm)},
     Flow::to_root},
    {{"mpi.gatherv", "gather (v)", "gather of blocks of different lengths", "mean length of a block", true,
      SCOPE_CALLS(Gatherv, Igatherv, a.send, a.count, a.type, a.receive, a.receives.counts, a.receives.offsets,
                  a.type, a.root, a.comm)},
     Flow::to_root},
    {{"mpi.allgather", "allgather", "allgather: every rank receives the blocks of all ranks", "size of each block",
      false, SCOPE_CALLS(Allgather, Iallgather, a.send, a.count, a.type, a.receive, a.count, a.type, a.comm)},
     Flow::from_all_to_all},
    {{"mpi.allgatherv", "allgather (v)", "allgather of blocks of different lengths", "mean length of a block",
      true,
      SCOPE_CALLS(Allgatherv, Iallgatherv, a.send, a.count, a.type, a.receive, a.receives.counts,
                  a.receives.offsets, a.type, a.comm)},
     Flow::from_all_to_all},
    {{"mpi.alltoall", "all-to-all", "all-to-all: each rank sends a block to every rank",
      "size of the block from one rank to another", false,
      SCOPE_CALLS(Alltoall, Ialltoall, a.send, a.count, a.type, a.receive, a.count, a.type, a.comm)},
     Flow::each_to_each},
    {{"mpi.alltoallv", "all-to-all (v)", "all-to-all of blocks of different lengths",
      "mean length of the block from one rank to another", true,
      SCOPE_CALLS(Alltoallv, Ialltoallv, a.send, a.sends.counts, a.sends.offsets, a.type, a.receive,
                  a.receives.counts, a.receives.offsets, a.type, a.comm)},
     Flow::each_to_each},
};

bool is_rooted(const Row& row) { return row.flow != Flow::from_all_to_all && row.flow != Flow::each_to_each; }

// Consecutive blocks in a buffer, each with the number that selects its pattern.
struct Blocks {
  std::vector<std::int64_t> lengths;
  std::vector<std::uint64_t> numbers;

  std::int64_t total() const {
    std::int64_t sum = 0;
    for (const std::int64_t length : lengths) sum += length;
    return sum;
  }

  template <class Visit>  // called as visit(part of the buffer, number)
  void for_each(std::span<std::byte> buffer, Visit&& visit) const {
    std::int64_t place = 0;
    for (std::size_t i = 0; i < lengths.size(); ++i) {
      visit(buffer.subspan(place, lengths[i]), numbers[i]);
      place += lengths[i];
    }
  }
};

class Movement final : public CollectiveOfData {
 public:
  Movement(const Row& row, const Parameters& parameters, const Communicator& communicator)
      : CollectiveOfData(parameters, communicator, scope::message_buffers(parameters)),
        row_(row),
        root_(is_rooted(row) ? checked_root(parameters, communicator_) : 0),
        block_(parameters.integer("message_bytes")) {
    const int ranks = communicator_.size();
    const std::string blocks = row.takes_blocks ? parameters.choice("blocks") : "equal";
    const auto lengths = block_lengths(blocks, block_ * ranks, ranks, root_);
    choose(row.calls, row.takes_blocks ? block_ * ranks : block_);
    lay_out(lengths);
    const std::int64_t sent = in_place() ? 0 : sent_.total();
    const std::int64_t received = arriving_.total();
    require_memory(requested_.layout.rotation * sent + places(received) * received, communicator);
    Arguments arguments{.count = block_, .root = root_};
    if (row.takes_blocks) {
      arguments.count = lengths[communicator_.rank()];
      arguments.sends = PerRankBlocks(sent_.lengths);
      arguments.receives = PerRankBlocks(arriving_.lengths);
    }
    set_arguments(std::move(arguments), sent, arriving_.total(), in_place() && communicator_.rank() == root_);
    use_memory(parameters, communicator);
  }

  Work work() const override {
    const double ranks = communicator_.size();
    if (ranks < 2) return {};  // a rank sends nothing to itself
    const double each = is_rooted(row_) ? 1 : ranks;
    return {.bytes = groups_ * static_cast<double>(block_) * ranks * each,
            .messages = groups_ * (is_rooted(row_) ? 1 : ranks) * (ranks - 1)};
  }

  void fill(std::uint64_t seed) override {
    received_.clear();
    (in_place() ? received_ : sources_).each_in_turn([&](std::span<std::byte> source) {
      sent_.for_each(source, [&](std::span<std::byte> bytes, std::uint64_t number) {
        write_pattern(bytes, seed_of(seed, number));
      });
    });
    fill_memory();
  }

  Check verify(std::uint64_t seed) override {
    const std::string problem = first_problem([&](std::span<std::byte> received) {
      std::string found;
      arriving_.for_each(received, [&](std::span<std::byte> bytes, std::uint64_t number) {
        const std::string problem = pattern_problem(bytes, seed_of(seed, number));
        if (found.empty() && !problem.empty()) found = sentence({"block ", number, ": ", problem});
      });
      return found;
    });
    return {received_.count() * arriving_.total(), problem};
  }

 private:
  bool in_place() const { return row_.flow == Flow::same_from_root; }

  // Determines the blocks that this rank sends and receives, given the `lengths` of all ranks.
  void lay_out(const std::vector<std::int64_t>& lengths) {
    const auto ranks = static_cast<std::uint64_t>(communicator_.size());
    const auto me = static_cast<std::uint64_t>(communicator_.rank());
    const bool root = communicator_.rank() == root_;
    const Blocks mine{{lengths[me]}, {me}};
    Blocks all{lengths, {}};
    for (std::uint64_t rank = 0; rank < ranks; ++rank) all.numbers.push_back(rank);
    switch (row_.flow) {
      case Flow::same_from_root:
        arriving_ = {{block_}, {0}};
        if (root) sent_ = arriving_;
        break;
      case Flow::from_root:
        if (root) sent_ = all;
        arriving_ = mine;
        break;
      case Flow::to_root:
        sent_ = mine;
        if (root) arriving_ = all;
        break;
      case Flow::from_all_to_all:
        sent_ = mine;
        arriving_ = all;
        break;
      case Flow::each_to_each:
        // The length depends on the distance, so that all ranks send and receive the same amount.
        for (std::uint64_t other = 0; other < ranks; ++other) {
          sent_.lengths.push_back(lengths[(other + ranks - me) % ranks]);
          sent_.numbers.push_back(me * ranks + other);
          arriving_.lengths.push_back(lengths[(me + ranks - other) % ranks]);
          arriving_.numbers.push_back(other * ranks + me);
        }
        break;
    }
  }

  std::uint64_t seed_of(std::uint64_t seed, std::uint64_t number) const { return pattern_word(seed, number); }

  const Row& row_;
  int root_;
  std::int64_t block_;
  Blocks sent_;
  Blocks arriving_;
};

Declaration declaration(const Row& row) {
  // The call takes all data that each rank has for every other rank.
  const auto bytes = row.flow == Flow::each_to_each ? Binding::Bytes::total : Binding::Bytes::per_block;
  const bool main = row.flow == Flow::same_from_root || (row.flow == Flow::each_to_each && !row.takes_blocks);
  Declaration made = collective_declaration(row, bytes, {}, is_rooted(row), main,
                                            "ranks=every message_bytes=1,8,64,1Ki,4Ki,16Ki,64Ki,256Ki,1Mi,4Mi");
  add_last_sweeps(made, row, !is_rooted(row));
  made.make = [&row](const Parameters& parameters,
                     const Communicator& communicator) -> std::unique_ptr<Benchmark> {
    return std::make_unique<Movement>(row, parameters, communicator);
  };
  return made;
}

[[maybe_unused]] const bool registered = [] {
  for (const Row& row : rows) Registration{declaration(row)};
  return true;
}();

}  // namespace
}  // namespace scope::collective_movement
