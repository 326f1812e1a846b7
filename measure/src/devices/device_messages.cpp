#include "devices/device_messages.hpp"

#include <dlfcn.h>

#include <limits>

#include "devices/device_benchmark.hpp"

namespace scope::devices {
namespace {

constexpr int tag = 8;
constexpr int control_tag = 9;
// Of pinned memory: a message is copied while another one travels.
constexpr int staging_slots = 2;

// What the library says of memory of CUDA's devices. Throws Unavailable unless it takes it.
std::string support() {
  // An extension of Open MPI, which MPICH and others have taken over.
  auto* query = reinterpret_cast<int (*)()>(dlsym(RTLD_DEFAULT, "MPIX_Query_cuda_support"));
  if (query != nullptr && query() == 1) return "MPIX_Query_cuda_support: yes";
  throw Unavailable(sentence({"the MPI library takes no memory of devices (MPIX_Query_cuda_support: ",
                              query == nullptr ? "missing" : "no", "); staged memory works with any"}));
}

// The memory of one rank: of messages to be sent and, apart from them, of those that arrive.
class MessageMemory {
 public:
  // `slots`: messages in flight at a time, of which all have the same contents. Collective.
  MessageMemory(const std::string& kind, std::int64_t bytes, int slots, const Communicator& communicator)
      : bytes_(static_cast<std::size_t>(bytes)), slots_(slots), out_(bytes_), in_(bytes_) {
    const Communicator host = Communicator::on_this_host(communicator);
    if (kind == "host") return;
    device_ = device_of_rank(host, 0);
    device_->require_room(bytes, 2);
    queue_ = device_->device->queue(false);
    const std::int64_t least = std::max<std::int64_t>(1, bytes);
    sent_ = device_->device->array(least);
    arrived_ = device_->device->array(least);
    if (kind == "staged") {
      slots_ = std::min(slots, staging_slots);
      for (auto* staging : {&out_staging_, &in_staging_})
        for (int slot = 0; slot < slots_; ++slot) staging->push_back(device_->device->pinned(least));
    } else if (sent_->pointer() == nullptr) {
      throw Unavailable(
          device_->device->facts().driver +
          " has no pointers to memory of a device that MPI could take; staged memory works with any");
    }
  }

  int slots() const { return slots_; }

  // What MPI sends from and receives into, and what precedes the one and follows the other.
  void* outgoing(int slot) {
    if (!device_) return out_.data();
    if (out_staging_.empty()) return sent_->pointer();
    const auto staged = slot_of(out_staging_, slot);
    copy([&] { queue_->read(staged, *sent_); });
    return staged.data();
  }
  void* incoming(int slot) {
    if (!device_) return in_.data();
    return in_staging_.empty() ? arrived_->pointer() : slot_of(in_staging_, slot).data();
  }
  void arrived(int slot) {
    if (!in_staging_.empty()) copy([&] { queue_->write(*arrived_, slot_of(in_staging_, slot)); });
  }

  void fill(std::uint64_t seed) {
    write_pattern(out_.bytes(), seed);
    in_.clear();
    if (!device_) return;
    copy([&] {
      queue_->write(*sent_, out_.bytes());
      queue_->write(*arrived_, in_.bytes());
    });
    for (const auto* staging : {&out_staging_, &in_staging_})
      for (const auto& slot : *staging) std::ranges::fill(slot->bytes(), std::byte{0});
  }
  // The host's copy of the last message that arrived.
  std::span<std::byte> received(bool again) {
    if (device_ && again) copy([&] { queue_->read(in_.bytes(), *arrived_); });
    return in_.bytes();
  }

  std::vector<ControlVariable> settings() const {
    return device_ ? device_->settings() : std::vector<ControlVariable>();
  }

 private:
  using Staging = std::vector<std::unique_ptr<PinnedMemory>>;
  std::span<std::byte> slot_of(const Staging& staging, int slot) const {
    return staging[static_cast<std::size_t>(slot)]->bytes().first(bytes_);
  }
  template <class Enqueue>
  void copy(Enqueue enqueue) {
    if (bytes_ == 0) return;
    enqueue();
    queue_->finish();
  }

