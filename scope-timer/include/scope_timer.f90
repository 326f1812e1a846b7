! The clock with which Scope measures, for Fortran programs: compile this file with yours and link libscope-timer.
module scope_timer
  use, intrinsic :: iso_c_binding, only: c_char, c_double, c_int64_t, c_loc, c_null_char, c_ptr, c_f_pointer
  implicit none
  private
  public :: scope_stopwatch, scope_timer_read, scope_timer_read_serialized, scope_timer_seconds, &
            scope_timer_frequency, scope_timer_resolution, scope_timer_overhead, scope_timer_source, &
            scope_timer_fallback_reason, scope_stopwatch_start, scope_stopwatch_stop, scope_stopwatch_reset, &
            scope_stopwatch_seconds, scope_region_begin, scope_region_end

  ! Adds up the time between start and stop.
  type, bind(c) :: scope_stopwatch
    integer(c_int64_t) :: elapsed = 0
    integer(c_int64_t) :: started = 0
    integer(c_int64_t) :: intervals = 0
  end type

  interface
    integer(c_int64_t) function scope_timer_read() bind(c)
      import :: c_int64_t
    end function
    integer(c_int64_t) function scope_timer_read_serialized() bind(c)
      import :: c_int64_t
    end function
    real(c_double) function scope_timer_seconds(interval) bind(c)
      import :: c_double, c_int64_t
      integer(c_int64_t), value :: interval
    end function
    real(c_double) function scope_timer_frequency() bind(c)
      import :: c_double
    end function
    real(c_double) function scope_timer_resolution() bind(c)
      import :: c_double
    end function
    real(c_double) function scope_timer_overhead() bind(c)
      import :: c_double
    end function
    subroutine scope_stopwatch_start(watch) bind(c)
      import :: scope_stopwatch
      type(scope_stopwatch), intent(inout) :: watch
    end subroutine
    subroutine scope_stopwatch_stop(watch) bind(c)
      import :: scope_stopwatch
      type(scope_stopwatch), intent(inout) :: watch
    end subroutine
    subroutine scope_stopwatch_reset(watch) bind(c)
      import :: scope_stopwatch
      type(scope_stopwatch), intent(inout) :: watch
    end subroutine
    real(c_double) function scope_stopwatch_seconds(watch) bind(c)
      import :: c_double, scope_stopwatch
      type(scope_stopwatch), intent(in) :: watch
    end function
    subroutine scope_region_end() bind(c)
    end subroutine
    type(c_ptr) function source_in_c() bind(c, name="scope_timer_source")
      import :: c_ptr
    end function
    type(c_ptr) function fallback_reason_in_c() bind(c, name="scope_timer_fallback_reason")
      import :: c_ptr
    end function
    subroutine region_begin_in_c(name) bind(c, name="scope_region_begin")
      import :: c_char
      character(kind=c_char), intent(in) :: name(*)
    end subroutine
  end interface

contains

  ! Trailing blanks of the name do not count.
  subroutine scope_region_begin(name)
    character(len=*), intent(in) :: name
    call region_begin_in_c(trim(name)//c_null_char)
  end subroutine

  function scope_timer_source() result(text)
    character(len=:), allocatable :: text
    text = from_c(source_in_c())
  end function

  function scope_timer_fallback_reason() result(text)
    character(len=:), allocatable :: text
    text = from_c(fallback_reason_in_c())
  end function

  function from_c(where) result(text)
    type(c_ptr), intent(in) :: where
    character(len=:), allocatable :: text
    character(kind=c_char), pointer :: letters(:)
    integer :: length
    call c_f_pointer(where, letters, [256])
    length = 0
    do while (letters(length + 1) /= c_null_char)
      length = length + 1
    end do
    allocate(character(len=length) :: text)
    text = transfer(letters(1:length), text)
  end function

end module
