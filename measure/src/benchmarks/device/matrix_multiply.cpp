// device.matrix_multiply: arithmetic rate of a device in matrix products.
//
// Timed: one product C = A B of square matrices in the device's memory, from the call on the host until the device
// is done, on the host's clock; and the product alone on the device's clock.

#include <bit>
#include <cmath>

#include "devices/device_benchmark.hpp"

namespace scope::device_matrix_multiply {
namespace {

using namespace devices;

// Each group computes a tile of C; EDGE is the edge of this tile and of the shared tiles of A and B.
constexpr const char* text = R"(
KERNEL product(GLOBAL const REAL* a, GLOBAL const REAL* b, GLOBAL REAL* c, long n) {
  LOCAL REAL of_a[EDGE * EDGE], of_b[EDGE * EDGE];
  const long tiles = (n + EDGE - 1) / EDGE;
  const long row = GROUP_ITEM / EDGE, column = GROUP_ITEM % EDGE;
  const long i = GROUP / tiles * EDGE + row, j = GROUP % tiles * EDGE + column;
  REAL sum = 0;
  for (long first = 0; first < n; first += EDGE) {
    of_a[GROUP_ITEM] = i < n && first + column < n ? a[i * n + first + column] : 0;
    of_b[GROUP_ITEM] = first + row < n && j < n ? b[(first + row) * n + j] : 0;
    GROUP_BARRIER;
    for (int k = 0; k < EDGE; ++k) sum = MULTIPLY_ADD(of_a[row * EDGE + k], of_b[k * EDGE + column], sum);
    GROUP_BARRIER;
  }
  if (i < n && j < n) c[i * n + j] = sum;
}
)";

// Storage format of numbers: size in bytes, and number of binary digits.
struct Format {
  Precision precision;
  std::size_t bytes;
  int digits;
  const char* name = "";  // name in kernels
};
Format format_of(const std::string& precision) {
  if (precision == "double") return {Precision::fp64, 8, 53, "double"};
  if (precision == "single") return {Precision::fp32, 4, 24, "float"};
  if (precision == "tf32") return {Precision::tf32, 4, 24};
  if (precision == "half") return {Precision::fp16, 2, 11};
  return {Precision::bf16, 2, 8};
}

// Stores a whole number, rounded to nearest, ties to even, as the hardware does.
void store(std::byte* to, std::int64_t number, const Format& format) {
  const auto exact = static_cast<double>(number);
  int exponent = 0;
  std::frexp(exact, &exponent);
  const double unit = std::ldexp(1.0, exponent - format.digits);
  const double rounded = std::nearbyint(exact / unit) * unit;
  if (format.bytes == sizeof rounded) {
    std::memcpy(to, &rounded, sizeof rounded);
    return;
  }
  auto bits = std::bit_cast<std::uint32_t>(static_cast<float>(rounded));
  if (format.precision == Precision::bf16) bits >>= 16;
  if (format.precision == Precision::fp16) {
    constexpr std::uint32_t other_bias = 127 - 15;
    const std::uint32_t power = (bits >> 23) & 0xff;
    const std::uint32_t sign = (bits >> 16) & 0x8000;
    const std::uint32_t size =
        power >= other_bias + 31 ? 0x7c00 : ((power - other_bias) << 10) | ((bits >> 13) & 0x3ff);
    bits = number == 0 ? 0 : sign | size;
  }
  std::memcpy(to, &bits, format.bytes);  // little endian
}

// Period of the rows of A and the columns of B: C has only this many different rows and columns, whose exact values
// the host can compute without a whole product. Tiles whose size is a power of two do not repeat with this period.
constexpr std::int64_t period = 61;
// Entries are whole numbers from -8 to 8, so that every product and sum is exact in each precision of arithmetic.
constexpr int largest_entry = 8;

class DeviceMatrixMultiply final : public DeviceBenchmark {
 public:
  DeviceMatrixMultiply(const Parameters& parameters, const Communicator& communicator)
      : DeviceBenchmark(parameters, communicator),
        format_(format_of(parameters.choice("precision"))),
        n_(parameters.integer("n")),
        ranks_(communicator.size()),
        rank_(communicator.rank()),
        edge_(group() >= 256 ? 16 : 4) {
    if (parameters.choice("variant") == "tuned")
      products_ = device().products(format_.precision);
    else if (*format_.name == '\0' || (format_.bytes == 8 && facts().doubles_at_once == 0))
      throw Unavailable("no tiled kernel in precision " + parameters.choice("precision"));
    const auto bytes = static_cast<std::int64_t>(row_bytes()) * n_;
    require_room(bytes, 3);
    a_ = array(bytes);
    b_ = array(bytes);
    c_ = array(bytes);
    if (!products_) {
      kernel_ = kernel(sentence({"#define REAL ", format_.name, "\n#define EDGE ", edge_, text}), "product");
      kernel_->set({a_.get(), b_.get(), c_.get(), n_});
    }
    expect_results(static_cast<std::size_t>(bytes));
  }

  Work work() const override {
    const auto n = static_cast<double>(n_);
    return {.flops = 2 * n * n * n * ranks_};
  }

