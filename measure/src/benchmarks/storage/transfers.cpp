// storage.write, .read, .overwrite, .rewrite: the cost of a file that all ranks write or read at the same time.
//
// Timed: opening, all transfers, synchronizing if `sync` requests it, and closing, on every rank's own clock after
// a common start; the slowest rank counts, and each of the four is a phase. Before a repetition, untimed, the file
// is removed (write), or written again and evicted from the page cache as `cache` requires (all others).
#include <unistd.h>

#include <numeric>

#include "benchmarks/storage/content.hpp"
#include "benchmarks/storage/folder.hpp"
#include "benchmarks/storage/open_file.hpp"
#include "files/file.hpp"

namespace scope::storage::transfers {
namespace {

enum class Operation { write, read, overwrite, rewrite };

// The placement of the ranks' data in the file or files.
struct Layout {
  bool shared;
  bool strided;
  int ranks;
  std::int64_t block_bytes;
  std::int64_t rank_bytes;

  std::int64_t offset(int owner, std::int64_t position) const {
    if (!shared) return position;
    if (!strided) return owner * rank_bytes + position;
    return (position / block_bytes * ranks + owner) * block_bytes + position % block_bytes;
  }
  std::int64_t file_bytes() const { return shared ? ranks * rank_bytes : rank_bytes; }
};

std::int64_t rounded_up(std::int64_t value, std::int64_t unit) { return (value + unit - 1) / unit * unit; }

template <Operation operation>
class Transfers final : public Benchmark {
 public:
  Transfers(const Parameters& parameters, const Communicator& communicator)
      : communicator_(communicator),
        method_(checked(parameters, communicator.size())),
        layout_(layout_of(parameters, communicator.size())),
        transfer_bytes_(parameters.integer("transfer_bytes")),
        buffer_bytes_(parameters.integer("buffer_bytes")),
        cache_(parameters.choice("cache")),
        sync_(operation != Operation::read && parameters.choice("sync") == "fsync"),
        random_(parameters.choice("order") == "random"),
        stonewall_s_(static_cast<double>(parameters.integer("stonewall_s"))),
        folder_(communicator, {.shared = layout_.shared || cache_ == "other_rank",
                               .rank_bytes = parameters.integer("fill_s") > 0 ? 0 : layout_.rank_bytes,
                               .rank_files = 1,
                               .cache = cache_}),
        content_(folder_.number(), period()),
        slots_(std::max<std::int64_t>(method_.in_flight, buffer_bytes_ / transfer_bytes_)),
        written_(std::min(period() + transfer_bytes_, layout_.rank_bytes)),
        read_(std::min(slots_, transfers()) * transfer_bytes_) {
    const int ranks = communicator.size();
    const bool elsewhere = layout_.shared || folder_.one_for_all();
    partner_ = elsewhere ? (communicator.rank() + folder_.partner_distance()) % ranks : communicator.rank();
    written_.map();
    read_.map();
    if (const auto seconds = parameters.integer("fill_s"); seconds > 0) fill_for(static_cast<double>(seconds));
    order_.resize(transfers());
    std::iota(order_.begin(), order_.end(), std::int64_t{0});
    method_.direct = cache_ == "direct";
  }

  Work work() const override { return {.bytes = static_cast<double>(layout_.rank_bytes) * communicator_.size()}; }

  void fill(std::uint64_t seed) override {
    if (random_) shuffle(seed);
    if (seed == 1) note_settings();
    if (operation != Operation::write) rewrite_file();
  }

  void run(Repetition& repetition) override {
    problem_.clear();
    buffered_ = 0;
    came_ = 0;
    unchecked_ = true;
    prepare();
    const TickClock& ticks = repetition.ticks();
    Ticks at[5]{};
    at_wall_ = 0;
    repetition.time([&] {
      at[0] = ticks.now();
      auto file = open(method_, timed_mode, timed_owner());
      at[1] = ticks.now();
      transfer(*file, repetition);
      at[2] = ticks.now();
      if (sync_) file->sync();
      at[3] = ticks.now();
      file->close();
      at[4] = ticks.now();
      keep(file->problem());
    });
    const char* phases[] = {"open_s", "transfer_s", "sync_s", "close_s"};
    double spent_s[4];
    for (int i = 0; i < 4; ++i) spent_s[i] = ticks.seconds(at[i + 1] - at[i]);
    spent_s[1] -= repetition.untimed_s();
    for (int i = 0; i < 4; ++i) repetition.observe(phases[i], spent_s[i]);
    if (operation != Operation::write) repetition.observe("resident_share", resident_);
    if (operation == Operation::rewrite) check_buffered();
    if (stonewall_s_ > 0) observe_stonewall(repetition, spent_s[1]);
    if (operation != Operation::read) read_back();
  }

