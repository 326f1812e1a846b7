// ssor: symmetric successive over-relaxation of a Poisson problem in three dimensions, pipelined over
// processes.
//
// It sends messages as the LU kernel of the NAS Parallel Benchmarks does (Barszcz et al. 1993; NetFinity,
// section 3.1): each of the N planes of a sweep needs one row from two neighbours (many small blocking
// receives), each iteration exchanges whole faces for the residual (few large non-blocking ones). Five
// components per point, as LU has.
//
// The order of the sweep does not depend on the number of processes, so that neither do the values: the
// largest residual is the same to the last bit, and it is what the program prints and checks itself by.
#include <mpi.h>

#include <algorithm>
#include <array>
#include <cmath>
#include <cstdio>
#include <cstdlib>
#include <string_view>
#include <vector>

namespace {

constexpr int components = 5;
constexpr double relaxation = 1.2;

struct Neighbours {
  int north, south, west, east;
};

// The points of one process with a ring of neighbours' or boundary values: u(plane, row, column, component).
class Block {
 public:
  Block(int planes, int rows, int columns)
      : rows_(rows + 2),
        columns_(columns + 2),
        values_(std::size_t(planes + 2) * rows_ * columns_ * components) {}

  double* at(int plane, int row, int column) {
    return values_.data() + ((std::size_t(plane) * rows_ + row) * columns_ + column) * components;
  }

 private:
  int rows_, columns_;
  std::vector<double> values_;
};

struct Share {
  int first, count;
};

Share share(int points, int parts, int part) {
  const int first = int(std::int64_t(points) * part / parts);
  return {first, int(std::int64_t(points) * (part + 1) / parts) - first};
}

class Solver {
 public:
  Solver(int points, MPI_Comm grid)
      : grid_(grid),
        points_(points),
        spacing_(1.0 / (points + 1)),
        u_(make(points, grid)),
        right_(make(points, grid)) {
    MPI_Cart_shift(grid_, 0, 1, &near_.north, &near_.south);
    MPI_Cart_shift(grid_, 1, 1, &near_.west, &near_.east);
    for (int k = 1; k <= points_; ++k)
      for (int i = 1; i <= rows_.count; ++i)
        for (int j = 1; j <= columns_.count; ++j)
          for (int c = 0; c < components; ++c) right_.at(k, i, j)[c] = source(i, j, k, c);
  }

  void iterate() {
    for (int k = 1; k <= points_; ++k) {
      receive_rows(k, 0, 0, near_.north, near_.west);
      relax(k, 1, rows_.count, columns_.count);
      send_rows(k, rows_.count, columns_.count, near_.south, near_.east);
    }
    for (int k = points_; k >= 1; --k) {
      receive_rows(k, rows_.count + 1, columns_.count + 1, near_.south, near_.east);
      relax(k, -1, rows_.count, columns_.count);
      send_rows(k, 1, 1, near_.north, near_.west);
    }
  }

  // The largest residual of all points, the same on all processes.
  double residual() {
    exchange_faces();
    double largest = 0;
    for (int k = 1; k <= points_; ++k)
      for (int i = 1; i <= rows_.count; ++i)
        for (int j = 1; j <= columns_.count; ++j)
          for (int c = 0; c < components; ++c)
            largest = std::max(largest,
                               std::abs(right_.at(k, i, j)[c] + around(k, i, j, c) - 6 * u_.at(k, i, j)[c]));
    double everywhere = 0;
    MPI_Allreduce(&largest, &everywhere, 1, MPI_DOUBLE, MPI_MAX, grid_);
    return everywhere;
  }

 private:
  Block make(int points, MPI_Comm grid) {
    std::array<int, 2> sizes{}, periods{}, place{};
    MPI_Cart_get(grid, 2, sizes.data(), periods.data(), place.data());
    rows_ = share(points, sizes[0], place[0]);
    columns_ = share(points, sizes[1], place[1]);
    return Block(points, rows_.count, columns_.count);
  }

  double source(int i, int j, int k, int c) const {
    const double x = (rows_.first + i) * spacing_, y = (columns_.first + j) * spacing_, z = k * spacing_;
    return (c + 1) * spacing_ * spacing_ * (1 + x * y + std::sin(7 * z));
  }

  double around(int k, int i, int j, int c) {
    return u_.at(k - 1, i, j)[c] + u_.at(k + 1, i, j)[c] + u_.at(k, i - 1, j)[c] + u_.at(k, i + 1, j)[c] +
           u_.at(k, i, j - 1)[c] + u_.at(k, i, j + 1)[c];
  }

  void relax(int k, int step, int rows, int columns) {
    const int top = step > 0 ? 1 : rows, left = step > 0 ? 1 : columns;
    for (int i = top; i >= 1 && i <= rows; i += step)
      for (int j = left; j >= 1 && j <= columns; j += step)
        for (int c = 0; c < components; ++c) {
          double& value = u_.at(k, i, j)[c];
          value += relaxation * ((right_.at(k, i, j)[c] + around(k, i, j, c)) / 6 - value);
        }
  }

