#include "processors/caches.hpp"

#include <fstream>
#include <map>

#include "text/words.hpp"

namespace scope {
namespace {

struct Cache {
  int level = 0;
  std::int64_t bytes = 0;
  std::string processors;  // processors that share the cache: `0-3,8-11`
};

std::int64_t bytes_of(const std::string& text) {  // `32768K`
  if (text.empty()) return 0;
  const std::int64_t number = std::atoll(text.c_str());
  const char unit = text.back();
  return number << (unit == 'K' ? 10 : unit == 'M' ? 20 : unit == 'G' ? 30 : 0);
}

// Level 0 if there is none.
Cache last_cache_of(int processor, const std::string& root) {
  const std::string folder = sentence({root, "/sys/devices/system/cpu/cpu", processor, "/cache/index"});
  Cache last;
  for (int index = 0;; ++index) {
    const std::string cache = sentence({folder, index, "/"});
    Cache found;
    std::string type;
    std::string size;
    if (!(std::ifstream(cache + "level") >> found.level)) return last;
    std::ifstream(cache + "type") >> type;
    std::ifstream(cache + "size") >> size;
    std::ifstream(cache + "shared_cpu_list") >> found.processors;
    found.bytes = bytes_of(size);
    if (type != "Instruction" && found.level > last.level) last = found;
  }
}

}  // namespace

std::int64_t last_level_cache_bytes(const std::vector<int>& processors, const std::string& root) {
  std::map<std::string, std::int64_t> caches;
  for (const int processor : processors) {
    const Cache last = last_cache_of(processor, root);
    if (last.level > 0) caches[last.processors] = last.bytes;
  }
  std::int64_t bytes = 0;
  for (const auto& [shared_by, size] : caches) bytes += size;
  return bytes;
}

}  // namespace scope
