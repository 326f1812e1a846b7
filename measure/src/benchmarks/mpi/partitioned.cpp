// mpi.partitioned: the ping-pong with messages whose partitions the sender releases one by one.
//
// Timed: MPI_Start, MPI_Pready of every partition and MPI_Wait of a message from rank 0 to rank 1 and of its echo, on
// rank 0's clock; half of the round trip is the latency. Creating and freeing the requests is not timed.
#include "benchmarks/mpi/echo.hpp"

namespace scope::partitioned {
namespace {

[[noreturn]] void refuse() { throw Unavailable("this MPI library has no partitioned communication (MPI 4)"); }

#if defined(SCOPE_HAS_PARTITIONED)
constexpr int tag = 21;

class Partitioned final : public Echo {
 public:
  Partitioned(const Parameters& parameters, const Communicator& communicator)
      : Echo(communicator, checked(parameters)),
        partitions_(static_cast<int>(parameters.integer("partitions"))),
        one_by_one_(parameters.choice("arrival") == "one_by_one") {
    const auto count = static_cast<MPI_Count>(message_.size()) / partitions_;
    MPI_Psend_init(message_.data(), partitions_, count, MPI_BYTE, partner_, tag, comm_, MPI_INFO_NULL, &send_);
    MPI_Precv_init(message_.data(), partitions_, count, MPI_BYTE, partner_, tag, comm_, MPI_INFO_NULL, &receive_);
  }
  ~Partitioned() override {
    MPI_Request_free(&send_);
    MPI_Request_free(&receive_);
  }

  void run(Repetition& repetition) override {
    time_round_trips(repetition, first_, [this] { send(); }, [this] { receive(); });
  }

 private:
  static std::int64_t checked(const Parameters& parameters) {
    if (!library_has("MPI_Psend_init")) refuse();
    const std::int64_t bytes = parameters.integer("message_bytes");
    const std::int64_t partitions = parameters.integer("partitions");
    if (bytes % partitions == 0) return bytes;
    throw Unavailable(sentence({"message_bytes=", bytes, ": must be a multiple of partitions=", partitions}));
  }

  void send() {
    MPI_Start(&send_);
    for (int i = 0; i < partitions_; ++i) MPI_Pready(i, send_);
    MPI_Wait(&send_, MPI_STATUS_IGNORE);
  }
  void receive() {
    MPI_Start(&receive_);
    for (int i = 0; one_by_one_ && i < partitions_; ++i)
      for (int arrived = 0; !arrived;) MPI_Parrived(receive_, i, &arrived);
    MPI_Wait(&receive_, MPI_STATUS_IGNORE);
  }

  int partitions_;
  bool one_by_one_;
  MPI_Request send_ = MPI_REQUEST_NULL;
  MPI_Request receive_ = MPI_REQUEST_NULL;
};
#endif

const Registration registration{{
    .name = "mpi.partitioned",
    .title = "partitioned ping-pong",
    .summary = "ping-pong with partitioned messages (MPI 4): one-way latency",
    .ranks = Ranks::exactly(2),
    .parameters = {size("message_bytes", "B", 1024, 0, 1 << 30,
                        "payload of each message, a multiple of the number of partitions"),
                   call("partitions", "", 4, 1, 1 << 16, "number of parts, marked ready one by one")
                       .worded("1=1 partition,{} partitions"),
                   call("arrival", "all,one_by_one",
                        "the receiver waits for the whole message, or tests each partition (MPI_Parrived)")
                       .worded(",partitions tested one by one")},
    .definition = Definition::half_round_trip,
    .metrics = {seconds("latency_s"), bytes_per_second()},
    .sweeps = {{"standard", "ranks=2 placement=core,node partitions=1,4,16 message_bytes=1Ki,64Ki,1Mi"},
               {"standard", "ranks=2 partitions=16 arrival=one_by_one message_bytes=1Ki,64Ki,1Mi"}},
#if defined(SCOPE_HAS_PARTITIONED)
    .make = make<Partitioned>,
#else
    .make = [](const Parameters&, const Communicator&) -> std::unique_ptr<Benchmark> { refuse(); },
#endif
}};

}  // namespace
}  // namespace scope::partitioned
