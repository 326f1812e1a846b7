// algorithm.sort_psrs: parallel sorting by regular sampling of n items that begin and end on the root.
//
// Timed: the whole program core on every rank, including allocation; the slowest counts. Its phases:
// initialize (the root makes the items), distribute, compute (local sort; last stage), exchange (samples,
// pivots, counts, partitions), collect. After Li et al. 1993, thesis 6.7.4 and appendix F.3.
#include <bit>
#include <numeric>

#include "benchmarks/algorithm/item_order.hpp"
#include "benchmarks/algorithm/partition.hpp"
#include "benchmarks/algorithm/phase_metrics.hpp"
#include "benchmarks/algorithm/sorting.hpp"
#include "memory/available.hpp"
#include "sampling/phases.hpp"

namespace scope::sort_psrs {
namespace {

enum class Input { uniform, skewed, sorted, equal, with_nan };

Input input_of(const Parameters& parameters) {
  const std::string& name = parameters.choice("input");
  if (name == "skewed") return Input::skewed;
  if (name == "sorted") return Input::sorted;
  if (name == "equal") return Input::equal;
  if (name == "with_nan") return Input::with_nan;
  return Input::uniform;
}

// The data to be sorted: each item depends only on the seed and its position.
class Items {
 public:
  Items(Item item, Input input, std::int64_t count) : item_(item), input_(input), count_(count) {}

  // The bits of the item at `place`.
  std::uint32_t at(std::uint64_t seed, std::int64_t place) const {
    const std::uint32_t word = word_at(seed, place);
    if (item_ == Item::integer) return word;
    if (input_ == Input::with_nan) return special(word);
    return std::bit_cast<std::uint32_t>(static_cast<float>(word) * 0x1p-32f);
  }

  // Compares the items themselves, not their keys.
  bool in_order(std::uint32_t left, std::uint32_t right) const {
    if (item_ == Item::integer) return left <= right;
    const auto a = std::bit_cast<float>(left);
    const auto b = std::bit_cast<float>(right);
    if (!std::isnan(a) && !std::isnan(b)) return a < b || (a == b && std::signbit(a) >= std::signbit(b));
    if (!std::isnan(a) || !std::isnan(b)) return std::isnan(b);
    if (std::signbit(a) != std::signbit(b)) return std::signbit(b);
    return std::signbit(a) ? left >= right : left <= right;
  }

 private:
  std::uint32_t word_at(std::uint64_t seed, std::int64_t place) const {
    if (input_ == Input::equal) return pattern_word(seed, 0) >> 32;
    if (input_ == Input::sorted) return static_cast<std::uint32_t>((place << 32) / count_);
    const auto word = static_cast<std::uint32_t>(pattern_word(seed, place) >> 32);
    if (input_ != Input::skewed) return word;
    const double share = word * 0x1p-32;
    const double fourth = share * share * share * share;
    return static_cast<std::uint32_t>(fourth * fourth * 0x1p32);
  }

  // A quarter are NaN of both signs, a quarter infinities and zeros of both signs, and the others arbitrary.
  static std::uint32_t special(std::uint32_t word) {
    constexpr std::uint32_t infinity = 0x7f800000;
    switch (word % 8) {
      case 0:
      case 1: return word | infinity | 1;
      case 2: return (word & sign) | infinity;
      case 3: return word & sign;
      default: return std::bit_cast<std::uint32_t>(static_cast<float>(static_cast<std::int32_t>(word)));
    }
  }

  Item item_;
  Input input_;
  std::int64_t count_;
};

// Fingerprint of a multiset, independent of its order.
struct Fingerprint {
  std::uint64_t sum = 0;
  std::uint64_t squares = 0;

  void add(std::uint32_t item) {
    const std::uint64_t word = pattern_word(1, item);
    sum += word;
    squares += word * word;
  }
  bool operator==(const Fingerprint&) const = default;
};

// A key in the upper bits, and the number of the sample in the lower bits: rank of origin times p, plus its
// position among that rank's samples.
using Sample = std::uint64_t;
constexpr Sample no_sample = ~Sample{0};
constexpr Key key_of(Sample sample) { return static_cast<Key>(sample >> 32); }
constexpr std::int64_t number_of(Sample sample) { return static_cast<std::uint32_t>(sample); }

class RegularSampling final : public Benchmark {
 public:
  RegularSampling(const Parameters& parameters, const Communicator& communicator)
      : communicator_(communicator),
        p_(communicator.size()),
        item_(parameters.choice("key_type") == "float" ? Item::single : Item::integer),
        tuned_(parameters.choice("variant") == "tuned"),
        blocks_(parameters.integer("n"), p_),
        items_(item_, input_of(parameters), parameters.integer("n")),
        collected_(communicator.root() ? Partners::everyone() : Partners::none()) {
    const Input input = input_of(parameters);
    if (input == Input::with_nan && item_ == Item::integer)
      throw Unavailable("input=with_nan: key_type must be float; integers have no NaN");
    const std::int64_t n = parameters.integer("n");
    require_memory(needed_bytes(n, input), communicator);
  }

