// mpi.overheads: the parameters of LogGP: how long sender and receiver are busy, and how long the message is in
// flight, in every send mode, with blocking, nonblocking and persistent calls.
//
// Timed: a ping-pong on rank 0's clock; half of the round trip is o_s + L + o_r. In the same repetition, each on
// the clock of the busy rank: the call that sends a message for which the partner waits (o_s); the receive of a
// message that has surely arrived (o_r); a window of back-to-back messages (the gap). L is the remainder. After
// Culler et al. 1993 (LogP), Alexandrov et al. 1995 (LogGP, the gap per byte) and Kielmann et al. 2000, "Fast
// measurement of LogP parameters".

#include "benchmarks/mpi/send_mode.hpp"
#include "mpi/simulated.hpp"

namespace scope::overheads {
namespace {

constexpr int tag = 17;
constexpr int control_tag = 18;
// Number of single calls timed per repetition, and of messages per gap; fewer for long messages.
constexpr int most_tries = 8;
constexpr int most_in_window = 64;
constexpr int fewest = 4;
constexpr std::int64_t bytes_per_part = 1 << 22;
// A message has surely arrived after this many round trips and at least this time.
constexpr double patience = 2;
constexpr double least_patience_s = 20e-6;

enum class Way { blocking, nonblocking, persistent };

Way way_of(const std::string& name) {
  if (name == "blocking") return Way::blocking;
  return name == "nonblocking" ? Way::nonblocking : Way::persistent;
}

// Sends of one buffer, each by one call that is timed and one that completes it.
class Sends : NotCopied {
 public:
  Sends(const Parameters& parameters, void* data, int bytes, int partner, MPI_Comm comm, int window)
      : mode_(send_mode<int>(parameters.choice("mode"))),
        way_(way_of(parameters.choice("send"))),
        data_(data),
        bytes_(bytes),
        partner_(partner),
        comm_(comm),
        requests_(window, MPI_REQUEST_NULL) {
    if (way_ != Way::persistent) return;
    for (auto& request : requests_) mode_.initialize(data_, bytes_, MPI_BYTE, partner_, tag, comm_, &request);
  }
  ~Sends() {
    if (way_ != Way::persistent) return;
    for (auto& request : requests_) MPI_Request_free(&request);
  }

  void begin(int number = 0) {
    if (way_ == Way::blocking)
      mode_.send(data_, bytes_, MPI_BYTE, partner_, tag, comm_);
    else if (way_ == Way::nonblocking)
      mode_.start(data_, bytes_, MPI_BYTE, partner_, tag, comm_, &requests_[number]);
    else
      MPI_Start(&requests_[number]);
  }
  void complete(int count = 1) {
    if (way_ == Way::blocking) return;
    count == 1 ? MPI_Wait(requests_.data(), MPI_STATUS_IGNORE)
               : MPI_Waitall(count, requests_.data(), MPI_STATUSES_IGNORE);
  }

 private:
  SendMode<int> mode_;
  Way way_;
  void* data_;
  int bytes_;
  int partner_;
  MPI_Comm comm_;
  std::vector<MPI_Request> requests_;
};

// Receives into separate places; blocking receives are posted when they are completed.
class Receives : NotCopied {
 public:
  Receives(Way way, int bytes, int partner, MPI_Comm comm, std::vector<void*> places)
      : way_(way),
        bytes_(bytes),
        partner_(partner),
        comm_(comm),
        places_(std::move(places)),
        requests_(places_.size(), MPI_REQUEST_NULL) {
    if (way_ != Way::persistent) return;
    for (std::size_t i = 0; i < places_.size(); ++i)
      MPI_Recv_init(places_[i], bytes_, MPI_BYTE, partner_, tag, comm_, &requests_[i]);
  }
  ~Receives() {
    if (way_ != Way::persistent) return;
    for (auto& request : requests_) MPI_Request_free(&request);
  }

  void post() {
    if (way_ == Way::nonblocking)
      for (std::size_t i = 0; i < places_.size(); ++i)
        MPI_Irecv(places_[i], bytes_, MPI_BYTE, partner_, tag, comm_, &requests_[i]);
    else if (way_ == Way::persistent)
      for (auto& request : requests_) MPI_Start(&request);
  }
  void complete() {
    if (way_ == Way::blocking)
      for (void* place : places_) MPI_Recv(place, bytes_, MPI_BYTE, partner_, tag, comm_, MPI_STATUS_IGNORE);
    else if (requests_.size() == 1)
      MPI_Wait(requests_.data(), MPI_STATUS_IGNORE);
    else
      MPI_Waitall(static_cast<int>(requests_.size()), requests_.data(), MPI_STATUSES_IGNORE);
  }

