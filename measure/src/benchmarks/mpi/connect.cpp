// mpi.connect: time to connect two ranks without using a common communicator.
//
// Timed: from the common start to the end of MPI_Comm_accept on rank 0 and of MPI_Comm_connect on rank 1; the
// slower one counts. Opening the port, messages over the new connection and disconnecting are not timed.

#include "benchmark.hpp"

namespace scope::connect {
namespace {

constexpr int tag = 23;

class Connect final : public Benchmark {
 public:
  Connect(const Parameters&, const Communicator& communicator)
      : accepts_(communicator.root()), comm_(communicator.handle()) {
    int opened = accepts_ ? open_port() : MPI_SUCCESS;
    MPI_Bcast(&opened, 1, MPI_INT, 0, comm_);
    if (opened != MPI_SUCCESS) throw Unavailable("the MPI library cannot open a port (MPI_Open_port)");
    MPI_Bcast(port_.data(), static_cast<int>(port_.size()), MPI_CHAR, 0, comm_);
  }
  ~Connect() override {
    if (accepts_) MPI_Close_port(port_.data());
  }

  Work work() const override { return {}; }

  void fill(std::uint64_t seed) override {
    write_pattern(sent_, seed + (accepts_ ? 0 : 1));
    answer_.fill({});
  }

  void run(Repetition& repetition) override {
    MPI_Comm other = MPI_COMM_NULL;
    repetition.time([&] {
      if (accepts_)
        MPI_Comm_accept(port_.data(), MPI_INFO_NULL, 0, MPI_COMM_SELF, &other);
      else
        MPI_Comm_connect(port_.data(), MPI_INFO_NULL, 0, MPI_COMM_SELF, &other);
    });
    const auto bytes = static_cast<int>(sent_.size());
    MPI_Sendrecv(sent_.data(), bytes, MPI_BYTE, 0, tag, answer_.data(), bytes, MPI_BYTE, 0, tag, other,
                 MPI_STATUS_IGNORE);
    MPI_Comm_disconnect(&other);
  }

  Check verify(std::uint64_t seed) override {
    return {static_cast<std::int64_t>(answer_.size()), pattern_problem(answer_, seed + (accepts_ ? 1 : 0))};
  }

  std::span<std::byte> received() override { return answer_; }
  bool loops() const override { return false; }

 private:
  // Errors are raised on MPI_COMM_SELF, or on MPI_COMM_WORLD before MPI 4; on neither may they end the program.
  int open_port() {
    constexpr std::size_t count = 2;
    const std::array<MPI_Comm, count> comms = {MPI_COMM_SELF, MPI_COMM_WORLD};
    std::array<MPI_Errhandler, count> before{};
    for (std::size_t i = 0; i < count; ++i) {
      MPI_Comm_get_errhandler(comms[i], &before[i]);
      MPI_Comm_set_errhandler(comms[i], MPI_ERRORS_RETURN);
    }
    const int error = MPI_Open_port(MPI_INFO_NULL, port_.data());
    for (std::size_t i = 0; i < count; ++i) {
      MPI_Comm_set_errhandler(comms[i], before[i]);
      MPI_Errhandler_free(&before[i]);
    }
    return error;
  }

  bool accepts_;
  MPI_Comm comm_;
  std::array<char, MPI_MAX_PORT_NAME> port_{};
  std::array<std::byte, 64> sent_{};
  std::array<std::byte, 64> answer_{};
};

const Registration registration{{
    .name = "mpi.connect",
    .title = "connection of two programs",
    .summary = "MPI_Comm_accept and MPI_Comm_connect between two ranks",
    .ranks = Ranks::exactly(2),
    .parameters = {},
    .definition = Definition::max_rank,
    .metrics = {seconds("time_s")},
    .sweeps = {{"advanced", "ranks=2 placement=core,node"}},
    .make = make<Connect>,
}};

}  // namespace
}  // namespace scope::connect
