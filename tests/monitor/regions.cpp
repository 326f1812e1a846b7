// Named regions of scope-timer on every rank: nested ones, one with a name that is too long, one deeper than it may be.
#include <mpi.h>

#include <scope_timer.hpp>
#include <string>

namespace timer = scope::timer;

int main(int argc, char** argv) {
  MPI_Init(&argc, &argv);
  MPI_Barrier(MPI_COMM_WORLD);
  for (int round = 0; round < 3; ++round) {
    const timer::Region solve("solve");
    MPI_Barrier(MPI_COMM_WORLD);
    {
      const timer::Region exchange("exchange of halos");
      for (int i = 0; i < 4; ++i) MPI_Barrier(MPI_COMM_WORLD);
    }
    MPI_Barrier(MPI_COMM_WORLD);
  }
  {
    // The caller may reuse the memory of a name.
    std::string name(100, 'x');
    const timer::Region region(name.c_str());
    name.assign(100, 'y');
    const timer::Region inner("inner");
  }
  for (int depth = 0; depth < timer::detail::deepest + 3; ++depth) timer::begin_region("deep");
  MPI_Barrier(MPI_COMM_WORLD);
  for (int depth = 0; depth < timer::detail::deepest + 3; ++depth) timer::end_region();
  timer::end_region();  // of nothing
  MPI_Barrier(MPI_COMM_WORLD);
  MPI_Finalize();
}
