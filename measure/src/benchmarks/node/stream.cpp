// node.stream: sustained memory bandwidth of four simple kernels.
//
// Timed: one pass over the arrays, on every rank's own clock; the slowest rank counts. Ranks start together,
// so that they compete for the memory as programs do. After McCalpin's STREAM; bytes are counted as it counts
// them.
#include <cmath>

#include "benchmark.hpp"
#include "memory/buffer.hpp"
#include "text/words.hpp"

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
  for (const auto& kernel : kernels) {
    if (name == kernel.name) return kernel;
  }
  throw std::invalid_argument("kernel=" + name);
}

class Stream final : public Benchmark {
 public:
  Stream(const Parameters& parameters, const Communicator& communicator)
      : kernel_(find_kernel(parameters.choice("kernel"))),
        ranks_(communicator.size()),
        a_(parameters.integer("array_bytes")),
        b_(parameters.integer("array_bytes")),
        c_(parameters.integer("array_bytes")) {}

  Work work() const override {
    const auto elements = static_cast<double>(a_.size() / sizeof(double)) * ranks_;
    return {.bytes = elements * kernel_.arrays * sizeof(double), .flops = elements * kernel_.flops};
  }

  void fill(std::uint64_t seed) override {
    const auto a = a_.as<double>();
    const auto b = b_.as<double>();
    const auto c = c_.as<double>();
    // In one loop, as STREAM does: first touch determines where the pages of an array lie.
    for (std::size_t i = 0; i < a.size(); ++i) {
      a[i] = a_value(seed, i);
      b[i] = b_value(seed, i);
      c[i] = 0;
    }
  }

  void run(Repetition& repetition) override {
    const double* a = a_.as<double>().data();
    const double* b = b_.as<double>().data();
    double* c = c_.as<double>().data();
    const std::size_t n = c_.as<double>().size();
    const auto pass = [&](auto element) {
      repetition.time([&] {
        for (std::size_t i = 0; i < n; ++i) c[i] = element(i);
        asm volatile(""
                     :
                     : "r"(c)
                     : "memory");  // the compiler must not skip a pass that repeats the one before
      });
    };
    if (kernel_.name == kernels[0].name) {
      pass([=](std::size_t i) { return a[i]; });
    } else if (kernel_.name == kernels[1].name) {
      pass([=](std::size_t i) { return scalar * a[i]; });
    } else if (kernel_.name == kernels[2].name) {
      pass([=](std::size_t i) { return a[i] + b[i]; });
    } else {
      pass([=](std::size_t i) { return a[i] + scalar * b[i]; });
    }
  }

  Check verify(std::uint64_t seed) override {
    const auto c = c_.as<double>();
    for (std::size_t i = 0; i < c.size(); ++i) {
      const double right = expected(a_value(seed, i), b_value(seed, i));
      // Every value is a small integer: the result is exact.
      if (c[i] != right) {
        return {static_cast<std::int64_t>(c.size()),
                sentence({"element ", i, " is ", c[i], ", not ", right})};
      }
    }
    return {static_cast<std::int64_t>(c.size()), ""};
  }

  std::span<std::byte> received() override { return c_.bytes(); }

 private:
  static double a_value(std::uint64_t seed, std::size_t i) { return static_cast<double>((seed + i) % 1021); }
  static double b_value(std::uint64_t seed, std::size_t i) {
    return static_cast<double>((3 * seed + i) % 509);
  }

  double expected(double a, double b) const {
    switch (kernel_.name[0]) {
      case 'c':
        return a;
      case 's':
        return scalar * a;
      case 'a':
        return a + b;
      default:
        return a + scalar * b;
    }
  }

  const Kernel& kernel_;
  int ranks_;
  Buffer a_;
  Buffer b_;
  Buffer c_;
};

const Registration registration{{
    .name = "node.stream",
    .title = "STREAM",
    .summary = "memory bandwidth of copy, scale, add and triad, from cache to memory",
    .rungs = {{Pattern::memory, "bandwidth_bytes_per_s", "*", "limit"},
              {Pattern::copy, "time_s", "kernel=copy", "limit"}},
    .parameters = {problem("kernel", "triad,copy,scale,add", "operation on each element"),
                   size("array_bytes", "B", 1 << 20, 8, std::int64_t{1} << 40,
                        "size of each array on each rank")},
    .definition = Definition::max_rank,
    .metrics = {bytes_per_second(), flops_per_second(), seconds("time_s")},
    .sweeps = {{"baseline", "nodes=types ranks=1,all kernel=copy array_bytes=16Ki,256Ki,4Mi,64Mi"},
               {"baseline", "nodes=types ranks=1,all kernel=triad array_bytes=16Ki,4Mi,64Mi"},
               {"standard", "nodes=types ranks=every kernel=triad array_bytes=64Mi"},
               {"standard",
                "nodes=types ranks=1,all kernel=copy,scale,add,triad "
                "array_bytes=4Ki,16Ki,64Ki,256Ki,1Mi,4Mi,16Mi,64Mi"}},
    .make = make<Stream>,
}};

}  // namespace
}  // namespace scope::stream
