// device.stream: memory bandwidth of a device, in five simple kernels.
//
// Timed: one pass over the arrays, from the launch on the host until the device has done it, on the host's clock;
// and the pass alone on the device's clock. Kernels and byte counts are those of STREAM and BabelStream.

#include <numeric>

#include "devices/device_benchmark.hpp"

namespace scope::device_stream {
namespace {

using namespace devices;

constexpr const char* kernels = R"(
KERNEL stream_copy(GLOBAL const double* a, GLOBAL const double* b, GLOBAL double* c, long n) {
  if (ITEM < n) c[ITEM] = a[ITEM];
}
KERNEL stream_scale(GLOBAL const double* a, GLOBAL const double* b, GLOBAL double* c, long n) {
  if (ITEM < n) c[ITEM] = 3.0 * a[ITEM];
}
KERNEL stream_add(GLOBAL const double* a, GLOBAL const double* b, GLOBAL double* c, long n) {
  if (ITEM < n) c[ITEM] = a[ITEM] + b[ITEM];
}
KERNEL stream_triad(GLOBAL const double* a, GLOBAL const double* b, GLOBAL double* c, long n) {
  if (ITEM < n) c[ITEM] = a[ITEM] + 3.0 * b[ITEM];
}
// c has the sum of each group.
KERNEL stream_dot(GLOBAL const double* a, GLOBAL const double* b, GLOBAL double* c, long n) {
  LOCAL double sums[256];
  double sum = 0;
  for (long i = ITEM; i < n; i += ITEMS) sum += a[i] * b[i];
  sums[GROUP_ITEM] = sum;
  for (int pairs = GROUP_ITEMS / 2; pairs > 0; pairs /= 2) {
    GROUP_BARRIER;
    if (GROUP_ITEM < pairs) sums[GROUP_ITEM] += sums[GROUP_ITEM + pairs];
  }
  if (GROUP_ITEM == 0) c[GROUP] = sums[0];
}
)";

constexpr double scalar = 3;
// For dot, as in BabelStream. Few on a CPU, where items of a group run one by one, each through all of memory.
constexpr std::int64_t groups_of_a_unit = 4;
constexpr std::int64_t group_of_a_processor = 2;

class DeviceStream final : public DeviceBenchmark {
 public:
  DeviceStream(const Parameters& parameters, const Communicator& communicator)
      : DeviceBenchmark(parameters, communicator),
        name_(parameters.choice("kernel")),
        ranks_(communicator.size()),
        n_(parameters.integer("array_bytes") / static_cast<std::int64_t>(sizeof(double))) {
    if (facts().doubles_at_once == 0) throw Unavailable("the device has no double precision");
    const std::int64_t bytes = n_ * static_cast<std::int64_t>(sizeof(double));
    require_room(bytes, 3);
    a_ = array(bytes);
    b_ = array(bytes);
    c_ = array(bytes);
    kernel_ = kernel(kernels, ("stream_" + name_).c_str());
    kernel_->set({a_.get(), b_.get(), c_.get(), n_});
    const bool in_turn = sums() && facts().kind == Kind::cpu;
    group_ = in_turn ? group_of_a_processor : group();
    groups_ = (n_ + group_ - 1) / group_;
    if (sums()) groups_ = std::min(groups_, (in_turn ? 1 : groups_of_a_unit) * facts().compute_units);
    partial_sums_.resize(sums() ? static_cast<std::size_t>(groups_) : 0);
    expect_results(static_cast<std::size_t>(sums() ? groups_ : n_) * sizeof(double));
  }

  Work work() const override {
    const double elements = static_cast<double>(n_) * ranks_;
    const int arrays = name_ == "add" || name_ == "triad" ? 3 : 2;
    const int flops = name_ == "copy" ? 0 : name_ == "triad" || sums() ? 2 : 1;
    return {.bytes = elements * arrays * sizeof(double), .flops = elements * flops};
  }

