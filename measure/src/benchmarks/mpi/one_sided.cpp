// mpi.one_sided: put, get and accumulate in another rank's memory, with each synchronization mode.
//
// Timed: one operation with its synchronization (a pair of fences; a passive-target lock and unlock; post/start
// and complete/wait). Before it the data's owner changes them and after it their receiver reads them, so that the
// data move from one rank to the other in every operation.
#include "benchmarks/mpi/epochs.hpp"
#include "devices/device_messages.hpp"

namespace scope::one_sided {
namespace {

constexpr std::int64_t line_bytes = 64;
constexpr std::uint64_t summand = 0x0101010101010101u;
// The operations of a repetition use separate places, which have this total size.
constexpr std::int64_t room = std::int64_t{2} << 20;
constexpr std::int64_t most_places = 65;

std::int64_t in_lines(std::int64_t bytes) { return (bytes + line_bytes - 1) / line_bytes * line_bytes; }

// Memory of rank 1 that rank 0 may access, in whole cache lines as in programs.
class Window : NotCopied {
 public:
  Window(std::int64_t bytes, MPI_Comm comm) : bytes_(bytes) {
    MPI_Win_allocate(bytes, 1, MPI_INFO_NULL, comm, &memory_, &handle_);
  }
  ~Window() { MPI_Win_free(&handle_); }

  MPI_Win handle() const { return handle_; }
  std::span<std::byte> bytes() { return {static_cast<std::byte*>(memory_), static_cast<std::size_t>(bytes_)}; }

 private:
  std::int64_t bytes_;
  void* memory_ = nullptr;
  MPI_Win handle_ = MPI_WIN_NULL;
};

// Operates on the first word of every cache line.
template <class Touch>
void for_each_line(std::span<std::byte> lines, Touch touch) {
  auto* const words = reinterpret_cast<volatile std::uint64_t*>(lines.data());
  for (std::size_t at = 0; at < lines.size(); at += line_bytes) touch(words[at / sizeof(std::uint64_t)]);
}

class OneSided final : public Epochs<OneSided> {
 public:
  OneSided(const Parameters& parameters, const Communicator& communicator)
      : Epochs(parameters, communicator),
        stride_(in_lines(checked(parameters))),
        places_(std::clamp<std::int64_t>(room / stride_, 1, most_places)),
        contents_(stride_),
        local_(get_ ? places_ * stride_ : stride_),
        window_(get_ ? stride_ : places_ * stride_, communicator.handle()) {}

  std::int64_t most_operations() const override { return std::max<std::int64_t>(1, places_ - 1); }

  void fill(std::uint64_t seed) override {
    seed_ = seed;
    contents_.clear();
    write_pattern(contents_.bytes().first(bytes_), seed);
  }

  void run(Repetition& repetition) override {
    MPI_Barrier(comm_);  // after the end of the last get
    used_ = repetition.calls();
    seen_ = 0;
    set_window([this] { restore(window_.bytes(), get_ || !put_); });
    restore(local_.bytes(), put_);
    if (!put_ && !get_)
      for (auto& word : local_.as<std::uint64_t>()) word = summand;
    MPI_Barrier(comm_);
    time(repetition);
  }

  // Checks all operations of the last repetition.
  Check verify(std::uint64_t) override {
    Check check;
    if (!receives_) return check;
    Buffer found(used_ * stride_);
    set_window([&] { std::copy_n(received().data(), found.size(), found.data()); });
    Buffer expected(stride_);
    for (std::int64_t number = 0; number < used_ && check.problem.empty(); ++number) {
      restore(expected.bytes(), true);
      if (put_) *expected.as<std::uint64_t>().data() = stamp(number);
      if (get_) for_each_line(expected.bytes(), [&](volatile std::uint64_t& word) { word = stamp(number); });
      for (auto& word : expected.as<std::uint64_t>().first(put_ || get_ ? 0 : bytes_ / 8)) word += summand;
      check.checks += bytes_;
      const std::byte* const place = found.data() + number * stride_;
      const auto wrong = std::mismatch(place, place + stride_, expected.data()).first - place;
      if (wrong < stride_)
        check.problem = sentence({"operation ", number + 1, ": byte ", wrong, " of ", bytes_, " is wrong"});
    }
    return check;
  }

  std::span<std::byte> received() override {
    if (!receives_) return {};
    return (origin_ ? local_.bytes() : window_.bytes()).first(used_ * stride_);
  }
  // Sum of the words that were read at the end of each operation.
  std::vector<std::span<const std::byte>> computed() override { return {std::as_bytes(std::span(&seen_, 1))}; }

 private:
  friend Epochs;

  static std::int64_t checked(const Parameters& parameters) {
    const std::int64_t bytes = parameters.integer("message_bytes");
    if (parameters.choice("operation") != "accumulate" || bytes % 8 == 0) return bytes;
    throw Unavailable(sentence({"operation=accumulate message_bytes=", bytes,
                                ": must be a multiple of 8, since integers of 8 bytes are added"}));
  }

