! Times a triad and names its parts for `scope monitor`.
program triad
  use scope_timer
  implicit none
  integer, parameter :: items = 200000, repetitions = 50, real8 = kind(1.0d0)
  real(real8), allocatable :: a(:), b(:), c(:)
  type(scope_stopwatch) :: watch
  real(real8) :: seconds
  integer :: i, r

  allocate (a(items), b(items), c(items))
  call scope_region_begin("fill")
  b = [(real(i, real8), i = 0, items - 1)]
  c = 1
  call scope_region_end()

  do r = 1, repetitions
    call scope_region_begin("triad")
    call scope_stopwatch_start(watch)
    a = b + 3*c
    call scope_stopwatch_stop(watch)
    call scope_region_end()
  end do
  seconds = scope_stopwatch_seconds(watch)/real(watch%intervals, real8)
  print '(a, a, a, f0.1, a)', "clock ", scope_timer_source(), ", ", scope_timer_frequency()*1d-6, " MHz"
  print '(a, es10.3, a, es10.3, a, f0.0)', "triad ", seconds, " s, ", 24*items/seconds, " B/s, last item ", a(items)
end program
