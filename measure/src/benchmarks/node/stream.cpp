// node.stream, node.stream_memory: sustained memory bandwidth of four simple kernels, with arrays of any size and
// with arrays as large as STREAM's rule requires.
//
// Timed: one pass over the arrays, on every rank's own clock; the slowest rank counts. Ranks start together, so
// that they compete for the memory as in programs. After McCalpin's STREAM; bytes are counted in the same way.

#include "benchmark.hpp"
#include "memory/available.hpp"
#include "processors/caches.hpp"
#include "processors/processors.hpp"

namespace scope::stream {
namespace {

constexpr double scalar = 3.0;

struct Kernel {
  const char* name;
  int arrays;  // read or written per element
  int flops;   // per element
};
constexpr Kernel kernels[] = {{"copy", 2, 0}, {"scale", 2, 1}, {"add", 3, 1}, {"triad", 3, 2}};

const Kernel& find_kernel(const std::string& name) {
  for (const auto& kernel : kernels)
    if (name == kernel.name) return kernel;
  throw std::invalid_argument("kernel=" + name);
}

// STREAM's rule: each array, summed over all ranks of a host, is at least four times as large as the last-level
// caches of the processors that these ranks may use.
constexpr std::int64_t arrays_over_caches = 4;

// Bytes of such an array on each rank of this host. Collective.
std::int64_t array_beyond_caches(const Communicator& communicator) {
  const auto allowed = allowed_on_host(communicator);
  std::vector<int> processors;
  for (const auto& of_rank : allowed) processors.insert(processors.end(), of_rank.begin(), of_rank.end());
  const std::int64_t caches = last_level_cache_bytes(processors);
  if (communicator.smallest(caches) == 0)  // either all ranks refuse or none
    throw Unavailable("the system does not report the size of the last-level cache (/sys/devices/system/cpu)");
  const auto ranks = static_cast<std::int64_t>(allowed.size());
  const std::int64_t bytes =
      (arrays_over_caches * caches / ranks + sizeof(double)) / sizeof(double) * sizeof(double);
  require_memory(3 * bytes, communicator);
  return bytes;
}

// Counts from a start to a length, then again from 0; cheaper than a remainder for each element of an array.
class Cycle {
 public:
  Cycle(std::uint64_t start, int length) : next_(static_cast<int>(start % length)), length_(length) {}

  double next() {
    const int value = next_;
    next_ = next_ + 1 == length_ ? 0 : next_ + 1;
    return value;
  }

 private:
  int next_;
  int length_;
};

// One pass. Results are stored in an argument, as returning wide vectors depends on the build flags.
template <typename Operation>
using Pass = void (*)(const double* a, const double* b, double* c, std::size_t n, Operation operation);

template <typename Operation>
void pass_plain(const double* a, const double* b, double* c, std::size_t n, Operation operation) {
  for (std::size_t i = 0; i < n; ++i) operation(a[i], b[i], c[i]);
}

template <std::size_t bytes, typename Operation>
[[gnu::always_inline]] inline void pass_vectors(const double* a, const double* b, double* c, std::size_t n,
                                                Operation operation) {
  typedef double Vector __attribute__((vector_size(bytes)));
  constexpr std::size_t lanes = bytes / sizeof(double);
  std::size_t i = 0;
  for (; i + lanes <= n; i += lanes) {
    Vector of_a, of_b, of_c;
    std::memcpy(&of_a, a + i, bytes);
    std::memcpy(&of_b, b + i, bytes);
    operation(of_a, of_b, of_c);
    std::memcpy(c + i, &of_c, bytes);
  }
  pass_plain(a + i, b + i, c + i, n - i, operation);
}

#if defined(__x86_64__)
template <typename Operation>
[[gnu::target("avx512f")]] void pass_512(const double* a, const double* b, double* c, std::size_t n,
                                         Operation operation) {
  pass_vectors<64>(a, b, c, n, operation);
}
template <typename Operation>
[[gnu::target("avx2")]] void pass_256(const double* a, const double* b, double* c, std::size_t n,
                                      Operation operation) {
  pass_vectors<32>(a, b, c, n, operation);
}
#endif
template <typename Operation>
void pass_128(const double* a, const double* b, double* c, std::size_t n, Operation operation) {
  pass_vectors<16>(a, b, c, n, operation);
}

// Uses the widest vectors of this processor, regardless of the build flags.
template <typename Operation>
Pass<Operation> widest_pass() {
#if defined(__x86_64__)
  if (__builtin_cpu_supports("avx512f")) return pass_512;
  if (__builtin_cpu_supports("avx2")) return pass_256;
#endif
  return pass_128;
}

class Stream : public Benchmark {
 public:
  // `array_bytes`: size of an array on this rank.
  Stream(const Parameters& parameters, const Communicator& communicator, std::int64_t array_bytes)
      : kernel_(find_kernel(parameters.choice("kernel"))),
        tuned_(parameters.choice("variant") == "tuned"),
        everyones_bytes_(communicator.sum(array_bytes)),
        a_(array_bytes),
        b_(array_bytes),
        c_(array_bytes) {}

  Work work() const override {
    const auto elements = static_cast<double>(everyones_bytes_ / static_cast<std::int64_t>(sizeof(double)));
    return {.bytes = elements * kernel_.arrays * sizeof(double), .flops = elements * kernel_.flops};
  }

  void fill(std::uint64_t seed) override {
    const auto a = a_.as<double>();
    const auto b = b_.as<double>();
    const auto c = c_.as<double>();
    // In one loop, as in STREAM, because first touch determines the location of an array's pages.
    Cycle of_a = values_of_a(seed);
    Cycle of_b = values_of_b(seed);
    for (std::size_t i = 0; i < a.size(); ++i) {
      a[i] = of_a.next();
      b[i] = of_b.next();
      c[i] = 0;
    }
  }

