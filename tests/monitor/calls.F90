! Calls known in advance, through mpif.h, `use mpi` or `use mpi_f08`; test_fortran.py holds the same numbers.
program calls
#if defined(USE_F08)
  use mpi_f08
#elif !defined(USE_MPIF)
  use mpi
#endif
  implicit none
#if defined(USE_MPIF)
  include "mpif.h"
#endif
  integer :: rank, ranks, right, left, i, done
  integer :: indices(2)
  logical :: flag
  character(len=300) :: name
  integer(kind=MPI_OFFSET_KIND) :: place
  double precision :: out(1000), in(1000), begin
  integer :: error
#if defined(USE_F08)
  type(MPI_Request) :: requests(2), pair(2)
  type(MPI_Status) :: status
  type(MPI_Comm) :: half
  type(MPI_File) :: file
#else
  integer :: requests(2), pair(2), half, file
  integer :: status(MPI_STATUS_SIZE)
#endif

  call MPI_Init(error)
  call MPI_Comm_rank(MPI_COMM_WORLD, rank, error)
  call MPI_Comm_size(MPI_COMM_WORLD, ranks, error)
  right = mod(rank + 1, ranks)
  left = mod(rank + ranks - 1, ranks)
  out = rank
  do i = 1, 10
    call MPI_Irecv(in, 1000, MPI_DOUBLE_PRECISION, left, i, MPI_COMM_WORLD, requests(1), error)
    call MPI_Isend(out, 100, MPI_DOUBLE_PRECISION, right, i, MPI_COMM_WORLD, requests(2), error)
    call MPI_Waitall(2, requests, MPI_STATUSES_IGNORE, error)
    if (in(100) /= left) call MPI_Abort(MPI_COMM_WORLD, 2, error)
  end do
  call MPI_Sendrecv(out, 3, MPI_INTEGER, right, 1, in, 1000, MPI_INTEGER, left, 1, MPI_COMM_WORLD, status, error)
  if (rank == 0) call MPI_Send(out, 7, MPI_DOUBLE_PRECISION, 1, 3, MPI_COMM_WORLD, error)
  if (rank == 1) call MPI_Recv(in, 1000, MPI_DOUBLE_PRECISION, MPI_ANY_SOURCE, 3, MPI_COMM_WORLD, MPI_STATUS_IGNORE, error)
  call MPI_Send_init(out, 50, MPI_DOUBLE_PRECISION, right, 4, MPI_COMM_WORLD, pair(1), error)
  call MPI_Recv_init(in, 1000, MPI_DOUBLE_PRECISION, left, 4, MPI_COMM_WORLD, pair(2), error)
  do i = 1, 3
    call MPI_Startall(2, pair, error)
    call MPI_Wait(pair(1), status, error)
    call MPI_Wait(pair(2), MPI_STATUS_IGNORE, error)
  end do
  call MPI_Request_free(pair(1), error)
  call MPI_Request_free(pair(2), error)
  call MPI_Irecv(in, 1000, MPI_DOUBLE_PRECISION, left, 5, MPI_COMM_WORLD, requests(1), error)
  call MPI_Isend(out, 25, MPI_DOUBLE_PRECISION, right, 5, MPI_COMM_WORLD, requests(2), error)
  i = 0
  do while (i < 2)
    call MPI_Waitsome(2, requests, done, indices, MPI_STATUSES_IGNORE, error)
    i = i + done
  end do
  call MPI_Barrier(MPI_COMM_WORLD, error)
  call MPI_Bcast(out, 32, MPI_DOUBLE_PRECISION, 0, MPI_COMM_WORLD, error)
  in(1:8) = 1
  call MPI_Allreduce(MPI_IN_PLACE, in, 8, MPI_DOUBLE_PRECISION, MPI_SUM, MPI_COMM_WORLD, error)
  if (in(8) /= ranks) call MPI_Abort(MPI_COMM_WORLD, 3, error)
  call MPI_Allgather(MPI_IN_PLACE, 0, MPI_DATATYPE_NULL, in, 4, MPI_DOUBLE_PRECISION, MPI_COMM_WORLD, error)
  call MPI_Alltoall(out, 2, MPI_DOUBLE_PRECISION, in, 2, MPI_DOUBLE_PRECISION, MPI_COMM_WORLD, error)
  call MPI_Comm_split(MPI_COMM_WORLD, mod(rank, 2), -rank, half, error)
  call MPI_Bcast(out, 1, MPI_INTEGER, 0, half, error)
  call MPI_Comm_free(half, error)
  call MPI_Initialized(flag, error)
  begin = MPI_Wtime()
  ! The name has blanks at its end, which are no part of it.
  call get_command_argument(1, name)
  call MPI_File_open(MPI_COMM_WORLD, name, MPI_MODE_CREATE + MPI_MODE_WRONLY, MPI_INFO_NULL, file, error)
  place = rank * 80
  call MPI_File_write_at_all(file, place, out, 10, MPI_DOUBLE_PRECISION, MPI_STATUS_IGNORE, error)
  call MPI_File_close(file, error)
  open (unit=7, file=trim(name)//char(48 + rank), form='unformatted', access='stream')
  write (7) out
  close (7)
  call MPI_Finalize(error)
  if (begin < 0 .or. .not. flag) stop 4
end program
