// application.npb_is: integers ranked by counting, in buckets distributed over the processes.
//
// Timed: finding the rank of every key, ten times: bucket counts are summed over all processes, keys are sent to
// the process that owns their bucket and counted there. After kernel IS of the NAS Parallel Benchmarks
// (RNR-94-007, section 2.2.5). Nearly every key crosses the network in every iteration.
#include <numeric>

#include "benchmarks/algorithm/partition.hpp"
#include "benchmarks/application/npb/kernel.hpp"
#include "benchmarks/application/npb/random_numbers.hpp"

namespace scope::npb::is {
namespace {

constexpr const char* name = "application.npb_is";
constexpr std::uint64_t seed = 314159265;
constexpr int iteration_count = 10;
constexpr int log2_buckets = 10;
constexpr int buckets = 1 << log2_buckets;
constexpr int tests = 5;
constexpr int numbers_per_key = 4;
// Keys that the iterations replace: number i and number i + 10.
constexpr int replaced = 2 * iteration_count + 1;

using Key = std::int32_t;

// A key whose rank is known: in iteration i it is `rank` + `growth` (i - `since`).
struct KnownRank {
  int place;
  int rank;
  int growth;
  int since;
};

struct Problem {
  int log2_keys;
  int log2_range;
  std::array<KnownRank, tests> known;

  std::string size() const { return sentence({"2^", log2_keys, " keys of ", log2_range, " bits"}); }
};

// RNR-94-007, table 2.4 (A, B); NPB 3.4 (S, W, C).
constexpr PerClass<Problem> problems{
    {{16,
      11,
      {{{48427, 0, 1, 0}, {17148, 18, 1, 0}, {23627, 346, 1, 0}, {62548, 64917, -1, 0}, {4431, 65463, -1, 0}}}},
     {20,
      16,
      {{{357773, 1249, 1, 2},
        {934767, 11698, 1, 2},
        {875723, 1039987, -1, 0},
        {898999, 1043896, -1, 0},
        {404505, 1048018, -1, 0}}}},
     {23,
      19,
      {{{2112377, 104, 1, 1},
        {662041, 17523, 1, 1},
        {5336171, 123928, 1, 1},
        {3642833, 8288932, -1, 1},
        {4250760, 8388264, -1, 1}}}},
     {25,
      21,
      {{{41869, 33422937, -1, 0},
        {812306, 10244, 1, 0},
        {5102857, 59149, 1, 0},
        {18232239, 33135281, -1, 0},
        {26860214, 99, 1, 0}}}},
     {27,
      23,
      {{{44172927, 61147, 1, 0},
        {72999161, 882988, 1, 0},
        {74326391, 266290, 1, 0},
        {129606274, 133997595, -1, 0},
        {21736814, 133525895, -1, 0}}}}}};

// Fingerprint of a set of keys, independent of their order.
struct Fingerprint {
  std::int64_t count = 0;
  std::int64_t sum = 0;
  std::int64_t mixed = 0;

  void add(Key key) {
    ++count;
    sum += key;
    mixed += static_cast<std::int64_t>(pattern_word(1, static_cast<std::uint64_t>(key)) >> 32);
  }
  bool operator==(const Fingerprint&) const = default;
};

class IntegerSort final : public Kernel {
 public:
  IntegerSort(const Parameters& parameters, const Communicator& communicator)
      : Kernel(name, parameters, communicator),
        problem_(of_class(problems, parameters)),
        blocks_(std::int64_t{1} << problem_.log2_keys, communicator.size()),
        shift_(problem_.log2_range - log2_buckets) {
    if (ranks() > buckets) {
      throw Unavailable(sentence(
          {name, " has ", buckets, " buckets of keys; ", ranks(), " ranks were given: ", buckets, " would work"}));
    }
    const std::int64_t mine = blocks_.largest();
    // After the exchange, the numbers of keys of processes differ by at most one bucket.
    require((3 * mine + range() + 3 * buckets) * static_cast<std::int64_t>(sizeof(Key)));
    make_keys();
    counts_ = Buffer(range() * sizeof(Key));
    if (ranks() > 1) {
      out_ = mapped(static_cast<std::int64_t>(keys_.size()));
      received_ = mapped(mine);
    }
  }