  void run(Repetition& repetition) override {
    const double* a = a_.as<double>().data();
    const double* b = b_.as<double>().data();
    double* c = c_.as<double>().data();
    const std::size_t n = c_.as<double>().size();
    with_operation([&]<typename Operation>(Operation operation) {
      const Pass<Operation> pass = tuned_ ? widest_pass<Operation>() : pass_plain<Operation>;
      repetition.time([&] {
        pass(a, b, c, n, operation);
        asm volatile("" : : "r"(c) : "memory");  // the compiler must not skip a pass that repeats the previous one
      });
    });
  }

  Check verify(std::uint64_t seed) override {
    const auto c = c_.as<double>();
    Check check{static_cast<std::int64_t>(c.size()), ""};
    with_operation([&](auto operation) {
      Cycle a = values_of_a(seed);
      Cycle b = values_of_b(seed);
      for (std::size_t i = 0; i < c.size(); ++i) {
        double right = 0;
        operation(a.next(), b.next(), right);
        // Every value is a small integer, so that the result is exact.
        if (c[i] != right) {
          check.problem = sentence({"element ", i, " is ", c[i], ", not ", right});
          return;
        }
      }
    });
    return check;
  }

  std::span<std::byte> received() override { return c_.bytes(); }
  std::size_t array_bytes() const { return c_.size(); }

 private:
  static Cycle values_of_a(std::uint64_t seed) { return {seed, 1021}; }
  static Cycle values_of_b(std::uint64_t seed) { return {3 * seed, 509}; }

  // Calls `use` with the operation on an element, or a vector, of each array.
  template <typename Use>
  void with_operation(Use use) const {
    switch (kernel_.name[0]) {
      case 'c': return use([](const auto& a, const auto&, auto& c) { c = a; });
      case 's': return use([](const auto& a, const auto&, auto& c) { c = scalar * a; });
      case 'a': return use([](const auto& a, const auto& b, auto& c) { c = a + b; });
      default: return use([](const auto& a, const auto& b, auto& c) { c = a + scalar * b; });
    }
  }

  const Kernel& kernel_;
  bool tuned_;
  std::int64_t everyones_bytes_;
  Buffer a_;
  Buffer b_;
  Buffer c_;
};

class StreamFromMemory final : public Stream {
 public:
  StreamFromMemory(const Parameters& parameters, const Communicator& communicator)
      : Stream(parameters, communicator, array_beyond_caches(communicator)) {}

  void run(Repetition& repetition) override {
    Stream::run(repetition);
    repetition.observe("used_array_bytes", static_cast<double>(array_bytes()));
  }
};

Parameter kernel_parameter() {
  return problem("kernel", "triad,copy,scale,add", "operation on each element").worded("triad,copy,scale,add");
}

Parameter variant_parameter() {
  return method("variant", "plain,tuned", "plain loops, or the widest vectors of the processor").worded(",tuned");
}

const Registration registration{{
    .name = "node.stream",
    .title = "STREAM",
    .summary = "bandwidth of copy, scale, add and triad, in cache and in memory",
    .rungs = {{Pattern::memory, "bandwidth_bytes_per_s", "*", "limit"},
              {Pattern::copy, "time_s", "kernel=copy", "limit"}},
    .parameters = {kernel_parameter(), variant_parameter(),
                   size("array_bytes", "B", 1 << 20, 8, std::int64_t{1} << 40, "size of each array on each rank")},
    .definition = Definition::max_rank,
    .metrics = {bytes_per_second(), flops_per_second(), seconds("time_s")},
    .sweeps = {{"baseline", "nodes=types ranks=1,2,4 kernel=copy array_bytes=16Ki,256Ki,4Mi,64Mi"},
               {"baseline", "nodes=types ranks=1,2,4 kernel=triad array_bytes=16Ki,4Mi,64Mi"},
               {"standard", "nodes=types ranks=every kernel=triad array_bytes=64Mi"},
               {"standard",
                "nodes=types ranks=1,all kernel=copy,scale,add,triad "
                "array_bytes=4Ki,16Ki,64Ki,256Ki,1Mi,4Mi,16Mi,64Mi"},
               {"standard", "nodes=types ranks=1,all kernel=copy,triad variant=tuned array_bytes=16Ki,64Mi"}},
    .make = [](const Parameters& parameters, const Communicator& communicator) -> std::unique_ptr<Benchmark> {
      return std::make_unique<Stream>(parameters, communicator, parameters.integer("array_bytes"));
    },
}};

const Registration from_memory{{
    .name = "node.stream_memory",
    .title = "STREAM from memory",
    .summary = "memory bandwidth with arrays four times as large as the last-level caches, as STREAM requires",
    .rungs = {{Pattern::memory, "bandwidth_bytes_per_s", "*", "limit"}},
    .parameters = {kernel_parameter(), variant_parameter()},
    .definition = Definition::max_rank,
    .metrics = {bytes_per_second(), flops_per_second(), seconds("time_s"),
                condition("used_array_bytes", "B", Better::higher).labeled("array on each rank")},
    .sweeps = {{"baseline", "nodes=types ranks=2,4 kernel=triad"},  // one rank would fill arrays for seconds
               {"standard", "nodes=types ranks=every kernel=triad"},
               {"standard", "nodes=types ranks=1,all kernel=copy,scale,add,triad"}},
    .make = make<StreamFromMemory>,
}};

}  // namespace
}  // namespace scope::stream
