// logicals_reduced TRUE FALSE: what MPI makes of MPI_LOGICAL whose bits are these integers.
//
// Prints the results of MPI_LAND, MPI_LOR and MPI_LXOR as integers, for both operands true, the second, the first,
// neither. "none" where the MPI was built without Fortran.
#include <mpi.h>

#include <cstdio>
#include <cstdlib>
#include <initializer_list>

int main(int count, char** words) {
  MPI_Init(&count, &words);
  int size = 0;
  if (MPI_LOGICAL != MPI_DATATYPE_NULL) MPI_Type_size(MPI_LOGICAL, &size);
  if (count != 3 || size != static_cast<int>(sizeof(int))) {
    std::puts("none");
  } else {
    const int bits[] = {std::atoi(words[1]), std::atoi(words[2])};
    for (const MPI_Op operation : {MPI_LAND, MPI_LOR, MPI_LXOR}) {
      for (const int first : bits) {
        for (const int second : bits) {
          int result = second;
          MPI_Reduce_local(&first, &result, 1, MPI_LOGICAL, operation);
          std::printf("%d\n", result);
        }
      }
    }
  }
  MPI_Finalize();
}
