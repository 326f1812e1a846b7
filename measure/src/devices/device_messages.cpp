#include "devices/message_memory.hpp"

namespace scope::devices {
namespace {

constexpr int tag = 8;
constexpr int control_tag = 9;

class DeviceMessages : public Benchmark {
 public:
  DeviceMessages(const Parameters& parameters, const Communicator& communicator, int slots = 1)
      : rank_(communicator.rank()),
        comm_(communicator.handle()),
        bytes_(static_cast<int>(parameters.integer("message_bytes"))),
        sent_(static_cast<std::size_t>(bytes_)),
        arrived_(static_cast<std::size_t>(bytes_)) {
    const std::string& mine = parameters.choice(rank_ == 0 ? "sender_memory" : "receiver_memory");
    const auto direct = [&](const char* name) { return parameters.choice(name) == "device"; };
    const bool proof = direct("sender_memory") || direct("receiver_memory");
    const bool together = prepare_together(communicator, [&] {
      memory_.emplace(mine, Extent{bytes_, bytes_}, slots, communicator);
      if (proof) memory_->quote(support());
    });
    if (together && proof) prove();
  }

  void fill(std::uint64_t seed) override {
    write_pattern(sent_.bytes(), sent_by(rank_, seed));
    arrived_.clear();
    memory_->fill(sent_.bytes(), arrived_.bytes());
    copied_ = false;
  }
  std::span<std::byte> received() override {
    if (!copied_) memory_->collect(arrived_.bytes());
    copied_ = true;
    return arrived_.bytes();
  }
  Check verify(std::uint64_t seed) override { return {bytes_, problem(seed)}; }
  double kept_share(std::int64_t calls) const override { return 1.0 / static_cast<double>(calls); }
  std::vector<ControlVariable> settings() const override { return memory_->settings(); }

 protected:
  int partner() const { return 1 - rank_; }
  int rank() const { return rank_; }
  int bytes() const { return bytes_; }
  MPI_Comm comm() const { return comm_; }
  MessageMemory& memory() { return *memory_; }
  void forget_results() { copied_ = false; }
  std::string problem(std::uint64_t seed) { return pattern_problem(received(), sent_by(partner(), seed)); }

  void send() { MPI_Send(memory_->outgoing(0), bytes_, MPI_BYTE, partner(), tag, comm_); }
  void receive() {
    MPI_Recv(memory_->incoming(0), bytes_, MPI_BYTE, partner(), tag, comm_, MPI_STATUS_IGNORE);
    memory_->arrived(0);
  }

 private:
  static std::uint64_t sent_by(int rank, std::uint64_t seed) {
    return 2 * seed + static_cast<std::uint64_t>(rank);
  }

  // Sends one message each way before the timing, because a library may claim to accept device memory but not do so.
  void prove() {
    fill(1);
    for (const int sender : {0, 1}) rank_ == sender ? send() : receive();
    if (const std::string wrong = problem(1); !wrong.empty())
      throw std::runtime_error(support() + ", but a message in device memory arrived with wrong data: " + wrong);
    memory_->quote(sentence({support(), "; one message of ", bytes_, " B each way arrived right"}));
  }

  int rank_;
  MPI_Comm comm_;
  int bytes_;
  std::optional<MessageMemory> memory_;
  Buffer sent_;  // copies on the host
  Buffer arrived_;
  bool copied_ = false;
};

class PingPong final : public DeviceMessages {
 public:
  using DeviceMessages::DeviceMessages;

  Work work() const override { return {.bytes = static_cast<double>(bytes()), .messages = 1}; }

  void run(Repetition& repetition) override {
    forget_results();
    if (rank() == 0)
      repetition.time([&] { send(), receive(); });
    else
      repetition.time([&] { receive(), send(); });
  }
};

// Both ranks send at the same time.
class Exchange final : public DeviceMessages {
 public:
  using DeviceMessages::DeviceMessages;

  Work work() const override { return {.bytes = 2.0 * bytes(), .messages = 2}; }

