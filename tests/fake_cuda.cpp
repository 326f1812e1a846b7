// A CUDA driver and an NVRTC whose device is a processor: to run the host's side of the CUDA back end without a GPU.
//
// Memory of the device is memory of the host. The host's compiler compiles kernels, after the CUDA words that they use;
// the items of a group are threads. As with a real driver, nothing that is put into a stream happens before somebody waits
// for it. A call that the real interface leaves undefined ends the process with a message.
//
// FAKE_CUDA names what fails: `init`, `memory` (too little), `launch` (refused), `kernel` (it faults), `copy` (the last byte
// of long copies is lost), `product` (the last element of cuBLAS is wrong), `cublas` (it does not start). FAKE_CUDA_CAPABILITY is that of the device, else 52. FAKE_CUDA_FOLDER keeps compiled kernels, and
// the code that another NVRTC made, which no processor runs. WRONG_KERNEL, of lines FROM=>TO, changes texts of kernels.
#include <dlfcn.h>
#include <unistd.h>

#include <array>
#include <atomic>
#include <barrier>
#include <bit>
#include <chrono>
#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <fstream>
#include <functional>
#include <map>
#include <regex>
#include <set>
#include <sstream>
#include <string>
#include <thread>
#include <utility>
#include <vector>

namespace {

enum Status {
  success = 0,
  invalid_value = 1,
  out_of_memory = 2,
  no_device = 100,
  no_code = 209,
  not_ready = 600,
  refused = 701,
  reached_already = 704,
  not_reached = 705,
  faulted = 719
};
constexpr std::size_t shortest_lost = 64;
constexpr unsigned largest_group = 16;
constexpr std::size_t memory_bytes = std::size_t{1} << 30;

std::string setting(const char* name, const char* otherwise = "") {
  const char* value = std::getenv(name);
  return value != nullptr ? value : otherwise;
}
bool fails(const char* what) { return setting("FAKE_CUDA") == what; }

[[noreturn]] void misuse(const char* call, const char* what) {
  std::fprintf(stderr, "fake CUDA: %s: %s\n", call, what);
  std::abort();
}

struct Event {
  int recorded = 0;  // how often it was put into a stream
  int reached = 0;
  std::chrono::steady_clock::time_point moment;
};
struct Context;
struct Stream {
  Context* context;
  std::vector<std::function<Status()>> waiting;
};
struct Module {
  void* library;
};
struct Kernel {
  Module* module;
  void (*call)(void**);
  int arguments;
};

bool started = false;
// One for each of FAKE_CUDA_DEVICES, else one, device. FAKE_CUDA=peer: none reaches memory of another.
struct Context {
  bool retained = false;
  std::set<Context*> reached;
};
std::array<Context, 2> contexts;
thread_local Context* current = nullptr;
int device_count() { return std::stoi(setting("FAKE_CUDA_DEVICES", "1")); }
std::map<std::uintptr_t, std::size_t> arrays;  // begin and size
std::map<std::uintptr_t, void*> owners;        // contexts
std::set<void*> pinned;
std::set<Event*> events;
std::set<Stream*> streams;
std::set<Module*> modules;
std::map<void*, Kernel> functions;

void require_context(const char* call) {
  if (!started) misuse(call, "before cuInit");
  if (current == nullptr) misuse(call, "without a context");
}
template <class Things, class Thing>
void require_alive(const Things& things, Thing thing, const char* call, const char* what) {
  require_context(call);
  if (!things.contains(thing)) misuse(call, what);
}
template <class Things, class Thing>
void end(Things& things, Thing thing, const char* call, const char* what) {
  require_alive(things, thing, call, what);
  things.erase(thing);
}

char* memory_at(std::uint64_t address, std::size_t bytes, const char* call) {
  auto array = arrays.upper_bound(address);
  if (array == arrays.begin()) misuse(call, "no memory of the device");
  --array;
  if (address + bytes > array->first + array->second) misuse(call, "no memory of the device, or beyond its end");
  return reinterpret_cast<char*>(address);
}

Status put(void* stream, const char* call, std::function<Status()> command) {
  require_alive(streams, static_cast<Stream*>(stream), call, "no stream");
  if (static_cast<Stream*>(stream)->context != current) misuse(call, "a stream of another context");
  static_cast<Stream*>(stream)->waiting.push_back(std::move(command));
  return success;
}

std::size_t copied(std::size_t bytes) { return bytes - (fails("copy") && bytes > shortest_lost ? 1 : 0); }

// What a compiled kernel offers beside its functions.
struct Item {
  unsigned thread, block, threads, blocks;
};
using Enter = void (*)(Item, void (*)());

thread_local std::barrier<>* group_barrier = nullptr;
std::atomic<bool> items_wait = false;
void wait_for_group() {
  items_wait = true;
  group_barrier->arrive_and_wait();
}

void run(const Kernel& kernel, unsigned blocks, unsigned threads, std::vector<std::uint64_t>& values) {
  const auto enter = reinterpret_cast<Enter>(dlsym(kernel.module->library, "fake_enter"));
  std::vector<void*> arguments;
  for (auto& value : values) arguments.push_back(&value);
  std::barrier barrier(threads);
  items_wait = false;
  const auto items = [&](unsigned thread) {
    group_barrier = &barrier;
    for (unsigned block = 0; block < blocks; ++block) {
      enter({thread, block, threads, blocks}, wait_for_group);
      kernel.call(arguments.data());
      // Only groups whose items wait for each other have memory together, which the next group takes over.
      if (block == 0 || items_wait) barrier.arrive_and_wait();
    }
  };
  std::vector<std::jthread> others;
  for (unsigned thread = 1; thread < threads; ++thread) others.emplace_back(items, thread);
  items(0);
}

// CUDA's words, for the host's compiler. Numbers in half precision are whole numbers here.
constexpr const char* words = R"(
#include <cstddef>
#include <utility>
#define __global__
#define __device__
#define __shared__ static
struct Item { unsigned thread, block, threads, blocks; };
static thread_local struct { unsigned x; } threadIdx, blockIdx, blockDim, gridDim;
static void (*wait_for_group)();
extern "C" void fake_enter(Item item, void (*wait)()) {
  threadIdx.x = item.thread, blockIdx.x = item.block, blockDim.x = item.threads, gridDim.x = item.blocks;
  __atomic_store_n(&wait_for_group, wait, __ATOMIC_RELAXED);
}
static void __syncthreads() { wait_for_group(); }
static unsigned atomicAdd(unsigned* place, unsigned value) { return __atomic_fetch_add(place, value, __ATOMIC_RELAXED); }
static double fma(double a, double b, double c) { return a * b + c; }
static float fma(float a, float b, float c) { return a * b + c; }
static unsigned multiply_add_pairs(unsigned a, unsigned b, unsigned c) {
  const unsigned low = (a & 0xffff) * (b & 0xffff) + c, high = (a >> 16) * (b >> 16) + (c >> 16);
  return (high << 16) | (low & 0xffff);
}
template <class... Parameters, std::size_t... places>
static void fake_call(void (*kernel)(Parameters...), void** arguments, std::index_sequence<places...>) {
  kernel(*static_cast<Parameters*>(arguments[places])...);
}
template <class... Parameters>
static void fake_call(void (*kernel)(Parameters...), void** arguments) {
  fake_call(kernel, arguments, std::index_sequence_for<Parameters...>());
}
template <class... Parameters>
static int fake_count(void (*)(Parameters...)) { return sizeof...(Parameters); }
)";
const std::vector<std::pair<std::regex, const char*>> instructions{
    {std::regex(R"re(asm\("cvt.rn.f16.f32 %0, %1;" : "=h"\((.*?)\) : "f"\((.*?)\)\);)re"), "$1 = $2;"},
    {std::regex(R"re(asm\("cvt.f32.f16 %0, %1;" : "=f"\((.*?)\) : "h"\((.*?)\)\);)re"), "$1 = $2;"},
    {std::regex(R"re(asm\("fma.rn.f16x2 %0, %1, %2, %0;" : "\+r"\((.*?)\) : "r"\((.*?)\), "r"\((.*?)\)\);)re"),
     "$1 = multiply_add_pairs($2, $3, $1);"}};

