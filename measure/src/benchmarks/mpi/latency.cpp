// mpi.latency: the ping-pong of the MPI library, in all its send modes.
//
// Timed: a message from rank 0 to rank 1 and its echo, on rank 0's clock; half of it is the latency. In ready mode
// every receive is posted before its message can be sent, as the standard demands. After thesis 6.5.3, Fig. 6.2.
#include <tuple>

#include "benchmarks/message_buffers.hpp"
#include "benchmarks/mpi/echo.hpp"
#include "benchmarks/mpi/send_mode.hpp"
#include "benchmarks/ping_pong_buffers.hpp"
#include "devices/device_messages.hpp"

namespace scope::latency {
namespace {

constexpr int tag = 5;

template <class Count>
class PingPong final : public Benchmark {
 public:
  PingPong(const Parameters& parameters, const Communicator& communicator)
      : mode_(send_mode<Count>(parameters.choice("mode"))),
        ready_(parameters.choice("mode") == "ready"),
        blocking_(parameters.choice("completion") == "blocking"),
        first_(communicator.root()),
        partner_(1 - communicator.rank()),
        comm_(communicator.handle()),
        bytes_(static_cast<Count>(parameters.integer("message_bytes"))),
        requested_(scope::message_buffers(parameters)),
        rotates_(requested_.layout.rotation > 1),
        buffers_(parameters.choice("buffers"), bytes_, requested_.layout, first_, ready_ || !blocking_),
        attached_(parameters.choice("mode"), 4, bytes_) {
    if (ready_ && !first_) post();
  }

  ~PingPong() override {
    if (posted_ == MPI_REQUEST_NULL) return;
    MPI_Cancel(&posted_);
    MPI_Wait(&posted_, MPI_STATUS_IGNORE);
  }

  Work work() const override { return {.bytes = static_cast<double>(bytes_), .messages = 1}; }

  void fill(std::uint64_t seed) override { buffers_.fill(seed); }

  void run(Repetition& repetition) override {
    if (ready_)
      first_ ? repetition.time([&] { ping_ready(); }) : repetition.time([&] { pong_ready(); });
    else if (blocking_)
      rotates_ ? time_rotating(repetition) : time_blocking(repetition);
    else
      first_ ? repetition.time([&] { ping_nonblocking(); }) : repetition.time([&] { pong_nonblocking(); });
  }

  Check verify(std::uint64_t seed) override { return {bytes_, buffers_.problem(seed)}; }

  std::span<std::byte> received() override { return buffers_.received(); }
  double kept_share(std::int64_t calls) const override { return buffers_.kept_share(calls); }

  bool cold() const override { return requested_.cold; }
  std::vector<std::span<const std::byte>> message_buffers() override { return buffers_.memory(); }

 private:
  using Calls = PointToPoint<Count>;

  // The plain loop, with its variables fetched beforehand.
  void time_blocking(Repetition& repetition) {
    const auto send = mode_.send;
    const void* const source = buffers_.source();
    void* const destination = buffers_.destination();
    const auto [bytes, partner, comm] = std::tuple(bytes_, partner_, comm_);
    const auto send_message = [=] { send(source, bytes, MPI_BYTE, partner, tag, comm); };
    const auto receive_message = [=] {
      Calls::receive(destination, bytes, MPI_BYTE, partner, tag, comm, MPI_STATUS_IGNORE);
    };
    time_round_trips(repetition, first_, send_message, receive_message);
  }

  void time_rotating(Repetition& repetition) {
    const auto send_message = [this] { mode_.send(buffers_.source(), bytes_, MPI_BYTE, partner_, tag, comm_); };
    const auto receive_message = [this] {
      Calls::receive(buffers_.destination(), bytes_, MPI_BYTE, partner_, tag, comm_, MPI_STATUS_IGNORE);
      buffers_.turn();
    };
    time_round_trips(repetition, first_, send_message, receive_message);
  }

  void ping_nonblocking() {
    std::array<MPI_Request, 2> requests;
    Calls::start_receive(buffers_.destination(), bytes_, MPI_BYTE, partner_, tag, comm_, &requests[0]);
    mode_.start(buffers_.source(), bytes_, MPI_BYTE, partner_, tag, comm_, &requests[1]);
    MPI_Waitall(2, requests.data(), MPI_STATUSES_IGNORE);
    buffers_.turn();
  }
  void pong_nonblocking() {
    MPI_Request request;
    Calls::start_receive(buffers_.destination(), bytes_, MPI_BYTE, partner_, tag, comm_, &request);
    MPI_Wait(&request, MPI_STATUS_IGNORE);
    buffers_.turn();
    mode_.start(buffers_.source(), bytes_, MPI_BYTE, partner_, tag, comm_, &request);
    MPI_Wait(&request, MPI_STATUS_IGNORE);
  }

