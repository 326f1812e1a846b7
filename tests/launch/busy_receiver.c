// Rank 0 starts messages of three lengths to rank 1, which looks at none before a file tells that all are started.
#include <mpi.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

enum { messages = 180, longest = 100000 };

static int length_of(int message) {
  const int lengths[] = {1, 40000, longest};
  return lengths[message % 3];
}

int main(int count, char** words) {
  MPI_Request requests[messages];
  static char buffer[messages][longest];
  int rank, wrong = 0;
  MPI_Init(&count, &words);
  MPI_Comm_rank(MPI_COMM_WORLD, &rank);
  for (int i = 0; i < messages; ++i) memset(buffer[i], rank == 0 ? i : -1, longest);
  MPI_Barrier(MPI_COMM_WORLD);
  for (int looks = 0; rank == 1 && access(words[1], F_OK) != 0 && looks < 60000; ++looks) usleep(1000);
  const int told = access(words[1], F_OK) == 0;
  for (int i = 0; i < messages; ++i)
    if (rank == 0)
      MPI_Isend(buffer[i], length_of(i), MPI_CHAR, 1, 1, MPI_COMM_WORLD, &requests[i]);
    else
      MPI_Irecv(buffer[i], longest, MPI_CHAR, 0, 1, MPI_COMM_WORLD, &requests[i]);
  if (rank == 0) fclose(fopen(words[1], "w"));
  MPI_Waitall(messages, requests, MPI_STATUSES_IGNORE);
  for (int i = 0; rank == 1 && i < messages; ++i)
    for (int at = 0; at < length_of(i); ++at) wrong += buffer[i][at] != (char)i;
  if (rank == 1) printf("told %d wrong %d\n", told, wrong);
  MPI_Finalize();
  return 0;
}