 private:
  Key range() const { return Key{1} << problem_.log2_range; }
  double total() const { return std::ldexp(1.0, problem_.log2_keys); }

  // Keys are written to hundreds of positions alternately: with small pages every second write would miss the TLB.
  static Buffer mapped(std::int64_t keys) {
    Buffer buffer(static_cast<std::size_t>(keys) * sizeof(Key));
    buffer.map();
    return buffer;
  }

  // Each key is the mean of four random numbers, times the range.
  void make_keys() {
    RandomNumbers random(seed);
    random.skip(numbers_per_key * static_cast<std::uint64_t>(blocks_.begin(rank())));
    keys_.resize(blocks_.size(rank()));
    const double scale = range() / static_cast<double>(numbers_per_key);
    std::array<double, numbers_per_key> numbers{};
    for (Key& key : keys_) {
      random.fill(numbers);
      key = static_cast<Key>(scale * (numbers[0] + numbers[1] + numbers[2] + numbers[3]));
    }
    first_keys_.assign(keys_.begin(), keys_.begin() + std::min<std::size_t>(replaced, keys_.size()));

    known_keys_.fill(0);
    for (int i = 0; i < tests; ++i) {
      const int place = problem_.known[i].place - static_cast<int>(blocks_.begin(rank()));
      if (place >= 0 && place < static_cast<int>(keys_.size())) known_keys_[i] = keys_[place];
    }
    exchange().sum(std::span(known_keys_));
  }

  // One untimed iteration, as NPB prescribes.
  void initialize() override {
    std::copy(first_keys_.begin(), first_keys_.end(), keys_.begin());
    rank_keys(1);
  }

  void iterate() override {
    for (int iteration = 1; iteration <= iteration_count; ++iteration) {
      if (iteration == iteration_count) exchange().expose();
      rank_keys(iteration);
    }
  }

  void rank_keys(int iteration) {
    replace_keys(iteration);
    if (ranks() > 1) {
      share_out_buckets();
      send_keys();
    } else {
      sorted_ = keys_;
      first_ = 0;
      end_ = range();
      smaller_ = 0;
    }
    key_sums_[iteration - 1] = count_keys();
    for (int i = 0; i < tests; ++i) {
      const Key key = known_keys_[i];
      // The rank of a key is the number of smaller keys.
      found_[iteration - 1][i] = key >= first_ && key < end_ ? smaller_ + rank_of(key) : 0;
    }
  }

  void replace_keys(int iteration) {
    if (rank() != 0) return;
    keys_[iteration] = iteration;
    keys_[iteration + iteration_count] = range() - iteration;
  }

  // Assigns buckets to processes in order, so that the numbers of keys of processes differ by at most one
  // bucket.
  void share_out_buckets() {
    std::array<Key, buckets> mine = bucket_sizes();
    std::array<Key, buckets> all = mine;
    exchange().sum(std::span(all));

    std::exclusive_scan(mine.begin(), mine.end(), begins_.begin(), 0);
    std::iota(stream_.begin(), stream_.end(), 0);
    std::vector<int> counts(ranks());
    std::int64_t before = 0;
    int owner = 0;
    int owner_before = 0;
    smaller_ = 0;
    int first_bucket = -1;
    int end_bucket = 0;
    for (int bucket = 0; bucket < buckets; ++bucket) {
      while (owner < ranks() - 1 && before >= blocks_.end(owner)) ++owner;
      if (owner == rank()) {
        if (first_bucket < 0) {
          first_bucket = bucket;
          smaller_ = before;
        }
        end_bucket = bucket + 1;
      }
      // Two neighboring buckets of one owner are filled as one, which halves the number of write streams.
      if (bucket % 2 != 0 && owner == owner_before) stream_[bucket] = bucket - 1;
      owner_before = owner;
      counts[owner] += mine[bucket];
      before += all[bucket];
    }
    sent_ = Parcels(std::move(counts));
    first_ = first_bucket < 0 ? 0 : first_bucket << shift_;
    end_ = first_bucket < 0 ? 0 : end_bucket << shift_;
  }

