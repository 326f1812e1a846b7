#include "sites.hpp"

#include <link.h>
#include <unistd.h>
#include <unwind.h>

#include <cstring>

#include "handles.hpp"
#include "profile.hpp"
#include "python.hpp"
#include "recorder.hpp"

namespace scope {

namespace {

u4 modules = 0;
int depth = 1;

// Address bit that programs never have: the other bits are the row of a call path, or `no_site`.
constexpr u8 path_bit = u8{1} << 62;

const void* path_of_row(u4 row) { return reinterpret_cast<const void*>(path_bit | row); }

// Call paths by caller and stack position. Both are the same path if every return address is still in its place:
// checking them costs a few ns, unwinding the stack costs microseconds.
struct KnownPath {
  const void* caller;
  const void* stack;
  u4 row;
  u4 count;
  i4 slots[frame_capacity];  // offsets in words from `stack`
};
constexpr std::size_t known_path_capacity = 1024;
KnownPath known_paths[known_path_capacity];

KnownPath& known_path(const void* caller, const void* stack) {
  static_assert(known_path_capacity == 1 << (64 - 54));
  return known_paths[spread(reinterpret_cast<u8>(caller) + mixed(reinterpret_cast<u8>(stack))) >> 54];
}

bool stands(const KnownPath& path) {
  const u8* const stack = static_cast<const u8*>(path.stack);
  const u8* const frames = profile.sites[path.row].frames;
  for (u4 i = 0; i < path.count; ++i)
    if (stack[path.slots[i]] != frames[i]) return false;  // frames beyond the first difference are not known
  return true;
}

void keep(const Walk& walk, const void* stack, u4 row) {
  if (row == no_site || !walk.slots_are_known) return;
  KnownPath path{walk.first, stack, row, static_cast<u4>(walk.count), {}};
  for (int i = 0; i < walk.count; ++i) {
    const i8 bytes = static_cast<i8>(walk.slots[i] - reinterpret_cast<u8>(stack));
    if (bytes % 8 != 0 || bytes < -8 || bytes > INT32_MAX) return;
    path.slots[i] = static_cast<i4>(bytes / 8);
  }
  known_path(walk.first, stack) = path;
}

_Unwind_Reason_Code step(_Unwind_Context* context, void* data) {
  auto& walk = *static_cast<Walk*>(data);
  const auto address = static_cast<u8>(_Unwind_GetIP(context));
  walk.reached = walk.reached || address == reinterpret_cast<u8>(walk.first);
  if (!walk.reached) return _URC_NO_REASON;
  if (address == 0) return _URC_END_OF_STACK;
#if defined(__x86_64__)
  const u8 slot = static_cast<u8>(_Unwind_GetCFA(context)) - sizeof(u8);
  walk.slots_are_known = walk.slots_are_known && *reinterpret_cast<const u8*>(slot) == address;
  walk.slots[walk.count] = slot;
#else
  walk.slots_are_known = false;
#endif
  walk.frames[walk.count++] = address;
  return walk.count == walk.limit ? _URC_END_OF_STACK : _URC_NO_REASON;
}

void add_module(u8 begin, u8 end, u8 bias, const char* path) {
  if (modules == module_capacity || is_in_known_module(begin)) return;
  ModuleRow& row = profile.modules[modules++];
  row.begin = begin;
  row.end = end;
  row.bias = bias;
  std::strncpy(row.path, path, path_capacity - 1);
  row.used = 1;
}

int add_code_of(dl_phdr_info* info, std::size_t, void* program) {
  const char* path = info->dlpi_name && *info->dlpi_name ? info->dlpi_name : static_cast<const char*>(program);
  for (int i = 0; i < info->dlpi_phnum; ++i) {
    const ElfW(Phdr) & part = info->dlpi_phdr[i];
    if (part.p_type != PT_LOAD || (part.p_flags & PF_X) == 0) continue;
    const u8 begin = info->dlpi_addr + part.p_vaddr;
    add_module(begin, begin + part.p_memsz, info->dlpi_addr, path);
  }
  return 0;
}

// Records modules that were loaded since the last check.
void note_modules_of(const u8* frames, int count) {
  for (int i = 0; i < count; ++i)
    if ((frames[i] & place_bit) == 0 && !is_in_known_module(frames[i])) return note_modules();
}

// The row of a call path, innermost frame first; `frames` is padded with zeros.
u4 row_of_frames(const u8* frames, int count) {
  u8 hash = 0;
  for (int i = 0; i < count; ++i) hash = mixed(hash + frames[i]);
  for (u4 probe = 0; probe < profile.site_rows; ++probe) {
    const u4 place = static_cast<u4>(hash + probe) & (profile.site_rows - 1);
    SiteRow& row = profile.sites[place];
    if (row.used && std::memcmp(row.frames, frames, sizeof row.frames) == 0) return place;
    if (row.used) continue;
    std::memcpy(row.frames, frames, sizeof row.frames);
    row.depth = static_cast<u4>(count);
    row.used = 1;
    note_modules_of(frames, count);
    return place;
  }
  ++profile.process->lost_sites;
  return no_site;
}

u4 path_to(const void* caller, const void* stack) {
  const KnownPath& known = known_path(caller, stack);
  if (known.caller == caller && known.stack == stack && stands(known)) return known.row;
  Walk walk{.first = caller, .limit = depth};
  unwind(walk);
  if (walk.count == 0) walk.frames[walk.count++] = reinterpret_cast<u8>(caller), walk.slots_are_known = false;
  const u4 row = row_of_frames(walk.frames, walk.count);
  keep(walk, stack, row);
  return row;
}

}  // namespace

bool is_in_known_module(u8 address) {
  for (u4 i = 0; i < modules; ++i)
    if (address >= profile.modules[i].begin && address < profile.modules[i].end) return true;
  return false;
}

void note_modules() {
  char program[path_capacity] = "";
  const ssize_t length = readlink("/proc/self/exe", program, sizeof program - 1);
  if (length < 0) program[0] = '\0';
  dl_iterate_phdr(add_code_of, program);
}

void unwind(Walk& walk) { _Unwind_Backtrace(step, &walk); }

void begin_sites(int asked_depth) {
  depth = asked_depth;
  looks_further = in_python || depth > 1;
  note_modules();
}

int depth_of_sites() { return depth; }

const void* caller_beyond(const void* caller, const void* stack) {
  if (!counting) return caller;
  if (in_python) {
    const void* const line = caller_in_python(caller);
    if (is_place(line) && depth == 1) return line;
    if (is_place(line)) {
      u8 frames[frame_capacity] = {};
      const int count = frames_in_python(frames);
      const Locked locked;
      return path_of_row(row_of_frames(frames, count));
    }
  }
  if (depth <= 1) return caller;
  const Locked locked;
  return path_of_row(path_to(caller, stack));
}

u4 site_of(const void* caller) {
  if (depth == 0) return no_site;
  const u8 address = reinterpret_cast<u8>(caller);
  if ((address & place_bit) == 0 && (address & path_bit)) return static_cast<u4>(address & ~path_bit);
  const u8 frames[frame_capacity] = {address};
  return row_of_frames(frames, 1);
}

}  // namespace scope