  void run(Repetition& repetition) override {
    forget_results();
    repetition.time([&] {
      MPI_Sendrecv(memory().outgoing(0), bytes(), MPI_BYTE, partner(), tag, memory().incoming(0), bytes(),
                   MPI_BYTE, partner(), tag, comm(), MPI_STATUS_IGNORE);
      memory().arrived(0);
    });
  }
};

class Stream final : public DeviceMessages {
 public:
  Stream(const Parameters& parameters, const Communicator& communicator)
      : DeviceMessages(parameters, communicator, static_cast<int>(parameters.integer("window"))),
        window_(static_cast<int>(parameters.integer("window"))),
        requests_(static_cast<std::size_t>(memory().slots()), MPI_REQUEST_NULL) {}

  Work work() const override {
    return {.bytes = static_cast<double>(window_) * bytes(), .messages = 1.0 * window_};
  }

  void run(Repetition& repetition) override {
    forget_results();
    if (rank() == 0)
      repetition.time([&] {
        send_window();
        MPI_Recv(nullptr, 0, MPI_BYTE, 1, control_tag, comm(), MPI_STATUS_IGNORE);
      });
    else
      repetition.time([&] {
        receive_window();
        MPI_Send(nullptr, 0, MPI_BYTE, 0, control_tag, comm());
      });
  }

  Check verify(std::uint64_t seed) override { return rank() == 0 ? Check() : DeviceMessages::verify(seed); }
  std::span<std::byte> received() override {
    return rank() == 0 ? std::span<std::byte>() : DeviceMessages::received();
  }
  double kept_share(std::int64_t calls) const override { return 1.0 / static_cast<double>(calls * window_); }

 private:
  MPI_Request& request(int message) { return requests_[static_cast<std::size_t>(message) % requests_.size()]; }
  int slot(int message) const { return message % static_cast<int>(requests_.size()); }

  void send_window() {
    for (int message = 0; message < window_; ++message) {
      MPI_Wait(&request(message), MPI_STATUS_IGNORE);
      MPI_Isend(memory().outgoing(slot(message)), bytes(), MPI_BYTE, 1, tag, comm(), &request(message));
    }
    MPI_Waitall(static_cast<int>(requests_.size()), requests_.data(), MPI_STATUSES_IGNORE);
  }
  // One receive is posted for each slot.
  void receive_window() {
    const auto posted = static_cast<int>(requests_.size());
    for (int message = 0; message < window_ + posted; ++message) {
      if (message >= posted) {
        MPI_Wait(&request(message), MPI_STATUS_IGNORE);
        memory().arrived(slot(message));
      }
      if (message < window_)
        MPI_Irecv(memory().incoming(slot(message)), bytes(), MPI_BYTE, 0, tag, comm(), &request(message));
    }
  }

  int window_;
  std::vector<MPI_Request> requests_;
};

}  // namespace

std::unique_ptr<Benchmark> ping_pong(const Parameters& parameters, const Communicator& communicator) {
  require_plain(parameters, {{"mode", "standard"},
                             {"completion", "blocking"},
                             {"counts", "int"},
                             {"buffers", "two"},
                             {"alignment", "line"},
                             {"cache", "warm"}});
  return std::make_unique<PingPong>(parameters, communicator);
}

std::unique_ptr<Benchmark> exchange(const Parameters& parameters, const Communicator& communicator) {
  require_plain(parameters, {{"alignment", "line"}, {"cache", "warm"}});
  return std::make_unique<Exchange>(parameters, communicator);
}

std::unique_ptr<Benchmark> stream(const Parameters& parameters, const Communicator& communicator) {
  require_plain(parameters, {{"mode", "standard"},
                             {"completion", "nonblocking"},
                             {"source", "untouched"},
                             {"receive_buffers", "one"},
                             {"alignment", "line"},
                             {"cache", "warm"}});
  return std::make_unique<Stream>(parameters, communicator);
}

}  // namespace scope::devices