  std::size_t bytes_;
  int slots_;
  std::optional<DeviceOfRank> device_;
  std::unique_ptr<Queue> queue_;
  std::unique_ptr<Array> sent_;
  std::unique_ptr<Array> arrived_;
  Staging out_staging_;
  Staging in_staging_;
  Buffer out_;
  Buffer in_;
};

// Throws Unavailable where a case asks for more than a plain exchange: its other parameters say nothing of devices.
void require_plain(const Parameters& parameters,
                   std::initializer_list<std::pair<const char*, const char*>> choices) {
  const auto refuse = [](const std::string& name, const auto& value) {
    throw Unavailable(sentence({"memory of devices is measured with ", name, "=", value, " only"}));
  };
  for (const auto& [name, value] : choices)
    if (parameters.choice(name) != value) refuse(name, value);
  if (parameters.integer("offset_bytes") != 0) refuse("offset_bytes", 0);
  if (parameters.integer("rotation") != 1) refuse("rotation", 1);
  if (parameters.integer("message_bytes") > std::numeric_limits<int>::max())
    throw Unavailable("memory of devices is measured with messages of less than 2 GiB");
}

class DeviceMessages : public Benchmark {
 public:
  void fill(std::uint64_t seed) override {
    memory_->fill(sent_by(rank_, seed));
    copied_ = false;
  }
  std::span<std::byte> received() override {
    const auto bytes = memory_->received(!copied_);
    copied_ = true;
    return bytes;
  }
  std::vector<ControlVariable> settings() const override {
    auto all = memory_->settings();
    if (!support_.empty()) all.push_back({"device_memory_in_mpi", support_});
    return all;
  }

 protected:
  DeviceMessages(const Parameters& parameters, const Communicator& communicator, int slots)
      : rank_(communicator.rank()),
        comm_(communicator.handle()),
        bytes_(static_cast<int>(parameters.integer("message_bytes"))) {
    const std::string& mine = parameters.choice(rank_ == 0 ? "sender_memory" : "receiver_memory");
    const auto direct = [&](const char* name) { return parameters.choice(name) == "device"; };
    const bool proof = direct("sender_memory") || direct("receiver_memory");
    const bool together = prepare_together(communicator, [&] {
      memory_.emplace(mine, bytes_, slots, communicator);
      if (proof) support_ = support();
    });
    if (together && proof) prove();
  }

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

  // Returns whether both ranks are prepared: a rank that is not must not be waited for.
  template <class Prepare>
  static bool prepare_together(const Communicator& communicator, Prepare prepare) {
    std::exception_ptr failure;
    try {
      prepare();
    } catch (...) {
      failure = std::current_exception();
    }
    const bool all = !communicator.any(failure != nullptr);
    if (failure) std::rethrow_exception(failure);
    return all;
  }

  // One message each way, before anything is timed: a library may say that it takes memory of devices and not do so.
  void prove() {
    fill(1);
    for (const int sender : {0, 1}) rank_ == sender ? send() : receive();
    if (const std::string wrong = problem(1); !wrong.empty())
      throw std::runtime_error(support_ + ", but a message between memories of devices arrives wrong: " + wrong);
    support_ += sentence({"; one message of ", bytes_, " B each way arrived right"});
  }

  int rank_;
  MPI_Comm comm_;
  int bytes_;
  std::optional<MessageMemory> memory_;
  std::string support_;
  bool copied_ = false;
};

class PingPong final : public DeviceMessages {
 public:
  PingPong(const Parameters& parameters, const Communicator& communicator)
      : DeviceMessages(parameters, communicator, 1) {}

  Work work() const override { return {.bytes = static_cast<double>(bytes()), .messages = 1}; }

  void run(Repetition& repetition) override {
    forget_results();
    if (rank() == 0)
      repetition.time([&] { send(), receive(); });
    else
      repetition.time([&] { receive(), send(); });
  }

  Check verify(std::uint64_t seed) override { return {bytes(), problem(seed)}; }
  double kept_share(std::int64_t calls) const override { return 1.0 / static_cast<double>(calls); }
};

// Both send at the same time.
class Exchange final : public DeviceMessages {
 public:
  Exchange(const Parameters& parameters, const Communicator& communicator)
      : DeviceMessages(parameters, communicator, 1) {}

  Work work() const override { return {.bytes = 2.0 * bytes(), .messages = 2}; }

  void run(Repetition& repetition) override {
    forget_results();
    repetition.time([&] {
      MPI_Sendrecv(memory().outgoing(0), bytes(), MPI_BYTE, partner(), tag, memory().incoming(0), bytes(),
                   MPI_BYTE, partner(), tag, comm(), MPI_STATUS_IGNORE);
      memory().arrived(0);
    });
  }

  Check verify(std::uint64_t seed) override { return {bytes(), problem(seed)}; }
  double kept_share(std::int64_t calls) const override { return 1.0 / static_cast<double>(calls); }
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

  Check verify(std::uint64_t seed) override {
    if (rank() == 0) return {};
    return {bytes(), problem(seed)};
  }
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
  // As many receives are posted as there are slots.
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
