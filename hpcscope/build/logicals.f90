! How a Fortran compiler stores .true. and .false.: prints both as integers, then reads integers and prints how each
! reads as a LOGICAL, T or F.
program logicals
  implicit none
  logical, volatile :: truth
  integer :: bits, status
  truth = .true.
  bits = transfer(truth, bits)
  write (*, '(I0)') bits
  truth = .false.
  bits = transfer(truth, bits)
  write (*, '(I0)') bits
  do
    read (*, *, iostat=status) bits
    if (status /= 0) exit
    truth = transfer(bits, .true.)
    if (truth) then
      write (*, '(A)') 'T'
    else
      write (*, '(A)') 'F'
    end if
  end do
end program logicals
