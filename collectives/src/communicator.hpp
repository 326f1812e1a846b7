// State of one communicator: the places of its ranks, a private duplicate, and the decisions made.
#pragma once

#include <mpi.h>

#include <map>
#include <memory>
#include <optional>
#include <tuple>

#include "choice.hpp"
#include "settings.hpp"

namespace scope {

// True once MPI is up, a topology is known and the job has several hosts. All entries check this first.
extern bool collectives_active;

// Called right after MPI is initialized, and before it is finalized.
void begin_collectives();
void end_collectives();

// A decision, and the program of the last call that followed it.
struct Decision {
  const Algorithm* algorithm = nullptr;
  std::optional<Library> library;  // library whose broadcast to imitate; without this and an algorithm: MPI's call
  Shape shape = Shape::binomial;
  std::int64_t segment_bytes = 0;
  // For the last message in this size class:
  std::int64_t units = -1;
  std::int64_t unit_bytes = 0;
  std::vector<int> order;
  Program program;
};

class Communicator {
 public:
  // nullptr: pass through (intercommunicator, one process, unknown processes; one host, unless broadcasts imitate
  // another library's). Collective in the first call.
  static Communicator* of(MPI_Comm comm);

  MPI_Comm own() const { return own_; }
  int rank() const { return rank_; }
  int size() const { return size_; }

  // The decision for this kind of message, the same on all ranks; nullptr if the library's own algorithm is to be
  // used. Collective in the first call, in which rank 0 decides unless the settings do.
  Decision* decide(Operation operation, int root, std::int64_t units, std::int64_t unit_bytes);

  // Reports an error of our own calls through the error handler of the user's communicator; returns the error.
  int fail(MPI_Comm comm, int code) const;

  ~Communicator();

 private:
  Communicator(MPI_Comm comm, std::unique_ptr<Network> network);
  void make(Decision& decision, const Problem& problem) const;
  Candidate choose(const Problem& problem) const;
  void log(const Problem& problem, const Candidate& taken, const std::vector<Candidate>& all) const;

  MPI_Comm own_ = MPI_COMM_NULL;
  int rank_ = 0;
  int size_ = 0;
  std::unique_ptr<Network> network_;
  std::map<std::tuple<Operation, int, int>, Decision> decisions_;  // operation, root, size class
};

}  // namespace scope
