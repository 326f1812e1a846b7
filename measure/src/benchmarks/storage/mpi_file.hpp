// A file opened by MPI-IO.
#pragma once

#include "benchmarks/storage/open_file.hpp"

namespace scope::storage {

#ifdef SCOPE_HAS_MPI_IO

template <class Data>
struct FileCalls;

class MpiFile final : public OpenFile {
 public:
  // Collective over `ranks`.
  MpiFile(const Method& method, MPI_Comm ranks, const std::string& path, Mode mode);
  ~MpiFile() override;

  void write(const std::byte* data, std::int64_t bytes, std::int64_t offset) override;
  void read(std::byte* data, std::int64_t bytes, std::int64_t offset) override;
  void complete() override;
  void sync() override;
  void close() override;
  std::vector<ControlVariable> settings() const override;

  // Lets the ranks see the file through `view`, a filetype, starting at `displacement`. Collective.
  void set_view(MPI_Offset displacement, MPI_Datatype view);
  // Transfer `count` items at the file pointer through the view, collectively or by each rank alone.
  void write_view(const void* data, int count, MPI_Datatype item, bool collective);
  void read_view(void* data, int count, MPI_Datatype item, bool collective);

 private:
  bool ok(const char* what, int code);
  void arrived(const char* what, MPI_Status& status, MPI_Datatype item, std::int64_t items);
  template <class Data>
  void transfer(const FileCalls<Data>& calls, Data data, std::int64_t bytes, std::int64_t offset);
  template <class Data>
  void transfer_view(const FileCalls<Data>& calls, Data data, int count, MPI_Datatype item, bool collective);

  struct Pending {
    MPI_Request request = MPI_REQUEST_NULL;
    std::int64_t bytes = 0;
  };

  Method method_;
  MPI_File handle_ = MPI_FILE_NULL;
  std::int64_t position_ = 0;  // of the individual file pointer
  std::vector<Pending> pending_;
  std::size_t next_ = 0;
};

#endif

}  // namespace scope::storage
