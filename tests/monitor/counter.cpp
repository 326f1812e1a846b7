// An independent count: what the monitor says of these routines must be what this says. At the end every rank
// appends a line per routine to $COUNTS: rank, routine, calls, bytes.
#include <mpi.h>

#include <cstdio>
#include <cstdlib>
#include <map>
#include <string>
#include <utility>

static std::map<std::string, std::pair<long long, long long>> counted;

static void count(const char* routine, long long elements, MPI_Datatype type) {
  int size = 0;
  if (elements > 0) PMPI_Type_size(type, &size);
  auto& [calls, bytes] = counted[routine];
  ++calls;
  bytes += elements * size;
}

#define SCOPE_COUNT(name, parameters, arguments, elements, type) \
  extern "C" int MPI_##name parameters {                         \
    count(#name, elements, type);                                \
    return PMPI_##name arguments;                                \
  }

SCOPE_COUNT(Send, (const void* data, int n, MPI_Datatype type, int to, int tag, MPI_Comm comm),
            (data, n, type, to, tag, comm), to == MPI_PROC_NULL ? 0 : n, type)
SCOPE_COUNT(Isend,
            (const void* data, int n, MPI_Datatype type, int to, int tag, MPI_Comm comm, MPI_Request* request),
            (data, n, type, to, tag, comm, request), to == MPI_PROC_NULL ? 0 : n, type)
SCOPE_COUNT(Irecv, (void* data, int n, MPI_Datatype type, int from, int tag, MPI_Comm comm, MPI_Request* request),
            (data, n, type, from, tag, comm, request), 0, type)
SCOPE_COUNT(Sendrecv,
            (const void* data, int n, MPI_Datatype type, int to, int tag, void* in, int room, MPI_Datatype kind,
             int from, int mark, MPI_Comm comm, MPI_Status* status),
            (data, n, type, to, tag, in, room, kind, from, mark, comm, status), to == MPI_PROC_NULL ? 0 : n, type)
SCOPE_COUNT(Allreduce, (const void* data, void* result, int n, MPI_Datatype type, MPI_Op op, MPI_Comm comm),
            (data, result, n, type, op, comm), n, type)
SCOPE_COUNT(Reduce, (const void* data, void* result, int n, MPI_Datatype type, MPI_Op op, int root, MPI_Comm comm),
            (data, result, n, type, op, root, comm), n, type)
SCOPE_COUNT(Bcast, (void* data, int n, MPI_Datatype type, int root, MPI_Comm comm), (data, n, type, root, comm), n,
            type)
SCOPE_COUNT(Barrier, (MPI_Comm comm), (comm), 0, MPI_BYTE)
SCOPE_COUNT(Wait, (MPI_Request * request, MPI_Status* status), (request, status), 0, MPI_BYTE)
SCOPE_COUNT(Waitall, (int n, MPI_Request* requests, MPI_Status* statuses), (n, requests, statuses), 0, MPI_BYTE)

extern "C" int MPI_Recv(void* data, int n, MPI_Datatype type, int from, int tag, MPI_Comm comm,
                        MPI_Status* status) {
  MPI_Status seen;
  const int code = PMPI_Recv(data, n, type, from, tag, comm, &seen);
  int bytes = 0;
  PMPI_Get_count(&seen, MPI_BYTE, &bytes);
  count("Recv", from == MPI_PROC_NULL ? 0 : bytes, MPI_BYTE);
  if (status != MPI_STATUS_IGNORE) *status = seen;
  return code;
}

extern "C" int MPI_Finalize() {
  int rank = 0;
  PMPI_Comm_rank(MPI_COMM_WORLD, &rank);
  if (FILE* file = std::fopen(std::getenv("COUNTS"), "a")) {
    std::string text;
    for (const auto& [routine, both] : counted)
      text += std::to_string(rank) + ' ' + routine + ' ' + std::to_string(both.first) + ' ' +
              std::to_string(both.second) + '\n';
    std::fwrite(text.data(), 1, text.size(), file);
    std::fclose(file);
  }
  return PMPI_Finalize();
}