std::string text_for_host(std::string text) {
  std::istringstream rules(setting("WRONG_KERNEL"));
  for (std::string rule; std::getline(rules, rule);) {
    const auto arrow = rule.find("=>");
    const auto place = text.find(rule.substr(0, arrow));
    if (place == std::string::npos) continue;
    std::fprintf(stderr, "wrong kernel: %s\n", rule.substr(0, arrow).c_str());
    text.replace(place, arrow, rule.substr(arrow + 2));
  }
  for (const auto& [instruction, statement] : instructions)
    text = std::regex_replace(text, instruction, statement);
  const std::regex kernel(R"(KERNEL (\w+)\()");
  std::string calls;
  for (auto found = std::sregex_iterator(text.begin(), text.end(), kernel); found != std::sregex_iterator();
       ++found) {
    const std::string name = (*found)[1];
    calls += "extern \"C\" void call_" + name + "(void** arguments) { fake_call(" + name + ", arguments); }\n";
    calls += "extern \"C\" int arguments_of_" + name + "() { return fake_count(" + name + "); }\n";
  }
  return words + text + calls;
}

struct Program {
  std::string text;
  std::string log;
  std::string code;  // the file of a shared library
};

std::string content_of(const std::string& path) {
  std::ifstream file(path);
  return {std::istreambuf_iterator<char>(file), {}};
}

