// The common part of all MPI collectives: the ways of calling one, and the hidden fraction of a call.
//
// A collective is called in one of four ways: blocking; nonblocking with an immediate wait; nonblocking with a
// computation of equal length before the wait (overlapped); persistent, with start and wait. The call is timed
// (for persistent calls, start and wait but not the initialization), from the agreed start to the last exit.
//
// Ranks may form groups of `group_ranks` consecutive ranks, all of which call the collective at the same time.
// This gives the cost in one row of a program's process grid while the other rows communicate, too.
#pragma once

#include <mpi.h>

#include <climits>
#if defined(SCOPE_HAS_EXTENDED_PERSISTENT_COLLECTIVES)
#include <mpi-ext.h>  // requires mpi.h before it
#endif

#include "benchmarks/message_buffers.hpp"
#include "devices/device_messages.hpp"
#include "memory/available.hpp"
#include "mpi/simulated.hpp"
#include "sampling/overlapped.hpp"

namespace scope {

// Counts or displacements for each rank as MPI's calls expect them: narrow, or wide if int is too small.
template <class Wide>
class PerRank {
 public:
  PerRank() = default;
  explicit PerRank(const std::vector<std::int64_t>& numbers)
      : narrow_(numbers.begin(), numbers.end()), wide_(numbers.begin(), numbers.end()) {}
  operator const int*() const { return narrow_.data(); }
  operator const Wide*() const { return wide_.data(); }