  // Compares the data that were read last; all earlier data have already been compared.
  Check verify(std::uint64_t) override {
    check_buffered();
    if (method_.pointer == Pointer::shared && std::exchange(unchecked_, false)) check_that_all_came();
    return {transfers() * transfer_bytes_, problem_};
  }

  std::span<std::byte> received() override { return read_.bytes(); }
  std::vector<ControlVariable> settings() const override { return settings_; }
  bool repeats() const override { return false; }
  bool loops() const override { return false; }
  bool prepares() const override { return true; }

 private:
  static constexpr bool reads = operation == Operation::read || operation == Operation::rewrite;
  static constexpr Mode timed_mode = operation == Operation::write  ? Mode::create
                                     : operation == Operation::read ? Mode::read
                                                                    : Mode::update;

  static Method checked(const Parameters& parameters, int ranks) {
    const Method method = method_of(parameters);
    const std::string cache = parameters.choice("cache");
    const std::int64_t transfer = parameters.integer("transfer_bytes");
    const bool shared = parameters.choice("file") == "shared";
    const bool strided = parameters.choice("layout") == "strided";
    const auto refuse_unless = [](bool condition, std::initializer_list<Word> words) {
      if (!condition) throw Unavailable(sentence(words));
    };
    refuse_unless(parameters.integer("file_bytes") >= transfer, {"file_bytes must be at least transfer_bytes"});
    refuse_unless(shared || !strided, {"layout=strided needs file=shared"});
    refuse_unless(!strided || (parameters.integer("block_bytes") % transfer == 0 &&
                               parameters.integer("file_bytes") >= parameters.integer("block_bytes")),
                  {"block_bytes must be a multiple of transfer_bytes, and at most file_bytes"});
    refuse_unless(cache != "other_rank" || ranks > 1, {"cache=other_rank needs at least 2 ranks"});
    refuse_unless(cache != "direct" || method.interface == Interface::posix,
                  {"cache=direct needs interface=posix"});
    refuse_unless(cache != "direct" || transfer % direct_unit == 0,
                  {"cache=direct: transfer_bytes must be a multiple of ", direct_unit, " B"});
    refuse_unless(operation != Operation::rewrite || method.pointer == Pointer::explicit_offset,
                  {"rewriting needs pointer=explicit, because each block is written back to its place"});
    if (method.pointer == Pointer::shared) {
      refuse_unless(
          strided && parameters.integer("block_bytes") == transfer,
          {"pointer=shared needs layout=strided and block_bytes equal to transfer_bytes, because each call "
           "begins where the previous call of any rank ended"});
      refuse_unless(transfer % Content::page_bytes == 0,
                    {"pointer=shared: transfer_bytes must be a multiple of ", Content::page_bytes, " B"});
      refuse_unless(parameters.choice("order") == "sequential", {"pointer=shared needs order=sequential"});
    }
    return method;
  }

  static Layout layout_of(const Parameters& parameters, int ranks) {
    const bool strided = parameters.choice("layout") == "strided";
    const std::int64_t unit = parameters.integer(strided ? "block_bytes" : "transfer_bytes");
    return {parameters.choice("file") == "shared", strided, ranks, unit,
            parameters.integer("file_bytes") / unit * unit};
  }

  // Number of bytes after which places in the buffer repeat; transfers in flight must not share a place.
  std::int64_t period() const {
    // Only whole pages repeat at the same places.
    const bool pages = transfer_bytes_ % Content::page_bytes == 0;
    const std::int64_t least = (method_.in_flight + (pages ? 0 : 1)) * transfer_bytes_;
    const bool whole = random_ && method_.in_flight > 1;
    return rounded_up(whole ? layout_.rank_bytes : std::max(buffer_bytes_, least), Content::page_bytes);
  }

