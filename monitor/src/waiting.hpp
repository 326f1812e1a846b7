// The requests and statuses of one wait, test or start. MPI clears the handles, so they are saved first. Statuses
// that the program ignores are requested here, because they contain sender and size.
#pragma once

#include <cstdlib>

#include "handles.hpp"
#include "recorder.hpp"

namespace scope {

// A few values are on the stack; more are in a block that the thread keeps.
template <typename Value, typename Tag>
class Block {
 public:
  explicit Block(int count) {
    if (count <= few_places) {
      values_ = few_;
      return;
    }
    static thread_local Kept kept;
    if (kept.count < count) {
      std::free(kept.values);
      kept.values = static_cast<Value*>(std::malloc(static_cast<std::size_t>(count) * sizeof(Value)));
      kept.count = kept.values ? count : 0;
    }
    values_ = kept.values;
  }
  Block(const Block&) = delete;
  Value* get() { return values_; }
  const Value* get() const { return values_; }

 private:
  static constexpr int few_places = 64;
  struct Kept {
    Value* values = nullptr;
    int count = 0;
    ~Kept() { std::free(values); }
  };
  Value* values_;
  Value few_[few_places];
};

struct FortranRequests {
  const void* handles;
};

class Waiting {
 public:
  Waiting(Call& call, int count, const MPI_Request* requests) : call_(call), keys_(wanted(count)) {
    for (int i = 0; i < count_; ++i) keys_.get()[i] = key_of(requests[i]);
  }
  Waiting(Call& call, int count, FortranRequests requests) : call_(call), keys_(wanted(count)) {
    const auto* handles = static_cast<const MPI_Fint*>(requests.handles);
    for (int i = 0; i < count_; ++i) keys_.get()[i] = key_of(request_of(handles[i]));
  }

  int count() const { return count_; }
  std::uint64_t key(int i) const { return keys_.get()[i]; }

  void none() { call_.local(); }
  void one(int i, const MPI_Status& status) {
    call_.waits();
    if (Request* request = under_way(i)) call_.completed(*request, call_.ticks(), status);
    call_.waited();
  }
  void all(const MPI_Status* statuses) {
    call_.waits();
    const u8 share = share_of(count_, [](int i) { return i; });
    for (int i = 0; i < count_; ++i)
      if (Request* request = under_way(i)) call_.completed(*request, share, statuses[i]);
    call_.waited();
  }
  // `indices` count from `first`: 0 in C, 1 in Fortran.
  void some(int count, const int* indices, int first, const MPI_Status* statuses) {
    call_.waits();
    const auto index = [&](int i) { return indices[i] - first; };
    const u8 share = share_of(count, index);
    for (int i = 0; i < count; ++i)
      if (Request* request = under_way(index(i))) call_.completed(*request, share, statuses[i]);
    call_.waited();
  }

 private:
  int wanted(int count) {
    count_ = call_.counts() && count > 0 ? count : 0;
    return count_;
  }
  Request* under_way(int i) const {
    if (i < 0 || i >= count_ || !keys_.get()) return nullptr;
    Request* request = find_request(keys_.get()[i]);
    return request && request->active ? request : nullptr;
  }
  template <typename Index>
  u8 share_of(int count, const Index& index) const {
    u8 completed = 0;
    for (int i = 0; i < count; ++i) completed += under_way(index(i)) != nullptr;
    return completed ? call_.ticks() / completed : 0;
  }

  Call& call_;
  int count_ = 0;
  Block<std::uint64_t, Waiting> keys_;
};

// Readable statuses. `given` is MPI_STATUS_IGNORE if the program ignores them.
class Statuses {
 public:
  Statuses(const Call& call, int count, MPI_Status* given)
      : own_(call.counts() && ignored(given) && count > 0 ? count : 0),
        read_(call.counts() && ignored(given) ? own_.get() : given) {}

  // The statuses for MPI to fill: the program's own, in its language, or these.
  template <typename Status>
  Status* pass(Status* given) {
    return read_ == own_.get() && read_ ? reinterpret_cast<Status*>(read_) : given;
  }
  const MPI_Status* read() const { return read_; }

 private:
  static bool ignored(const MPI_Status* given) {
    return given == MPI_STATUS_IGNORE || given == MPI_STATUSES_IGNORE;
  }
  Block<MPI_Status, Statuses> own_;
  MPI_Status* read_;
};

}  // namespace scope
