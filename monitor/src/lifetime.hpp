// Start and end of monitoring: MPI_Init, MPI_Finalize, MPI_Abort, sessions, or exit without any of these.
#pragma once

#include <mpi.h>

#include "next.hpp"
#include "tables.hpp"

namespace scope {

// Called just before MPI is initialized.
void note_init_begin();

void began(u8 begin_tick);
#if defined(SCOPE_HAS_Session_init)
void session_began(u8 begin_tick, MPI_Session session);
#endif
u8 ending();
void ended(u8 begin_tick);
void session_ending();
void aborting(int code);
// MPI_Pcontrol: 0 stops counting, 1 resumes it, a larger number begins that region, and its negative ends it.
void control(int level);
// A region with a name; number 0 is outside all regions.
void enter_named_region(int number, const char* name);

}  // namespace scope
