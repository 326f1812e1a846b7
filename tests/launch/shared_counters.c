// All ranks change the window of rank 0 at once: sums of two types, a maximum, and a lock by compare and swap around a
// counter that nothing else protects. The results are exact.
#include <mpi.h>
#include <stdint.h>
#include <stdio.h>

enum { elements = 300, rounds = 5 };
enum { sums = 0, halves = elements, largest = 2 * elements, lock, counter, words };

int main(int count, char** arguments) {
  int rank, ranks, wrong = 0;
  int64_t *memory, given[elements], none = 0, got, value;
  double half[elements];
  MPI_Win window;
  MPI_Init(&count, &arguments);
  MPI_Comm_rank(MPI_COMM_WORLD, &rank);
  MPI_Comm_size(MPI_COMM_WORLD, &ranks);
  MPI_Win_allocate(words * 8, 8, MPI_INFO_NULL, MPI_COMM_WORLD, &memory, &window);
  for (int i = 0; i < words; ++i) memory[i] = 0;
  for (int i = 0; i < elements; ++i) given[i] = rank + i, half[i] = 0.5 * rank;
  MPI_Barrier(MPI_COMM_WORLD);
  MPI_Win_lock_all(0, window);
  MPI_Accumulate(given, elements, MPI_INT64_T, 0, sums, elements, MPI_INT64_T, MPI_SUM, window);
  MPI_Accumulate(half, elements, MPI_DOUBLE, 0, halves, elements, MPI_DOUBLE, MPI_SUM, window);
  value = 7 * rank;
  MPI_Fetch_and_op(&value, &got, MPI_INT64_T, 0, largest, MPI_MAX, window);
  MPI_Win_flush(0, window);
  for (int round = 0; round < rounds; ++round) {
    const int64_t mine = rank + 1;
    do {
      MPI_Compare_and_swap(&mine, &none, &got, MPI_INT64_T, 0, lock, window);
      MPI_Win_flush(0, window);
    } while (got != 0);
    MPI_Get(&value, 1, MPI_INT64_T, 0, counter, 1, MPI_INT64_T, window);
    MPI_Win_flush(0, window);
    ++value;
    MPI_Put(&value, 1, MPI_INT64_T, 0, counter, 1, MPI_INT64_T, window);
    MPI_Win_flush(0, window);
    MPI_Accumulate(&none, 1, MPI_INT64_T, 0, lock, 1, MPI_INT64_T, MPI_REPLACE, window);
    MPI_Win_flush(0, window);
  }
  MPI_Win_unlock_all(window);
  MPI_Barrier(MPI_COMM_WORLD);
  MPI_Win_lock(MPI_LOCK_EXCLUSIVE, 0, 0, window);
  if (rank == 0) {
    const int64_t total = (int64_t)ranks * (ranks - 1) / 2;
    for (int i = 0; i < elements; ++i) wrong += memory[sums + i] != total + (int64_t)ranks * i;
    for (int i = 0; i < elements; ++i) wrong += ((double*)memory)[halves + i] != 0.5 * total;
    wrong += memory[largest] != 7 * (ranks - 1);
    wrong += memory[counter] != rounds * ranks;
    printf("wrong %d\n", wrong);
  }
  MPI_Win_unlock(0, window);
  MPI_Win_free(&window);
  MPI_Finalize();
  return 0;
}
