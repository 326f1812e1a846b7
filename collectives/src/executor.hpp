// Executes one rank's program with MPI.
#pragma once

#include <mpi.h>

#include <cstring>

#include "schedule.hpp"

namespace scope {

constexpr int only_tag = 0;  // messages between two ranks match by order

// Releases requests that are still pending when an operation fails.
struct Requests {
  std::vector<MPI_Request> list;
  ~Requests() {
    for (MPI_Request& request : list)
      if (request != MPI_REQUEST_NULL) PMPI_Request_free(&request);
  }
};

// The memory of the spaces, and the size of a unit.
struct Memory {
  const void* input = nullptr;
  void* work = nullptr;
  void* incoming = nullptr;
  void* result = nullptr;
  MPI_Datatype unit = MPI_BYTE;
  MPI_Aint extent = 1;  // bytes from one unit to the next
  MPI_Op op = MPI_OP_NULL;

  char* at(Space space, std::int64_t index) const {
    void* begin = nullptr;
    switch (space) {
      case Space::input: begin = const_cast<void*>(input); break;
      case Space::work: begin = work; break;
      case Space::incoming: begin = incoming; break;
      case Space::result: begin = result; break;
    }
    return static_cast<char*>(begin) + index * extent;
  }
};

// Returns MPI_SUCCESS or the first error of a call, after which no further steps are started.
inline int execute(const Program& program, const Memory& memory, MPI_Comm comm) {
  Requests requests;
  requests.list.reserve(static_cast<std::size_t>(program.posted()));
  std::size_t waited = 0;
  for (const Step& step : program.steps()) {
    const int count = static_cast<int>(step.count);
    int code = MPI_SUCCESS;
    switch (step.action) {
      case Action::send:
        code = PMPI_Send(memory.at(step.space, step.begin), count, memory.unit, step.peer, only_tag, comm);
        break;
      case Action::receive:
        code = PMPI_Recv(memory.at(step.space, step.begin), count, memory.unit, step.peer, only_tag, comm,
                         MPI_STATUS_IGNORE);
        break;
      case Action::start_send:
        code = PMPI_Isend(memory.at(step.space, step.begin), count, memory.unit, step.peer, only_tag, comm,
                          &requests.list.emplace_back(MPI_REQUEST_NULL));
        break;
      case Action::start_receive:
        code = PMPI_Irecv(memory.at(step.space, step.begin), count, memory.unit, step.peer, only_tag, comm,
                          &requests.list.emplace_back(MPI_REQUEST_NULL));
        break;
      case Action::wait:
        code = PMPI_Wait(&requests.list[static_cast<std::size_t>(step.to)], MPI_STATUS_IGNORE);
        break;
      case Action::wait_all:
        code = PMPI_Waitall(static_cast<int>(requests.list.size() - waited), requests.list.data() + waited,
                            MPI_STATUSES_IGNORE);
        waited = requests.list.size();
        break;
      case Action::copy:
        std::memcpy(memory.at(step.into, step.to), memory.at(step.space, step.begin),
                    static_cast<std::size_t>(step.count) * static_cast<std::size_t>(memory.extent));
        break;
      case Action::combine:
        code = PMPI_Reduce_local(memory.at(step.space, step.begin), memory.at(Space::work, step.to), count,
                                 memory.unit, memory.op);
        break;
    }
    if (code != MPI_SUCCESS) return code;
  }
  return MPI_SUCCESS;
}

}  // namespace scope
