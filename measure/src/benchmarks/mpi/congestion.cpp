// mpi.congestion: the cost of exchanges in one half of the machine to the other half.
//
// The ranks of every second host, the aggressors, load the network; the others, the victims, do one operation without
// them and one with them in the same repetition. Timed: the victims' operation, from a common start of the victims to
// its last event on each of them, on their own clocks; the slowest counts. Each timed operation follows an untimed
// one; aggressors end a first round before the operation that they disturb, and continue until the victims are done.
#include <numeric>

#include "benchmarks/storage/folder.hpp"
#include "benchmarks/storage/open_file.hpp"
#include "synchronization/dissemination.hpp"

namespace scope::congestion {
namespace {

constexpr int tag = 23;
constexpr int in_flight = 8;   // messages that an aggressor sends to a single target before it waits
constexpr int operations = 4;  // of the victims in a repetition: untimed and timed, without and with aggressors

struct Pair {
  int left;
  int right;
};

// Assigns every second host to a side, in the order of their first ranks, which launchers derive from the order of
// switches and racks; or every second rank if a side would have fewer than two ranks.
struct Sides {
  bool by_host;
  std::vector<int> victims;
  std::vector<int> aggressors;
};

Sides sides(const Communicator& communicator) {
  const auto names = communicator.all_gather(host_name());
  std::map<std::string, std::size_t> places;
  Sides found{true, {}, {}};
  for (int rank = 0; rank < communicator.size(); ++rank) {
    const std::size_t place = places.try_emplace(names[rank], places.size()).first->second;
    (place % 2 == 0 ? found.victims : found.aggressors).push_back(rank);
  }
  if (found.victims.size() >= 2 && found.aggressors.size() >= 2) return found;
  found = {false, {}, {}};
  for (int rank = 0; rank < communicator.size(); ++rank)
    (rank % 2 == 0 ? found.victims : found.aggressors).push_back(rank);
  return found;
}

// The seed of a block's contents, different for every pair of ranks.
std::uint64_t block_seed(std::uint64_t seed, int from, int to) {
  return pattern_word(seed, (static_cast<std::uint64_t>(from) << 32) + static_cast<std::uint64_t>(to));
}

// One kind of operation of one side; this base class does nothing. All calls are collective over the side.
class Exchange : NotCopied {
 public:
  virtual ~Exchange() = default;
  virtual void fill(std::uint64_t /*seed*/) {}
  virtual void run(int /*number*/) {}
  virtual Check verify(std::uint64_t /*seed*/) { return {}; }
  virtual std::span<std::byte> received() { return {}; }
};

// Each rank exchanges a message with both its neighbors on a ring, either in rank order or in a random order that
// is drawn again together with the contents.
class Ring final : public Exchange {
 public:
  Ring(const Communicator& side, std::int64_t bytes, bool random)
      : side_(side), bytes_(bytes), random_(random), sent_(bytes), arrived_(2 * bytes) {}

  void fill(std::uint64_t seed) override {
    neighbors(seed);
    write_pattern(sent_.bytes(), block_seed(seed, side_.rank(), 0));
    arrived_.clear();
    arrived_.use(operations);
  }

  void run(int number) override {
    const int count = static_cast<int>(bytes_);
    std::array<MPI_Request, 4> requests{};
    // On a ring of two, tags distinguish the two messages between the neighbors.
    std::byte* const place = arrived_[number];
    MPI_Irecv(place, count, MPI_BYTE, next_.left, tag, side_.handle(), &requests[0]);
    MPI_Irecv(place + bytes_, count, MPI_BYTE, next_.right, tag + 1, side_.handle(), &requests[1]);
    MPI_Isend(sent_.data(), count, MPI_BYTE, next_.right, tag, side_.handle(), &requests[2]);
    MPI_Isend(sent_.data(), count, MPI_BYTE, next_.left, tag + 1, side_.handle(), &requests[3]);
    MPI_Waitall(4, requests.data(), MPI_STATUSES_IGNORE);
  }