  std::int64_t transfers() const { return layout_.rank_bytes / transfer_bytes_; }
  std::int64_t position(std::int64_t number) const { return order_[number] * transfer_bytes_; }
  Version version(int owner) const { return {generation_, owner}; }

  std::string path(int owner) const {
    return folder_.path() + (layout_.shared ? "/data" : sentence({"/data-", owner}));
  }

  std::unique_ptr<OpenFile> open(const Method& method, Mode mode, int owner) const {
    return open_file(method, communicator_, path(owner), mode, layout_.shared);
  }

  // The rank whose data are read in the timed part.
  int timed_owner() const { return cache_ == "other_rank" ? partner_ : communicator_.rank(); }

  void keep(const std::string& problem) {
    if (problem_.empty()) problem_ = problem;
  }

  // Permutes the transfers, differently on each rank.
  void shuffle(std::uint64_t seed) {
    const std::uint64_t mine = folder_.number() + seed * communicator_.size() + communicator_.rank();
    for (std::size_t i = order_.size(); i > 1; --i) std::swap(order_[i - 1], order_[pattern_word(mine, i) % i]);
  }

  void note_settings() {
    if (method_.interface == Interface::posix) return;
    auto file = open(method_, Mode::create, communicator_.rank());
    settings_ = file->settings();
    file->close();
  }

  void make_contents() {
    ++generation_;
    content_.write(written_.bytes(), version(communicator_.rank()), 0);
  }

  // The place of a position in the buffer, after setting the stamps for this position.
  std::byte* stamped(std::int64_t position) {
    std::byte* place = written_.data() + position % content_.period();
    if (layout_.rank_bytes > content_.period())
      content_.stamp({place, static_cast<std::size_t>(transfer_bytes_)}, version(communicator_.rank()), position);
    return place;
  }

  // The amount that the fastest rank writes in this time, limited by the free space, is what all ranks write from
  // now on: IOR's stonewall with wear-out, as IO500 requires.
  void fill_for(double seconds) {
    const int rank = communicator_.rank();
    const std::int64_t most = std::min(layout_.rank_bytes, folder_.room_of_rank(communicator_));
    layout_.rank_bytes = std::max(most / layout_.block_bytes, std::int64_t{1}) * layout_.block_bytes;
    make_contents();
    auto file = open(method_.plain(), Mode::create, rank);
    MPI_Barrier(communicator_.handle());
    const double end = MPI_Wtime() + seconds;
    std::int64_t done = 0;
    while (done < layout_.rank_bytes && MPI_Wtime() < end && file->problem().empty()) {
      file->write(stamped(done), transfer_bytes_, layout_.offset(rank, done));
      done += transfer_bytes_;
    }
    file->close();
    if (communicator_.any(!file->problem().empty()))
      throw Unavailable(file->problem().empty() ? "another rank cannot write its data" : file->problem());
    done = communicator_.largest(done);
    if (!layout_.shared || communicator_.root()) unlink(path(rank).c_str());
    layout_.rank_bytes = std::min(rounded_up(done, layout_.block_bytes), layout_.rank_bytes);
    MPI_Barrier(communicator_.handle());
  }

  void rewrite_file() {
    MPI_Barrier(communicator_.handle());  // some ranks may still be reading the previous data
    make_contents();
    const int rank = communicator_.rank();
    auto file = open(method_.plain(), Mode::create, rank);
    for (std::int64_t i = 0; i < transfers(); ++i)
      file->write(stamped(i * transfer_bytes_), transfer_bytes_, layout_.offset(rank, i * transfer_bytes_));
    file->sync();
    file->close();
    preparing_ = file->problem();
    fresh_ = true;
    MPI_Barrier(communicator_.handle());
  }

  void prepare() {
    if (operation == Operation::write) {
      make_contents();
      MPI_Barrier(communicator_.handle());  // some ranks may still be reading the file back
      // If a file of the same name existed, neither creation nor allocation would be timed.
      if (!layout_.shared || communicator_.root()) unlink(path(communicator_.rank()).c_str());
      MPI_Barrier(communicator_.handle());
      return;
    }
    if (cache_ == "other_rank" && !fresh_) rewrite_file();
    fresh_ = false;
    keep(preparing_);
    const std::string file = path(timed_owner());
    if (operation != Operation::read) {
      MPI_Barrier(communicator_.handle());
      make_contents();
    }
    if (cache_ == "dropped" || cache_ == "direct") {
      keep(evict(file));
      MPI_Barrier(communicator_.handle());
    }
    resident_ = resident_share(file, layout_.file_bytes());
  }