  void post() { Calls::start_receive(buffers_.destination(), bytes_, MPI_BYTE, partner_, tag, comm_, &posted_); }
  void send_ready() {
    if (blocking_) {
      mode_.send(buffers_.source(), bytes_, MPI_BYTE, partner_, tag, comm_);
    } else {
      MPI_Request request;
      mode_.start(buffers_.source(), bytes_, MPI_BYTE, partner_, tag, comm_, &request);
      MPI_Wait(&request, MPI_STATUS_IGNORE);
    }
  }
  void ping_ready() {
    post();
    send_ready();
    MPI_Wait(&posted_, MPI_STATUS_IGNORE);
    buffers_.turn();
  }
  // The receive of the next ping is posted before this pong lets the other rank send it.
  void pong_ready() {
    MPI_Wait(&posted_, MPI_STATUS_IGNORE);
    buffers_.turn();
    post();
    send_ready();
  }

  SendMode<Count> mode_;
  bool ready_;
  bool blocking_;
  bool first_;
  int partner_;
  MPI_Comm comm_;
  Count bytes_;
  MessageBuffers requested_;
  bool rotates_;
  PingPongBuffers buffers_;
  AttachedBuffer attached_;
  MPI_Request posted_ = MPI_REQUEST_NULL;
};

// A message takes the same time regardless of how its receive was posted.
const Registration registration{{
    .name = "mpi.latency",
    .title = "ping-pong",
    .summary = "ping-pong in every send mode, blocking and nonblocking: one-way latency",
    .ranks = Ranks::exactly(2),
    .routines = {{"MPI_Send,MPI_Recv,MPI_Sendrecv,MPI_Sendrecv_replace,MPI_Irecv,MPI_Recv_init",
                  "mode=standard completion=blocking"},
                 {"MPI_Ssend", "mode=synchronous completion=blocking"},
                 {"MPI_Bsend", "mode=buffered completion=blocking"},
                 {"MPI_Rsend", "mode=ready completion=blocking"}},
    .rungs = {{Pattern::ping_pong, "", "mode=standard completion=blocking"}},
    .parameters = devices::with_memory(with_message_buffers(
        {send_mode_parameter(),
         call("completion", "blocking,nonblocking", "blocking or nonblocking calls").worded(",nonblocking"),
         counts_parameter(), buffers_parameter(),
         size("message_bytes", "B", 0, 0, std::int64_t{1} << 36, "payload of each message")})),
    .definition = Definition::half_round_trip,
    .metrics = {seconds("latency_s"), bytes_per_second()},
    .sweeps = {{"baseline",
                "ranks=2 placement=core,node mode=standard completion=blocking "
                "message_bytes=0,1,8,64,256,1Ki,2Ki,4Ki,8Ki,16Ki,32Ki,64Ki,128Ki,256Ki,512Ki,1Mi,2Mi,4Mi"},
               {"baseline",
                "ranks=2 transport=tcp mode=standard completion=blocking "
                "message_bytes=0,1,64,1Ki,4Ki,16Ki,64Ki,256Ki,1Mi,4Mi"},
               {"baseline", "ranks=2 mode=standard completion=nonblocking message_bytes=0,1Ki,64Ki"},
               {"baseline",
                "ranks=2 mode=buffered,synchronous,ready completion=blocking,nonblocking "
                "message_bytes=0,1Ki,64Ki"},
               {"standard",
                "ranks=2 placement=core,node mode=standard,buffered,synchronous,ready "
                "completion=blocking,nonblocking message_bytes=0,1,8,64,256,1Ki,4Ki,16Ki,64Ki,256Ki,1Mi,4Mi"},
               {"standard", "ranks=2 counts=int,large message_bytes=0,1Ki,64Ki"},
               {"standard", "ranks=2 buffers=one message_bytes=1,1Ki,16Ki,64Ki,1Mi"},
               {"advanced", "ranks=2 placement=core,node cache=cold message_bytes=8,1Ki,64Ki,1Mi"},
               {"advanced", "ranks=2 rotation=16 message_bytes=8,1Ki,64Ki,1Mi"},
               {"advanced", "ranks=2 alignment=page offset_bytes=1,8,2048 message_bytes=8,1Ki,64Ki,1Mi"},
               {"advanced",
                "ranks=2 placement=core,node sender_memory=device receiver_memory=device "
                "message_bytes=8,1Ki,64Ki,1Mi"},
               {"advanced",
                "ranks=2 placement=core,node sender_memory=staged receiver_memory=staged "
                "message_bytes=8,1Ki,64Ki,1Mi"}},
    .make = [](const Parameters& parameters, const Communicator& communicator) -> std::unique_ptr<Benchmark> {
      if (devices::in_use(parameters)) return devices::made(devices::ping_pong, parameters, communicator);
      return with_count(
          parameters.integer("message_bytes"),
          [&](auto count) -> std::unique_ptr<Benchmark> {
            return std::make_unique<PingPong<decltype(count)>>(parameters, communicator);
          },
          parameters.choice("counts") == "large");
    },
}};

}  // namespace
}  // namespace scope::latency
