// Programs that use an MPI other than the one this library was built for.
#pragma once

namespace scope {

// Restarts the program without this library if `library`, a handle from dlopen or RTLD_DEFAULT, belongs to another
// MPI; otherwise returns.
void refuse_another_mpi(void* library);

}  // namespace scope