  // Neighboring keys may be in one bucket, so that increments depend on each other; hence four tables alternate.
  std::array<Key, buckets> bucket_sizes() const {
    constexpr int tables = 4;
    std::array<std::array<Key, buckets>, tables> sizes{};
    std::size_t i = 0;
    for (; i + tables <= keys_.size(); i += tables)
      for (int table = 0; table < tables; ++table) ++sizes[table][keys_[i + table] >> shift_];
    for (; i < keys_.size(); ++i) ++sizes[0][keys_[i] >> shift_];
    for (int bucket = 0; bucket < buckets; ++bucket)
      for (int table = 1; table < tables; ++table) sizes[0][bucket] += sizes[table][bucket];
    return sizes[0];
  }

  void send_keys() {
    const std::span<Key> out = out_.as<Key>();
    const int shift = shift_;
    for (const Key key : keys_) out[begins_[stream_[key >> shift]]++] = key;
    const Parcels taken = exchange().announce(sent_);
    const auto count = static_cast<std::size_t>(taken.total());
    if (received_.as<Key>().size() < count) received_ = mapped(taken.total());
    exchange().transpose(out.data(), sent_, received_.as<Key>().data(), taken);
    sorted_ = received_.as<Key>().first(count);
  }

  // Sets counts[k] to the number of this process's keys <= k. Returns the sum of its keys, as key k is included in
  // end - k counts. This needs one addition per count, and there are far fewer counts than keys.
  std::int64_t count_keys() {
    const auto counts = counts_.as<Key>();
    std::fill(counts.begin() + first_, counts.begin() + end_, 0);
    for (const Key key : sorted_) ++counts[key];
    std::int64_t below = 0;
    Key count = 0;
    for (Key key = first_; key < end_; ++key) {
      count += counts[key];
      counts[key] = count;
      below += count;
    }
    return std::int64_t{end_} * count - below;
  }
  std::int64_t rank_of(Key key) { return key == first_ ? 0 : counts_.as<Key>()[key - 1]; }

  // The ranks of the known keys, iteration by iteration, as found by their owners; 0 on other processes.
  std::vector<double> results() override {
    std::vector<double> ranks_found;
    for (auto& of_iteration : found_) {
      exchange().sum(std::span(of_iteration));
      for (const std::int64_t rank : of_iteration) ranks_found.push_back(static_cast<double>(rank));
    }
    return ranks_found;
  }
  std::vector<Published> published() const override {
    std::vector<Published> wanted;
    for (int iteration = 1; iteration <= iteration_count; ++iteration) {
      for (const KnownRank& known : problem_.known) {
        const int rank = known.rank + known.growth * (iteration - known.since);
        wanted.push_back(
            {sentence({"rank of key ", known.place, " in iteration ", iteration}), static_cast<double>(rank), 0});
      }
    }
    return wanted;
  }

  // The keys and the ranks of the last iteration, and for each iteration the sum of the keys and the ranks of the
  // known keys.
  std::vector<std::span<const std::byte>> solution() override {
    const auto counts = counts_.as<Key>().subspan(first_, end_ - first_);
    return {std::as_bytes(sorted_), std::as_bytes(counts), std::as_bytes(std::span(key_sums_))};
  }

