// Layers of cells that neighbors exchange. All messages of the solver pass here and are counted, each in a phase.
#pragma once

#include <array>
#include <bit>
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

constexpr int first_tag = 41;

// Calls `visit` with every row of a layer across a dimension, including the halos of the other dimensions.
template <class Visit>
void each_row_in_layer(Field& field, int d, Index layer, Visit visit) {
  const auto [nx, ny, nz] = field.size();
  const Index begin = d == 0 ? layer : -1;
  const std::size_t cells = d == 0 ? 1 : static_cast<std::size_t>(nx) + 2;
  for (Index z = d == 2 ? layer : -1; z <= (d == 2 ? layer : nz); ++z)
    for (Index y = d == 1 ? layer : -1; y <= (d == 1 ? layer : ny); ++y)
      visit(std::span(field.at(y, z) + begin, cells));
}

inline void copy_layer(Field& field, int d, Index from, Index to) {
  const Index distance = (from - to) * field.strides()[d];
  each_row_in_layer(field, d, to, [distance](std::span<double> row) {
    std::copy_n(row.data() + distance, row.size(), row.data());
  });
}

// Copies rows into a message.
inline auto into(double*& message) {
  return [&message](std::span<const double> row) { message = std::ranges::copy(row, message).out; };
}

// Fills rows from a message.
inline auto out_of(const double*& message) {
  return [&message](std::span<double> row) {
    std::copy_n(message, row.size(), row.data());
    message += row.size();
  };
}

class Halo {
 public:
  Halo(const Communicator& communicator, const Block& block) : communicator_(communicator), block_(block) {
    std::vector<int> all;
    for (int d = 0; d < 3; ++d) {
      if (!block.split(d)) continue;
      for (int side = 0; side < 2; ++side) {
        Message& face = faces_[2 * d + side];
        const int towards = block.neighbor(d, side == 0 ? -1 : 1);
        const int behind = block.neighbor(d, side == 0 ? 1 : -1);
        face.to = towards < 0 ? MPI_PROC_NULL : towards;
        face.from = behind < 0 ? MPI_PROC_NULL : behind;
        face.tag = first_tag + 2 * d + side;
        if (behind >= 0) sources_[2 * d + side] = Partners::these({behind});
        if (behind >= 0) all.push_back(behind);
      }
    }
    neighbors_ = Partners::these(all);
    requests_.fill(MPI_REQUEST_NULL);
  }
  // From now on, neighbors on one host pass all data through shared memory and announce them by empty messages,
  // which are counted as if they carried the data. Collective.
  void share_memory() {
    int slots = 0;
    std::size_t room = 0;
    for (int i = 0; i < 6; ++i) {
      if (!block_.split(i / 2)) continue;
      faces_[i].slot = slots++;
      room = std::max({room, face_cells(i / 2), Velocities().size() * layer_cells(i / 2)});
    }
    if (slots > 0) shared_.emplace(communicator_.handle(), slots, room);
  }

  // From now on, messages are counted and their time is assigned to `phases`, unless it is null.
  void begin(Phases* phases) {
    phases_ = phases;
    messages_ = bytes_ = 0;
    meetings_ = 0;
    enter(Phase::compute);
  }
  // Messages sent by this process since `begin`, and their bytes.
  std::int64_t messages() const { return messages_; }
  std::int64_t bytes() const { return bytes_; }
  // Meetings since `begin`, the same on every process.
  std::size_t meetings() const { return meetings_; }