int compile(Program& program) {
  const std::string name =
      setting("FAKE_CUDA_FOLDER", "/nowhere") + "/" + std::to_string(std::hash<std::string>{}(program.text));
  program.code = "fake " + name + ".so";
  if (access((name + ".so").c_str(), R_OK) == 0) return success;
  const std::string own = name + "-" + std::to_string(getpid());
  std::ofstream(own + ".cpp") << program.text;
  const std::string command =
      "c++ -std=c++17 -O2 -w -shared -fPIC " + own + ".cpp -o " + own + ".so 2> " + own + ".log";
  if (std::system(command.c_str()) != 0) {
    program.log = content_of(own + ".log");
    return 6;  // NVRTC_ERROR_COMPILATION
  }
  std::rename((own + ".so").c_str(), (name + ".so").c_str());
  return success;
}

int tell(const std::string& text, char* to) {
  std::memcpy(to, text.c_str(), text.size() + 1);
  return success;
}
int tell(const std::string& text, std::size_t* size) {
  *size = text.size() + 1;
  return success;
}

// cuBLAS. Numbers of its types are those of library_types.h.
struct Blas {
  void* stream = nullptr;
  int math_mode = 0;
};
std::set<Blas*> blases;
enum Type { single_type = 0, double_type = 1, half_type = 2, bfloat16_type = 14 };
std::size_t size_of(int type) { return type == double_type ? 8 : type == single_type ? 4 : 2; }

double number_at(const char* place, int type) {
  if (type == double_type) return *reinterpret_cast<const double*>(place);
  if (type == single_type) return *reinterpret_cast<const float*>(place);
  const std::uint32_t bits = *reinterpret_cast<const std::uint16_t*>(place);
  if (type == bfloat16_type) return std::bit_cast<float>(bits << 16);
  if ((bits & 0x7c00) == 0) return 0;  // or too small for a test
  return std::bit_cast<float>(((bits & 0x8000) << 16) | (((bits & 0x7fff) << 13) + ((127U - 15) << 23)));
}
void store_at(char* place, int type, double number) {
  if (type == double_type) *reinterpret_cast<double*>(place) = number;
  if (type == single_type) *reinterpret_cast<float*>(place) = static_cast<float>(number);
  if (size_of(type) > 2) return;
  const int lost = type == half_type ? 13 : 16;
  auto bits = std::bit_cast<std::uint32_t>(static_cast<float>(number));
  const std::uint32_t sign = bits >> 31 << 15;
  bits &= 0x7fffffff;
  bits = (bits + ((1U << (lost - 1)) - 1) + ((bits >> lost) & 1)) >> lost;  // to the nearest, ties to even
  if (type == half_type) bits = number == 0 ? 0 : bits - ((127U - 15) << 10);
  *reinterpret_cast<std::uint16_t*>(place) = static_cast<std::uint16_t>(sign | bits);
}

}  // namespace