  // Fills every place with the contents or with zeros.
  void restore(std::span<std::byte> places, bool filled) {
    for (std::size_t at = 0; at < places.size(); at += stride_) {
      filled ? std::copy_n(contents_.data(), stride_, places.data() + at)
             : std::fill_n(places.data() + at, stride_, std::byte{0});
    }
  }
  std::uint64_t stamp(std::int64_t number) const {
    return pattern_word(seed_, ~static_cast<std::uint64_t>(number));
  }

  MPI_Win window() const { return window_.handle(); }

  // Called before every operation. A put changes one word; the target's copy of every line is stale anyway.
  void change(std::int64_t number) {
    if (put_ && origin_) *local_.as<std::uint64_t>().data() = stamp(number);
    if (get_ && !origin_) {
      const std::uint64_t word_of_all = stamp(number);
      for_each_line(window_.bytes(), [=](volatile std::uint64_t& word) { word = word_of_all; });
    }
  }

  // Called after every operation.
  void look(std::int64_t number) {
    std::uint64_t sum = 0;
    for_each_line(received().subspan(number * stride_, stride_),
                  [&](volatile std::uint64_t& word) { sum += word; });
    seen_ += sum;
  }

  void access(std::int64_t number) {
    const int bytes = static_cast<int>(bytes_);
    const MPI_Aint place = number * stride_;
    if (put_) {
      MPI_Put(local_.data(), bytes, MPI_BYTE, target, place, bytes, MPI_BYTE, window_.handle());
    } else if (get_) {
      MPI_Get(local_.data() + place, bytes, MPI_BYTE, target, 0, bytes, MPI_BYTE, window_.handle());
    } else {
      MPI_Accumulate(local_.data(), bytes / 8, MPI_UINT64_T, target, place, bytes / 8, MPI_UINT64_T, MPI_SUM,
                     window_.handle());
    }
  }

  std::int64_t stride_;  // distance between places, in whole cache lines
  std::int64_t places_;
  Buffer contents_;  // for one place
  Buffer local_;
  Window window_;
  std::uint64_t seed_ = 0;
  std::int64_t used_ = 0;   // number of places of the last repetition
  std::uint64_t seen_ = 0;  // sum of all words that this rank read in it
};

// Each operation with each synchronization mode.
std::vector<Binding> routines() {
  struct Epoch {
    const char *name, *ends, *begins;
  };
  std::vector<Binding> all;
  for (const auto& [routine, operation] :
       {std::pair{"MPI_Put", "put"}, {"MPI_Get", "get"}, {"MPI_Accumulate", "accumulate"}})
    for (const Epoch& epoch : {Epoch{"fence", "MPI_Win_fence", ""},
                               {"lock", "MPI_Win_unlock,MPI_Win_unlock_all", "MPI_Win_lock,MPI_Win_lock_all"},
                               {"pscw", "MPI_Win_complete", "MPI_Win_start"}})
      all.push_back({.routines = routine,
                     .settings = kept("operation=" + std::string(operation) + " epoch=" + epoch.name),
                     .ends_epoch = epoch.ends,
                     .begins_epoch = epoch.begins});
  return all;
}

const Registration registration{{
    .name = "mpi.one_sided",
    .title = "one-sided communication",
    .summary = "put, get and accumulate with fence, lock, or post/start/complete/wait",
    .ranks = Ranks::exactly(2),
    .routines = routines(),
    .parameters =
        {problem("operation", "put,get,accumulate", "operation of rank 0 on rank 1's memory")
             .worded("put,get,accumulate"),
         call("epoch", "fence,lock,pscw", "synchronization mode").worded("fence,lock,post/start/complete/wait"),
         size("message_bytes", "B", 1024, 8, 1 << 28, "bytes moved"), devices::memory_parameter()},
    .definition = Definition::local,
    .metrics = {seconds("time_s"), bytes_per_second()},
    .sweeps = {{"baseline", "ranks=2 operation=put epoch=fence,lock message_bytes=8,64Ki"},
               {"standard",
                "ranks=2 placement=core,node operation=put,get,accumulate epoch=fence,lock,pscw "
                "message_bytes=8,1Ki,64Ki,1Mi"},
               {"advanced",
                "ranks=2 memory=device,staged operation=put,get epoch=fence,lock,pscw message_bytes=8,64Ki,1Mi"}},
    .make = [](const Parameters& parameters, const Communicator& communicator) -> std::unique_ptr<Benchmark> {
      if (parameters.choice("memory") != "host")
        return devices::made(devices::one_sided, parameters, communicator);
      return std::make_unique<OneSided>(parameters, communicator);
    },
}};

}  // namespace
}  // namespace scope::one_sided
