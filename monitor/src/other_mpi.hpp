// Programs of another MPI than the one this library was built for.
#pragma once

namespace scope {

// Starts the program again without this library where `library`, a handle of dlopen or RTLD_DEFAULT, is of
// another MPI; returns otherwise.
void refuse_another_mpi(void* library);

}  // namespace scope
