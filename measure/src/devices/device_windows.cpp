#include "benchmarks/mpi/epochs.hpp"
#include "devices/message_memory.hpp"

namespace scope::devices {
namespace {

// Puts and gets between device memories. Staged: the window, and the source of puts or destination of gets, are
// pinned host memory. All operations of a repetition use the same place.
class DeviceWindow final : public scope::one_sided::Epochs<DeviceWindow> {
 public:
  DeviceWindow(const Parameters& parameters, const Communicator& communicator)
      : Epochs(parameters, communicator), sent_(receives_ ? 0 : bytes_), received_(receives_ ? bytes_ : 0) {
    const std::string& kind = parameters.choice("memory");
    const bool together = prepare_together(communicator, [&] {
      memory_.emplace(kind,
                      Extent{static_cast<std::int64_t>(sent_.size()), static_cast<std::int64_t>(received_.size())},
                      1, communicator);
      if (kind == "device") memory_->quote(support());
    });
    if (!together) return;
    void* const exposed = receives_ ? memory_->incoming(0) : memory_->outgoing(0);
    MPI_Win_create(exposed, origin_ ? 0 : bytes_, 1, MPI_INFO_NULL, comm_, &window_);
  }
  ~DeviceWindow() override {
    if (window_ != MPI_WIN_NULL) MPI_Win_free(&window_);
  }

  void fill(std::uint64_t seed) override {
    write_pattern(sent_.bytes(), seed);
    received_.clear();
    set_window([this] { memory_->fill(sent_.bytes(), received_.bytes()); });
    collected_ = false;
  }

  void run(Repetition& repetition) override {
    collected_ = false;
    time(repetition);
  }

  Check verify(std::uint64_t seed) override {
    if (!receives_) return {};
    return {bytes_, pattern_problem(received(), seed)};
  }
  std::span<std::byte> received() override {
    if (receives_ && !collected_) set_window([this] { memory_->collect(received_.bytes()); });
    collected_ = true;
    return received_.bytes();
  }
  double kept_share(std::int64_t calls) const override { return 1.0 / static_cast<double>(calls); }
  std::vector<ControlVariable> settings() const override { return memory_->settings(); }

 private:
  friend Epochs;

  MPI_Win window() const { return window_; }

  void change(std::int64_t) {
    if (!receives_) source_ = memory_->outgoing(0);
  }
  void access(std::int64_t) {
    const int bytes = static_cast<int>(bytes_);
    if (put_)
      MPI_Put(source_, bytes, MPI_BYTE, scope::one_sided::target, 0, bytes, MPI_BYTE, window_);
    else
      MPI_Get(memory_->incoming(0), bytes, MPI_BYTE, scope::one_sided::target, 0, bytes, MPI_BYTE, window_);
  }
  void look(std::int64_t) {
    if (receives_) memory_->arrived(0);
  }

  Buffer sent_;  // copies on the host
  Buffer received_;
  std::optional<MessageMemory> memory_;
  MPI_Win window_ = MPI_WIN_NULL;
  const void* source_ = nullptr;
  bool collected_ = false;
};

}  // namespace

std::unique_ptr<Benchmark> one_sided(const Parameters& parameters, const Communicator& communicator) {
  if (parameters.choice("operation") == "accumulate")
    throw Unavailable("device memory is measured only with operation=put and operation=get");
  return std::make_unique<DeviceWindow>(parameters, communicator);
}

}  // namespace scope::devices
