// The epochs of one-sided operations, from a change of the data by their owner until their receiver reads them.
//
// `Data` has `window()`, the operation `access`, `change`, which precedes it, and `look`, which follows it.
#pragma once

#include "benchmark.hpp"

namespace scope::one_sided {

constexpr int target = 1;
constexpr int tag = 19;

// The group that contains only the other rank, for post and start.
class Partner : NotCopied {
 public:
  explicit Partner(const Communicator& communicator) {
    MPI_Group all = MPI_GROUP_NULL;
    const int other = 1 - communicator.rank();
    MPI_Comm_group(communicator.handle(), &all);
    MPI_Group_incl(all, 1, &other, &group_);
    MPI_Group_free(&all);
  }
  ~Partner() { MPI_Group_free(&group_); }

  MPI_Group group() const { return group_; }

 private:
  MPI_Group group_ = MPI_GROUP_NULL;
};

template <class Data>
class Epochs : public Benchmark {
 public:
  Work work() const override { return {.bytes = static_cast<double>(bytes_), .messages = 1}; }

 protected:
  Epochs(const Parameters& parameters, const Communicator& communicator)
      : put_(parameters.choice("operation") == "put"),
        get_(parameters.choice("operation") == "get"),
        origin_(communicator.root()),
        receives_(origin_ == get_),
        comm_(communicator.handle()),
        bytes_(parameters.integer("message_bytes")),
        epoch_(parameters.choice("epoch")),
        rank_(communicator.rank()),
        partner_(communicator) {}

  void time(Repetition& repetition) {
    if (epoch_ == "fence")
      repetition.time([this](std::int64_t i) { get_ ? get_between_fences(i) : write_between_fences(i); });
    else if (epoch_ == "pscw")
      repetition.time([this](std::int64_t i) { origin_ ? start_and_complete(i) : post_and_wait(i); });
    else
      repetition.time([this](std::int64_t i) { origin_ ? lock_and_unlock(i) : serve(i); });
  }

  // A rank may access the memory of its own window only under a lock or between epochs.
  template <class Touch>
  void set_window(Touch touch) {
    MPI_Win_lock(MPI_LOCK_EXCLUSIVE, rank_, 0, data().window());
    touch();
    MPI_Win_unlock(rank_, data().window());
  }

  bool put_;
  bool get_;  // accumulate if neither
  bool origin_;
  bool receives_;
  MPI_Comm comm_;
  std::int64_t bytes_;

 private:
  Data& data() { return static_cast<Data&>(*this); }

  void tell() { MPI_Send(nullptr, 0, MPI_BYTE, 1 - rank_, tag, comm_); }
  void hear() { MPI_Recv(nullptr, 0, MPI_BYTE, 1 - rank_, tag, comm_, MPI_STATUS_IGNORE); }

  void write_between_fences(std::int64_t number) {
    data().change(number);
    MPI_Win_fence(0, data().window());
    if (origin_) data().access(number);
    MPI_Win_fence(0, data().window());
    if (origin_) return hear();
    data().look(number);
    tell();
  }
  void get_between_fences(std::int64_t number) {
    data().change(number);
    MPI_Win_fence(0, data().window());
    if (origin_) data().access(number);
    MPI_Win_fence(0, data().window());
    if (origin_) data().look(number);
  }

  void start_and_complete(std::int64_t number) {
    data().change(number);
    MPI_Win_start(partner_.group(), 0, data().window());
    data().access(number);
    MPI_Win_complete(data().window());
    receives_ ? data().look(number) : hear();
  }
  void post_and_wait(std::int64_t number) {
    data().change(number);
    MPI_Win_post(partner_.group(), 0, data().window());
    MPI_Win_wait(data().window());
    if (!receives_) return;
    data().look(number);
    tell();
  }

  // The target does not take part in the epoch and learns about it only from messages.
  void lock_and_unlock(std::int64_t number) {
    data().change(number);
    if (receives_) {
      tell();
      hear();
    }
    MPI_Win_lock(MPI_LOCK_EXCLUSIVE, target, 0, data().window());
    data().access(number);
    MPI_Win_unlock(target, data().window());
    if (receives_) return data().look(number);
    tell();
    hear();
  }
  void serve(std::int64_t number) {
    hear();
    set_window([=, this] {
      data().change(number);
      if (receives_) data().look(number);
    });
    tell();
  }

  std::string epoch_;
  int rank_;
  Partner partner_;
};

}  // namespace scope::one_sided
