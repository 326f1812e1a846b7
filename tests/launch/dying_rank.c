// Rank 1 ends by a signal; all others wait for it. Signal 0: it computes for three seconds, then sends.
//   dying_rank SIGNAL receive   nobody has spoken yet
//   dying_rank SIGNAL any       from any source
//   dying_rank SIGNAL send      a message too long to leave before rank 1 asks for it
//   dying_rank SIGNAL reduce
#include <mpi.h>
#include <signal.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

int main(int count, char** words) {
  static char message[1 << 20];
  double one = 1, sum;
  int rank;
  MPI_Init(&count, &words);
  MPI_Comm_rank(MPI_COMM_WORLD, &rank);
  if (strcmp(words[2], "receive") != 0) MPI_Barrier(MPI_COMM_WORLD);
  if (rank == 1) raise(atoi(words[1]));
  if (rank == 1) {
    sleep(3);
    MPI_Send(message, 1, MPI_CHAR, 0, 0, MPI_COMM_WORLD);
  } else if (strcmp(words[2], "receive") == 0)
    MPI_Recv(message, 1, MPI_CHAR, 1, 0, MPI_COMM_WORLD, MPI_STATUS_IGNORE);
  else if (strcmp(words[2], "any") == 0)
    MPI_Recv(message, 1, MPI_CHAR, MPI_ANY_SOURCE, 0, MPI_COMM_WORLD, MPI_STATUS_IGNORE);
  else if (strcmp(words[2], "send") == 0)
    MPI_Send(message, sizeof message, MPI_CHAR, 1, 0, MPI_COMM_WORLD);
  else
    MPI_Allreduce(&one, &sum, 1, MPI_DOUBLE, MPI_SUM, MPI_COMM_WORLD);
  MPI_Finalize();
  return 0;
}