extern "C" {

Status cuInit(unsigned) {
  if (fails("init")) return no_device;
  started = true;
  return success;
}
Status cuGetErrorName(Status status, const char** name) {
  static const std::map<int, const char*> names{
      {1, "CUDA_ERROR_INVALID_VALUE"},  {2, "CUDA_ERROR_OUT_OF_MEMORY"},
      {100, "CUDA_ERROR_NO_DEVICE"},    {209, "CUDA_ERROR_NO_BINARY_FOR_GPU"},
      {600, "CUDA_ERROR_NOT_READY"},    {701, "CUDA_ERROR_LAUNCH_OUT_OF_RESOURCES"},
      {719, "CUDA_ERROR_LAUNCH_FAILED"}};
  *name = names.at(status);
  return success;
}
Status cuDriverGetVersion(int* version) { return *version = 12040, success; }
Status cuDeviceGetCount(int* count) { return *count = device_count(), success; }
Status cuDeviceGet(int* device, int number) {
  return *device = number, number < device_count() ? success : invalid_value;
}
Status cuDeviceGetName(char* name, int places, int) { return std::snprintf(name, places, "Fake GPU"), success; }
Status cuDeviceTotalMem_v2(std::size_t* bytes, int) { return *bytes = memory_bytes, success; }
Status cuDeviceGetAttribute(int* value, int what, int device) {
  const int capability = std::stoi(setting("FAKE_CUDA_CAPABILITY", "52"));
  const std::map<int, int> attributes{{1, largest_group},
                                      {16, 1},
                                      {33, 0xc1 + device},
                                      {34, 0},
                                      {36, 2619000},
                                      {37, 5120},
                                      {50, 1},
                                      {75, capability / 10},
                                      {76, capability % 10}};
  return *value = attributes.at(what), success;
}
Status cuDevicePrimaryCtxRetain(void** context, int device) {
  if (!started) misuse("cuDevicePrimaryCtxRetain", "before cuInit");
  contexts.at(device).retained = true;
  return *context = &contexts.at(device), success;
}
Status cuCtxSetCurrent(void* context) {
  auto* known = static_cast<Context*>(context);
  if (known != &contexts[0] && known != &contexts[1]) misuse("cuCtxSetCurrent", "no context");
  if (!known->retained) misuse("cuCtxSetCurrent", "a context that nobody holds");
  return current = known, success;
}
Status cuDeviceCanAccessPeer(int* can, int device, int peer) {
  return *can = device != peer && !fails("peer"), success;
}
Status cuCtxEnablePeerAccess(void* peer, unsigned) {
  require_context("cuCtxEnablePeerAccess");
  return current->reached.insert(static_cast<Context*>(peer)).second ? success : reached_already;
}
Status cuCtxDisablePeerAccess(void* peer) {
  require_context("cuCtxDisablePeerAccess");
  return current->reached.erase(static_cast<Context*>(peer)) != 0 ? success : not_reached;
}

Status cuMemGetInfo_v2(std::size_t* free, std::size_t* all) {
  require_context("cuMemGetInfo");
  return *free = *all = memory_bytes, success;
}
Status cuMemAlloc_v2(std::uint64_t* address, std::size_t bytes) {
  require_context("cuMemAlloc");
  if (fails("memory")) return out_of_memory;
  *address = reinterpret_cast<std::uintptr_t>(std::memset(new char[bytes], 0xA5, bytes));
  arrays[*address] = bytes;
  owners[*address] = current;
  return success;
}
Status cuMemFree_v2(std::uint64_t address) {
  end(arrays, address, "cuMemFree", "no memory of the device");
  delete[] reinterpret_cast<char*>(address);
  return success;
}
Status cuMemHostAlloc(void** start, std::size_t bytes, unsigned) {
  require_context("cuMemHostAlloc");
  pinned.insert(*start = std::malloc(bytes));
  return success;
}
Status cuMemFreeHost(void* start) {
  end(pinned, start, "cuMemFreeHost", "no pinned memory");
  std::free(start);
  return success;
}
Status cuMemcpyHtoDAsync_v2(std::uint64_t to, const void* from, std::size_t bytes, void* stream) {
  memory_at(to, bytes, "cuMemcpyHtoDAsync");
  return put(stream, "cuMemcpyHtoDAsync",
             [=] { return std::memcpy(memory_at(to, bytes, "cuMemcpyHtoDAsync"), from, copied(bytes)), success; });
}
Status cuMemcpyDtoHAsync_v2(void* to, std::uint64_t from, std::size_t bytes, void* stream) {
  memory_at(from, bytes, "cuMemcpyDtoHAsync");
  return put(stream, "cuMemcpyDtoHAsync",
             [=] { return std::memcpy(to, memory_at(from, bytes, "cuMemcpyDtoHAsync"), copied(bytes)), success; });
}
Status cuMemcpyPeerAsync(std::uint64_t to, void* to_context, std::uint64_t from, void* from_context,
                         std::size_t bytes, void* stream) {
  if (owners[to] != to_context || owners[from] != from_context || to_context == from_context)
    misuse("cuMemcpyPeerAsync", "memory of another context");
  return put(stream, "cuMemcpyPeerAsync", [=] {
    return std::memcpy(memory_at(to, bytes, "cuMemcpyPeerAsync"), memory_at(from, bytes, "cuMemcpyPeerAsync"),
                       copied(bytes)),
           success;
  });
}

Status cuModuleLoadData(void** module, const void* code) {
  require_context("cuModuleLoadData");
  const char* text = static_cast<const char*>(code);
  if (std::strncmp(text, "fake ", 5) != 0) {
    static int codes = 0;
    std::ofstream file(setting("FAKE_CUDA_FOLDER", "/nowhere") + "/" + std::to_string(++codes) + ".code");
    // An object file ends with its sections, whose table is told at its begin; other code is text.
    std::uint64_t sections = 0;
    std::uint16_t size = 0, count = 0;
    const bool object = std::memcmp(text, "\177ELF", 4) == 0;
    if (object) {
      std::memcpy(&sections, text + 40, sizeof sections);
      std::memcpy(&size, text + 58, sizeof size);
      std::memcpy(&count, text + 60, sizeof count);
    }
    file.write(text, static_cast<std::streamsize>(object ? sections + size * count : std::strlen(text)));
    return no_code;
  }
  void* library = dlopen(text + 5, RTLD_NOW | RTLD_LOCAL);
  if (library == nullptr) misuse("cuModuleLoadData", dlerror());
  auto* loaded = new Module{library};
  modules.insert(loaded);
  return *module = loaded, success;
}
Status cuModuleUnload(void* module) {
  end(modules, static_cast<Module*>(module), "cuModuleUnload", "no module");
  std::erase_if(functions, [=](const auto& function) { return function.second.module == module; });
  return delete static_cast<Module*>(module), success;
}
Status cuModuleGetFunction(void** function, void* module, const char* name) {
  require_alive(modules, static_cast<Module*>(module), "cuModuleGetFunction", "no module");
  auto* owner = static_cast<Module*>(module);
  void* call = dlsym(owner->library, ("call_" + std::string(name)).c_str());
  void* arguments = dlsym(owner->library, ("arguments_of_" + std::string(name)).c_str());
  if (call == nullptr || arguments == nullptr) return invalid_value;
  functions[call] = {owner, reinterpret_cast<void (*)(void**)>(call), reinterpret_cast<int (*)()>(arguments)()};
  return *function = call, success;
}
Status cuLaunchKernel(void* function, unsigned blocks, unsigned, unsigned, unsigned threads, unsigned, unsigned,
                      unsigned, void* stream, void** arguments, void**) {
  require_alive(functions, function, "cuLaunchKernel", "no function");
  if (fails("launch") || blocks == 0 || threads == 0 || threads > largest_group) return refused;
  const Kernel kernel = functions.at(function);
  // Arguments are those of the call, whatever becomes of them before the kernel runs. None is longer than these.
  std::vector<std::uint64_t> values;
  for (int i = 0; i < kernel.arguments; ++i) std::memcpy(&values.emplace_back(), arguments[i], sizeof values[0]);
  return put(stream, "cuLaunchKernel", [=]() mutable {
    if (fails("kernel")) return faulted;
    require_alive(functions, function, "cuLaunchKernel", "the kernel was unloaded before it ran");
    run(kernel, blocks, threads, values);
    return success;
  });
}

Status cuStreamCreate(void** stream, unsigned) {
  require_context("cuStreamCreate");
  auto* made = new Stream{current, {}};
  streams.insert(made);
  return *stream = made, success;
}
Status cuStreamSynchronize(void* stream) {
  require_alive(streams, static_cast<Stream*>(stream), "cuStreamSynchronize", "no stream");
  for (const auto& command : std::exchange(static_cast<Stream*>(stream)->waiting, {}))
    if (const Status status = command(); status != success) return status;
  return success;
}
Status cuStreamDestroy_v2(void* stream) {
  auto* ended = static_cast<Stream*>(stream);
  end(streams, ended, "cuStreamDestroy", "no stream");
  if (!ended->waiting.empty()) misuse("cuStreamDestroy", "commands wait in it");
  return delete ended, success;
}
Status cuEventCreate(void** event, unsigned) {
  require_context("cuEventCreate");
  auto* made = new Event;
  events.insert(made);
  return *event = made, success;
}
Status cuEventRecord(void* event, void* stream) {
  auto* recorded = static_cast<Event*>(event);
  require_alive(events, recorded, "cuEventRecord", "no event");
  ++recorded->recorded;
  return put(stream, "cuEventRecord", [=] {
    require_alive(events, recorded, "cuEventRecord", "the event was destroyed before it was reached");
    ++recorded->reached;
    recorded->moment = std::chrono::steady_clock::now();
    return success;
  });
}
Status cuEventElapsedTime(float* elapsed_ms, void* start, void* stop) {
  const Event* moments[] = {static_cast<Event*>(start), static_cast<Event*>(stop)};
  for (const Event* event : moments) {
    require_alive(events, const_cast<Event*>(event), "cuEventElapsedTime", "no event");
    if (event->recorded == 0) misuse("cuEventElapsedTime", "an event that was never recorded");
    if (event->reached < event->recorded) return not_ready;
  }
  *elapsed_ms = std::chrono::duration<float, std::milli>(moments[1]->moment - moments[0]->moment).count();
  return success;
}
Status cuEventDestroy_v2(void* event) {
  end(events, static_cast<Event*>(event), "cuEventDestroy", "no event");
  return delete static_cast<Event*>(event), success;
}

// NVML: clocks in MHz, power in mW. FAKE_CUDA_HOT: milliseconds by which each question finds it slowed by heat.
// FAKE_CUDA_ERRORS: memory errors that it has corrected since the last question.
int nvmlInit_v2() { return success; }
int nvmlDeviceGetHandleByPciBusId_v2(const char* place, void** device) {
  return *device = &started, std::strcmp(place, "0001:c1:00.0") == 0 ? 0 : 6;  // NVML_ERROR_NOT_FOUND
}
int nvmlDeviceGetClockInfo(void*, int of, unsigned* mhz) { return *mhz = of == 2 ? 2619 : 1755, 0; }
int nvmlDeviceGetMaxClockInfo(void*, int, unsigned* mhz) { return *mhz = 1980, 0; }
int nvmlDeviceGetPowerUsage(void*, unsigned* mw) { return *mw = 312'000, 0; }
int nvmlDeviceGetEnforcedPowerLimit(void*, unsigned*) { return 3; }  // NVML_ERROR_NOT_SUPPORTED
int nvmlDeviceGetTemperature(void*, int, unsigned* celsius) { return *celsius = 61, 0; }
int nvmlDeviceGetViolationStatus(void*, int policy, unsigned long long* since) {
  static unsigned long long hot_ns = 0;
  if (policy == 1) hot_ns += 1'000'000ULL * std::stoul(setting("FAKE_CUDA_HOT", "0"));
  return since[0] = 0, since[1] = policy == 1 ? hot_ns : 0, 0;
}

int nvmlDeviceGetTotalEccErrors(void*, int kind, int since, unsigned long long* errors) {
  static unsigned long long corrected = 0;
  if (since == 1) return *errors = kind == 0 ? 70 : 1, 0;
  if (kind == 0) corrected += std::stoul(setting("FAKE_CUDA_ERRORS", "0"));
  return *errors = kind == 0 ? corrected : 0, 0;
}
int nvmlDeviceGetCurrPcieLinkGeneration(void*, unsigned* generation) { return *generation = 4, 0; }
int nvmlDeviceGetMaxPcieLinkGeneration(void*, unsigned* generation) { return *generation = 5, 0; }
int nvmlDeviceGetCurrPcieLinkWidth(void*, unsigned* lanes) { return *lanes = 8, 0; }
int nvmlDeviceGetMaxPcieLinkWidth(void*, unsigned* lanes) { return *lanes = 16, 0; }

int cublasGetProperty(int part, int* number) {
  return *number = std::array{12, 4, 5}.at(static_cast<std::size_t>(part)), 0;
}
const char* cublasGetStatusName(int) { return "CUBLAS_STATUS_NOT_INITIALIZED"; }
int cublasCreate_v2(void** handle) {
  require_context("cublasCreate");
  if (fails("cublas")) return 1;
  return *handle = *blases.insert(new Blas).first, 0;
}
int cublasDestroy_v2(void* handle) {
  end(blases, static_cast<Blas*>(handle), "cublasDestroy", "no handle");
  return delete static_cast<Blas*>(handle), 0;
}
int cublasSetStream_v2(void* handle, void* stream) { return static_cast<Blas*>(handle)->stream = stream, 0; }
int cublasSetMathMode(void* handle, int mode) { return static_cast<Blas*>(handle)->math_mode = mode, 0; }
// By columns, none of them transposed.
int cublasGemmEx(void* handle, int, int, int m, int n, int k, const void* one, std::uint64_t a, int type, int lda,
                 std::uint64_t b, int, int ldb, const void* zero, std::uint64_t c, int, int ldc, int compute,
                 int) {
  require_alive(blases, static_cast<Blas*>(handle), "cublasGemmEx", "no handle");
  const bool wide = type == double_type;
  const std::map<int, std::set<int>> computes{
      {double_type, {70}}, {single_type, {68, 77}}, {half_type, {68}}, {bfloat16_type, {68}}};
  if (!computes.at(type).contains(compute)) misuse("cublasGemmEx", "another precision than that of the matrices");
  if (static_cast<Blas*>(handle)->math_mode != 16) misuse("cublasGemmEx", "sums may be kept in short formats");
  if ((wide ? *static_cast<const double*>(one) : *static_cast<const float*>(one)) != 1 ||
      (wide ? *static_cast<const double*>(zero) : *static_cast<const float*>(zero)) != 0)
    misuse("cublasGemmEx", "factors of another type");
  return put(static_cast<Blas*>(handle)->stream, "cublasGemmEx", [=] {
    const std::size_t bytes = size_of(type);
    const auto numbers = [=](std::uint64_t array, int leading, int columns) {
      const char* start = memory_at(array, bytes * leading * columns, "cublasGemmEx");
      std::vector<double> all(static_cast<std::size_t>(leading) * columns);
      for (std::size_t i = 0; i < all.size(); ++i) all[i] = number_at(start + bytes * i, type);
      return all;
    };
    const auto of_a = numbers(a, lda, k), of_b = numbers(b, ldb, n);
    char* to = memory_at(c, bytes * ldc * n, "cublasGemmEx");
    for (int j = 0; j < n; ++j)
      for (int i = 0; i < m; ++i) {
        double sum = 0;
        for (int l = 0; l < k; ++l) sum += of_a[i + l * lda] * of_b[l + j * ldb];
        if (fails("product") && i == m - 1 && j == n - 1) sum = -sum - 3;
        store_at(to + bytes * (i + j * ldc), type, sum);
      }
    return success;
  });
}

int nvrtcVersion(int* major, int* minor) { return *major = 12, *minor = 4, success; }
const char* nvrtcGetErrorString(int) { return "NVRTC_ERROR"; }
int nvrtcGetNumSupportedArchs(int* count) { return *count = 2, success; }
int nvrtcGetSupportedArchs(int* known) { return known[0] = 50, known[1] = 60, success; }
int nvrtcCreateProgram(void** program, const char* text, const char*, int, const char* const*,
                       const char* const*) {
  return *program = new Program{text_for_host(text), "", ""}, success;
}
int nvrtcDestroyProgram(void** program) { return delete static_cast<Program*>(*program), success; }
int nvrtcCompileProgram(void* program, int, const char* const*) {
  return compile(*static_cast<Program*>(program));
}
int nvrtcGetProgramLogSize(void* program, std::size_t* size) {
  return tell(static_cast<Program*>(program)->log, size);
}
int nvrtcGetProgramLog(void* program, char* to) { return tell(static_cast<Program*>(program)->log, to); }
int nvrtcGetCUBINSize(void* program, std::size_t* size) {
  return tell(static_cast<Program*>(program)->code, size);
}
int nvrtcGetCUBIN(void* program, char* to) { return tell(static_cast<Program*>(program)->code, to); }
int nvrtcGetPTXSize(void* program, std::size_t* size) { return tell(static_cast<Program*>(program)->code, size); }
int nvrtcGetPTX(void* program, char* to) { return tell(static_cast<Program*>(program)->code, to); }
}