  // Exchanges all halos, one dimension after another, so that edges and corners are included.
  void exchange(const Velocities& velocities) {
    if (shared_) shared_->turn();
    for (int d = 0; d < 3; ++d) {
      const int last = block_.size()[d] - 1;
      if (block_.wraps(d)) {
        for (Field* const field : velocities) {
          copy_layer(*field, d, last, -1);
          copy_layer(*field, d, 0, last + 1);
        }
      }
      if (!block_.split(d)) continue;
      enter(Phase::exchange);
      for (int side = 0; side < 2; ++side) {
        Message& face = faces_[2 * d + side];
        const std::span<double> sent = room(face, velocities.size() * layer_cells(d));
        double* to = sent.data();
        for (Field* const field : velocities) each_row_in_layer(*field, d, side == 0 ? 0 : last, into(to));
        const double* from = swap(face, sent, sources_[2 * d + side]);
        if (face.from == MPI_PROC_NULL) continue;
        for (Field* const field : velocities)
          each_row_in_layer(*field, d, side == 0 ? last + 1 : -1, out_of(from));
      }
    }
    enter(Phase::compute);
  }
  // Exchanges only the flows through the upper faces of the last cells. Only one of two neighbors sends to the
  // other here. The next exchange of velocities, which every step has between two exchanges of fluxes, shows that
  // the receiver has read a slot.
  void exchange_fluxes(const Velocities& velocities) {
    if (shared_) shared_->turn();
    for (int d = 0; d < 3; ++d) {
      const int end = block_.size()[d];
      if (block_.wraps(d)) copy_layer(*velocities[d], d, 0, end);
      if (!block_.split(d)) continue;
      enter(Phase::exchange);
      Message& face = faces_[2 * d];
      const std::span<double> sent = room(face, layer_cells(d));
      double* to = sent.data();
      each_row_in_layer(*velocities[d], d, 0, into(to));
      const double* from = swap(face, sent, sources_[2 * d]);
      if (face.from == MPI_PROC_NULL) continue;
      each_row_in_layer(*velocities[d], d, end, out_of(from));
    }
    enter(Phase::compute);
  }
  // Exchanges the faces of a field that holds the cells of one color. Between start and finish its halo must not
  // be read. If the field wraps along z, its layers are copied at the start.
  void start(Field& field, int color) {
    under_way_ = &field;
    color_ = color;
    if (block_.wraps(2)) {
      copy_layer(field, 2, block_.size()[2] - 1, -1);
      copy_layer(field, 2, 0, block_.size()[2]);
    }
    if (communicator_.size() == 1) return;
    enter(Phase::exchange);
    if (shared_) shared_->turn();
    for (int i = 0; i < 6; ++i) {
      Message& face = faces_[i];
      if (face.from != MPI_PROC_NULL) {
        const std::span<double> received = shares_with(face.from) ? std::span<double>() : halo(i);
        MPI_Irecv(received.data(), static_cast<int>(received.size()), MPI_DOUBLE, face.from, face.tag,
                  communicator_.handle(), &requests_[i]);
      }
      if (face.to == MPI_PROC_NULL) continue;
      const std::span<const double> sent = surface(i);
      if (shares_with(face.to)) shared_->synchronize();
      MPI_Isend(sent.data(), shares_with(face.to) ? 0 : static_cast<int>(sent.size()), MPI_DOUBLE, face.to,
                face.tag, communicator_.handle(), &requests_[6 + i]);
      ++messages_;
      bytes_ += static_cast<std::int64_t>(sent.size_bytes());
    }
    if (phases_ != nullptr) phases_->offer();
    enter(Phase::compute);
  }
  void finish() {
    if (communicator_.size() == 1) return;
    meet(neighbors_);
    MPI_Waitall(static_cast<int>(requests_.size()), requests_.data(), MPI_STATUSES_IGNORE);
    if (shared_) shared_->synchronize();
    for (int i = 0; i < 6; ++i) {
      const int d = i / 2;
      const int rank = faces_[i].from;
      const bool shared = shares_with(rank);
      if (rank == MPI_PROC_NULL || (d == 2 && !shared)) continue;
      const double* from = shared ? shared_->of(rank, faces_[i].slot) : faces_[i].received.data();
      const int layer = i % 2 == 0 ? block_.size()[d] : -1;
      if (d == 2) {
        const std::span<double> plane = under_way_->plane(layer);
        std::copy_n(from, plane.size(), plane.data());
      } else {
        each_row_of_color(*under_way_, color_, d, layer, out_of(from));
      }
    }
    enter(Phase::compute);
  }
  // The largest value over all processes.
  double largest(double value) {
    if (communicator_.size() == 1) return value;
    meet(everyone_);
    MPI_Allreduce(MPI_IN_PLACE, &value, 1, MPI_DOUBLE, MPI_MAX, communicator_.handle());
    // Counted as recursive doubling.
    const int rounds = std::bit_width(static_cast<unsigned>(communicator_.size() - 1));
    messages_ += rounds;
    bytes_ += rounds * static_cast<std::int64_t>(sizeof(double));
    enter(Phase::compute);
    return value;
  }

