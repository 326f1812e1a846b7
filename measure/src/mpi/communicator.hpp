// Thin RAII owners of MPI handles.
#pragma once

#include <mpi.h>

#include <cstdint>
#include <span>
#include <string>
#include <vector>

#include "mpi/control_variables.hpp"

namespace scope {

// Initializes MPI for the lifetime of the program.
class MpiEnvironment : NotCopied {
 public:
  // `threads`: whether several threads of each process may call MPI at once, if the library supports that.
  MpiEnvironment(int& argc, char**& argv, bool threads);
  ~MpiEnvironment();

  std::string library() const;   // the library's version string, first line
  std::string standard() const;  // for example 3.1
  // Settings of the library on rank 0; empty on the others.
  const std::vector<ControlVariable>& settings() const { return settings_; }

 private:
  std::vector<ControlVariable> settings_;
};

// A duplicated communicator, so that our messages do not match others.
class Communicator {
 public:
  static Communicator duplicate(MPI_Comm original);
  static Communicator split(const Communicator& original, int color, int key);
  // A periodic grid, filled row by row.
  static Communicator grid(const Communicator& original, std::span<const int> extents);
  static Communicator on_this_host(MPI_Comm original);  // of ranks that can share memory
  static Communicator on_this_host(const Communicator& original) { return on_this_host(original.handle()); }
  ~Communicator();
  Communicator(Communicator&& other) noexcept;
  Communicator& operator=(Communicator&&) = delete;
  Communicator(const Communicator&) = delete;

  MPI_Comm handle() const { return handle_; }
  int rank() const { return rank_; }
  int size() const { return size_; }
  bool root() const { return rank_ == 0; }

  // The largest, smallest or summed numbers of all ranks, on every rank. Collective.
  template <class Number>
  Number largest(Number mine) const {
    return reduced(mine, MPI_MAX);
  }
  template <class Number>
  Number smallest(Number mine) const {
    return reduced(mine, MPI_MIN);
  }
  template <class Number>
  Number sum(Number mine) const {
    return reduced(mine, MPI_SUM);
  }
  // Whether the condition is true on any rank. Collective.
  bool any(bool here) const { return largest(here ? 1 : 0) != 0; }

  // Gathers one text from every rank on every rank, in rank order.
  std::vector<std::string> all_gather(const std::string& text) const;
  // Gathers texts on the root; empty on the other ranks.
  std::vector<std::string> gather(const std::string& text) const;
  // The text of one rank, on all ranks. Collective.
  std::string broadcast(std::string text, int root) const;

 private:
  explicit Communicator(MPI_Comm handle, bool owned = true);

  static MPI_Datatype type_of(int) { return MPI_INT; }
  static MPI_Datatype type_of(std::int64_t) { return MPI_INT64_T; }
  static MPI_Datatype type_of(std::uint64_t) { return MPI_UINT64_T; }
  static MPI_Datatype type_of(double) { return MPI_DOUBLE; }
  template <class Number>
  Number reduced(Number mine, MPI_Op operation) const {
    MPI_Allreduce(MPI_IN_PLACE, &mine, 1, type_of(mine), operation, handle_);
    return mine;
  }

  int gather_blocks(const std::string& text, std::string& all, std::vector<int>& lengths) const;
  MPI_Comm handle_;
  bool owned_ = true;
  int rank_ = 0;
  int size_ = 0;
};

std::string host_name();

}  // namespace scope
