// mpi.overheads: the parameters of LogGP: how long sender and receiver are busy, and how long the message is
// in flight.
//
// Timed: a ping-pong on rank 0's clock, half of whose round trip is o_s + L + o_r. In the same repetition,
// each on the clock of the busy rank: the call that starts a send (o_s); the receive of a message that has
// certainly arrived (o_r); a window of messages back to back (the gap). L is the remainder. After Culler et
// al. 1993 (LogP), Alexandrov et al. 1995 (LogGP, the gap per byte) and Kielmann et al. 2000, "Fast
// measurement of LogP parameters".
#include <algorithm>
#include <array>
#include <vector>

#include "benchmark.hpp"
#include "memory/buffer.hpp"
#include "memory/places.hpp"
#include "mpi/simulated.hpp"

namespace scope::overheads {
namespace {

constexpr int tag = 17;
constexpr int control_tag = 18;
// Single calls timed per repetition, and messages per gap; fewer for long messages.
constexpr int most_tries = 16;
constexpr int most_in_window = 64;
constexpr int fewest = 4;
constexpr std::int64_t bytes_per_part = 1 << 22;
// A message has certainly arrived after this many round trips, and at least this long.
constexpr double patience = 2;
constexpr double least_patience_s = 20e-6;

class Overheads final : public Benchmark {
 public:
  Overheads(const Parameters& parameters, const Communicator& communicator)
      : first_(communicator.root()),
        partner_(1 - communicator.rank()),
        comm_(communicator.handle()),
        message_(parameters.integer("message_bytes")),
        tries_(parts(most_tries)),
        requests_(parts(most_in_window)),
        window_arrived_(parameters.integer("message_bytes")) {
    message_.clear();
    window_arrived_.use(window());
  }

  Work work() const override { return {.bytes = static_cast<double>(message_.size()), .messages = 1}; }

  void fill(std::uint64_t seed) override {
    first_ ? write_pattern(message_.bytes(), seed) : message_.clear();
    window_arrived_.clear();
  }

  void run(Repetition& repetition) override {
    repetition.time([this] {
      if (first_) send();
      receive();
      if (!first_) send();
    });
    const double half_round_trip_s =
        repetition.times().elapsed_s / static_cast<double>(2 * repetition.operations());
    const Stopwatch watch{repetition.ticks(), repetition.overhead_s()};
    double send_s = 0;
    double receive_s = 0;
    for (int i = 0; i < tries_; ++i) {
      // Each rank is sender and receiver in turn; the overhead is that of this rank.
      (first_ ? send_s : receive_s) += first_ ? timed_send(watch) : timed_receive(watch, half_round_trip_s);
      (first_ ? receive_s : send_s) += first_ ? timed_receive(watch, half_round_trip_s) : timed_send(watch);
    }
    send_s /= tries_;
    receive_s /= tries_;
    const double gap_s = first_ ? send_window(watch) : receive_window();
    repetition.observe("send_overhead_s", send_s);
    repetition.observe("receive_overhead_s", receive_s);
    repetition.observe("gap_s", gap_s);
    repetition.observe("wire_latency_s", latency(half_round_trip_s, send_s + receive_s));
  }

  // What goes to and fro is sent from where it arrived: one wrong byte stays wrong to the end.
  Check verify(std::uint64_t seed) override {
    std::string problem = pattern_problem(message_.bytes(), seed);
    if (problem.empty() && !first_) problem = window_arrived_.pattern_problem(seed);
    return {static_cast<std::int64_t>(message_.size()), problem};
  }

  std::span<std::byte> received() override { return first_ ? message_.bytes() : window_arrived_.bytes(); }
  std::vector<std::span<const std::byte>> computed() override { return {message_.bytes()}; }

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