  Work work() const override {
    const double p = p_;
    const auto n = static_cast<double>(elements());
    return {
        .bytes = 3 * n * (p - 1) / p * sizeof(Key), .messages = (5 + 2 * p) * (p - 1), .steps = std::max(1.0, n)};
  }

  void fill(std::uint64_t seed) override { seed_ = seed; }

  void run(Repetition& repetition) override {
    release();
    std::optional<Phases> phases;
    repetition.time([&] {
      phases.emplace(repetition, 6);
      make_items();
      phases->meet(Phase::distribute, from_root_);
      distribute();
      phases->enter(Phase::compute);
      sort_block();
      if (p_ > 1) {
        const auto cuts = partition(*phases);
        exchange(cuts, *phases);
        phases->enter(Phase::compute);
        join_partitions();
      }
      keys_to_items(sorted_, item_);
      phases->meet(Phase::collect, collected_);
      collect();
      phases->leave();
    });
    phases->observe(repetition, communicator_);
    const double share = static_cast<double>(elements()) / p_;
    repetition.observe("partition_imbalance", elements() == 0 ? 1.0 : static_cast<double>(sorted_.size()) / share);
  }

  // Checks that the whole result is in order and has the fingerprint of the input, and that the partition of each
  // rank is in order and has the fingerprint of its section of the result.
  Check verify(std::uint64_t seed) override {
    std::vector<Fingerprint> sections(p_);
    std::string problem;
    if (communicator_.root()) {
      problem = result_problem(seed);
      const Key* item = result().data();
      for (int rank = 0; rank < p_; ++rank)
        for (int i = 0; i < sizes_[rank]; ++i) sections[rank].add(*item++);
    }
    Fingerprint section;
    MPI_Scatter(sections.data(), 2, MPI_UINT64_T, &section, 2, MPI_UINT64_T, 0, communicator_.handle());
    Fingerprint mine;
    for (const Key item : sorted_) mine.add(item);
    if (problem.empty()) problem = order_problem(sorted_, "its partition");
    if (problem.empty() && !(mine == section)) problem = "the partition differs from its part of the result";
    const auto checks = static_cast<std::int64_t>(sorted_.size());
    return {communicator_.root() ? checks + elements() : checks, problem};
  }

  std::span<std::byte> received() override {
    return std::as_writable_bytes(communicator_.root() ? result() : sorted_);
  }
  bool loops() const override { return false; }

 private:
  std::int64_t elements() const { return blocks_.end(p_ - 1); }
  std::span<Key> result() { return result_.as<Key>().first(communicator_.root() ? elements() : 0); }

  // The sorts need a second buffer of the same size: the radix sort and merging here, qsort internally.
  std::int64_t needed_bytes(std::int64_t n, Input input) const {
    // Regular sampling guarantees that no partition exceeds 2 n/p if keys are distinct.
    const std::int64_t partition = input == Input::equal && !tuned_ ? n : std::min(n, 2 * blocks_.largest());
    const std::int64_t samples = static_cast<std::int64_t>(p_) * p_ * static_cast<std::int64_t>(sizeof(Sample));
    const std::int64_t items = 2 * blocks_.largest() + (p_ > 1 ? 2 * partition : 0);
    const std::int64_t key = sizeof(Key);
    return items * key + (communicator_.root() ? 2 * n * key + samples : 0);
  }

  static Buffer space_for(std::int64_t keys) { return Buffer(keys * sizeof(Key)); }

  void release() {
    for (Buffer* buffer : {&input_, &block_, &scratch_, &received_, &joined_, &result_}) *buffer = Buffer(0);
  }

  void make_items() {
    const std::int64_t mine = blocks_.size(communicator_.rank());
    block_ = space_for(mine);
    scratch_ = space_for(tuned_ ? mine : 0);
    if (!communicator_.root()) return;
    input_ = space_for(elements());
    result_ = space_for(elements());
    const auto items = input_.as<Key>();
    for (std::int64_t i = 0; i < elements(); ++i) items[i] = items_.at(seed_, i);
  }

