// mpi.bandwidth: bandwidth of a stream of messages in one direction.
//
// Timed: a window of messages from rank 0 to rank 1 and an empty acknowledgement back, on rank 0's clock. The
// receives of a window are posted together; in ready mode, before the sender is told to begin. After thesis
// 6.5.3 (MPI_Send, MPI_Irecv, MPI_Waitall).

#include "benchmarks/message_buffers.hpp"
#include "benchmarks/mpi/send_mode.hpp"
#include "devices/device_messages.hpp"

namespace scope::bandwidth {
namespace {

constexpr int tag = 6;
constexpr int control_tag = 7;

template <class Count>
class Bandwidth final : public Benchmark {
 public:
  Bandwidth(const Parameters& parameters, const Communicator& communicator)
      : mode_(send_mode<Count>(parameters.choice("mode"))),
        ready_(parameters.choice("mode") == "ready"),
        sender_(communicator.root()),
        blocking_(parameters.choice("completion") == "blocking"),
        comm_(communicator.handle()),
        bytes_(static_cast<Count>(parameters.integer("message_bytes"))),
        requests_(parameters.integer("window")),
        rewritten_(parameters.choice("source") == "rewritten"),
        many_(parameters.choice("receive_buffers") == "many"),
        requested_(scope::message_buffers(parameters)),
        messages_(sender_ ? bytes_ : 0, requested_.layout),
        arrived_(sender_ ? 0 : bytes_, requested_.layout),
        attached_(parameters.choice("mode"), 2 * parameters.integer("window"), bytes_) {}

  Work work() const override {
    const auto window = static_cast<double>(requests_.size());
    return {.bytes = window * static_cast<double>(bytes_), .messages = window};
  }

  void fill(std::uint64_t seed) override { sender_ ? messages_.write_pattern(seed) : arrived_.clear(); }

  void run(Repetition& repetition) override {
    if (sender_) {
      messages_.use_in_turn(repetition.calls() * window());
      // Like in a program that computes the data it sends, no other processor's cache has a copy.
      if (rewritten_ && !requested_.cold) rewrite(messages_.bytes());
      repetition.time([&](std::int64_t number) {
        if (ready_) hear();
        blocking_ ? send_window(number) : start_window(number);
        hear();
      });
    } else {
      const std::int64_t messages = repetition.calls() * window();
      many_ ? arrived_.use(std::min(arrived_.most(), messages)) : arrived_.use_in_turn(messages);
      repetition.time([&](std::int64_t number) {
        post_window(number);
        if (ready_) tell();
        MPI_Waitall(window(), requests_.data(), MPI_STATUSES_IGNORE);
        tell();
      });
    }
  }

  Check verify(std::uint64_t seed) override {
    if (sender_) return {};
    return {arrived_.count() * static_cast<std::int64_t>(bytes_), arrived_.pattern_problem(seed)};
  }

  std::span<std::byte> received() override { return sender_ ? std::span<std::byte>() : arrived_.bytes(); }
  double kept_share(std::int64_t calls) const override { return arrived_.kept_share(calls * window(), many_); }
  std::int64_t most_operations() const override {
    return many_ ? std::max<std::int64_t>(1, MessageSlots::most(bytes_, requested_.layout) / window())
                 : Benchmark::most_operations();
  }

  bool cold() const override { return requested_.cold; }
  std::vector<std::span<const std::byte>> message_buffers() override {
    return {sender_ ? messages_.memory() : arrived_.memory()};
  }

 private:
  int window() const { return static_cast<int>(requests_.size()); }
  void tell() { MPI_Send(nullptr, 0, MPI_BYTE, 0, control_tag, comm_); }
  void hear() { MPI_Recv(nullptr, 0, MPI_BYTE, 1, control_tag, comm_, MPI_STATUS_IGNORE); }

