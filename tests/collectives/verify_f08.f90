! The collectives through `use mpi_f08`.
program verify
  use mpi_f08
  implicit none
  integer :: rank, ranks, failures, total, given(4)
  double precision :: numbers(3000)
  failures = 0
  call MPI_Init()
  call MPI_Comm_rank(MPI_COMM_WORLD, rank)
  call MPI_Comm_size(MPI_COMM_WORLD, ranks)
  numbers = merge(7.25d0, 0d0, rank == 1)
  call MPI_Bcast(numbers, size(numbers), MPI_DOUBLE_PRECISION, 1, MPI_COMM_WORLD)
  if (any(numbers /= 7.25d0)) failures = failures + 1
  given = rank + 1
  call MPI_Allreduce(MPI_IN_PLACE, given, 4, MPI_INTEGER, MPI_SUM, MPI_COMM_WORLD)
  if (any(given /= ranks * (ranks + 1) / 2)) failures = failures + 1
  call MPI_Barrier(MPI_COMM_WORLD)
  call MPI_Allreduce(failures, total, 1, MPI_INTEGER, MPI_SUM, MPI_COMM_WORLD)
  if (rank == 0) print '(I0,A)', total, ' failures'
  call MPI_Finalize()
end program
