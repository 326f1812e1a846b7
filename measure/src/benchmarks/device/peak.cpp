// device.peak: peak floating-point rate of a device.
//
// Timed: fused multiply-adds in registers, in enough independent chains and items to hide their latency, from the
// launch on the host until the device has done them, on the host's clock; and the kernel alone on the device's clock.

#include "devices/device_benchmark.hpp"

namespace scope::device_peak {
namespace {

using namespace devices;

constexpr std::int64_t rounds = 1024;
constexpr std::int64_t chains = 16;
// Every chain ends below 2^11, so that it is exact even in half precision.
constexpr std::uint64_t starts = 512;
// A unit is partly idle while its first groups start and its last ones end. These fill a GPU's unit eight times or more; a CPU runs them one after another.
constexpr std::int64_t items_of_a_unit = 16384;
constexpr std::int64_t items_of_a_core = 8192;

// Factor and term are 1, unknown to the compiler. For some devices it would unroll all rounds, taking half a minute.
constexpr const char* text = R"(
#define EACH(DO) DO(0) DO(1) DO(2) DO(3) DO(4) DO(5) DO(6) DO(7) DO(8) DO(9) DO(10) DO(11) DO(12) DO(13) DO(14) DO(15)
#define START(i) REAL chain##i = REAL_OF((start + ITEM + i) % 512);
#define ADD(i) chain##i = MULTIPLY_ADD(chain##i, factor, term);
#define COLLECT(i) for (int number = 0; number < NUMBERS; ++number) sum += ((const NUMBER*)&chain##i)[number];

KERNEL peak(GLOBAL float* sums, float given_factor, float given_term, unsigned int start) {
  const REAL factor = REAL_OF(given_factor), term = REAL_OF(given_term);
  EACH(START)
  #pragma unroll 16
  for (int round = 0; round < 1024; ++round) { EACH(ADD) }
  float sum = 0;
  EACH(COLLECT)
  sums[ITEM] = sum;
}
)";

// CPUs with vectors compute several numbers at once, other devices half-precision numbers in pairs.
struct Precision {
  const char* name;  // name in kernels
  int numbers;
};

std::string text_for(const Precision& precision) {
  const std::string name = precision.name;
  const std::string several = precision.numbers == 1 ? name : sentence({name, precision.numbers});
  return sentence({"#define NUMBER ", name, "\n#define NUMBERS ", precision.numbers, "\n#define REAL ", several,
                   "\n#define REAL_OF(x) (REAL)((NUMBER)(x))\n", text});
}

class DevicePeak final : public DeviceBenchmark {
 public:
  DevicePeak(const Parameters& parameters, const Communicator& communicator)
      : DeviceBenchmark(parameters, communicator),
        precision_(precision(parameters.choice("precision"))),
        items_((facts().kind == Kind::cpu ? items_of_a_core : items_of_a_unit) * facts().compute_units),
        ranks_(communicator.size()) {
    const auto bytes = static_cast<std::size_t>(items_) * sizeof(float);
    require_room(static_cast<std::int64_t>(bytes), 1);
    sums_ = array(static_cast<std::int64_t>(bytes));
    kernel_ = kernel(text_for(precision_), "peak");
    expect_results(bytes);
  }

  Work work() const override {
    return {.flops = 2.0 * rounds * chains * precision_.numbers * static_cast<double>(items_) * ranks_};
  }

  void fill(std::uint64_t seed) override {
    kernel_->set({sums_.get(), 1.0F, 1.0F, static_cast<std::uint32_t>(seed % starts)});
  }

  void run(Repetition& repetition) override {
    const double device_s = time(repetition, [&] { queue().launch(*kernel_, items_, group()); });
    repetition.observe("device_s", device_s);
    repetition.observe("device_flops_per_s", work().flops / ranks_ / device_s);
  }

  Check verify(std::uint64_t seed) override {
    std::array<float, starts> right{};
    for (std::size_t start = 0; start < starts; ++start)
      for (std::size_t chain = 0; chain < chains; ++chain)
        right[start] += static_cast<float>(((start + chain) % starts + rounds) * precision_.numbers);
    const std::span sums(reinterpret_cast<const float*>(received().data()), static_cast<std::size_t>(items_));
    for (std::size_t item = 0; item < sums.size(); ++item)
      if (sums[item] != right[(seed + item) % starts])
        return {items_, sentence({"item ", item, " has a wrong sum"})};
    return {items_, ""};
  }

 private:
  Precision precision(const std::string& name) const {
    const Precision known = name == "double"   ? Precision{"double", facts().doubles_at_once}
                            : name == "single" ? Precision{"float", facts().singles_at_once}
                                               : Precision{"half", facts().halves_at_once};
    if (known.numbers == 0) throw Unavailable("the device has no " + name + " precision");
    return name == "half" ? Precision{known.name, std::max(2, known.numbers)} : known;
  }
  void copy_results(std::span<std::byte> to) override { read(to, *sums_); }

  Precision precision_;
  std::int64_t items_;
  int ranks_;
  std::unique_ptr<Array> sums_;
  std::unique_ptr<Kernel> kernel_;
};

const Registration registration{{
    .name = "device.peak",
    .title = "peak arithmetic rate of a device",
    .summary = "peak floating-point rate of a device: multiply-adds in registers",
    .family = "device_peak",
    .needs = {Requirement::device},
    .rungs = {{Pattern::device_arithmetic, "flops_per_s", "device=*"}},
    .parameters = {problem("precision", "double,single,half", "precision of the numbers")
                       .worded(",single precision,half precision"),
                   device_parameter()},
    .definition = Definition::max_rank,
    .metrics = {flops_per_second(),
                result("device_flops_per_s", "flop/s", Better::higher).labeled("device-clock arithmetic rate"),
                seconds("time_s"), phase("device_s").labeled("device-clock time")},
    .sweeps = {{"standard", "nodes=types ranks=1 precision=double,single,half"}},
    .make = make<DevicePeak>,
}};

}  // namespace
}  // namespace scope::device_peak