  void send_window(std::int64_t number) {
    std::int64_t message = number * window();
    for (int i = 0; i < window(); ++i) mode_.send(messages_.in_turn(message++), bytes_, MPI_BYTE, 1, tag, comm_);
  }
  void start_window(std::int64_t number) {
    std::int64_t message = number * window();
    for (auto& request : requests_)
      mode_.start(messages_.in_turn(message++), bytes_, MPI_BYTE, 1, tag, comm_, &request);
    MPI_Waitall(window(), requests_.data(), MPI_STATUSES_IGNORE);
  }
  void post_window(std::int64_t number) {
    std::int64_t place = number * window() % arrived_.count();
    for (auto& request : requests_) {
      if (place == arrived_.count()) place = 0;
      PointToPoint<Count>::start_receive(arrived_[place++], bytes_, MPI_BYTE, 0, tag, comm_, &request);
    }
  }

  SendMode<Count> mode_;
  bool ready_;
  bool sender_;
  bool blocking_;
  MPI_Comm comm_;
  Count bytes_;
  std::vector<MPI_Request> requests_;
  bool rewritten_;
  bool many_;
  MessageBuffers requested_;
  MessageSlots messages_;  // of the sender
  MessageSlots arrived_;   // of the receiver
  AttachedBuffer attached_;
};

const Registration registration{{
    .name = "mpi.bandwidth",
    .title = "bandwidth",
    .summary = "windows of messages in one direction: bandwidth and message rate",
    .ranks = Ranks::exactly(2),
    .rungs = {{Pattern::stream, "", "mode=standard completion=nonblocking"},
              {Pattern::device_messages, "", "sender_memory=staged receiver_memory=staged"},
              {Pattern::device_messages, "", "sender_memory=device receiver_memory=device"}},
    .parameters = devices::with_memory(with_message_buffers(
        {send_mode_parameter(),
         size("message_bytes", "B", 1 << 20, 1, std::int64_t{1} << 36, "payload of each message"),
         call("window", "", 64, 1, 4096, "messages sent before one acknowledgement"),
         call("completion", "nonblocking,blocking", "the sender's calls: nonblocking or blocking")
             .worded(",blocking"),
         source_parameter(), receive_buffers_parameter()})),
    .definition = Definition::local,
    .metrics = {bytes_per_second(), messages_per_second()},
    .sweeps = {{"baseline",
                "ranks=2 placement=core,node completion=nonblocking "
                "message_bytes=1,64,1Ki,4Ki,16Ki,64Ki,256Ki,1Mi"},
               {"baseline", "ranks=2 completion=blocking message_bytes=1Ki,64Ki,1Mi"},
               {"baseline", "ranks=2 transport=tcp completion=nonblocking message_bytes=1Ki,64Ki,1Mi"},
               {"standard",
                "ranks=2 placement=core,node mode=standard,buffered,synchronous,ready "
                "completion=blocking,nonblocking message_bytes=1,1Ki,16Ki,64Ki,1Mi"},
               {"standard", "ranks=2 source=rewritten receive_buffers=many message_bytes=1Ki,16Ki,64Ki,1Mi"},
               {"advanced", "ranks=2 placement=core,node cache=cold message_bytes=1Ki,64Ki,1Mi"},
               {"advanced", "ranks=2 rotation=64 message_bytes=1Ki,64Ki,1Mi"},
               {"advanced", "ranks=2 alignment=page offset_bytes=0,1,2048 message_bytes=1Ki,64Ki,1Mi"},
               {"advanced",
                "ranks=2 placement=core,node sender_memory=device receiver_memory=device "
                "message_bytes=1Ki,64Ki,1Mi,16Mi"},
               {"advanced",
                "ranks=2 placement=core,node sender_memory=staged receiver_memory=staged "
                "message_bytes=1Ki,64Ki,1Mi,16Mi"}},
    .make = [](const Parameters& parameters, const Communicator& communicator) -> std::unique_ptr<Benchmark> {
      if (devices::in_use(parameters)) return devices::made(devices::stream, parameters, communicator);
      return with_count(parameters.integer("message_bytes"), [&](auto count) -> std::unique_ptr<Benchmark> {
        return std::make_unique<Bandwidth<decltype(count)>>(parameters, communicator);
      });
    },
}};

}  // namespace
}  // namespace scope::bandwidth