  void transfer(OpenFile& file, Repetition& repetition) {
    const TickClock& ticks = repetition.ticks();
    const Ticks begin = ticks.now();
    bool walled = stonewall_s_ <= 0;
    const auto count = [&](std::int64_t done) {
      if (walled || ticks.seconds(ticks.now() - begin) - repetition.untimed_s() < stonewall_s_) return;
      walled = true;
      at_wall_ = done * transfer_bytes_;
    };
    const int owner = timed_owner();
    checked_owner_ = owner;
    checked_generation_ = operation == Operation::rewrite ? generation_ - 1 : generation_;
    for (std::int64_t i = 0; i < transfers(); ++i) {
      const std::int64_t place = position(i);
      if (reads) {
        if (i > 0 && i % slots_ == 0) {
          file.complete();
          // Compares the data so far, to free their slots. A rank that reads alone would have all the memory bandwidth.
          repetition.untimed([&] {
            MPI_Barrier(communicator_.handle());
            check_buffered();
            MPI_Barrier(communicator_.handle());
          });
        }
        file.read(slot(i), transfer_bytes_, layout_.offset(owner, place));
        buffered_ = i % slots_ + 1;
        first_buffered_ = i - i % slots_;
      }
      if (operation == Operation::rewrite) file.complete();
      if (operation != Operation::read) file.write(stamped(place), transfer_bytes_, layout_.offset(owner, place));
      count(i + 1);
    }
    file.complete();
    if (!walled) at_wall_ = layout_.rank_bytes;
  }

  // All ranks' bytes until the wall over its time, or over the longest time of a rank if all were faster.
  void observe_stonewall(Repetition& repetition, double transfer_s) const {
    const double bytes = communicator_.sum(static_cast<double>(at_wall_));
    repetition.observe("stonewall_bandwidth_bytes_per_s",
                       bytes / std::min(communicator_.largest(transfer_s), stonewall_s_));
  }

  std::byte* slot(std::int64_t number) { return read_.data() + number % slots_ * transfer_bytes_; }

  // Each rank reads another rank's data, which thus must have got further than the writer's cache. If a rank could
  // not write, its error is reported for all, instead of the data that others miss.
  void read_back() {
    const bool failed = communicator_.any(!problem_.empty());
    buffered_ = 0;
    if (failed) return;
    auto file = open(method_.plain(), Mode::read, partner_);
    checked_owner_ = partner_;
    checked_generation_ = generation_;
    for (std::int64_t i = 0; i < transfers(); ++i) {
      if (i > 0 && i % slots_ == 0) check_buffered();
      file->read(slot(i), transfer_bytes_, layout_.offset(partner_, position(i)));
      buffered_ = i % slots_ + 1;
      first_buffered_ = i - i % slots_;
    }
    file->close();
    keep(file->problem());
  }

  void check_buffered() {
    for (std::int64_t i = 0; i < buffered_ && problem_.empty(); ++i) {
      const std::span<const std::byte> found(slot(i), static_cast<std::size_t>(transfer_bytes_));
      Version expected{checked_generation_, checked_owner_};
      std::int64_t begin = position(first_buffered_ + i);
      if (method_.pointer == Pointer::shared) {
        if (const auto origin = content_.origin(found)) {
          expected.owner = origin->version.owner;
          begin = origin->begin;
        }
        came_ += pattern_word(static_cast<std::uint64_t>(expected.owner), static_cast<std::uint64_t>(begin));
      }
      keep(content_.problem(found, expected, begin));
    }
    if (problem_.empty()) buffered_ = 0;
  }

  // With a shared pointer, the order of the ranks' calls determines the positions of their data: each transfer of
  // each rank must be in the file exactly once.
  void check_that_all_came() {
    std::uint64_t wanted = 0;
    for (int owner = 0; owner < layout_.ranks; ++owner)
      for (std::int64_t i = 0; i < transfers(); ++i)
        wanted += pattern_word(static_cast<std::uint64_t>(owner), static_cast<std::uint64_t>(i * transfer_bytes_));
    if (communicator_.sum(came_) != wanted && problem_.empty())
      problem_ = "some data are missing from the file, and other data are in it twice";
  }