  Check verify(std::uint64_t seed) override {
    Check check;
    for (int number = 0; number < arrived_.count() && check.problem.empty(); ++number) {
      const auto both = arrived_.slot(number);
      check.problem = pattern_problem(both.first(bytes_), block_seed(seed, next_.left, 0));
      if (check.problem.empty())
        check.problem = pattern_problem(both.subspan(bytes_), block_seed(seed, next_.right, 0));
      check.checks += 2 * bytes_;
    }
    return check;
  }

  std::span<std::byte> received() override { return arrived_.bytes(); }

 private:
  void neighbors(std::uint64_t seed) {
    std::vector<int> order(side_.size());
    std::iota(order.begin(), order.end(), 0);
    const auto hash = [=](int rank) { return pattern_word(~seed, rank); };
    if (random_)
      std::sort(order.begin(), order.end(), [=](int one, int other) { return hash(one) < hash(other); });
    const auto place = static_cast<int>(std::find(order.begin(), order.end(), side_.rank()) - order.begin());
    next_ = {order[(place + side_.size() - 1) % side_.size()], order[(place + 1) % side_.size()]};
  }

  const Communicator& side_;
  std::int64_t bytes_;
  bool random_;
  Pair next_{};
  Buffer sent_;
  MessageSlots arrived_;
};

// Simultaneous allreduces in groups of neighboring ranks, whose size is about the square root of the victims.
class Allreduces final : public Exchange {
 public:
  Allreduces(const Communicator& side, std::int64_t bytes)
      : group_(Communicator::split(side, side.rank() / group_size(side.size()), side.rank())),
        count_(static_cast<int>(bytes / static_cast<std::int64_t>(sizeof(double)))),
        sent_(bytes),
        arrived_(bytes) {}

  // Rank r contributes a + r, whole numbers, so that sums are exact in any order.
  void fill(std::uint64_t seed) override {
    const auto values = sent_.as<double>();
    for (int i = 0; i < count_; ++i) values[i] = base(seed, i) + group_.rank();
    arrived_.clear();
    arrived_.use(operations);
  }

  void run(int number) override {
    MPI_Allreduce(sent_.data(), arrived_[number], count_, MPI_DOUBLE, MPI_SUM, group_.handle());
  }

  Check verify(std::uint64_t seed) override {
    const double size = group_.size();
    Check check;
    for (int number = 0; number < arrived_.count(); ++number) {
      const auto* values = reinterpret_cast<const double*>(arrived_[number]);
      for (int i = 0; i < count_ && check.problem.empty(); ++i) {
        const double expected = size * base(seed, i) + size * (size - 1) / 2;
        if (values[i] != expected)
          check.problem = sentence({"element ", i, " is ", values[i], ", must be ", expected});
      }
      check.checks += count_;
    }
    return check;
  }

  std::span<std::byte> received() override { return arrived_.bytes(); }

 private:
  static int group_size(int victims) {
    return std::max(2, static_cast<int>(std::ceil(std::sqrt(static_cast<double>(victims)))));
  }
  static double base(std::uint64_t seed, int element) {
    return static_cast<double>(pattern_word(seed, element) % 65536);
  }

  Communicator group_;
  int count_;
  Buffer sent_;
  MessageSlots arrived_;
};

// A block from every rank on every rank, or only on the first one.
class Blocks : public Exchange {
 public:
  Blocks(const Communicator& side, std::int64_t bytes, std::int64_t sent, std::int64_t arrived)
      : side_(side), bytes_(bytes), sent_(bytes * sent), arrived_(bytes * arrived) {}

  void fill(std::uint64_t seed) override {
    for (int to = 0; to < static_cast<int>(sent_.size() / bytes_); ++to)
      write_pattern(sent_.bytes().subspan(to * bytes_, bytes_), block_seed(seed, side_.rank(), to));
    arrived_.clear();
  }

  Check verify(std::uint64_t seed) override {
    Check check;
    for (int from = 0; from < static_cast<int>(arrived_.size() / bytes_); ++from) {
      if (from == skipped()) continue;
      if (check.problem.empty())
        check.problem =
            pattern_problem(arrived_.bytes().subspan(from * bytes_, bytes_), block_seed(seed, from, side_.rank()));
      check.checks += bytes_;
    }
    return check;
  }

  std::span<std::byte> received() override { return arrived_.bytes(); }

