// A file opened by the ranks of a case, by POSIX calls or together by MPI-IO.
#pragma once

#include <mpi.h>

#include "benchmark.hpp"

namespace scope::storage {

enum class Interface { posix, mpiio };
enum class Access { independent, collective, nonblocking };
enum class Pointer { explicit_offset, individual, shared };

// How a file is accessed, and the hints for MPI-IO.
struct Method {
  Interface interface = Interface::posix;
  Access access = Access::independent;
  Pointer pointer = Pointer::explicit_offset;
  bool direct = false;  // O_DIRECT
  int in_flight = 1;    // number of requests, with nonblocking access
  std::string collective_buffering = "automatic";
  std::string data_sieving = "automatic";
  std::int64_t aggregators = 0;  // 0: the library's choice, also below
  std::int64_t stripe_count = 0;
  std::int64_t stripe_bytes = 0;

  // The same interface with its plainest calls, for transfers that are not timed.
  Method plain() const;
};

// Reads the parameters that are declared by `method_parameters` or, if only MPI-IO is used, by `hint_parameters`.
// Throws Unavailable for meaningless combinations.
Method method_of(const Parameters& parameters);
std::vector<Parameter> method_parameters();
std::vector<Parameter> hint_parameters();
Method with_hints(Method method, const Parameters& parameters);

// Whether this MPI library has MPI-IO.
bool has_mpi_io();

enum class Mode { create, update, read };

// Errors are recorded, so that all ranks make every collective call even after an error.
class OpenFile : NotCopied {
 public:
  virtual ~OpenFile() = default;

  // With nonblocking access, `data` must not change until `complete`. Offsets are file offsets and are ignored
  // with a shared pointer.
  virtual void write(const std::byte* data, std::int64_t bytes, std::int64_t offset) = 0;
  virtual void read(std::byte* data, std::int64_t bytes, std::int64_t offset) = 0;
  virtual void complete() {}
  virtual void sync() = 0;
  virtual void close() = 0;

  // The implementation of MPI-IO, and the hints that it uses.
  virtual std::vector<ControlVariable> settings() const { return {}; }

  const std::string& problem() const { return problem_; }

 protected:
  void note(const std::string& what, const std::string& problem) {
    if (!problem.empty() && problem_.empty()) problem_ = what + ": " + problem;
  }

 private:
  std::string problem_;
};

// `together`: the file is common to all ranks, and MPI-IO opens it on the communicator; else each rank opens its own.
std::unique_ptr<OpenFile> open_file(const Method& method, const Communicator& communicator,
                                    const std::string& path, Mode mode, bool together);

}  // namespace scope::storage
