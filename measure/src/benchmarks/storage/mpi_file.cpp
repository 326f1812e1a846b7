#include "benchmarks/storage/mpi_file.hpp"

namespace scope::storage {

bool has_mpi_io() {
#ifdef SCOPE_HAS_MPI_IO
  return library_has("MPI_File_open");
#else
  return false;
#endif
}

#ifdef SCOPE_HAS_MPI_IO

// MPI's calls of one direction.
template <class Data>
struct FileCalls {
  using Call = int (*)(MPI_File, Data, int, MPI_Datatype, MPI_Status*);
  using CallAt = int (*)(MPI_File, MPI_Offset, Data, int, MPI_Datatype, MPI_Status*);
  using Start = int (*)(MPI_File, Data, int, MPI_Datatype, MPI_Request*);
  using StartAt = int (*)(MPI_File, MPI_Offset, Data, int, MPI_Datatype, MPI_Request*);

  const char* name;
  CallAt at, at_all;          // at explicit offsets, by one rank and by all together
  Call one, all;              // at the individual file pointer
  Call shared, ordered;       // at the shared file pointer
  StartAt start_at;           // nonblocking
  Start start, start_shared;  // nonblocking at the individual and at the shared file pointer
};

namespace {

constexpr FileCalls<const void*> writes = {
    "MPI_File_write",      MPI_File_write_at,      MPI_File_write_at_all, MPI_File_write,  MPI_File_write_all,
    MPI_File_write_shared, MPI_File_write_ordered, MPI_File_iwrite_at,    MPI_File_iwrite, MPI_File_iwrite_shared};
constexpr FileCalls<void*> reads = {
    "MPI_File_read",      MPI_File_read_at,      MPI_File_read_at_all, MPI_File_read,  MPI_File_read_all,
    MPI_File_read_shared, MPI_File_read_ordered, MPI_File_iread_at,    MPI_File_iread, MPI_File_iread_shared};

std::string described(int code) {
  std::array<char, MPI_MAX_ERROR_STRING> text{};
  int length = 0;
  MPI_Error_string(code, text.data(), &length);
  std::string words(text.data(), static_cast<std::size_t>(length));
  std::replace(words.begin(), words.end(), '\n', ' ');
  return words;
}

// The hints of a method under the names that the libraries use; a library ignores unknown names.
class Hints : NotCopied {
 public:
  explicit Hints(const Method& method) {
    MPI_Info_create(&handle_);
    if (method.collective_buffering != "automatic") {
      const bool on = method.collective_buffering == "on";
      set("romio_cb_write", on ? "enable" : "disable");
      set("romio_cb_read", on ? "enable" : "disable");
      set("collective_buffering", on ? "true" : "false");
    }
    if (method.data_sieving != "automatic") {
      const char* value = method.data_sieving == "on" ? "enable" : "disable";
      set("romio_ds_write", value);
      set("romio_ds_read", value);
    }
    set("cb_nodes", method.aggregators);
    set("striping_factor", method.stripe_count);
    set("striping_unit", method.stripe_bytes);
  }
  ~Hints() { MPI_Info_free(&handle_); }

  MPI_Info handle() const { return handle_; }

 private:
  void set(const char* name, const char* value) { MPI_Info_set(handle_, name, value); }
  void set(const char* name, std::int64_t value) {
    if (value != 0) set(name, std::to_string(value).c_str());
  }

