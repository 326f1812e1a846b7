// Times one collective of an MPI program that knows nothing of any library before it.
//
// usage: collectives_time OPERATION BYTES REPETITIONS [LOOP]
// The time of a repetition is the longest of all ranks, from the end of a barrier, divided by the LOOP
// operations in it. Rank 0 prints one number per repetition. The last payload is compared.
#include <mpi.h>

#include <algorithm>
#include <cstdio>
#include <cstdlib>
#include <string>
#include <vector>

int main(int count, char** words) {
  MPI_Init(&count, &words);
  if (count < 4) {
    std::fprintf(stderr, "usage: collectives_time OPERATION BYTES REPETITIONS [LOOP]\n");
    MPI_Abort(MPI_COMM_WORLD, 2);
  }
  const std::string operation = words[1];
  const int bytes = std::atoi(words[2]);
  const int repetitions = std::atoi(words[3]);
  const int loop = count > 4 ? std::atoi(words[4]) : 1;
  int rank = 0, ranks = 0;
  MPI_Comm_rank(MPI_COMM_WORLD, &rank);
  MPI_Comm_size(MPI_COMM_WORLD, &ranks);
  const bool blocks =
      operation == "allgather" || operation == "alltoall" || operation == "gather" || operation == "scatter";
  const std::size_t all = static_cast<std::size_t>(bytes) * static_cast<std::size_t>(blocks ? ranks : 1);
  std::vector<char> send(all + 8), receive(all + 8);
  bool wrong = false;
  for (int repetition = 0; repetition < repetitions; ++repetition) {
    const char mark = static_cast<char>(1 + repetition % 50);
    std::fill(send.begin(), send.end(), rank == 0 || operation != "broadcast" ? mark : 0);
    std::fill(receive.begin(), receive.end(), 0);
    PMPI_Barrier(MPI_COMM_WORLD);
    PMPI_Barrier(MPI_COMM_WORLD);
    const double begin = MPI_Wtime();
    for (int i = 0; i < loop; ++i) {
      if (operation == "broadcast") MPI_Bcast(send.data(), bytes, MPI_CHAR, 0, MPI_COMM_WORLD);
      if (operation == "reduce")
        MPI_Reduce(send.data(), receive.data(), bytes, MPI_CHAR, MPI_BOR, 0, MPI_COMM_WORLD);
      if (operation == "allreduce")
        MPI_Allreduce(send.data(), receive.data(), bytes, MPI_CHAR, MPI_BOR, MPI_COMM_WORLD);
      if (operation == "barrier") MPI_Barrier(MPI_COMM_WORLD);
      if (operation == "gather")
        MPI_Gather(send.data(), bytes, MPI_CHAR, receive.data(), bytes, MPI_CHAR, 0, MPI_COMM_WORLD);
      if (operation == "scatter")
        MPI_Scatter(send.data(), bytes, MPI_CHAR, receive.data(), bytes, MPI_CHAR, 0, MPI_COMM_WORLD);
      if (operation == "allgather")
        MPI_Allgather(send.data(), bytes, MPI_CHAR, receive.data(), bytes, MPI_CHAR, MPI_COMM_WORLD);
      if (operation == "alltoall")
        MPI_Alltoall(send.data(), bytes, MPI_CHAR, receive.data(), bytes, MPI_CHAR, MPI_COMM_WORLD);
    }
    double elapsed = MPI_Wtime() - begin, longest = 0;
    PMPI_Reduce(&elapsed, &longest, 1, MPI_DOUBLE, MPI_MAX, 0, MPI_COMM_WORLD);
    const bool mine = operation == "broadcast" || operation == "allreduce" || operation == "allgather" ||
                      operation == "alltoall" || (rank == 0 && (operation == "reduce" || operation == "gather"));
    const std::vector<char>& got = operation == "broadcast" ? send : receive;
    if (mine)
      wrong = wrong || std::any_of(got.begin(), got.begin() + static_cast<long>(all),
                                   [&](char each) { return each != mark; });
    if (rank == 0) std::printf("%.9g\n", longest / loop);
  }
  int any = wrong, somewhere = 0;
  PMPI_Allreduce(&any, &somewhere, 1, MPI_INT, MPI_LOR, MPI_COMM_WORLD);
  if (somewhere && rank == 0) std::fprintf(stderr, "%s of %d bytes: wrong data\n", operation.c_str(), bytes);
  MPI_Finalize();
  return somewhere;
}