  // Checks for each iteration that all processes together ranked keys with the same sum as the keys to be ranked.
  std::string sum_problem() {
    std::array<std::int64_t, iteration_count> found = key_sums_;
    std::array<std::int64_t, iteration_count> wanted{};
    std::int64_t sum = std::accumulate(keys_.begin(), keys_.end(), std::int64_t{0});
    for (int iteration = iteration_count; iteration >= 1; --iteration) {
      wanted[iteration - 1] = sum;
      if (rank() != 0) continue;
      for (const int place : {iteration, iteration + iteration_count}) sum += first_keys_[place] - keys_[place];
    }
    MPI_Allreduce(MPI_IN_PLACE, found.data(), iteration_count, MPI_INT64_T, MPI_SUM, communicator().handle());
    MPI_Allreduce(MPI_IN_PLACE, wanted.data(), iteration_count, MPI_INT64_T, MPI_SUM, communicator().handle());
    for (int i = 0; i < iteration_count; ++i) {
      if (found[i] == wanted[i]) continue;
      return sentence(
          {"the keys ranked in iteration ", i + 1, " have the sum ", found[i], ", must be ", wanted[i]});
    }
    return "";
  }

  // Checks that all keys, moved to their ranks, are in order on each process and from each to the next, and are
  // the original keys.
  Check verify_further() override {
    const Fingerprint wanted = fingerprint_of_all(keys_);
    std::vector<Key> in_order(sorted_.size());
    std::string problem = sum_problem();
    if (problem.empty()) problem = move_to_ranks(in_order);
    const Fingerprint found = fingerprint_of_all(in_order);
    Key last_before = -1;
    Key last = in_order.empty() ? -1 : in_order.back();
    MPI_Exscan(&last, &last_before, 1, MPI_INT32_T, MPI_MAX, communicator().handle());
    if (rank() == 0) last_before = -1;
    if (problem.empty() && !in_order.empty() && in_order.front() < last_before)
      problem = "a key of an earlier rank is greater than the first key of this rank";
    if (problem.empty() && !(found == wanted)) problem = "the sorted keys are not the original keys";
    return {static_cast<std::int64_t>(in_order.size()), problem};
  }

  std::string move_to_ranks(std::vector<Key>& in_order) {
    const auto counts = counts_.as<Key>();
    std::vector<Key> places(counts.begin() + first_, counts.begin() + end_);
    for (const Key key : sorted_) {
      if (key < first_ || key >= end_) return sentence({"key ", key, " is in the wrong bucket"});
      const Key place = --places[key - first_];
      if (place < 0 || place >= static_cast<Key>(in_order.size())) return "two keys have the same position";
      in_order[place] = key;
    }
    return std::is_sorted(in_order.begin(), in_order.end()) ? "" : "the keys are not in ascending order";
  }

  Fingerprint fingerprint_of_all(std::span<const Key> keys) const {
    Fingerprint mine;
    for (const Key key : keys) mine.add(key);
    Fingerprint all;
    MPI_Allreduce(&mine, &all, 3, MPI_INT64_T, MPI_SUM, communicator().handle());
    return all;
  }

  double operations() const override { return iteration_count * total(); }
  bool counts_flops() const override { return false; }  // it counts ranked keys
  int iterations() const override { return iteration_count; }
  std::size_t meetings() const override { return 3 * iteration_count; }

  Problem problem_;
  Partition blocks_;
  int shift_;
  std::vector<Key> keys_;
  std::vector<Key> first_keys_;
  std::array<Key, tests> known_keys_{};
  Buffer out_{0};  // keys by bucket, and thus by owner
  Buffer received_{0};
  std::array<Key, buckets> begins_{};  // beginnings of the buckets in out_
  std::array<int, buckets> stream_{};  // by bucket: the bucket from whose beginning its keys are written
  Parcels sent_;
  std::span<Key> sorted_;     // the keys of this process's buckets
  Buffer counts_{0};          // by key; only this process's range is used
  Key first_ = 0;             // first key of this process's range
  Key end_ = 0;               // first key after this range
  std::int64_t smaller_ = 0;  // number of keys below this process's range
  std::array<std::array<std::int64_t, tests>, iteration_count> found_{};
  std::array<std::int64_t, iteration_count> key_sums_{};
};

const Registration registration{
    declaration({.name = name,
                 .title = "NAS IS",
                 .summary = "NAS kernel IS: integer ranking with an all-to-all of nearly all keys",
                 .problem_class = problem_class(problems),
                 .operations = Operations::others},
                make<IntegerSort>)};

}  // namespace
}  // namespace scope::npb::is