  MPI_Info handle_ = MPI_INFO_NULL;
};

std::vector<ControlVariable> settings_of(MPI_File file) {
  std::vector<ControlVariable> settings;
  MPI_Info info = MPI_INFO_NULL;
  int count = 0;
  bool romio = false;
  if (MPI_File_get_info(file, &info) == MPI_SUCCESS && info != MPI_INFO_NULL) {
    MPI_Info_get_nkeys(info, &count);
    for (int i = 0; i < count; ++i) {
      std::array<char, MPI_MAX_INFO_KEY + 1> key{};
      std::array<char, MPI_MAX_INFO_VAL + 1> value{};
      int known = 0;
      MPI_Info_get_nthkey(info, i, key.data());
      MPI_Info_get(info, key.data(), MPI_MAX_INFO_VAL, value.data(), &known);
      const std::string name(key.data());
      romio = romio || name.starts_with("romio_filesystem_type") || name == "romio_aggregator_list";
      if (known != 0) settings.push_back({name, std::string(value.data())});
    }
    MPI_Info_free(&info);
  }
  const char* implementation = romio ? "ROMIO" : "not ROMIO";
#ifdef OMPI_MAJOR_VERSION
  if (!romio) implementation = "OMPIO";
#endif
  settings.insert(settings.begin(), {"mpi_io", std::string(implementation)});
  return settings;
}

int flags_of(Mode mode) {
  switch (mode) {
    case Mode::create: return MPI_MODE_CREATE | MPI_MODE_RDWR;
    case Mode::update: return MPI_MODE_RDWR;  // data sieving reads before writing
    case Mode::read: return MPI_MODE_RDONLY;
  }
  return 0;
}

}  // namespace

MpiFile::MpiFile(const Method& method, MPI_Comm ranks, const std::string& path, Mode mode)
    : method_(method), pending_(method.access == Access::nonblocking ? method.in_flight : 1) {
  const Hints hints(method);
  if (!ok("MPI_File_open", MPI_File_open(ranks, path.c_str(), flags_of(mode), hints.handle(), &handle_)))
    handle_ = MPI_FILE_NULL;
}

MpiFile::~MpiFile() { close(); }

bool MpiFile::ok(const char* what, int code) {
  if (code != MPI_SUCCESS) note(what, described(code));
  return code == MPI_SUCCESS;
}

void MpiFile::arrived(const char* what, MPI_Status& status, MPI_Datatype item, std::int64_t items) {
  int count = 0;
  MPI_Get_count(&status, item, &count);
  if (count != items) note(what, sentence({count, " of ", items, " items were transferred"}));
}

template <class Data>
void MpiFile::transfer(const FileCalls<Data>& calls, Data data, std::int64_t bytes, std::int64_t offset) {
  if (handle_ == MPI_FILE_NULL) return;
  if (method_.pointer == Pointer::individual) {
    if (offset != position_) ok("MPI_File_seek", MPI_File_seek(handle_, offset, MPI_SEEK_SET));
    position_ = offset + bytes;
  }
  const int count = static_cast<int>(bytes);
  const bool all = method_.access == Access::collective;
  MPI_Status status{};
  if (method_.access == Access::nonblocking) {
    Pending& pending = pending_[next_];
    next_ = (next_ + 1) % pending_.size();
    if (pending.request != MPI_REQUEST_NULL && ok(calls.name, MPI_Wait(&pending.request, &status)))
      arrived(calls.name, status, MPI_BYTE, pending.bytes);
    pending.bytes = bytes;
    const auto start = method_.pointer == Pointer::individual ? calls.start : calls.start_shared;
    const int code = method_.pointer == Pointer::explicit_offset
                         ? calls.start_at(handle_, offset, data, count, MPI_BYTE, &pending.request)
                         : start(handle_, data, count, MPI_BYTE, &pending.request);
    if (!ok(calls.name, code)) pending.request = MPI_REQUEST_NULL;
    return;
  }
  int code = MPI_SUCCESS;
  switch (method_.pointer) {
    case Pointer::explicit_offset:
      code = (all ? calls.at_all : calls.at)(handle_, offset, data, count, MPI_BYTE, &status);
      break;
    case Pointer::individual: code = (all ? calls.all : calls.one)(handle_, data, count, MPI_BYTE, &status); break;
    case Pointer::shared:
      code = (all ? calls.ordered : calls.shared)(handle_, data, count, MPI_BYTE, &status);
      break;
  }
  if (ok(calls.name, code)) arrived(calls.name, status, MPI_BYTE, bytes);
}

void MpiFile::write(const std::byte* data, std::int64_t bytes, std::int64_t offset) {
  transfer<const void*>(writes, data, bytes, offset);
}

void MpiFile::read(std::byte* data, std::int64_t bytes, std::int64_t offset) {
  transfer<void*>(reads, data, bytes, offset);
}

void MpiFile::complete() {
  for (Pending& pending : pending_) {
    MPI_Status status{};
    if (pending.request != MPI_REQUEST_NULL && ok("MPI_Wait", MPI_Wait(&pending.request, &status)))
      arrived("MPI_Wait", status, MPI_BYTE, pending.bytes);
  }
}

void MpiFile::sync() {
  if (handle_ != MPI_FILE_NULL) ok("MPI_File_sync", MPI_File_sync(handle_));
}

void MpiFile::close() {
  if (handle_ == MPI_FILE_NULL) return;
  complete();
  ok("MPI_File_close", MPI_File_close(&handle_));
  handle_ = MPI_FILE_NULL;
}

std::vector<ControlVariable> MpiFile::settings() const {
  return handle_ == MPI_FILE_NULL ? std::vector<ControlVariable>{} : settings_of(handle_);
}

void MpiFile::set_view(MPI_Offset displacement, MPI_Datatype view) {
  if (handle_ == MPI_FILE_NULL) return;
  ok("MPI_File_set_view", MPI_File_set_view(handle_, displacement, MPI_BYTE, view, "native", MPI_INFO_NULL));
}

template <class Data>
void MpiFile::transfer_view(const FileCalls<Data>& calls, Data data, int count, MPI_Datatype item,
                            bool collective) {
  if (handle_ == MPI_FILE_NULL) return;
  MPI_Status status{};
  if (ok(calls.name, (collective ? calls.all : calls.one)(handle_, data, count, item, &status)))
    arrived(calls.name, status, item, count);
}

void MpiFile::write_view(const void* data, int count, MPI_Datatype item, bool collective) {
  transfer_view(writes, data, count, item, collective);
}

void MpiFile::read_view(void* data, int count, MPI_Datatype item, bool collective) {
  transfer_view(reads, data, count, item, collective);
}

#endif

}  // namespace scope::storage