  void distribute() {
    const auto [counts, begins] = Parcels(blocks_);
    MPI_Scatterv(input_.data(), counts.data(), begins.data(), MPI_UINT32_T, block_.data(),
                 counts[communicator_.rank()], MPI_UINT32_T, 0, communicator_.handle());
  }

  void sort_block() {
    sorted_ = block_.as<Key>();
    items_to_keys(sorted_, item_);
    if (tuned_)
      sorted_ = radix_sort(sorted_, scratch_.as<Key>());
    else
      quicksort(sorted_);
  }

  // The partition boundaries in this rank's sorted block, from p regular samples of each rank.
  std::vector<int> partition(Phases& phases) {
    const auto mine = samples();
    std::vector<Sample> all(communicator_.root() ? static_cast<std::size_t>(p_) * p_ : 0);
    phases.meet(Phase::exchange, collected_);
    MPI_Gather(mine.data(), p_, MPI_UINT64_T, all.data(), p_, MPI_UINT64_T, 0, communicator_.handle());
    phases.enter(Phase::compute);
    auto pivots = chosen_of(all);
    phases.meet(Phase::exchange, from_root_);
    MPI_Bcast(pivots.data(), p_ - 1, MPI_UINT64_T, 0, communicator_.handle());
    phases.enter(Phase::compute);
    std::vector<int> cuts(1, 0);
    for (const Sample pivot : pivots) cuts.push_back(cut(pivot));
    cuts.push_back(static_cast<int>(sorted_.size()));
    return cuts;
  }

  std::vector<Sample> samples() const {
    const Partition places(static_cast<std::int64_t>(sorted_.size()), p_);
    std::vector<Sample> samples(p_, no_sample);
    for (int i = 0; i < p_ && !sorted_.empty(); ++i) {
      const Sample number = static_cast<Sample>(communicator_.rank()) * p_ + i;
      samples[i] = static_cast<Sample>(sorted_[places.begin(i)]) << 32 | number;
    }
    return samples;
  }

  std::vector<Sample> chosen_of(std::vector<Sample>& all) const {
    std::vector<Sample> pivots(p_ - 1);
    if (!communicator_.root()) return pivots;
    std::sort(all.begin(), all.end());
    for (int i = 1; i < p_; ++i) pivots[i - 1] = all[static_cast<std::size_t>(i) * p_ + p_ / 2 - 1];
    return pivots;
  }

  // Keys below a pivot go before the cut. Plain: keys equal to it, too. Tuned: equal keys are ordered by rank
  // and position, so that a pivot divides keys equal to it at its own position, and there are no ties.
  int cut(Sample pivot) const {
    const auto last = std::upper_bound(sorted_.begin(), sorted_.end(), key_of(pivot));
    const auto origin = static_cast<int>(number_of(pivot) / p_);
    if (!tuned_ || communicator_.rank() < origin) return static_cast<int>(last - sorted_.begin());
    if (communicator_.rank() == origin) {
      const Partition places(static_cast<std::int64_t>(sorted_.size()), p_);
      return static_cast<int>(places.begin(static_cast<int>(number_of(pivot) % p_)));
    }
    return static_cast<int>(std::lower_bound(sorted_.begin(), last, key_of(pivot)) - sorted_.begin());
  }

  void exchange(const std::vector<int>& cuts, Phases& phases) {
    std::vector<int> sent(p_);
    std::vector<int> taken(p_);
    std::adjacent_difference(cuts.begin() + 1, cuts.end(), sent.begin());
    phases.meet(Phase::exchange, everyone_);
    MPI_Alltoall(sent.data(), 1, MPI_INT, taken.data(), 1, MPI_INT, communicator_.handle());
    phases.enter(Phase::exchange);
    runs_.assign(p_ + 1, 0);
    std::partial_sum(taken.begin(), taken.end(), runs_.begin() + 1);
    received_ = space_for(runs_.back());
    joined_ = space_for(tuned_ ? runs_.back() : 0);
    phases.meet(Phase::exchange, everyone_);
    MPI_Alltoallv(sorted_.data(), sent.data(), cuts.data(), MPI_UINT32_T, received_.data(), taken.data(),
                  runs_.data(), MPI_UINT32_T, communicator_.handle());
  }

  void join_partitions() {
    sorted_ = received_.as<Key>();
    if (tuned_)
      sorted_ = merge_runs(sorted_, runs_, joined_.as<Key>());
    else
      quicksort(sorted_);
  }

