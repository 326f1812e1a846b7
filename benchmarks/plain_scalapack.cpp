// The system of equations of algorithm.scalapack_lu by a plain program: the same matrices, grid and calls.
//
// usage: plain_scalapack N BLOCK ROWS REPETITIONS; prints the seconds of the slowest process in each of them.
#include <mpi.h>

#include <cstdio>
#include <cstdlib>
#include <vector>

#include "benchmarks/algorithm/known_condition.hpp"

extern "C" {
void Cblacs_get(int context, int what, int* value);
void Cblacs_gridinit(int* context, const char* order, int rows, int columns);
void Cblacs_gridinfo(int context, int* rows, int* columns, int* row, int* column);
void Cblacs_gridexit(int context);
int numroc_(const int* n, const int* block, const int* place, const int* first, const int* count);
void pdgetrf_(const int* m, const int* n, double* a, const int* ia, const int* ja, const int* described,
              int* pivots, int* info);
void pdgetrs_(const char* transposed, const int* n, const int* right_sides, const double* a, const int* ia,
              const int* ja, const int* described, const int* pivots, double* b, const int* ib, const int* jb,
              const int* described_b, int* info, std::size_t length);
}

namespace {

constexpr int zero = 0;
constexpr int one = 1;
constexpr double condition = 1000;

// Of the item at a local place.
int item(int place, int block, int own, int count) {
  return (place / block * count + own) * block + place % block;
}

}  // namespace

int main(int argc, char** argv) {
  if (argc != 5) return EXIT_FAILURE;
  const int n = std::atoi(argv[1]);
  const int block = std::atoi(argv[2]);
  int rows = std::atoi(argv[3]);
  MPI_Init(&argc, &argv);
  int processes = 0;
  int rank = 0;
  MPI_Comm_size(MPI_COMM_WORLD, &processes);
  MPI_Comm_rank(MPI_COMM_WORLD, &rank);
  int columns = processes / rows;
  int context = 0;
  int row = 0;
  int column = 0;
  Cblacs_get(-1, 0, &context);
  Cblacs_gridinit(&context, "Row", rows, columns);
  Cblacs_gridinfo(context, &rows, &columns, &row, &column);
  const int own_rows = numroc_(&n, &block, &row, &zero, &rows);
  const int own_columns = numroc_(&n, &block, &column, &zero, &columns);
  const int own_right = numroc_(&one, &block, &column, &zero, &columns);
  const int leading = own_rows > 0 ? own_rows : 1;
  const int described[9] = {1, context, n, n, block, block, 0, 0, leading};
  const int described_right[9] = {1, context, n, 1, block, block, 0, 0, leading};
  std::vector<double> a(static_cast<std::size_t>(leading) * (own_columns + 1));
  std::vector<double> b(leading);
  std::vector<int> pivots(leading + block);
  const scope::KnownCondition matrix(n, condition, 1, false);
  for (int repetition = 0; repetition < std::atoi(argv[4]); ++repetition) {
    for (int j = 0; j < own_columns; ++j)
      for (int i = 0; i < own_rows; ++i)
        a[i + static_cast<std::size_t>(j) * leading] =
            matrix(item(i, block, row, rows), item(j, block, column, columns));
    for (int i = 0; i < own_rows * own_right; ++i) b[i] = 1.0 + item(i, block, row, rows) % 7;
    int info = 0;
    MPI_Barrier(MPI_COMM_WORLD);
    const double start_s = MPI_Wtime();
    pdgetrf_(&n, &n, a.data(), &one, &one, described, pivots.data(), &info);
    if (info == 0) {
      pdgetrs_("N", &n, &one, a.data(), &one, &one, described, pivots.data(), b.data(), &one, &one,
               described_right, &info, 1);
    }
    double taken_s = MPI_Wtime() - start_s;
    if (info != 0) MPI_Abort(MPI_COMM_WORLD, EXIT_FAILURE);
    MPI_Allreduce(MPI_IN_PLACE, &taken_s, 1, MPI_DOUBLE, MPI_MAX, MPI_COMM_WORLD);
    if (rank == 0) std::printf("%.9f\n", taken_s);
  }
  Cblacs_gridexit(context);
  MPI_Finalize();
}