 protected:
  virtual int skipped() const { return -1; }  // a block that is not sent
  int count() const { return static_cast<int>(bytes_); }

  const Communicator& side_;
  std::int64_t bytes_;
  Buffer sent_;
  Buffer arrived_;
};

class AllToAll final : public Blocks {
 public:
  AllToAll(const Communicator& side, std::int64_t bytes) : Blocks(side, bytes, side.size(), side.size()) {}
  void run(int) override {
    MPI_Alltoall(sent_.data(), count(), MPI_BYTE, arrived_.data(), count(), MPI_BYTE, side_.handle());
  }
};

// Many to one: all send to the first rank of the side.
class Incast final : public Blocks {
 public:
  Incast(const Communicator& side, std::int64_t bytes)
      : Blocks(side, bytes, 1, side.root() ? side.size() : 0),
        requests_(in_flight * (side.root() ? side.size() - 1 : 1)) {}
  void run(int) override {
    auto request = requests_.begin();
    for (int number = 0; number < in_flight; ++number) {
      if (!side_.root()) {
        MPI_Isend(sent_.data(), count(), MPI_BYTE, 0, tag, side_.handle(), &*request++);
      } else {
        // All messages of a sender except the last arrive in memory that is not checked.
        for (int from = 1; from < side_.size(); ++from)
          MPI_Irecv(number + 1 < in_flight ? beside(from, number) : arrived_.data() + from * bytes_, count(),
                    MPI_BYTE, from, tag, side_.handle(), &*request++);
      }
    }
    MPI_Waitall(static_cast<int>(requests_.size()), requests_.data(), MPI_STATUSES_IGNORE);
  }

 private:
  int skipped() const override { return 0; }
  std::byte* beside(int from, int number) {
    if (others_.size() == 0) others_ = Buffer(bytes_ * in_flight * side_.size());
    return others_.data() + (static_cast<std::int64_t>(from) * in_flight + number) * bytes_;
  }
  std::vector<MPI_Request> requests_;
  Buffer others_{0};
};

// Many to one by puts into memory that the first rank exposes.
class PutIncast final : public Blocks {
 public:
  PutIncast(const Communicator& side, std::int64_t bytes) : Blocks(side, bytes, 1, side.root() ? side.size() : 0) {
    MPI_Win_create(arrived_.data(), static_cast<MPI_Aint>(arrived_.size()), 1, MPI_INFO_NULL, side.handle(),
                   &window_);
  }
  ~PutIncast() override { MPI_Win_free(&window_); }

  void run(int) override {
    if (!side_.root()) {
      MPI_Win_lock(MPI_LOCK_SHARED, 0, 0, window_);
      for (int number = 0; number < in_flight; ++number)
        MPI_Put(sent_.data(), count(), MPI_BYTE, 0, side_.rank() * static_cast<MPI_Aint>(bytes_), count(),
                MPI_BYTE, window_);
      MPI_Win_unlock(0, window_);
    }
    // The target makes progress inside MPI until all have ended, and then sees what they wrote.
    MPI_Barrier(side_.handle());
    if (side_.root()) {
      MPI_Win_lock(MPI_LOCK_SHARED, 0, 0, window_);
      MPI_Win_unlock(0, window_);
    }
  }

 private:
  int skipped() const override { return 0; }
  MPI_Win window_ = MPI_WIN_NULL;
};

class Broadcast final : public Blocks {
 public:
  Broadcast(const Communicator& side, std::int64_t bytes) : Blocks(side, bytes, 1, 1) {}
  void run(int) override {
    std::byte* const block = side_.root() ? sent_.data() : arrived_.data();
    MPI_Bcast(block, count(), MPI_BYTE, 0, side_.handle());
  }
  Check verify(std::uint64_t seed) override {
    if (side_.root()) return {};
    return {bytes_, pattern_problem(arrived_.bytes(), block_seed(seed, 0, 0))};
  }
};

// Every rank writes its own file, waits until the file system has stored it, and reads it back at the end.
class Files final : public Exchange {
 public:
  Files(const Communicator& side, std::int64_t bytes, const std::string& folder)
      : side_(side),
        bytes_(bytes),
        path_(sentence({folder, "/aggressor-", side.rank()})),
        sent_(bytes),
        arrived_(bytes) {}