  // One row of a plane from each of two sides, as the sweep meets them: the many small messages.
  void receive_rows(int k, int row, int column, int from_rows, int from_columns) {
    if (from_rows != MPI_PROC_NULL) {
      MPI_Recv(u_.at(k, row, 1), columns_.count * components, MPI_DOUBLE, from_rows, k, grid_,
               MPI_STATUS_IGNORE);
    }
    if (from_columns == MPI_PROC_NULL) return;
    small_.resize(std::size_t(rows_.count) * components);
    MPI_Recv(small_.data(), int(small_.size()), MPI_DOUBLE, from_columns, k, grid_, MPI_STATUS_IGNORE);
    for (int i = 1; i <= rows_.count; ++i)
      std::copy_n(small_.data() + (i - 1) * components, components, u_.at(k, i, column));
  }

  void send_rows(int k, int row, int column, int to_rows, int to_columns) {
    if (to_rows != MPI_PROC_NULL) {
      MPI_Send(u_.at(k, row, 1), columns_.count * components, MPI_DOUBLE, to_rows, k, grid_);
    }
    if (to_columns == MPI_PROC_NULL) return;
    small_.resize(std::size_t(rows_.count) * components);
    for (int i = 1; i <= rows_.count; ++i)
      std::copy_n(u_.at(k, i, column), components, small_.data() + (i - 1) * components);
    MPI_Send(small_.data(), int(small_.size()), MPI_DOUBLE, to_columns, k, grid_);
  }

  // All planes of a side at once: the few large messages.
  void exchange_faces() {
    exchange_face(near_.north, near_.south, true, 0, rows_.count);
    exchange_face(near_.south, near_.north, true, rows_.count + 1, 1);
    exchange_face(near_.west, near_.east, false, 0, columns_.count);
    exchange_face(near_.east, near_.west, false, columns_.count + 1, 1);
  }

  void exchange_face(int from, int to, bool along_rows, int into, int out) {
    const int length = along_rows ? columns_.count : rows_.count;
    const int size = points_ * length * components;
    in_.resize(std::size_t(size));
    out_.resize(std::size_t(size));
    MPI_Request request = MPI_REQUEST_NULL;
    MPI_Irecv(in_.data(), size, MPI_DOUBLE, from, 0, grid_, &request);
    if (to != MPI_PROC_NULL) {
      each(
          length, along_rows, out,
          [&](double* point, double* packed) { std::copy_n(point, components, packed); }, out_);
    }
    MPI_Send(out_.data(), size, MPI_DOUBLE, to, 0, grid_);
    MPI_Wait(&request, MPI_STATUS_IGNORE);
    if (from != MPI_PROC_NULL) {
      each(
          length, along_rows, into,
          [&](double* point, double* packed) { std::copy_n(packed, components, point); }, in_);
    }
  }

  template <class Copy>
  void each(int length, bool along_rows, int line, Copy copy, std::vector<double>& packed) {
    double* next = packed.data();
    for (int k = 1; k <= points_; ++k)
      for (int at = 1; at <= length; ++at, next += components)
        copy(along_rows ? u_.at(k, line, at) : u_.at(k, at, line), next);
  }

  MPI_Comm grid_;
  int points_;
  double spacing_;
  Share rows_{}, columns_{};
  Neighbours near_{};
  Block u_, right_;
  std::vector<double> small_, in_, out_;
};

int option(int argc, char** argv, std::string_view name, int otherwise, int least, int most) {
  for (int i = 1; i + 1 < argc; i += 2) {
    if (argv[i] != name) continue;
    char* end = nullptr;
    const long value = std::strtol(argv[i + 1], &end, 10);
    return *end == 0 && value >= least && value <= most ? int(value) : -1;
  }
  return otherwise;
}

}  // namespace

int main(int argc, char** argv) {
  MPI_Init(&argc, &argv);
  int rank = 0, size = 0;
  MPI_Comm_rank(MPI_COMM_WORLD, &rank);
  MPI_Comm_size(MPI_COMM_WORLD, &size);
  const int points = option(argc, argv, "--points", 32, 2, 1024);
  const int iterations = option(argc, argv, "--iterations", 10, 1, 1000000);
  std::array<int, 2> sizes{}, periods{};
  MPI_Dims_create(size, 2, sizes.data());
  if (points < 0 || iterations < 0 || argc % 2 == 0 || sizes[0] > points) {
    if (rank == 0)
      std::fprintf(stderr,
                   "usage: ssor [--points 2..1024] [--iterations 1..], no more processes than points\n");
    MPI_Finalize();
    return 2;
  }
  MPI_Comm grid = MPI_COMM_NULL;
  MPI_Cart_create(MPI_COMM_WORLD, 2, sizes.data(), periods.data(), 0, &grid);
  bool well = true;
  {
    Solver solver(points, grid);
    const double before = solver.residual();
    double after = before;
    for (int i = 0; i < iterations; ++i) {
      solver.iterate();
      after = solver.residual();
    }
    well = after < before && std::isfinite(after);
    if (rank == 0)
      std::printf("residual %.17g after %d iterations, %.17g before\n", after, iterations, before);
  }
  MPI_Comm_free(&grid);
  MPI_Finalize();
  return well ? 0 : 1;
}