 private:
  Way way_;
  int bytes_;
  int partner_;
  MPI_Comm comm_;
  std::vector<void*> places_;
  std::vector<MPI_Request> requests_;
};

class Overheads final : public Benchmark {
 public:
  Overheads(const Parameters& parameters, const Communicator& communicator)
      : first_(communicator.root()),
        ready_(parameters.choice("mode") == "ready"),
        partner_(1 - communicator.rank()),
        comm_(communicator.handle()),
        messages_(parameters.integer("message_bytes"), SlotLayout{}.at_least(2)),
        bytes_(static_cast<int>(parameters.integer("message_bytes"))),
        tries_(parts(most_tries)),
        window_(parts(most_in_window)),
        window_arrived_(parameters.integer("message_bytes")),
        attached_(parameters.choice("mode"), window_ + 1, parameters.integer("message_bytes")) {
    const Way receiving = way_of(parameters.choice("receive"));
    if (ready_ && receiving == Way::blocking) {
      throw Unavailable(
          "mode=ready: a receive must be posted before its message is sent, so receive must be nonblocking or "
          "persistent");
    }
    messages_.use(2);
    for (int i : {0, 1}) {
      sends_[i].emplace(parameters, messages_[i], bytes_, partner_, comm_, window_);
      receive_[i].emplace(receiving, bytes_, partner_, comm_, std::vector<void*>{messages_[i]});
    }
    window_arrived_.use(window_);
    std::vector<void*> places(window_);
    for (int i = 0; i < window_; ++i) places[i] = window_arrived_[i];
    receive_window_.emplace(receiving, bytes_, partner_, comm_, std::move(places));
  }

  Work work() const override { return {.bytes = static_cast<double>(bytes_), .messages = 1}; }

  void fill(std::uint64_t seed) override {
    messages_.clear();
    if (first_) write_pattern(message(), seed);
    window_arrived_.clear();
  }

  void run(Repetition& repetition) override {
    const double half_round_trip_s = round_trips(repetition);
    const Stopwatch watch{repetition.ticks(), repetition.overhead_s()};
    double send_s = 0;
    double receive_s = 0;
    for (int i = 0; i < tries_; ++i) {
      // Each rank is alternately sender and receiver, and measures its own overhead.
      for (const bool sends : {first_, !first_}) {
        if (sends) {
          send_s += timed_send(watch);
          send_early();
        } else {
          await();
          receive_s += timed_receive(watch, half_round_trip_s);
        }
      }
    }
    send_s /= tries_;
    receive_s /= tries_;
    const double gap_s = first_ ? send_window(watch) : receive_window();
    repetition.observe("send_overhead_s", send_s);
    repetition.observe("receive_overhead_s", receive_s);
    repetition.observe("gap_s", gap_s);
    // Both directions of the round trip are equal, so L follows from the overheads of both ranks.
    double both_s = 0;
    const double own_s = send_s + receive_s;
    MPI_Allreduce(&own_s, &both_s, 1, MPI_DOUBLE, MPI_SUM, comm_);
    repetition.observe("wire_latency_s", half_round_trip_s - both_s / 2);
    repetition.observe("overhead_share", both_s / 2 / half_round_trip_s);
  }

  // The message is sent back from the buffer in which it arrived, so that any wrong byte persists to the end.
  Check verify(std::uint64_t seed) override {
    std::string problem = pattern_problem(message(), seed);
    if (problem.empty() && !first_) problem = window_arrived_.pattern_problem(seed);
    return {bytes_, problem};
  }

  std::span<std::byte> received() override { return first_ ? message() : window_arrived_.bytes(); }
  std::vector<std::span<const std::byte>> computed() override { return {message()}; }

 private:
  struct Stopwatch {
    const TickClock& ticks;
    double overhead_s;

    template <class Call>
    double time(Call call) const {
      const Ticks start = ticks.now();
      call();
      return ticks.seconds(ticks.now() - start) - overhead_s;
    }
  };

  std::span<std::byte> message() { return messages_.slot(current_); }
  Sends& sends() { return *sends_[current_]; }
  Receives& receive() { return *receive_[current_]; }
  int parts(int most) const {
    const std::int64_t fitting = bytes_per_part / std::max<std::int64_t>(1, bytes_);
    return static_cast<int>(std::clamp<std::int64_t>(fitting, fewest, most));
  }
  void tell() { MPI_Send(nullptr, 0, MPI_BYTE, partner_, control_tag, comm_); }
  void hear() { MPI_Recv(nullptr, 0, MPI_BYTE, partner_, control_tag, comm_, MPI_STATUS_IGNORE); }