  const Communicator& communicator_;
  Method method_;
  Layout layout_;
  std::int64_t transfer_bytes_;
  std::int64_t buffer_bytes_;
  std::string cache_;
  bool sync_;
  bool random_;
  double stonewall_s_;
  Folder folder_;
  Content content_;
  std::int64_t slots_;
  Buffer written_;
  Buffer read_;
  std::vector<std::int64_t> order_;
  int partner_ = 0;
  std::uint64_t generation_ = 0;
  bool fresh_ = false;
  double resident_ = 0;
  std::int64_t at_wall_ = 0;
  std::int64_t buffered_ = 0;  // number of transfers in `read_` that were not compared yet
  std::int64_t first_buffered_ = 0;
  int checked_owner_ = 0;
  std::uint64_t checked_generation_ = 0;
  std::uint64_t came_ = 0;  // sum over the transfers that were compared
  bool unchecked_ = false;
  std::string preparing_;  // the problem in writing the file that is to be read
  std::string problem_;
  std::vector<ControlVariable> settings_;
};

std::vector<Parameter> parameters_of(Operation operation) {
  const bool reads = operation == Operation::read;
  std::vector<Parameter> own = {
      size("file_bytes", "B", 16 << 20, 1, std::int64_t{1} << 44, "bytes that each rank transfers"),
      parallel("file", "shared,per_process", "one file for all ranks, or one for each")
          .worded("one shared file,a file per rank"),
      parallel("layout", "segmented,strided",
               "for a shared file: each rank's data in one piece, or blocks of all ranks interleaved")
          .worded(",strided"),
      parallel("block_bytes", "B", 1 << 20, 1, 1 << 30, "strided file: number of consecutive bytes of one rank"),
      call("transfer_bytes", "B", 1 << 20, 1, 1 << 30, "bytes that each call transfers"),
      call("order", "sequential,random", "order of a rank's transfers").worded(",random"),
      call("buffer_bytes", "B", 64 << 20, 1, std::int64_t{1} << 40,
           "size of the buffer that a rank reuses for all its data; a buffer that fits in a cache gives higher "
           "rates than an application reaches"),
  };
  if (reads) {
    own.push_back(
        call("cache", "dropped,cached,direct,other_rank",
             "evict the file from the page cache beforehand, leave it there, bypass the cache (O_DIRECT), "
             "or read what another rank (on another host, if possible) has just written")
            .worded(",through the page cache,direct,written by another rank"));
  } else {
    own.push_back(call("sync", "fsync,none", "whether the data are flushed to storage within the timed part")
                      .worded(",without flush"));
    own.push_back(operation != Operation::write
                      ? call("cache", "dropped,cached,direct",
                             "evict the file from the page cache, leave it there, or bypass the cache (O_DIRECT)")
                            .worded(",through the page cache,direct")
                      : call("cache", "cached,direct", "go through the page cache, or bypass the cache (O_DIRECT)")
                            .worded(",direct"));
  }
  own.push_back(call("fill_s", "s", 0, 0, 86400,
                     "seconds of untimed writing; each rank then writes as much as the fastest rank wrote in this "
                     "time, at most file_bytes; 0: each rank writes file_bytes")
                    .worded("filled for {} s"));
  own.push_back(call("stonewall_s", "s", 0, 0, 86400,
                     "seconds after which the bandwidth so far is recorded separately; 0: never"));
  return together({method_parameters(), own, hint_parameters()});
}

std::vector<Metric> metrics_of(Operation operation) {
  std::vector<Metric> metrics = {
      bytes_per_second(),
      seconds("time_s"),
      result("stonewall_bandwidth_bytes_per_s", "B/s", Better::higher).labeled("bandwidth until the stonewall"),
      phase("open_s"),
      phase("transfer_s"),
      phase("sync_s"),
      phase("close_s"),
  };
  if (operation != Operation::write)
    metrics.push_back(condition("resident_share", "1", Better::lower).labeled("fraction of the file in memory"));
  return metrics;
}

// Bindings for a case that makes many calls of `transfer_bytes`.
Binding calls_of(Text routine, Text settings) {
  return {.routines = routine, .settings = settings, .call_size = "transfer_bytes"};
}

Declaration declared(Operation operation) {
  Declaration declaration{
      .name = "storage.write",
      .title = "file write",
      .summary = "all ranks write a new file, through POSIX or MPI-IO",
      .needs = {Requirement::file_system},
      .routines = {calls_of("MPI_File_write_at", "interface=mpiio access=independent"),
                   calls_of("MPI_File_write_at_all", "interface=mpiio access=collective")},
      .rungs = {{Pattern::file_write, "bandwidth_bytes_per_s", "sync=fsync transfer_bytes=*"},
                {Pattern::file_write, "bandwidth_bytes_per_s",
                 "interface=mpiio access=independent,collective sync=fsync transfer_bytes=*", "mpi"}},
      .parameters = parameters_of(operation),
      .definition = Definition::max_rank,
      .metrics = metrics_of(operation),
      .sweeps = {{"standard", "ranks=powers interface=posix file=shared,per_process"},
                 {"standard", "ranks=all interface=mpiio access=independent,collective"},
                 {"standard", "ranks=powers transfer_bytes=4Ki,16Ki,64Ki,256Ki,4Mi"},
                 {"advanced",
                  "ranks=powers interface=mpiio access=independent,collective,nonblocking "
                  "layout=segmented,strided transfer_bytes=64Ki,1Mi"},
                 {"advanced", "ranks=1,all file_bytes=256Mi cache=cached,direct transfer_bytes=64Ki,1Mi,8Mi"}},
      .make = make<Transfers<Operation::write>>,
  };
  if (operation == Operation::overwrite || operation == Operation::rewrite) {
    declaration.routines = {};
    declaration.rungs = {};
    declaration.sweeps = {{"standard", "ranks=1,all"},
                          {"advanced", "ranks=powers interface=posix,mpiio transfer_bytes=4Ki,47008,1Mi"}};
  }
  if (operation == Operation::overwrite) {
    declaration.name = "storage.overwrite";
    declaration.title = "file overwrite";
    declaration.summary = "all ranks write over an existing file, through POSIX or MPI-IO";
    declaration.make = make<Transfers<Operation::overwrite>>;
  }
  if (operation == Operation::rewrite) {
    declaration.name = "storage.rewrite";
    declaration.title = "file rewrite";
    declaration.summary = "all ranks read, change and write back each block of a file, through POSIX or MPI-IO";
    declaration.make = make<Transfers<Operation::rewrite>>;
  }
  if (operation == Operation::read) {
    declaration.name = "storage.read";
    declaration.title = "file read";
    declaration.summary = "all ranks read a file, through POSIX or MPI-IO";
    declaration.routines = {calls_of("MPI_File_read_at", "interface=mpiio access=independent"),
                            calls_of("MPI_File_read_at_all", "interface=mpiio access=collective")};
    declaration.rungs = {{Pattern::file_read, "bandwidth_bytes_per_s", "cache=dropped transfer_bytes=*"},
                         {Pattern::file_read, "bandwidth_bytes_per_s",
                          "interface=mpiio access=independent,collective cache=dropped transfer_bytes=*", "mpi"}};
    declaration.sweeps = {{"standard", "ranks=powers interface=posix file=shared,per_process cache=dropped"},
                          {"standard", "ranks=all interface=mpiio access=independent,collective cache=dropped"},
                          {"standard", "ranks=powers transfer_bytes=4Ki,16Ki,64Ki,256Ki,4Mi cache=dropped"},
                          {"standard", "ranks=all cache=cached,other_rank"},
                          {"advanced",
                           "ranks=powers interface=mpiio access=independent,collective,nonblocking "
                           "layout=segmented,strided transfer_bytes=64Ki,1Mi"},
                          {"advanced",
                           "ranks=1,all file_bytes=256Mi cache=dropped,direct transfer_bytes=64Ki,1Mi,8Mi "
                           "order=sequential,random"}};
    declaration.make = make<Transfers<Operation::read>>;
  }
  return declaration;
}

const Registration write{declared(Operation::write)};
const Registration read{declared(Operation::read)};
const Registration overwrite{declared(Operation::overwrite)};
const Registration rewrite{declared(Operation::rewrite)};

}  // namespace
}  // namespace scope::storage::transfers
