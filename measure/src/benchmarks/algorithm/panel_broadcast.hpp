// Broadcasts a panel from the process that factored it to the others of its grid row while they compute.
#pragma once

#include <algorithm>
#include <span>
#include <string>
#include <vector>

#include "benchmarks/algorithm/partition.hpp"
#include "mpi/communicator.hpp"

namespace scope {

// `ring`: each process forwards the panel to its right neighbor. `ring_modified`: the first neighbor, which
// has the next panel, does not forward it. `binomial`: a tree. `long`: the panel is cut into one part for each
// process, and the parts then circulate (van de Geijn).
inline constexpr const char* broadcasts = "ring_modified,ring,binomial,long";
// The same and those of the MPI library: `library` is MPI_Bcast, which topology-aware collectives replace if
// loaded; `library_nonblocking` is MPI_Ibcast.
inline constexpr const char* broadcasts_with_library =
    "ring_modified,ring,binomial,long,library,library_nonblocking";

class PanelBroadcast : NotCopied {
 public:
  // `row`: a row or a column of the grid. `tag`: different from the tag of any other broadcast in flight.
  PanelBroadcast(const Communicator& row, std::string kind, int tag)
      : row_(row), kind_(std::move(kind)), tag_(tag) {}
  ~PanelBroadcast() { finish(); }

  // The root has the message; the others have it after `wait`. It must stay unchanged until `finish`.
  void start(std::span<double> message, int root) {
    finish();
    message_ = message;
    root_ = root;
    if (row_.size() == 1) return;
    arrived_ = row_.rank() == root && !of_library();
    if (blocking()) return;
    if (kind_ == "library_nonblocking")
      MPI_Ibcast(message_.data(), count(), MPI_DOUBLE, root, row_.handle(), &coming_);
    else if (arrived_)
      pass_on();
    else
      MPI_Irecv(message_.data(), count(), MPI_DOUBLE, absolute(parent()), tag_, row_.handle(), &coming_);
  }

  // Makes progress with messages between two pieces of computation.
  void progress() {
    if (!arrived_ && coming_ != MPI_REQUEST_NULL) {
      int done = 0;
      MPI_Test(&coming_, &done, MPI_STATUS_IGNORE);
      if (done != 0) arrive();
    } else if (!going_.empty()) {
      int done = 0;
      MPI_Testall(static_cast<int>(going_.size()), going_.data(), &done, MPI_STATUSES_IGNORE);
    }
  }

  // Returns when this process has the message.
  void wait() {
    if (arrived_) return;
    if (kind_ == "long") {
      scatter_and_pass_round();
      arrived_ = true;
    } else if (kind_ == "library") {
      MPI_Bcast(message_.data(), count(), MPI_DOUBLE, root_, row_.handle());
      arrived_ = true;
    } else {
      MPI_Wait(&coming_, MPI_STATUS_IGNORE);
      arrive();
    }
  }

  // Returns when the message may be overwritten.
  void finish() {
    if (kind_ == "library_nonblocking") MPI_Wait(&coming_, MPI_STATUS_IGNORE);
    MPI_Waitall(static_cast<int>(going_.size()), going_.data(), MPI_STATUSES_IGNORE);
    going_.clear();
  }

 private:
  // Whether nothing is in flight before `wait`.
  bool blocking() const { return kind_ == "long" || kind_ == "library"; }
  // Whether the root, too, must take part until the message has arrived.
  bool of_library() const { return blocking() || kind_ == "library_nonblocking"; }
  // Position, counted from the root.
  int place() const { return (row_.rank() - root_ + row_.size()) % row_.size(); }
  int absolute(int place) const { return (place + root_) % row_.size(); }
  int count() const { return static_cast<int>(message_.size()); }

  int parent() const { return parent_of(place()); }
  int parent_of(int place) const {
    if (kind_ == "binomial") return place & (place - 1);
    if (kind_ == "ring_modified" && place == 2) return 0;
    return place - 1;
  }

  void arrive() {
    arrived_ = true;
    if (kind_ != "library_nonblocking") pass_on();
  }
  void pass_on() {
    // A tree serves its larger, distant subtrees first; in a ring the next neighbor is awaited.
    std::vector<int> children;
    for (int other = 1; other < row_.size(); ++other)
      if (other != place() && parent_of(other) == place()) children.push_back(other);
    if (kind_ == "binomial") std::reverse(children.begin(), children.end());
    for (const int child : children) {
      MPI_Isend(message_.data(), count(), MPI_DOUBLE, absolute(child), tag_, row_.handle(),
                &going_.emplace_back());
    }
  }

  void scatter_and_pass_round() {
    const Parcels parcels(Partition(count(), row_.size()));
    double* const mine = message_.data() + parcels.begins[row_.rank()];
    const bool root = row_.rank() == root_;
    MPI_Scatterv(message_.data(), parcels.counts.data(), parcels.begins.data(), MPI_DOUBLE,
                 root ? MPI_IN_PLACE : static_cast<void*>(mine), parcels.counts[row_.rank()], MPI_DOUBLE, root_,
                 row_.handle());
    MPI_Allgatherv(MPI_IN_PLACE, 0, MPI_DATATYPE_NULL, message_.data(), parcels.counts.data(),
                   parcels.begins.data(), MPI_DOUBLE, row_.handle());
  }

  const Communicator& row_;
  std::string kind_;
  int tag_;
  std::span<double> message_;
  int root_ = 0;
  bool arrived_ = true;
  MPI_Request coming_ = MPI_REQUEST_NULL;
  std::vector<MPI_Request> going_;
};

// Whether some of these processes are on other hosts: panels are sent while processes compute only between
// hosts; inside a host, the receiver's CPU copies them. Collective.
inline bool spans_hosts(const Communicator& row) { return Communicator::on_this_host(row).size() < row.size(); }

// Calls multiply(first column, columns) for one piece of the columns after another, and `progress` between them
// while panels are in flight: libraries make progress only inside their calls. In each piece the BLAS copies the
// panel that all pieces share. Pieces do not depend on time, since rounding depends on them.
template <class Multiply, class Progress>
void multiply_in_pieces(int columns, bool traveling, Multiply multiply, Progress progress) {
  const Partition pieces(columns, traveling ? std::min(6, columns) : 1);
  for (int piece = 0; piece < pieces.parts(); ++piece) {
    multiply(pieces.begin(piece), static_cast<int>(pieces.size(piece)));
    if (traveling) progress();
  }
}

}  // namespace scope