  int bytes() const { return static_cast<int>(message_.size()); }
  int window() const { return static_cast<int>(requests_.size()); }
  int parts(int most) const {
    const std::int64_t fitting = bytes_per_part / std::max<std::int64_t>(1, bytes());
    return static_cast<int>(std::clamp<std::int64_t>(fitting, fewest, most));
  }
  void send() { MPI_Send(message_.data(), bytes(), MPI_BYTE, partner_, tag, comm_); }
  void receive() { MPI_Recv(message_.data(), bytes(), MPI_BYTE, partner_, tag, comm_, MPI_STATUS_IGNORE); }
  void tell() { MPI_Send(nullptr, 0, MPI_BYTE, partner_, control_tag, comm_); }
  void hear() { MPI_Recv(nullptr, 0, MPI_BYTE, partner_, control_tag, comm_, MPI_STATUS_IGNORE); }

  double timed_send(const Stopwatch& watch) {
    hear();
    MPI_Request request;
    const double send_s =
        watch.time([&] { MPI_Isend(message_.data(), bytes(), MPI_BYTE, partner_, tag, comm_, &request); });
    MPI_Wait(&request, MPI_STATUS_IGNORE);
    hear();
    return send_s;
  }

  double timed_receive(const Stopwatch& watch, double half_round_trip_s) {
    tell();
    const double until_s = std::max(least_patience_s, patience * 2 * half_round_trip_s);
    const Ticks start = watch.ticks.now();
    while (watch.ticks.seconds(watch.ticks.now() - start) < until_s) let_simulated_time_pass(until_s);
    const double receive_s = watch.time([this] { receive(); });
    tell();
    return receive_s;
  }

  double send_window(const Stopwatch& watch) {
    hear();
    return watch.time([this] {
      for (auto& request : requests_) {
        MPI_Isend(message_.data(), bytes(), MPI_BYTE, partner_, tag, comm_, &request);
      }
      MPI_Waitall(window(), requests_.data(), MPI_STATUSES_IGNORE);
      hear();
    }) / window();
  }
  double receive_window() {
    std::int64_t place = 0;
    for (auto& request : requests_) {
      MPI_Irecv(window_arrived_[place++], bytes(), MPI_BYTE, partner_, tag, comm_, &request);
    }
    tell();
    MPI_Waitall(window(), requests_.data(), MPI_STATUSES_IGNORE);
    tell();
    return 0;
  }

  // Both directions of the round trip are alike: L follows from the overheads of both ranks.
  double latency(double half_round_trip_s, double own_overheads_s) {
    double both_s = 0;
    MPI_Allreduce(&own_overheads_s, &both_s, 1, MPI_DOUBLE, MPI_SUM, comm_);
    MPI_Bcast(&half_round_trip_s, 1, MPI_DOUBLE, 0, comm_);
    return half_round_trip_s - both_s / 2;
  }

  bool first_;
  int partner_;
  MPI_Comm comm_;
  Buffer message_;
  int tries_;
  std::vector<MPI_Request> requests_;
  Places window_arrived_;
};

const Registration registration{{
    .name = "mpi.overheads",
    .title = "LogGP parameters",
    .summary = "LogGP: send and receive overheads, gap, and remaining latency",
    .ranks = Ranks::exactly(2),
    .parameters = {size("message_bytes", "B", 8, 0, 1 << 28, "payload of each message")},
    .definition = Definition::half_round_trip,
    .metrics = {seconds("half_round_trip_s"), result_seconds("send_overhead_s").labelled("send overhead"),
                result_seconds("receive_overhead_s").labelled("receive overhead"),
                result_seconds("gap_s").labelled("gap between messages"),
                result_seconds("wire_latency_s").labelled("latency without overheads")},
    .sweeps = {{"baseline", "ranks=2 placement=core,node message_bytes=8,1Ki,64Ki"},
               {"standard",
                "ranks=2 placement=core,node message_bytes=0,8,64,256,1Ki,2Ki,4Ki,16Ki,64Ki,256Ki,1Mi"},
               {"standard", "ranks=2 transport=tcp message_bytes=8,1Ki,16Ki,64Ki,256Ki,1Mi"}},
    .make = make<Overheads>,
}};

}  // namespace
}  // namespace scope::overheads
