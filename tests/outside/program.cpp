// Two processes that pass a message to and fro, each matched before it is received.
#include <mpi.h>

#include <vector>

int main(int argc, char** argv) {
  MPI_Init(&argc, &argv);
  int rank = 0;
  MPI_Comm_rank(MPI_COMM_WORLD, &rank);
  std::vector<char> message(1000);
  for (int round = 0; round < 20; ++round) {
    if (rank == round % 2) {
      MPI_Send(message.data(), 1000, MPI_CHAR, 1 - rank, 0, MPI_COMM_WORLD);
    } else {
      MPI_Message matched = MPI_MESSAGE_NULL;
      MPI_Mprobe(1 - rank, 0, MPI_COMM_WORLD, &matched, MPI_STATUS_IGNORE);
      MPI_Mrecv(message.data(), 1000, MPI_CHAR, &matched, MPI_STATUS_IGNORE);
    }
  }
  MPI_Finalize();
}
