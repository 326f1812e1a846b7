#include "sites.hpp"

#include <link.h>
#include <unistd.h>
#include <unwind.h>

#include <algorithm>
#include <cstring>

#include "handles.hpp"
#include "profile.hpp"
#include "python.hpp"

namespace scope {

namespace {

u4 modules = 0;

struct Walk {
  const void* caller;  // inner frames belong to the monitor
  u8 frames[frame_capacity] = {};
  int count = 0;
  int limit;
  bool reached = false;
};

_Unwind_Reason_Code step(_Unwind_Context* context, void* data) {
  auto& walk = *static_cast<Walk*>(data);
  const auto address = static_cast<u8>(_Unwind_GetIP(context));
  walk.reached = walk.reached || address == reinterpret_cast<u8>(walk.caller);
  if (!walk.reached) return _URC_NO_REASON;
  if (address == 0) return _URC_END_OF_STACK;
  walk.frames[walk.count++] = address;
  return walk.count == walk.limit ? _URC_END_OF_STACK : _URC_NO_REASON;
}

bool known(u8 address) {
  for (u4 i = 0; i < modules; ++i)
    if (address >= profile.modules[i].begin && address < profile.modules[i].end) return true;
  return false;
}

void add_module(u8 begin, u8 end, u8 bias, const char* path) {
  if (modules == module_capacity || known(begin)) return;
  ModuleRow& row = profile.modules[modules++];
  row.begin = begin;
  row.end = end;
  row.bias = bias;
  std::strncpy(row.path, path, path_capacity - 1);
  row.used = 1;
}

int add_code_of(dl_phdr_info* info, std::size_t, void* program) {
  const char* path =
      info->dlpi_name && *info->dlpi_name ? info->dlpi_name : static_cast<const char*>(program);
  for (int i = 0; i < info->dlpi_phnum; ++i) {
    const ElfW(Phdr) & part = info->dlpi_phdr[i];
    if (part.p_type != PT_LOAD || (part.p_flags & PF_X) == 0) continue;
    const u8 begin = info->dlpi_addr + part.p_vaddr;
    add_module(begin, begin + part.p_memsz, info->dlpi_addr, path);
  }
  return 0;
}

}  // namespace

void note_modules() {
  char program[path_capacity] = "";
  const ssize_t length = readlink("/proc/self/exe", program, sizeof program - 1);
  if (length < 0) program[0] = '\0';
  dl_iterate_phdr(add_code_of, program);
}

u4 site_of(const void* caller, int depth) {
  if (depth == 0) return no_site;
  Walk walk{.caller = caller, .limit = depth};
  if (is_place(caller))
    walk.count = frames_in_python(walk.frames);
  else if (depth > 1)
    _Unwind_Backtrace(step, &walk);
  if (walk.count == 0) walk.frames[walk.count++] = reinterpret_cast<u8>(caller);
  u8 hash = 0;
  for (int i = 0; i < walk.count; ++i) hash = mixed(hash + walk.frames[i]);
  for (u4 probe = 0; probe < site_capacity; ++probe) {
    const u4 place = static_cast<u4>(hash + probe) & (site_capacity - 1);
    SiteRow& row = profile.sites[place];
    if (row.used && std::memcmp(row.frames, walk.frames, sizeof row.frames) == 0) return place;
    if (row.used) continue;
    std::memcpy(row.frames, walk.frames, sizeof row.frames);
    row.depth = static_cast<u4>(walk.count);
    row.used = 1;
    if (!is_place(caller) && !known(walk.frames[0])) note_modules();  // loaded since the last look
    return place;
  }
  ++profile.process->lost_sites;
  return no_site;
}

}  // namespace scope
