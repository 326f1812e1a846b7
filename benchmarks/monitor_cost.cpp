// What an interposer adds to a call: the same loop through MPI_ (interposed) and through PMPI_ (not), in
// turn. Prints for every kind of call the median over the blocks of (interposed - not) per call, in ns.
#include <mpi.h>
#include <time.h>

#include <algorithm>
#include <cstdio>
#include <cstdlib>
#include <vector>

namespace {

double now_ns() {
  timespec time;
  clock_gettime(CLOCK_MONOTONIC, &time);
  return 1e9 * static_cast<double>(time.tv_sec) + static_cast<double>(time.tv_nsec);
}

double out[16], in[16];

#define LOCAL(P)                            \
  {                                         \
    int size;                               \
    P##MPI_Comm_size(MPI_COMM_SELF, &size); \
  }
#define PROBE(P)                                                   \
  {                                                                \
    int flag;                                                      \
    P##MPI_Iprobe(0, 77, MPI_COMM_SELF, &flag, MPI_STATUS_IGNORE); \
  }
#define MESSAGE(P)                                                  \
  {                                                                 \
    MPI_Request request;                                            \
    P##MPI_Irecv(in, 8, MPI_DOUBLE, 0, 1, MPI_COMM_SELF, &request); \
    P##MPI_Send(out, 8, MPI_DOUBLE, 0, 1, MPI_COMM_SELF);           \
    P##MPI_Wait(&request, MPI_STATUS_IGNORE);                       \
  }
#define REQUESTS(P)                                                      \
  {                                                                      \
    MPI_Request requests[2];                                             \
    P##MPI_Irecv(in, 8, MPI_DOUBLE, 0, 1, MPI_COMM_SELF, &requests[0]);  \
    P##MPI_Isend(out, 8, MPI_DOUBLE, 0, 1, MPI_COMM_SELF, &requests[1]); \
    P##MPI_Waitall(2, requests, MPI_STATUSES_IGNORE);                    \
  }
#define COLLECTIVE(P) P##MPI_Allreduce(out, in, 8, MPI_DOUBLE, MPI_SUM, MPI_COMM_SELF);

#define MEASURE(name, calls, BODY)                                            \
  {                                                                           \
    std::vector<double> extra(blocks);                                        \
    for (double& each : extra) {                                              \
      const double begin = now_ns();                                          \
      for (int i = 0; i < loops; ++i) BODY()                                  \
      const double middle = now_ns();                                         \
      for (int i = 0; i < loops; ++i) BODY(P)                                 \
      const double end = now_ns();                                            \
      each = ((middle - begin) - (end - middle)) / (loops * calls);           \
    }                                                                         \
    std::nth_element(extra.begin(), extra.begin() + blocks / 2, extra.end()); \
    std::printf("%s %.3f\n", name, extra[blocks / 2]);                        \
  }

}  // namespace

int main(int count, char** words) {
  MPI_Init(&count, &words);
  const int blocks = 201;
  const int loops = 2000;
  MEASURE("local", 1, LOCAL)
  MEASURE("probe", 1, PROBE)
  MEASURE("message", 3, MESSAGE)
  MEASURE("requests", 3, REQUESTS)
  MEASURE("collective", 1, COLLECTIVE)
  MPI_Finalize();
}
