#include "benchmarks/storage/open_file.hpp"

#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

#include "benchmarks/storage/mpi_file.hpp"
#include "files/file.hpp"

namespace scope::storage {
namespace {

constexpr int only_mine = S_IRUSR | S_IWUSR;

class PosixFile final : public OpenFile {
 public:
  PosixFile(const std::string& path, Mode mode, bool direct) {
    const int flags = mode == Mode::create ? O_CREAT | O_RDWR : mode == Mode::update ? O_RDWR : O_RDONLY;
    file_ = File(open(path.c_str(), flags | O_CLOEXEC | O_NOFOLLOW | (direct ? O_DIRECT : 0), only_mine));
    if (!file_.is_open()) note("open", last_error());
  }

  void write(const std::byte* data, std::int64_t bytes, std::int64_t offset) override {
    if (problem().empty()) note("write", file_.write(data, bytes, offset));
  }
  void read(std::byte* data, std::int64_t bytes, std::int64_t offset) override {
    if (problem().empty()) note("read", file_.read(data, bytes, offset));
  }
  void sync() override {
    if (file_.is_open() && fsync(file_.descriptor()) != 0) note("fsync", last_error());
  }
  void close() override {
    if (!file_.close()) note("close", last_error());
  }

 private:
  File file_;
};

}  // namespace

Method Method::plain() const {
  Method method;
  method.interface = interface;
  return method;
}

std::vector<Parameter> method_parameters() {
  return {
      call("interface", "posix,mpiio", "calls of the operating system, or MPI-IO").worded("POSIX,MPI-IO"),
      call("access", "independent,collective,nonblocking",
           "for MPI-IO: blocking calls of each rank, collective calls, or nonblocking requests")
          .worded(",collective,nonblocking"),
      call("pointer", "explicit,individual,shared",
           "for MPI-IO: offsets in each call, a file pointer for each rank, or one file pointer for all ranks")
          .worded(",individual file pointers,shared file pointer"),
      call("in_flight", "", 8, 1, 1024, "number of requests that a rank has in flight, with access=nonblocking"),
  };
}

std::vector<Parameter> hint_parameters() {
  return {
      call("collective_buffering", "automatic,on,off",
           "hint: a few ranks do the I/O of all ranks (romio_cb_write, romio_cb_read, collective_buffering)"),
      call("aggregators", "", 0, 0, 1 << 20,
           "hint: number of ranks that do the I/O of all ranks (cb_nodes); 0: the library's choice"),
      call("data_sieving", "automatic,on,off",
           "hint: transfer large blocks instead of many small ones (romio_ds_write, romio_ds_read)"),
      call("stripe_count", "", 0, 0, 1 << 20,
           "hint: number of servers for a new file (striping_factor); 0: the file system's default"),
      call("stripe_bytes", "B", 0, 0, 1 << 30,
           "hint: number of consecutive bytes on one server (striping_unit); 0: the file system's default"),
  };
}

Method with_hints(Method method, const Parameters& parameters) {
  method.collective_buffering = parameters.choice("collective_buffering");
  method.aggregators = parameters.integer("aggregators");
  method.data_sieving = parameters.choice("data_sieving");
  method.stripe_count = parameters.integer("stripe_count");
  method.stripe_bytes = parameters.integer("stripe_bytes");
  return method;
}

Method method_of(const Parameters& parameters) {
  Method method;
  const std::string access = parameters.choice("access");
  const std::string pointer = parameters.choice("pointer");
  if (parameters.choice("interface") == "posix") {
    for (const char* name : {"access", "pointer", "collective_buffering", "data_sieving"}) {
      const std::string value = parameters.choice(name);
      if (value != "independent" && value != "explicit" && value != "automatic")
        throw Unavailable(sentence({name, "=", value, " is for MPI-IO and has no meaning with interface=posix"}));
    }
    for (const char* name : {"aggregators", "stripe_count", "stripe_bytes"})
      if (parameters.integer(name) != 0)
        throw Unavailable(sentence({name, " is a hint for MPI-IO and has no meaning with interface=posix"}));
    return method;
  }
  if (!has_mpi_io()) throw Unavailable("this MPI library has no MPI-IO");
  method.interface = Interface::mpiio;
  method.access = access == "collective"    ? Access::collective
                  : access == "nonblocking" ? Access::nonblocking
                                            : Access::independent;
  method.pointer = pointer == "shared"       ? Pointer::shared
                   : pointer == "individual" ? Pointer::individual
                                             : Pointer::explicit_offset;
  if (method.access == Access::nonblocking) method.in_flight = static_cast<int>(parameters.integer("in_flight"));
  return with_hints(method, parameters);
}

std::unique_ptr<OpenFile> open_file(const Method& method, const Communicator& communicator,
                                    const std::string& path, Mode mode, bool together) {
#ifdef SCOPE_HAS_MPI_IO
  if (method.interface == Interface::mpiio)
    return std::make_unique<MpiFile>(method, together ? communicator.handle() : MPI_COMM_SELF, path, mode);
#else
  static_cast<void>(communicator);
  static_cast<void>(together);
#endif
  return std::make_unique<PosixFile>(path, mode, method.direct);
}

}  // namespace scope::storage