 private:
  struct Message {
    int to = MPI_PROC_NULL;
    int from = MPI_PROC_NULL;
    int tag = 0;
    int slot = 0;  // in shared memory
    std::vector<double> sent;
    std::vector<double> received;
  };

  void enter(Phase phase) {
    if (phases_ != nullptr) phases_->enter(phase);
  }
  void meet(const Partners& partners) {
    ++meetings_;
    if (phases_ != nullptr) phases_->meet(Phase::exchange, partners);
  }
  // The memory in which data for the face's neighbor are collected.
  std::span<double> room(Message& face, std::size_t size) {
    if (shares_with(face.to)) return shared_->own(face.slot).first(size);
    face.sent.resize(size);
    return face.sent;
  }
  // Returns the received data, which have the same size as the sent data.
  const double* swap(Message& face, std::span<const double> sent, const Partners& partners) {
    const bool out = shares_with(face.to);
    const bool in = shares_with(face.from);
    face.received.resize(in ? 0 : sent.size());
    if (out) shared_->synchronize();
    meet(partners);
    MPI_Sendrecv(sent.data(), out ? 0 : static_cast<int>(sent.size()), MPI_DOUBLE, face.to, face.tag,
                 face.received.data(), static_cast<int>(face.received.size()), MPI_DOUBLE, face.from, face.tag,
                 communicator_.handle(), MPI_STATUS_IGNORE);
    if (in) shared_->synchronize();
    if (face.to != MPI_PROC_NULL) {
      ++messages_;
      bytes_ += static_cast<std::int64_t>(sent.size_bytes());
    }
    return in ? shared_->of(face.from, face.slot) : face.received.data();
  }
  // Visits rows without the halos of other dimensions, which pressure differences do not read.
  template <class Visit>
  void each_row_of_color(Field& field, int color, int d, int layer, Visit visit) const {
    const Extents& size = block_.size();
    for (int z = d == 2 ? layer : 0; z < (d == 2 ? layer + 1 : size[2]); ++z) {
      for (int y = d == 1 ? layer : 0; y < (d == 1 ? layer + 1 : size[1]); ++y) {
        double* const row = field.at(y, z);
        const int first = block_.first(color, y, z);
        if (d != 0)
          visit(std::span(row, static_cast<std::size_t>(size[0] - first + 1) / 2));
        else if (((layer - first) & 1) == 0)
          visit(std::span(row + ((layer - first) >> 1), 1));
      }
    }
  }
  // Number of cells of a layer across a dimension, including the halos of the other dimensions.
  std::size_t layer_cells(int d) const {
    const Extents& size = block_.size();
    return static_cast<std::size_t>(size[(d + 1) % 3] + 2) * (size[(d + 2) % 3] + 2);
  }
  // Number of cells of a face between blocks, about half of which have one color.
  std::size_t face_cells(int d) const {
    // Layers across z include everything between their first and last cell.
    if (d == 2) return Field::plane_doubles(block_.size());
    return static_cast<std::size_t>(block_.size()[(d + 1) % 3]) * block_.size()[(d + 2) % 3];
  }
  bool shares_with(int rank) const { return shared_ && shared_->reaches(rank); }
  // Returns the data of the current field for the i-th neighbor, ready to be sent or stored in shared memory;
  // `halo` returns the memory for a message from the opposite neighbor. Layers across z are sent and received in
  // place; other layers are packed first. Data for neighbors that share memory are stored there.
  std::span<const double> surface(int i) {
    const int d = i / 2;
    const int layer = i % 2 == 0 ? 0 : block_.size()[d] - 1;
    const bool shared = shares_with(faces_[i].to);
    if (d == 2 && !shared) return under_way_->plane(layer);
    const std::span<double> sent = room(faces_[i], face_cells(d));
    double* to = sent.data();
    if (d == 2)
      into(to)(under_way_->plane(layer));
    else
      each_row_of_color(*under_way_, color_, d, layer, into(to));
    return sent.first(static_cast<std::size_t>(to - sent.data()));
  }
  std::span<double> halo(int i) {
    const int d = i / 2;
    if (d == 2) return under_way_->plane(i % 2 == 0 ? block_.size()[2] : -1);
    faces_[i].received.resize(face_cells(d));  // about twice the received size
    return faces_[i].received;
  }

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