  void fill(std::uint64_t seed) override {
    write_pattern(sent_.bytes(), block_seed(seed, side_.rank(), 0));
    arrived_.clear();
  }
  void run(int) override {
    auto file = storage::open_file({}, side_, path_, storage::Mode::create, false);
    file->write(sent_.data(), bytes_, 0);
    file->sync();
    file->close();
    if (problem_.empty()) problem_ = file->problem();
  }
  Check verify(std::uint64_t seed) override {
    if (!problem_.empty()) return {bytes_, problem_};
    auto file = storage::open_file({}, side_, path_, storage::Mode::read, false);
    file->read(arrived_.data(), bytes_, 0);
    file->close();
    if (!file->problem().empty()) return {bytes_, file->problem()};
    return {bytes_, pattern_problem(arrived_.bytes(), block_seed(seed, side_.rank(), 0))};
  }

 private:
  const Communicator& side_;
  std::int64_t bytes_;
  std::string path_;
  std::string problem_;
  Buffer sent_;
  Buffer arrived_;
};

class Congestion final : public Benchmark {
 public:
  Congestion(const Parameters& parameters, const Communicator& communicator)
      : world_(communicator),
        sides_(sides(communicator)),
        is_victim_(std::find(sides_.victims.begin(), sides_.victims.end(), communicator.rank()) !=
                   sides_.victims.end()),
        side_(Communicator::split(communicator, is_victim_ ? 0 : 1, communicator.rank())),
        message_bytes_(parameters.integer("message_bytes")),
        victim_(parameters.choice("victim")),
        aggressor_(parameters.choice("aggressor")) {
    const std::int64_t bytes = parameters.integer("aggressor_bytes");
    if (victim_ == "allreduce" && message_bytes_ % static_cast<std::int64_t>(sizeof(double)) != 0)
      throw Unavailable(sentence({"message_bytes=", message_bytes_, ": must be a multiple of 8"}));
    if (aggressor_ == "files") {
      folder_ = std::make_unique<storage::Folder>(
          world_, storage::Needs{.shared = false, .rank_bytes = bytes, .rank_files = 1});
    }
    exchange_ = is_victim_ ? victim() : aggressor(bytes);
  }

  // The work of the victims.
  Work work() const override {
    const double messages = static_cast<double>(sides_.victims.size()) * (victim_ == "allreduce" ? 1 : 2);
    return {.bytes = messages * static_cast<double>(message_bytes_), .messages = messages};
  }

  void fill(std::uint64_t seed) override { exchange_->fill(seed); }

  void run(Repetition& repetition) override {
    double alone_s = 0;
    if (is_victim_) {
      exchange_->run(0);
      dissemination_barrier(side_);
      alone_s = repetition.part_s([this] { exchange_->run(1); });
    }
    dissemination_barrier(world_);
    if (is_victim_)
      beside(repetition);
    else
      load();
    dissemination_barrier(world_);
    alone_s = world_.largest(alone_s);
    const double beside_s = world_.largest(repetition.times().elapsed_s);
    repetition.observe("isolated_s", alone_s);
    if (alone_s > 0) repetition.observe("impact_factor", beside_s / alone_s);
  }

  Check verify(std::uint64_t seed) override { return exchange_->verify(seed); }
  std::span<std::byte> received() override { return exchange_->received(); }
  // One operation is one sample, because means of many operations would hide the 99th percentile.
  bool loops() const override { return false; }
  std::vector<ControlVariable> settings() const override {
    return {{"victims", std::to_string(sides_.victims.size())},
            {"aggressors", std::to_string(sides_.aggressors.size())},
            {"interleaved", sides_.by_host ? "hosts" : "ranks"}};
  }

 private:
  std::unique_ptr<Exchange> victim() {
    if (victim_ == "allreduce") return std::make_unique<Allreduces>(side_, message_bytes_);
    return std::make_unique<Ring>(side_, message_bytes_, victim_ == "random_ring");
  }

