// node.stream, node.stream_memory: sustained memory bandwidth of four simple kernels, with arrays of any size and with
// arrays as large as STREAM's rule demands.
//
// Timed: one pass over the arrays, on every rank's own clock; the slowest rank counts. Ranks start together,
// so that they compete for the memory as programs do. After McCalpin's STREAM; bytes are counted as it counts
// them.

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

// STREAM's rule: each array, over all ranks of a host, is at least four times the last-level caches of the processors
// that these ranks may use.
constexpr std::int64_t arrays_over_caches = 4;

// The part of such an array on each rank of this host. Collective.
std::int64_t array_beyond_caches(const Communicator& communicator) {
  const auto allowed = allowed_on_host(communicator);
  std::vector<int> processors;
  for (const auto& of_rank : allowed) processors.insert(processors.end(), of_rank.begin(), of_rank.end());
  const std::int64_t caches = last_level_cache_bytes(processors);
  if (communicator.smallest(caches) == 0)  // all ranks refuse or none
    throw Unavailable("the system does not tell the size of the last-level cache (/sys/devices/system/cpu)");
  const auto ranks = static_cast<std::int64_t>(allowed.size());
  const std::int64_t bytes =
      (arrays_over_caches * caches / ranks + sizeof(double)) / sizeof(double) * sizeof(double);
  require_memory(3 * bytes, communicator);
  return bytes;
}

// Counts from a start to a length and from 0 again: cheaper than a remainder for each element of a large array.
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

class Stream : public Benchmark {
 public:
  // `array_bytes`: on this rank.
  Stream(const Parameters& parameters, const Communicator& communicator, std::int64_t array_bytes)
      : kernel_(find_kernel(parameters.choice("kernel"))),
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
    // In one loop, as STREAM does: first touch determines where the pages of an array lie.
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
    with_operation([&](auto operation) {
      repetition.time([&] {
        for (std::size_t i = 0; i < n; ++i) c[i] = operation(a[i], b[i]);
        asm volatile("" : : "r"(c) : "memory");  // the compiler must not skip a pass that repeats the one before
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
        const double right = operation(a.next(), b.next());
        // Every value is a small integer: the result is exact.
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

  // Calls `use` with the operation on an element of a and one of b.
  template <typename Use>
  void with_operation(Use use) const {
    switch (kernel_.name[0]) {
      case 'c': return use([](double a, double) { return a; });
      case 's': return use([](double a, double) { return scalar * a; });
      case 'a': return use([](double a, double b) { return a + b; });
      default: return use([](double a, double b) { return a + scalar * b; });
    }
  }

  const Kernel& kernel_;
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

const Registration registration{{
    .name = "node.stream",
    .title = "STREAM",
    .summary = "memory bandwidth of copy, scale, add and triad, from cache to memory",
    .rungs = {{Pattern::memory, "bandwidth_bytes_per_s", "*", "limit"},
              {Pattern::copy, "time_s", "kernel=copy", "limit"}},
    .parameters = {kernel_parameter(),
                   size("array_bytes", "B", 1 << 20, 8, std::int64_t{1} << 40, "size of each array on each rank")},
    .definition = Definition::max_rank,
    .metrics = {bytes_per_second(), flops_per_second(), seconds("time_s")},
    .sweeps = {{"baseline", "nodes=types ranks=1,2,4 kernel=copy array_bytes=16Ki,256Ki,4Mi,64Mi"},
               {"baseline", "nodes=types ranks=1,2,4 kernel=triad array_bytes=16Ki,4Mi,64Mi"},
               {"standard", "nodes=types ranks=every kernel=triad array_bytes=64Mi"},
               {"standard",
                "nodes=types ranks=1,all kernel=copy,scale,add,triad "
                "array_bytes=4Ki,16Ki,64Ki,256Ki,1Mi,4Mi,16Mi,64Mi"}},
    .make = [](const Parameters& parameters, const Communicator& communicator) -> std::unique_ptr<Benchmark> {
      return std::make_unique<Stream>(parameters, communicator, parameters.integer("array_bytes"));
    },
}};

const Registration from_memory{{
    .name = "node.stream_memory",
    .title = "STREAM from memory",
    .summary = "memory bandwidth with arrays of four times the last-level caches, as STREAM demands",
    .rungs = {{Pattern::memory, "bandwidth_bytes_per_s", "*", "limit"}},
    .parameters = {kernel_parameter()},
    .definition = Definition::max_rank,
    .metrics = {bytes_per_second(), flops_per_second(), seconds("time_s"),
                condition("used_array_bytes", "B", Better::higher).labeled("array on each rank")},
    .sweeps = {{"baseline", "nodes=types ranks=1,2,4 kernel=triad"},
               {"standard", "nodes=types ranks=every kernel=triad"},
               {"standard", "nodes=types ranks=1,all kernel=copy,scale,add,triad"}},
    .make = make<StreamFromMemory>,
}};

}  // namespace
}  // namespace scope::stream