  void fill(std::uint64_t seed) override {
    std::vector<double> values(static_cast<std::size_t>(n_));
    for (std::size_t i = 0; i < values.size(); ++i) values[i] = value_of_a(seed, i);
    write(*a_, std::as_bytes(std::span(values)));
    for (std::size_t i = 0; i < values.size(); ++i) values[i] = value_of_b(seed, i);
    write(*b_, std::as_bytes(std::span(values)));
    std::fill(values.begin(), values.end(), 0);
    write(*c_, std::as_bytes(std::span(values)));
  }

  void run(Repetition& repetition) override {
    const double device_s = time(repetition, [&] {
      queue().launch(*kernel_, groups_ * group_, group_);
      if (sums()) queue().read(std::as_writable_bytes(std::span(partial_sums_)), *c_);
    });
    repetition.observe("device_s", device_s);
    repetition.observe("device_bandwidth_bytes_per_s", work().bytes / ranks_ / device_s);
  }

  // Every value is a small integer, so that results and their sum are exact.
  Check verify(std::uint64_t seed) override {
    const auto bytes = received();
    const std::span results(reinterpret_cast<const double*>(bytes.data()), bytes.size() / sizeof(double));
    double right_sum = 0;
    for (std::size_t i = 0; i < static_cast<std::size_t>(n_); ++i) {
      const double a = value_of_a(seed, i);
      const double b = value_of_b(seed, i);
      right_sum += a * b;
      if (const double right = value_of_c(a, b); !sums() && results[i] != right)
        return {n_, sentence({"element ", i, " is ", results[i], ", not ", right})};
    }
    const double sum = std::accumulate(results.begin(), results.end(), 0.0);
    if (!sums() || sum == right_sum) return {n_, ""};
    return {n_, sentence({"the sum is ", sum, ", not ", right_sum})};
  }

 private:
  bool sums() const { return name_ == "dot"; }
  void copy_results(std::span<std::byte> to) override { read(to, *c_); }

  static double value_of_a(std::uint64_t seed, std::size_t i) { return static_cast<double>((seed + i) % 1021); }
  static double value_of_b(std::uint64_t seed, std::size_t i) { return static_cast<double>((3 * seed + i) % 509); }
  double value_of_c(double a, double b) const {
    switch (name_[0]) {
      case 'c': return a;
      case 's': return scalar * a;
      case 'a': return a + b;
      default: return a + scalar * b;
    }
  }

  std::string name_;
  int ranks_;
  std::int64_t n_;
  std::int64_t group_ = 0;
  std::int64_t groups_ = 0;
  std::unique_ptr<Array> a_;
  std::unique_ptr<Array> b_;
  std::unique_ptr<Array> c_;
  std::unique_ptr<Kernel> kernel_;
  std::vector<double> partial_sums_;
};

const Registration registration{{
    .name = "device.stream",
    .title = "STREAM on a device",
    .summary = "memory bandwidth of a device: copy, scale, add, triad and dot",
    .family = "device_stream",
    .needs = {Requirement::device},
    .rungs = {{Pattern::device_memory, "device_bandwidth_bytes_per_s", "device=*"},
              {Pattern::device_memory, "bandwidth_bytes_per_s", "device=*"}},
    .parameters = {problem("kernel", "triad,copy,scale,add,dot", "operation on each element")
                       .worded("triad,copy,scale,add,dot"),
                   device_parameter(),
                   size("array_bytes", "B", 1 << 20, 8, std::int64_t{1} << 40, "size of each array on each rank")},
    .definition = Definition::max_rank,
    .metrics = {bytes_per_second(), flops_per_second(),
                result("device_bandwidth_bytes_per_s", "B/s", Better::higher).labeled("device-clock bandwidth"),
                seconds("time_s"), phase("device_s").labeled("device-clock time")},
    .sweeps = {{"standard", "nodes=types ranks=1 kernel=triad,dot array_bytes=1Mi,16Mi,256Mi"},
               {"standard", "nodes=types ranks=1 kernel=copy,scale,add array_bytes=256Mi"}},
    .make = make<DeviceStream>,
}};

}  // namespace
}  // namespace scope::device_stream
