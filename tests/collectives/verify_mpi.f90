! The collectives through `use mpi`: datatypes and operations of Fortran, in place, from MPI_BOTTOM.
program verify
  use mpi
  implicit none
  integer, parameter :: length = 5000
  integer :: rank, ranks, code, failures, total, i, described(1), root
  integer :: blocks(1)
  integer(kind=MPI_ADDRESS_KIND) :: places(1)
  double precision :: numbers(length), results(length)
  integer, allocatable :: all(:), given(:), taken(:)
  failures = 0
  call MPI_Init(code)
  call MPI_Comm_rank(MPI_COMM_WORLD, rank, code)
  call MPI_Comm_size(MPI_COMM_WORLD, ranks, code)
  root = ranks - 1
  allocate(all(3 * ranks), given(3 * ranks), taken(3 * ranks))

  numbers = merge(7.25d0, 0d0, rank == root)
  call MPI_Bcast(numbers, length, MPI_DOUBLE_PRECISION, root, MPI_COMM_WORLD, code)
  call check(all_are(numbers, 7.25d0), 'broadcast')

  ! The same from absolute addresses.
  call MPI_Get_address(numbers, places(1), code)
  blocks(1) = length
  call MPI_Type_create_hindexed(1, blocks, places, MPI_DOUBLE_PRECISION, described(1), code)
  call MPI_Type_commit(described(1), code)
  numbers = merge(-3d0, 0d0, rank == 0)
  call MPI_Bcast(MPI_BOTTOM, 1, described(1), 0, MPI_COMM_WORLD, code)
  call check(all_are(numbers, -3d0), 'broadcast from the bottom')
  call MPI_Type_free(described(1), code)

  numbers = rank + 1
  call MPI_Allreduce(numbers, results, length, MPI_DOUBLE_PRECISION, MPI_SUM, MPI_COMM_WORLD, code)
  call check(all_are(results, ranks * (ranks + 1) / 2d0), 'allreduce')
  call MPI_Allreduce(MPI_IN_PLACE, numbers, length, MPI_DOUBLE_PRECISION, MPI_SUM, MPI_COMM_WORLD, code)
  call check(all_are(numbers, ranks * (ranks + 1) / 2d0), 'allreduce in place')
  numbers = rank
  call MPI_Reduce(numbers, results, length, MPI_DOUBLE_PRECISION, MPI_MAX, 0, MPI_COMM_WORLD, code)
  if (rank == 0) call check(all_are(results, ranks - 1d0), 'reduce')

  all = -1
  all(3 * rank + 1:3 * rank + 3) = rank
  call MPI_Allgather(MPI_IN_PLACE, 0, MPI_DATATYPE_NULL, all, 3, MPI_INTEGER, MPI_COMM_WORLD, code)
  call check(same(all), 'allgather in place')
  all = -1
  given = rank
  call MPI_Gather(given, 3, MPI_INTEGER, all, 3, MPI_INTEGER, root, MPI_COMM_WORLD, code)
  if (rank == root) call check(same(all), 'gather')
  if (rank == root) all = [((i - 1) / 3, i = 1, 3 * ranks)]
  call MPI_Scatter(all, 3, MPI_INTEGER, taken, 3, MPI_INTEGER, root, MPI_COMM_WORLD, code)
  call check(taken(1) == rank .and. taken(2) == rank .and. taken(3) == rank, 'scatter')
  call MPI_Alltoall(given, 3, MPI_INTEGER, taken, 3, MPI_INTEGER, MPI_COMM_WORLD, code)
  call check(same(taken), 'alltoall')
  call MPI_Barrier(MPI_COMM_WORLD, code)

  call MPI_Allreduce(failures, total, 1, MPI_INTEGER, MPI_SUM, MPI_COMM_WORLD, code)
  if (rank == 0) print '(I0,A)', total, ' failures'
  call MPI_Finalize(code)
contains
  subroutine check(fine, what)
    logical, intent(in) :: fine
    character(len=*), intent(in) :: what
    if (.not. fine) then
      failures = failures + 1
      print *, 'rank', rank, 'failed: ', what
    end if
  end subroutine
  logical function all_are(values, expected)
    double precision, intent(in) :: values(:), expected
    all_are = .not. any(values /= expected)
  end function
  logical function same(values)
    integer, intent(in) :: values(:)
    integer :: k
    same = .true.
    do k = 1, size(values)
      if (values(k) /= (k - 1) / 3) same = .false.
    end do
  end function
end program