 private:
  std::vector<int> narrow_;
  std::vector<Wide> wide_;
};

struct PerRankBlocks {
  PerRankBlocks() = default;
  // Blocks of these lengths, one after another.
  explicit PerRankBlocks(const std::vector<std::int64_t>& lengths) : counts(lengths) {
    std::vector<std::int64_t> places(lengths.size());
    for (std::size_t rank = 1; rank < lengths.size(); ++rank) places[rank] = places[rank - 1] + lengths[rank - 1];
    offsets = PerRank<MPI_Aint>(places);
  }
  PerRank<MPI_Count> counts;
  PerRank<MPI_Aint> offsets;
};

// The arguments of any collective.
struct Arguments {
  const void* send = nullptr;
  void* receive = nullptr;
  std::int64_t count = 0;  // number of elements in the vector, or in the block of one rank
  PerRankBlocks sends;     // for calls that take a count for each rank
  PerRankBlocks receives;
  MPI_Datatype type = MPI_BYTE;
  MPI_Op op = MPI_OP_NULL;
  int root = 0;
  MPI_Comm comm = MPI_COMM_NULL;
};

enum class Way { blocking, nonblocking, persistent };

using Call = void (*)(const Arguments& a, Way way, MPI_Request* request);

struct Calls {
  Text blocking;     // MPI_Bcast
  Text nonblocking;  // MPI_Ibcast
  Text persistent;   // MPI_Bcast_init
  Call narrow = nullptr;
  Call wide = nullptr;  // with MPI_Count for int; null if the library has no such call
};

// Open MPI 4 has persistent collectives as extensions with different names.
#if defined(SCOPE_ANY_LIBRARY)
inline bool has_persistent_collectives() {
  return library_has("MPI_Bcast_init") || library_has("MPIX_Bcast_init");
}
template <class Function>
Function* standard_or_extension(const char* name, const char* extension) {
  void* const standard = dlsym(RTLD_DEFAULT, name);
  return reinterpret_cast<Function*>(standard != nullptr ? standard : dlsym(RTLD_DEFAULT, extension));
}
#define SCOPE_INITIALIZE(routine, ...)                                                                          \
  standard_or_extension<decltype(MPI_##routine)>("MPI_" #routine, "MPIX_" #routine)(__VA_ARGS__, MPI_INFO_NULL, \
                                                                                    request)
#elif defined(SCOPE_HAS_PERSISTENT_COLLECTIVES)
inline constexpr bool has_persistent_collectives() { return true; }
#define SCOPE_INITIALIZE(routine, ...) MPI_##routine(__VA_ARGS__, MPI_INFO_NULL, request)
#elif defined(SCOPE_HAS_EXTENDED_PERSISTENT_COLLECTIVES)
inline constexpr bool has_persistent_collectives() { return true; }
#define SCOPE_INITIALIZE(routine, ...) MPIX_##routine(__VA_ARGS__, MPI_INFO_NULL, request)
#else
inline constexpr bool has_persistent_collectives() { return false; }
#define SCOPE_INITIALIZE(routine, ...) static_cast<void>(request)
#endif

// One function of MPI in its three forms, whose first arguments are the same. They are written in terms of `a`,
// the Arguments.
#define SCOPE_CALL(Blocking, Nonblocking, Suffix, ...)                                     \
  [](const Arguments& a, Way way, MPI_Request* request) {                                  \
    switch (way) {                                                                         \
      case Way::blocking: MPI_##Blocking##Suffix(__VA_ARGS__); break;                      \
      case Way::nonblocking: MPI_##Nonblocking##Suffix(__VA_ARGS__, request); break;       \
      case Way::persistent: SCOPE_INITIALIZE(Blocking##_init##Suffix, __VA_ARGS__); break; \
    }                                                                                      \
  }

#define SCOPE_CALL_NAMES(Blocking, Nonblocking) "MPI_" #Blocking, "MPI_" #Nonblocking, "MPI_" #Blocking "_init"

#if defined(SCOPE_HAS_LARGE_COUNTS)
#define SCOPE_CALLS(Blocking, Nonblocking, ...)                                                \
  Calls {                                                                                      \
    SCOPE_CALL_NAMES(Blocking, Nonblocking), SCOPE_CALL(Blocking, Nonblocking, , __VA_ARGS__), \
        SCOPE_CALL(Blocking, Nonblocking, _c, __VA_ARGS__)                                     \
  }
#else
#define SCOPE_CALLS(Blocking, Nonblocking, ...) \
  Calls { SCOPE_CALL_NAMES(Blocking, Nonblocking), SCOPE_CALL(Blocking, Nonblocking, , __VA_ARGS__) }
#endif

class Collective : public Benchmark {
 public:
  Collective(const Parameters& parameters, const Communicator& communicator, const MessageBuffers& requested = {})
      : own_group_(own_group(parameters, communicator)),
        communicator_(own_group_ ? *own_group_ : communicator),
        groups_(communicator.size() / communicator_.size()),
        requested_(requested),
        mode_(parameters.choice("call")),
        overlapped_(communicator) {
    if (mode_ == "persistent" && !has_persistent_collectives())
      throw Unavailable("call=persistent: this MPI library has no persistent collectives (MPI 4, or mpi-ext.h)");
    if (mode_ == "persistent" && requested.layout.rotation > 1) {
      throw Unavailable(
          "rotation: must be 1 with call=persistent, whose buffers are fixed when it is initialized");
    }
  }
  ~Collective() override { free_requests(); }

  void run(Repetition& repetition) override {
    make_room(mode_ == "overlapped" ? Overlapped::communications(repetition) : repetition.calls());
    if (mode_ == "blocking") {
      repetition.time([&](std::int64_t number) { call_(at(number), Way::blocking, nullptr); });
    } else if (mode_ == "nonblocking") {
      repetition.time([&](std::int64_t number) { call_and_wait(number); });
    } else if (mode_ == "persistent") {
      initialize_requests(repetition.calls());
      repetition.time([&](std::int64_t number) { start_and_wait(number); });
    } else {
      overlapped_.run(
          repetition, [&](std::int64_t number) { call_and_wait(number); },
          [&](std::int64_t number, Computation& computation, std::int64_t steps) {
            MPI_Request request = MPI_REQUEST_NULL;
            call_(at(number), Way::nonblocking, &request);
            computation.run(steps);
            MPI_Wait(&request, MPI_STATUS_IGNORE);
          });
    }
  }

  std::int64_t most_operations() const override { return received_.most() / 2; }

  bool cold() const override { return requested_.cold; }
  std::vector<std::span<const std::byte>> message_buffers() override {
    return {sources_.memory(), received_.memory()};
  }

 protected:
  // Selects the call for counts and offsets up to `largest`. Throws Unavailable if the library has none.
  void choose(const Calls& calls, std::int64_t largest) {
    const bool wide = largest > INT_MAX;
    if (wide && (calls.wide == nullptr || !library_has("MPI_Bcast_c"))) {
      throw Unavailable(sentence(
          {"counts up to ", largest, " need the large-count calls of MPI 4, which this MPI library lacks"}));
    }
    call_ = wide ? calls.wide : calls.narrow;
  }

  // Number of slots of this many bytes that repetitions of few operations need for receiving.
  std::int64_t places(std::int64_t received) const {
    const std::int64_t most = requested_.cold || mpi_simulates ? 1 : MessageSlots::most(received) / 2;
    const std::int64_t operations = std::clamp<std::int64_t>(most, 1, slow_operations_back_to_back);
    const std::int64_t calls = operations == 1 ? 1 : operations + 1;  // one untimed operation precedes them
    return std::max(requested_.layout.rotation, mode_ == "overlapped" ? 2 * calls : calls);
  }

  // Each operation of a repetition receives `received` bytes in its own slot; a rank that sends from the memory in
  // which the others receive has only the ring of slots.
  void set_arguments(Arguments arguments, std::int64_t sent, std::int64_t received, bool sends_in_place = false) {
    sources_ = MessageSlots(sent, requested_.layout);
    received_ = MessageSlots(received, requested_.layout);
    sends_in_place_ = sends_in_place;
    arguments_ = std::move(arguments);
    arguments_.comm = communicator_.handle();
  }

  // Does one operation, called in the same way as the last measurement. Never timed.
  void operate() {
    if (mode_ == "blocking")
      call_(at(0), Way::blocking, nullptr);
    else
      mode_ == "persistent" ? start_and_wait(0) : call_and_wait(0);
  }

  // Does one operation on memory outside the slots.
  void call_on(const void* sent, void* received) {
    arguments_.send = sent;
    arguments_.receive = received;
    call_(arguments_, Way::blocking, nullptr);
  }
  bool sends_in_place() const { return sends_in_place_; }

  std::optional<Communicator> own_group_;  // empty if all ranks are one group
  const Communicator& communicator_;       // of this rank's group
  int groups_;
  MessageBuffers requested_;
  MessageSlots sources_{0};
  MessageSlots received_{0};

 private:
  static std::optional<Communicator> own_group(const Parameters& parameters, const Communicator& communicator) {
    const std::int64_t ranks = parameters.integer("group_ranks");
    if (ranks == 0 || ranks == communicator.size()) return std::nullopt;
    if (communicator.size() % ranks != 0) {
      throw Unavailable(
          sentence({"group_ranks=", ranks, ": must divide the number of ranks, ", communicator.size()}));
    }
    return Communicator::split(communicator, static_cast<int>(communicator.rank() / ranks), communicator.rank());
  }

  const Arguments& at(std::int64_t number) {
    arguments_.send = sources_.in_turn(number);
    arguments_.receive = sends_in_place_ ? received_.in_turn(number) : received_[number];
    return arguments_;
  }

  // Either all ranks free their requests or none, since initializing them again is collective.
  void make_room(std::int64_t operations) {
    if (operations > room_) free_requests();
    room_ = std::max(room_, operations);
    sources_.use_in_turn(operations);
    sends_in_place_ ? received_.use_in_turn(operations) : received_.use(operations);
  }

  void call_and_wait(std::int64_t number) {
    MPI_Request request = MPI_REQUEST_NULL;
    call_(at(number), Way::nonblocking, &request);
    MPI_Wait(&request, MPI_STATUS_IGNORE);
  }

  void start_and_wait(std::int64_t number) {
    MPI_Start(&requests_[number]);
    MPI_Wait(&requests_[number], MPI_STATUS_IGNORE);
  }

  // Not in the constructor, in which ranks may fail. Collective, as all ranks have equally many requests.
  void initialize_requests(std::int64_t count) {
    const auto known = static_cast<std::int64_t>(requests_.size());
    for (std::int64_t number = known; number < count; ++number) {
      requests_.push_back(MPI_REQUEST_NULL);
      call_(at(number), Way::persistent, &requests_.back());
    }
  }
  void free_requests() {
    for (auto& request : requests_) MPI_Request_free(&request);
    requests_.clear();
  }

  std::string mode_;
  Call call_ = nullptr;
  Arguments arguments_;
  bool sends_in_place_ = false;
  std::int64_t room_ = 0;              // largest number of operations in a repetition so far
  std::vector<MPI_Request> requests_;  // of the persistent call, one for each slot
  Overlapped overlapped_;
};

// A collective whose data may be in device memory. All operations of a repetition then receive into the same place.
class CollectiveOfData : public Collective {
 public:
  using Collective::Collective;

  void run(Repetition& repetition) override {
    if (!memory_) return Collective::run(repetition);
    received_.use(1);
    collected_ = false;
    repetition.time([this] {
      const void* const sent = memory_->outgoing(0);
      call_on(sent, memory_->incoming(0));
      memory_->arrived(0);
    });
  }

  // Includes the bytes between the slots.
  std::span<std::byte> received() override {
    if (memory_ && !collected_) memory_->collect(received_.slot(0));
    collected_ = true;
    return received_.bytes();
  }
  double kept_share(std::int64_t calls) const override { return memory_ ? 1.0 / static_cast<double>(calls) : 1; }
  std::vector<ControlVariable> settings() const override {
    return memory_ ? memory_->settings() : std::vector<ControlVariable>();
  }

 protected:
  // To be called after `set_arguments`. May throw Unavailable. Collective.
  void use_memory(const Parameters& parameters, const Communicator& communicator) {
    if (parameters.choice("memory") == "host") return;
    const std::int64_t received = received_.slot(0).size();
    const std::int64_t sent = sends_in_place() ? received : sources_.slot(0).size();
    memory_ = devices::made(devices::rank_memory, parameters, communicator,
                            devices::Extent{sent, received, sends_in_place()});
  }
  // To be called after the slots were filled.
  void fill_memory() {
    if (memory_) memory_->fill((sends_in_place() ? received_ : sources_).slot(0), received_.slot(0));
    collected_ = false;
  }

  // The first error in the data received by the last repetition; `problem_in` checks one operation's data.
  template <class ProblemIn>
  std::string first_problem(ProblemIn&& problem_in) {
    CollectiveOfData::received();
    for (std::int64_t number = 0; number < received_.count(); ++number) {
      std::string problem = problem_in(received_.slot(number));
      if (problem.empty()) problem = received_.overrun(number);
      if (problem.empty()) continue;
      return received_.count() > 1 ? sentence({"operation ", number + 1, ": ", problem}) : problem;
    }
    return "";
  }

 private:
  std::unique_ptr<devices::RankMemory> memory_;  // null: host memory, in the slots
  bool collected_ = false;
};

inline Parameter call_parameter() {
  return call("call", "blocking,nonblocking,overlapped,persistent",
              "blocking, nonblocking, nonblocking overlapped with a computation of equal length, or persistent")
      .worded(",nonblocking,overlapped with computation,persistent");
}
inline Parameter group_parameter() {
  return problem("group_ranks", "", 0, 0, INT_MAX,
                 "number of consecutive ranks in a group; all groups call the collective at the same time; 0: all "
                 "ranks are one group")
      .worded("groups of {} ranks");
}
inline Parameter root_parameter() { return call("root", "", 0, 0, INT_MAX, "root rank in each group"); }
inline Parameter block_parameter() {
  return call("blocks", "equal,proportional,one_empty,one_has_all",
              "sizes of blocks: all equal, proportional to the rank, one block empty, or all in one block")
      .worded(",blocks in proportion to the rank,one block empty,one block with everything");
}
inline Metric hidden_share() {
  return result("hidden_share", "", Better::higher).labeled("fraction hidden behind computation");
}
// A nonblocking or persistent routine represents its start and its wait together.
inline std::vector<Binding> collective_routines(const Calls& calls,
                                                Binding::Bytes bytes = Binding::Bytes::per_block) {
  return {{calls.blocking, "call=blocking", bytes},
          {calls.nonblocking, "call=nonblocking", bytes},
          {calls.persistent, "call=persistent", bytes}};
}

// A row of a table of collectives.
struct CollectiveRow {
  const char* name;
  const char* title;
  const char* summary;
  const char* message;  // meaning of message_bytes
  bool takes_blocks;    // whether the lengths of blocks may differ
  Calls calls;
};

// `further`: parameters after the message size. `main`: whether programs use this collective most.
inline Declaration collective_declaration(const CollectiveRow& row, Binding::Bytes bytes,
                                          std::vector<Parameter> further, bool rooted, bool main,
                                          Text standard_sizes) {
  if (rooted) further.push_back(root_parameter());
  if (row.takes_blocks) further.push_back(block_parameter());
  Declaration made{
      .name = row.name,
      .title = row.title,
      .summary = row.summary,
      .routines = collective_routines(row.calls, bytes),
      .parameters =
          with_message_buffers(together({{size("message_bytes", "B", 1024, 0, std::int64_t{1} << 40, row.message)},
                                         further,
                                         {call_parameter(), group_parameter(), devices::memory_parameter()}})),
      .definition = Definition::global,
      .metrics = {seconds("time_s"), moved_bytes_per_second(), effective_bandwidth(), hidden_share()},
      .sweeps = {{"baseline", main ? "ranks=1,2,4 message_bytes=8,1Ki,16Ki,64Ki,256Ki,1Mi"
                                   : "ranks=2,4 message_bytes=1Ki,64Ki"},
                 {"standard", standard_sizes},
                 {"standard", "ranks=all call=nonblocking,overlapped,persistent message_bytes=8,1Ki,64Ki,1Mi"}}};
  return made;
}

// Adds the sweeps that come last.
inline void add_last_sweeps(Declaration& declaration, const CollectiveRow& row, bool in_groups) {
  if (in_groups)
    declaration.sweeps.push_back({"advanced", "ranks=all group_ranks=2 message_bytes=8,1Ki,16Ki,64Ki,256Ki,1Mi"});
  declaration.sweeps.push_back(
      {"advanced", "ranks=all alignment=line,page rotation=1,16 cache=warm,cold message_bytes=1Ki,64Ki,1Mi"});
  declaration.sweeps.push_back({"advanced", "ranks=all memory=device,staged message_bytes=8,1Ki,64Ki,1Mi,4Mi"});
  if (row.takes_blocks)
    declaration.sweeps.push_back(
        {"standard", "ranks=all blocks=proportional,one_empty,one_has_all message_bytes=1Ki,64Ki"});
}

inline int checked_root(const Parameters& parameters, const Communicator& communicator) {
  const std::int64_t root = parameters.integer("root");
  if (root >= communicator.size()) {
    throw Unavailable(sentence({"root=", root, ": must be below ", communicator.size(),
                                ", the number of ranks that call the collective together"}));
  }
  return static_cast<int>(root);
}

// The length of each rank's block, with the sum `total`. The special rank, which has no or all data, precedes
// the root in rank order.
inline std::vector<std::int64_t> block_lengths(const std::string& blocks, std::int64_t total, int ranks,
                                               int root) {
  std::vector<std::int64_t> lengths(ranks);
  const std::int64_t weights = std::int64_t{ranks} * (ranks + 1) / 2;
  const auto up_to = [&](std::int64_t weight) {
    return total / weights * weight + total % weights * weight / weights;
  };
  const int special = (root + ranks - 1) % ranks;
  for (std::int64_t rank = 0; rank < ranks; ++rank) {
    if (blocks == "equal" || ranks == 1) {
      lengths[rank] = total / ranks;
    } else if (blocks == "proportional") {
      lengths[rank] = up_to((rank + 1) * (rank + 2) / 2) - up_to(rank * (rank + 1) / 2);
    } else if (blocks == "one_has_all") {
      lengths[rank] = rank == special ? total : 0;
    } else if (rank != special) {
      const std::int64_t place = rank < special ? rank : rank - 1;
      lengths[rank] = total / (ranks - 1) + (place < total % (ranks - 1) ? 1 : 0);
    }
  }
  return lengths;
}

}  // namespace scope