  void collect() {
    sizes_.assign(p_, 0);
    const int mine = static_cast<int>(sorted_.size());
    MPI_Gather(&mine, 1, MPI_INT, sizes_.data(), 1, MPI_INT, 0, communicator_.handle());
    const Parcels parcels(sizes_);
    MPI_Gatherv(sorted_.data(), mine, MPI_UINT32_T, result_.data(), parcels.counts.data(), parcels.begins.data(),
                MPI_UINT32_T, 0, communicator_.handle());
  }

  std::string result_problem(std::uint64_t seed) {
    Fingerprint wanted;
    Fingerprint found;
    for (std::int64_t i = 0; i < elements(); ++i) wanted.add(items_.at(seed, i));
    for (const Key item : result()) found.add(item);
    const std::string problem = order_problem(result(), "the result");
    if (!problem.empty() || found == wanted) return problem;
    return sentence({"item ", first_wrong_item(seed), " of the result is not one of the input keys"});
  }

  // The position at which an ordered result first differs from the items in order.
  std::size_t first_wrong_item(std::uint64_t seed) {
    std::vector<Key> wanted(elements());
    for (std::int64_t i = 0; i < elements(); ++i) wanted[i] = items_.at(seed, i);
    std::sort(wanted.begin(), wanted.end(), [this](Key a, Key b) { return !items_.in_order(b, a); });
    return std::mismatch(wanted.begin(), wanted.end(), result().begin()).first - wanted.begin();
  }

  std::string order_problem(std::span<const Key> items, const char* of_what) const {
    for (std::size_t i = 1; i < items.size(); ++i)
      if (!items_.in_order(items[i - 1], items[i]))
        return sentence({"item ", i, " of ", of_what, " is out of order"});
    return "";
  }

  const Communicator& communicator_;
  int p_;
  Item item_;
  bool tuned_;
  Partition blocks_;
  Items items_;
  Partners from_root_ = Partners::root();
  Partners everyone_ = Partners::everyone();
  Partners collected_;
  Buffer input_{0};
  Buffer block_{0};
  Buffer scratch_{0};
  Buffer received_{0};
  Buffer joined_{0};
  Buffer result_{0};
  std::span<Key> sorted_;   // this rank's keys, as far as sorted, in one of the buffers
  std::vector<int> runs_;   // beginning of each rank's keys in `received_`
  std::vector<int> sizes_;  // of all partitions, on the root
  std::uint64_t seed_ = 0;
};

const Registration registration{{
    .name = "algorithm.sort_psrs",
    .title = "parallel sort",
    .summary = "parallel sorting by regular sampling: total time, phases and partition imbalance",
    .ranks = Ranks::at_most(32768),  // sample numbers have 32 bits
    .rungs = {communication()},
    .parameters =
        {size("n", "", 1 << 16, 0, 0x7fffffff, "number of keys").labeled("keys").worded("1=1 key,{} keys"),
         problem("key_type", "float,integer", "32-bit floats or unsigned 32-bit integers").worded(",integer keys"),
         problem("input", "uniform,skewed,sorted,equal,with_nan",
                 "distribution of the keys: uniform, uniform^8, sorted, all equal, or a quarter of them NaN")
             .worded(",skewed keys,sorted keys,equal keys,keys with NaN"),
         method("variant", "plain,tuned",
                "two sorts by qsort; or a radix sort and a merge, with equal keys spread over partitions")
             .worded(",tuned")},
    .definition = Definition::max_rank,
    .metrics = with_phases(
        {seconds("time_s"), seconds_per_step("time_per_element_s").labeled("time per key"),
         condition("partition_imbalance", "1", Better::lower).labeled("largest partition / mean partition")}),
    .sweeps = {{"baseline", "ranks=1,2,4 variant=tuned n=256Ki,1Mi"},
               {"baseline", "ranks=1,2,4 variant=plain n=256Ki"},
               {"baseline", "ranks=2,4 variant=tuned input=equal n=1Mi"},
               {"standard", "ranks=every variant=plain,tuned n=2Mi,4Mi,8Mi"},
               {"standard", "ranks=powers key_type=integer variant=plain,tuned n=4Mi"},
               {"standard", "ranks=all variant=plain,tuned input=skewed,sorted,equal n=4Mi"},
               {"standard", "ranks=all variant=tuned input=with_nan n=4Mi"},
               {"advanced", "ranks=every key_type=integer variant=plain,tuned n=1Mi,2Mi,4Mi,8Mi"},
               {"advanced", "ranks=all variant=tuned input=uniform,skewed,equal n=8Mi,32Mi,128Mi"}},
    .make = make<RegularSampling>,
}};

}  // namespace
}  // namespace scope::sort_psrs
