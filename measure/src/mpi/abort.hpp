// Ends all ranks because of one.
#pragma once

#include <mpi.h>
#include <sys/ioctl.h>
#include <sys/stat.h>
#include <unistd.h>

#include <chrono>
#include <cstdlib>
#include <iostream>
#include <string>
#include <thread>

namespace scope {

// Waits until the launcher has read standard error, as it drops unread output when it learns of the end.
inline void wait_until_read() {
  struct stat file{};
  if (fstat(STDERR_FILENO, &file) != 0 || !S_ISFIFO(file.st_mode)) return;
  constexpr int most_looks = 1000;
  int unread = 0;
  for (int look = 0; look < most_looks && ioctl(STDERR_FILENO, FIONREAD, &unread) == 0 && unread > 0; ++look)
    std::this_thread::sleep_for(std::chrono::milliseconds(1));
}

// Prints `message` in one piece, since other ranks may print at the same time, and ends all ranks with this exit code.
[[noreturn]] inline void abort_all(MPI_Comm communicator, int code, const std::string& message) {
  std::cerr << "scope-measure: " + message + '\n' << std::flush;
  wait_until_read();
  MPI_Abort(communicator, code);
  std::abort();  // MPI_Abort does not return
}

}  // namespace scope
