// Layers of cells that neighbors exchange: all messages of the solver, counted, each in a phase.
#pragma once

#include <array>
#include <cstdint>
#include <optional>
#include <span>
#include <vector>

#include "benchmarks/application/cfd/block.hpp"
#include "mpi/communicator.hpp"
#include "mpi/shared_slots.hpp"
#include "sampling/phases.hpp"

namespace scope::cfd {

using Velocities = std::array<Field*, 3>;

class Halo {
 public:
  Halo(const Communicator& communicator, const Block& block);
  // From here on, neighbors on one host pass everything through memory that they share, and tell of it by empty
  // messages, which count as if they carried it. Collective.
  void share_memory();

  // From here on, messages are counted and their time belongs to `phases`, or to nothing.
  void begin(Phases* phases);
  // Sent by this process since `begin`.
  std::int64_t messages() const { return messages_; }
  std::int64_t bytes() const { return bytes_; }
  // Since `begin`, of every process alike.
  std::size_t meetings() const { return meetings_; }

  // All halos, one dimension after the other, so that edges and corners are included.
  void exchange(const Velocities& velocities);
  // Only the flows through the upper faces of the last cells.
  void exchange_fluxes(const Velocities& velocities);
  // The faces of a field that holds the cells of one color. Between start and finish its halo must not be read.
  // Where the field wraps along z its layers are copied at the start.
  void start(Field& field, int color);
  void finish();
  // The largest value of all processes.
  double largest(double value);

 private:
  struct Message {
    int to = MPI_PROC_NULL;
    int from = MPI_PROC_NULL;
    int tag = 0;
    int slot = 0;  // in shared memory
    std::vector<double> sent;
    std::vector<double> received;
  };

  void enter(Phase phase);
  void meet(const Partners& partners);
  std::span<double> room(Message& face, std::size_t size);
  const double* swap(Message& face, std::span<const double> sent, const Partners& partners);
  template <class Visit>
  void each_row_of_color(Field& field, int color, int d, int layer, Visit visit) const;
  // Cells of a layer across a dimension, halos of the others included.
  std::size_t layer_cells(int d) const;
  // Cells of a face between blocks; those of one color are some half of them.
  std::size_t face_cells(int d) const;
  bool shares_with(int rank) const { return shared_ && shared_->reaches(rank); }
  // What the i-th neighbor gets of the field under way, where it can be sent or has been stored for that neighbor;
  // and where a message from the opposite one arrives.
  std::span<const double> surface(int i);
  std::span<double> halo(int i);

  const Communicator& communicator_;
  const Block& block_;
  Phases* phases_ = nullptr;
  std::int64_t messages_ = 0;
  std::int64_t bytes_ = 0;
  std::size_t meetings_ = 0;
  std::array<Message, 6> faces_;  // before and after along each dimension
  std::array<MPI_Request, 12> requests_{};
  std::array<Partners, 6> sources_{Partners::none(), Partners::none(), Partners::none(),
                                   Partners::none(), Partners::none(), Partners::none()};
  Partners neighbors_ = Partners::none();
  Partners everyone_ = Partners::everyone();
  std::optional<SharedSlots> shared_;
  Field* under_way_ = nullptr;
  int color_ = 0;
};

}  // namespace scope::cfd
