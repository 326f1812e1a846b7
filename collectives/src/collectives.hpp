// The operations, executed by Scope's schedule if one was chosen, otherwise by the MPI library. Called by the C
// and Fortran entries.
#pragma once

#include <mpi.h>

namespace scope {

int broadcast(void* buffer, int count, MPI_Datatype type, int root, MPI_Comm comm);
int reduce(const void* send, void* receive, int count, MPI_Datatype type, MPI_Op op, int root, MPI_Comm comm);
int allreduce(const void* send, void* receive, int count, MPI_Datatype type, MPI_Op op, MPI_Comm comm);
int barrier(MPI_Comm comm);
int gather(const void* send, int send_count, MPI_Datatype send_type, void* receive, int receive_count,
           MPI_Datatype receive_type, int root, MPI_Comm comm);
int scatter(const void* send, int send_count, MPI_Datatype send_type, void* receive, int receive_count,
            MPI_Datatype receive_type, int root, MPI_Comm comm);
int allgather(const void* send, int send_count, MPI_Datatype send_type, void* receive, int receive_count,
              MPI_Datatype receive_type, MPI_Comm comm);
int alltoall(const void* send, int send_count, MPI_Datatype send_type, void* receive, int receive_count,
             MPI_Datatype receive_type, MPI_Comm comm);

}  // namespace scope