  // Half a round trip in seconds, the same on both ranks.
  double round_trips(Repetition& repetition) {
    if (ready_) {
      if (!first_) receive_[1 - current_]->post();
      first_ ? hear() : tell();
      const std::int64_t last = repetition.operations() - 1;
      repetition.time([&](std::int64_t number) { first_ ? ping_ready() : pong_ready(number == last); });
    } else {
      repetition.time([this] {
        if (first_) send_message();
        receive().post();
        receive().complete();
        if (!first_) send_message();
      });
    }
    double half_s = repetition.times().elapsed_s / static_cast<double>(2 * repetition.operations());
    MPI_Bcast(&half_s, 1, MPI_DOUBLE, 0, comm_);
    return half_s;
  }

  void send_message() {
    sends().begin();
    sends().complete();
  }
  // Two buffers alternate, so that every receive is posted before its message can be sent.
  void turn() { current_ = 1 - current_; }
  void ping_ready() {
    receive_[1 - current_]->post();
    send_message();
    turn();
    receive().complete();
  }
  void pong_ready(bool last) {
    turn();
    receive().complete();
    if (!last) receive_[1 - current_]->post();
    send_message();
  }

  // The receive of this message is already posted, so that the call does not wait for the partner.
  double timed_send(const Stopwatch& watch) {
    hear();
    const double send_s = watch.time([this] { sends().begin(); });
    sends().complete();
    hear();
    return send_s;
  }
  void await() {
    receive().post();
    tell();
    receive().complete();
    tell();
  }

  // Sends a message that the partner receives much later.
  void send_early() {
    hear();
    send_message();
    hear();
  }
  double timed_receive(const Stopwatch& watch, double half_round_trip_s) {
    double post_s = 0;
    if (ready_) post_s = watch.time([this] { receive().post(); });
    tell();
    const double until_s = std::max(least_patience_s, patience * 2 * half_round_trip_s);
    const Ticks start = watch.ticks.now();
    while (watch.ticks.seconds(watch.ticks.now() - start) < until_s) let_simulated_time_pass(until_s);
    const double receive_s = watch.time([this] {
      if (!ready_) receive().post();
      receive().complete();
    });
    tell();
    return post_s + receive_s;
  }

  double send_window(const Stopwatch& watch) {
    hear();
    return watch.time([this] {
      for (int number = 0; number < window_; ++number) sends().begin(number);
      sends().complete(window_);
      hear();
    }) / window_;
  }
  double receive_window() {
    receive_window_->post();
    tell();
    receive_window_->complete();
    tell();
    return 0;
  }

  bool first_;
  bool ready_;
  int partner_;
  MPI_Comm comm_;
  MessageSlots messages_;
  int current_ = 0;  // index of the buffer with the message
  int bytes_;
  int tries_;
  int window_;
  MessageSlots window_arrived_;
  AttachedBuffer attached_;
  std::array<std::optional<Sends>, 2> sends_;
  std::array<std::optional<Receives>, 2> receive_;
  std::optional<Receives> receive_window_;
};

Parameter calls(Text name, Text choices, Text meaning, Text words) {
  return call(name, choices, meaning).worded(words);
}

const Registration registration{{
    .name = "mpi.overheads",
    .title = "LogGP parameters",
    .summary = "LogGP: send and receive overheads, gap, and remaining latency, in every send mode",
    .ranks = Ranks::exactly(2),
    .parameters = {send_mode_parameter(),
                   calls("send", "nonblocking,blocking,persistent", "the sender's calls",
                         ",blocking sends,persistent sends"),
                   calls("receive", "nonblocking,blocking,persistent", "the receiver's calls",
                         ",blocking receives,persistent receives"),
                   size("message_bytes", "B", 8, 0, 1 << 28, "payload of each message")},
    .definition = Definition::half_round_trip,
    .metrics = {seconds("half_round_trip_s"), result_seconds("send_overhead_s").labeled("send overhead"),
                result_seconds("receive_overhead_s").labeled("receive overhead"),
                result_seconds("gap_s").labeled("gap between messages"),
                result_seconds("wire_latency_s").labeled("latency without overheads"),
                result("overhead_share", "", Better::lower).labeled("both overheads / one-way latency")},
    .sweeps = {{"baseline", "ranks=2 placement=core,node message_bytes=8,1Ki,64Ki"},
               {"standard",
                "ranks=2 placement=core,node message_bytes=0,8,64,256,1Ki,2Ki,4Ki,16Ki,64Ki,256Ki,1Mi"},
               {"standard", "ranks=2 transport=tcp message_bytes=8,1Ki,16Ki,64Ki,256Ki,1Mi"},
               {"standard",
                "ranks=2 mode=standard,buffered,synchronous send=blocking,nonblocking,persistent "
                "receive=blocking,nonblocking,persistent message_bytes=8,64Ki"},
               {"standard",
                "ranks=2 mode=ready send=blocking,nonblocking,persistent receive=nonblocking,persistent "
                "message_bytes=8,64Ki"}},
    .make = make<Overheads>,
}};

}  // namespace
}  // namespace scope::overheads
