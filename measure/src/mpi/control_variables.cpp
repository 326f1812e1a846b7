#include "mpi/control_variables.hpp"

#include <mpi.h>

#include <algorithm>
#include <array>
#include <cctype>
#include <cstring>
#include <optional>
#include <string_view>
#include <utility>

#include "mpi/optional.hpp"

namespace scope {
#ifdef SCOPE_HAS_TOOLS_INTERFACE
namespace {

constexpr std::size_t most_settings = 100;
constexpr std::size_t longest_text = 64;
constexpr int longest_name = 256;
constexpr int longest_value = 1 << 16;

// Parts of the lower-case names of sizes that select a protocol or algorithm.
constexpr std::array limits = {
    "eager",     "rndv",       "rendezvous", "threshold",        "_limit",       "max_send",    "max_inline",
    "fbox_size", "cell_size",  "pipeline",   "segsize",          "segment_size", "segmentsize", "chunk_size",
    "msg_size",  "_small_msg", "_large_msg", "intermediate_msg", "crossover",    "switchover",  "fragment_size"};
// Ends of the names of variables that select components or algorithms, followed by whole names.
constexpr std::array choices = {"_algorithm", "mpir_cvar_ch4_netmod", "mpir_cvar_ch4_shm"};
constexpr std::array frameworks = {"pml", "btl", "mtl", "coll"};
// Variables that concern other memory, other calls or the start of the library.
constexpr std::array elsewhere = {"gpu",    "accelerator", "verbos", "priority", "_rma_", "ipc_ze",   "ucc_",
                                  "yaksa",  "iof_",        "oob_",   "plm_base", "opal_", "dss_",     "mca_base",
                                  "_count", "requests",    "fs_ufs", "_inter_",  "depth", "io_ompio", "btl_self"};

enum class Kind { limit, choice, other };

Kind kind_of(const std::string& name) {
  std::string small = name;
  for (char& letter : small) letter = static_cast<char>(std::tolower(static_cast<unsigned char>(letter)));
  const auto contains = [&](const char* part) { return small.find(part) != std::string::npos; };
  const auto ends = [&](std::string_view end) { return small.ends_with(end); };
  if (std::ranges::any_of(elsewhere, contains)) return Kind::other;
  if (std::ranges::any_of(limits, contains)) return Kind::limit;
  if (std::ranges::any_of(choices, ends)) return Kind::choice;
  return std::ranges::find(frameworks, std::string_view(small)) != frameworks.end() ? Kind::choice : Kind::other;
}

// Properties of one variable; a variable bound to a communicator or another object has no global value.
struct Description {
  std::string name;
  MPI_Datatype type = MPI_DATATYPE_NULL;
  MPI_T_enum names = MPI_T_ENUM_NULL;
};

std::optional<Description> describe(int index) {
  std::array<char, longest_name> name{};
  int name_length = longest_name;
  int no_text = 0;
  int verbosity = 0;
  int bind = 0;
  int scope = 0;
  Description found;
  const int code = MPI_T_cvar_get_info(index, name.data(), &name_length, &verbosity, &found.type, &found.names,
                                       nullptr, &no_text, &bind, &scope);
  if (code != MPI_SUCCESS || bind != MPI_T_BIND_NO_OBJECT) return std::nullopt;
  name.back() = '\0';
  found.name = name.data();
  return found;
}

template <class Number>
std::optional<std::int64_t> number(const std::vector<char>& bytes) {
  Number value{};
  std::memcpy(&value, bytes.data(), sizeof value);
  // The largest number means no limit.
  return std::in_range<std::int64_t>(value) ? std::optional<std::int64_t>(value) : std::nullopt;
}

std::optional<std::int64_t> number(MPI_Datatype type, const std::vector<char>& bytes) {
  if (type == MPI_INT) return number<int>(bytes);
  if (type == MPI_UNSIGNED) return number<unsigned>(bytes);
  if (type == MPI_LONG) return number<long>(bytes);
  if (type == MPI_UNSIGNED_LONG) return number<unsigned long>(bytes);
  if (type == MPI_UNSIGNED_LONG_LONG) return number<unsigned long long>(bytes);
  return std::nullopt;
}

std::optional<std::string> text(const std::vector<char>& bytes) {
  const std::string whole(bytes.data());
  const bool printable =
      std::ranges::all_of(whole, [](unsigned char letter) { return letter >= ' ' && letter < 127; });
  if (whole.empty() || whole.size() > longest_text || !printable) return std::nullopt;
  return whole;
}

// The library's name for a value; empty if it has none.
std::string name_of(std::int64_t value, MPI_T_enum names) {
  int count = 0;
  std::array<char, longest_name> enum_name{};
  int length = longest_name;
  if (names == MPI_T_ENUM_NULL || MPI_T_enum_get_info(names, &count, enum_name.data(), &length) != MPI_SUCCESS)
    return {};
  for (int i = 0; i < count; ++i) {
    std::array<char, longest_name> name{};
    int item = 0;
    length = longest_name;
    if (MPI_T_enum_get_item(names, i, &item, name.data(), &length) == MPI_SUCCESS && item == value)
      return name.data();
  }
  return {};
}

std::optional<ControlVariable> read(int index, const Description& variable) {
  MPI_T_cvar_handle handle;
  int count = 0;
  if (MPI_T_cvar_handle_alloc(index, nullptr, &handle, &count) != MPI_SUCCESS) return std::nullopt;
  const bool letters = variable.type == MPI_CHAR;
  std::vector<char> bytes;
  if (count > 0 && count <= (letters ? longest_value : 1)) {
    bytes.resize(letters ? count + 1 : sizeof(std::uint64_t));
    if (MPI_T_cvar_read(handle, bytes.data()) != MPI_SUCCESS) bytes.clear();
  }
  MPI_T_cvar_handle_free(&handle);
  if (bytes.empty()) return std::nullopt;
  if (letters) {
    if (auto found = text(bytes)) return ControlVariable{variable.name, *found};
    return std::nullopt;
  }
  const auto value = number(variable.type, bytes);
  // Values of 0 and below leave the choice to the library.
  if (!value || *value <= 0) return std::nullopt;
  const std::string name = name_of(*value, variable.names);
  if (!name.empty()) return ControlVariable{variable.name, name.substr(0, longest_text)};
  return ControlVariable{variable.name, *value};
}

}  // namespace

ToolsInterface::ToolsInterface() {
  int provided = 0;
  open_ = library_has("MPI_T_init_thread") && MPI_T_init_thread(MPI_THREAD_SINGLE, &provided) == MPI_SUCCESS;
}

ToolsInterface::~ToolsInterface() {
  if (open_) MPI_T_finalize();
}

std::vector<ControlVariable> ToolsInterface::settings() const {
  std::vector<ControlVariable> found;
  int count = 0;
  if (!open_ || MPI_T_cvar_get_num(&count) != MPI_SUCCESS) return found;
  std::vector<ControlVariable> chosen;
  for (int index = 0; index < count; ++index) {
    const auto variable = describe(index);
    if (!variable) continue;
    const Kind kind = kind_of(variable->name);
    if (kind == Kind::other) continue;
    if (auto value = read(index, *variable)) (kind == Kind::limit ? found : chosen).push_back(std::move(*value));
  }
  found.insert(found.end(), chosen.begin(), chosen.end());
  found.resize(std::min(found.size(), most_settings));
  return found;
}

#else

ToolsInterface::ToolsInterface() : open_(false) {}

ToolsInterface::~ToolsInterface() = default;

std::vector<ControlVariable> ToolsInterface::settings() const { return {}; }

#endif
}  // namespace scope