  void fill(std::uint64_t seed) override {
    const auto rows = entries_of(2 * (seed * ranks_ + rank_));
    const auto columns = entries_of(2 * (seed * ranks_ + rank_) + 1);
    std::vector<std::byte> matrix(row_bytes() * n_);
    write(*c_, matrix);
    for (std::int64_t i = 0; i < std::min(n_, period); ++i)
      store_row(&matrix[row_bytes() * i], n_, [&](std::int64_t k) { return rows[i * n_ + k]; });
    for (std::int64_t i = period; i < n_; ++i)
      std::memcpy(&matrix[row_bytes() * i], &matrix[row_bytes() * (i - period)], row_bytes());
    write(*a_, matrix);
    for (std::int64_t k = 0; k < n_; ++k) {
      std::byte* row = &matrix[row_bytes() * k];
      store_row(row, std::min(n_, period), [&](std::int64_t j) { return columns[j * n_ + k]; });
      for_each_period([&](std::int64_t j, std::size_t bytes) {
        if (j > 0) std::memcpy(row + j * format_.bytes, row, bytes);
      });
    }
    write(*b_, matrix);
    right_.resize(format_.bytes * period * period);
    for (std::int64_t i = 0; i < period; ++i)
      store_row(&right_[format_.bytes * period * i], period, [&](std::int64_t j) {
        std::int64_t sum = 0;
        for (std::int64_t k = 0; k < n_; ++k) sum += rows[i * n_ + k] * columns[j * n_ + k];
        return sum;
      });
  }

  void run(Repetition& repetition) override {
    const double device_s = time(repetition, [&] {
      if (products_) return products_->enqueue(queue(), *c_, *a_, *b_, n_);
      const std::int64_t tiles = (n_ + edge_ - 1) / edge_;
      queue().launch(*kernel_, tiles * tiles * edge_ * edge_, edge_ * edge_);
    });
    repetition.observe("device_s", device_s);
    repetition.observe("device_flops_per_s", work().flops / ranks_ / device_s);
  }

  // Compares bitwise.
  Check verify(std::uint64_t) override {
    const std::byte* results = received().data();
    std::string problem;
    for (std::int64_t i = 0; i < n_ && problem.empty(); ++i) {
      const std::byte* right = &right_[format_.bytes * period * (i % period)];
      for_each_period([&](std::int64_t j, std::size_t bytes) {
        const std::byte* found = results + row_bytes() * i + format_.bytes * j;
        if (!problem.empty() || std::memcmp(found, right, bytes) == 0) return;
        const auto first = std::mismatch(found, found + bytes, right).first - found;
        problem = sentence({"the element in row ", i, ", column ", j + first / format_.bytes, " is wrong"});
      });
    }
    return {n_ * n_, problem};
  }

  std::vector<ControlVariable> settings() const override {
    auto all = DeviceBenchmark::settings();
    if (products_) all.push_back({"matrix_library", products_->library()});
    return all;
  }

 private:
  std::size_t row_bytes() const { return format_.bytes * n_; }

  // The entries of the different rows of A, or columns of B, one after another.
  std::vector<std::int8_t> entries_of(std::uint64_t seed) const {
    std::vector<std::int8_t> all(static_cast<std::size_t>(period * n_));
    for (std::size_t place = 0; place < all.size(); ++place)
      all[place] = static_cast<std::int8_t>(static_cast<int>(pattern_word(seed, place) % (2 * largest_entry + 1)) -
                                            largest_entry);
    return all;
  }

  template <class NumberOf>
  void store_row(std::byte* row, std::int64_t count, NumberOf number_of) const {
    for (std::int64_t place = 0; place < count; ++place)
      store(row + format_.bytes * place, number_of(place), format_);
  }

  // Calls `call` with the first column of each period and with the bytes of a row in this period.
  template <class Call>
  void for_each_period(Call call) const {
    for (std::int64_t j = 0; j < n_; j += period) call(j, format_.bytes * std::min(period, n_ - j));
  }

  void copy_results(std::span<std::byte> to) override { read(to, *c_); }

  Format format_;
  std::int64_t n_;
  int ranks_;
  int rank_;
  std::int64_t edge_;
  std::unique_ptr<Products> products_;
  std::unique_ptr<Array> a_;
  std::unique_ptr<Array> b_;
  std::unique_ptr<Array> c_;
  std::unique_ptr<Kernel> kernel_;
  std::vector<std::byte> right_;  // the different elements of C
};

const Registration registration{{
    .name = "device.matrix_multiply",
    .title = "GEMM on a device",
    .summary = "matrix multiplication rate of a device, by cuBLAS or a tiled kernel",
    .family = "device_matrix_multiply",
    .needs = {Requirement::device},
    .rungs = {{Pattern::device_arithmetic, "flops_per_s", "device=*"}},
    .parameters = {problem("precision", "double,single,tf32,half,bfloat16",
                           "number format; TF32: single precision rounded to 11 significant bits")
                       .worded(",single precision,TF32,half precision,bfloat16"),
                   method("variant", "tuned,tiled", "the vendor's library (cuBLAS), or a simple kernel with tiles")
                       .worded(",tiled kernel"),
                   device_parameter(),
                   size("n", "", 1024, 1, 32'768, "order of each matrix on each rank")
                       .labeled("matrix order")
                       .worded("N = {}")},
    .definition = Definition::max_rank,
    .metrics = {flops_per_second(),
                result("device_flops_per_s", "flop/s", Better::higher).labeled("device-clock arithmetic rate"),
                seconds("time_s"), phase("device_s").labeled("device-clock time")},
    .sweeps = {{"standard", "nodes=types ranks=1 precision=double,single,tf32,half,bfloat16 n=1024,4096"},
               {"standard", "nodes=types ranks=1 variant=tiled precision=double,single n=512"},
               {"advanced", "nodes=types ranks=1 precision=tf32,half,bfloat16 n=8192"}},
    .make = make<DeviceMatrixMultiply>,
}};

}  // namespace
}  // namespace scope::device_matrix_multiply