  std::unique_ptr<Exchange> aggressor(std::int64_t bytes) {
    if (aggressor_ == "all_to_all") return std::make_unique<AllToAll>(side_, bytes);
    if (aggressor_ == "incast") return std::make_unique<Incast>(side_, bytes);
    if (aggressor_ == "put_incast") return std::make_unique<PutIncast>(side_, bytes);
    if (aggressor_ == "broadcast") return std::make_unique<Broadcast>(side_, bytes);
    if (aggressor_ == "files") return std::make_unique<Files>(side_, bytes, folder_->path());
    return std::make_unique<Exchange>();  // for comparison: the victims' two operations without aggressors
  }

  // The victims' timed operation, between the aggressors' first round and the message that stops them.
  void beside(Repetition& repetition) {
    const int other = sides_.aggressors.front();
    if (side_.root()) MPI_Recv(nullptr, 0, MPI_BYTE, other, tag, world_.handle(), MPI_STATUS_IGNORE);
    dissemination_barrier(side_);
    exchange_->run(2);
    dissemination_barrier(side_);
    repetition.time([this] { exchange_->run(3); });
    dissemination_barrier(side_);
    if (side_.root()) MPI_Send(nullptr, 0, MPI_BYTE, other, tag, world_.handle());
  }

  void load() {
    const int other = sides_.victims.front();
    MPI_Request stop = MPI_REQUEST_NULL;
    if (side_.root()) MPI_Irecv(nullptr, 0, MPI_BYTE, other, tag, world_.handle(), &stop);
    for (std::int64_t round = 0, done = 0; done == 0; ++round) {
      exchange_->run(0);
      if (side_.root()) {
        if (round == 0) MPI_Send(nullptr, 0, MPI_BYTE, other, tag, world_.handle());
        int stopped = 0;
        MPI_Test(&stop, &stopped, MPI_STATUS_IGNORE);
        done = stopped;
      }
      MPI_Bcast(&done, 1, MPI_INT64_T, 0, side_.handle());
    }
  }

  const Communicator& world_;
  Sides sides_;
  bool is_victim_;
  Communicator side_;
  std::int64_t message_bytes_;
  std::string victim_;
  std::string aggressor_;
  std::unique_ptr<storage::Folder> folder_;
  std::unique_ptr<Exchange> exchange_;
};

const Registration registration{{
    .name = "mpi.congestion",
    .title = "congestion",
    .summary = "exchange among every second host, with and without load from the other hosts",
    .ranks = Ranks::at_least(4),
    .parameters =
        {size("message_bytes", "B", 8, 8, 1 << 28, "payload of each of the victims' messages"),
         problem("victim", "random_ring,natural_ring,allreduce",
                 "exchange with both neighbors on a ring in random order or in rank order, or several allreduces")
             .worded("random ring,natural ring,several allreduces"),
         problem("aggressor", "all_to_all,incast,put_incast,broadcast,files,none",
                 "load from other ranks: all-to-all, all-to-one (messages or puts), broadcast, file I/O, or none")
             .worded("under all-to-all,under an incast,under an incast of puts,under broadcasts,under "
                     "file writes,without load"),
         problem("aggressor_bytes", "B", 4096, 1, 1 << 28, "payload of each of the aggressors' messages")},
    .definition = Definition::local,
    .metrics = {result("impact_factor", "", Better::lower).labeled("impact factor"), seconds("time_s"),
                result_seconds("isolated_s").labeled("time without the load")},
    .sweeps = {{"standard",
                "ranks=nodes placement=node victim=random_ring message_bytes=8,128Ki "
                "aggressor=none,all_to_all,incast,put_incast,broadcast"},
               {"standard",
                "ranks=nodes placement=node victim=natural_ring message_bytes=8,128Ki aggressor=all_to_all"},
               {"standard",
                "ranks=nodes placement=node victim=allreduce message_bytes=8 "
                "aggressor=all_to_all,incast,broadcast"},
               {"advanced",
                "ranks=all victim=random_ring,natural_ring,allreduce message_bytes=8,128Ki "
                "aggressor=all_to_all,incast,put_incast,broadcast,files aggressor_bytes=4Ki,128Ki"}},
    .make = make<Congestion>,
}};

}  // namespace
}  // namespace scope::congestion
