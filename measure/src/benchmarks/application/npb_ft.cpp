// application.npb_ft: a partial differential equation solved by three-dimensional Fourier transforms.
//
// Timed: the initial conditions, their transform, and in each iteration the evolution, the inverse transform
// and a checksum; the slowest process counts. After kernel FT of the NAS Parallel Benchmarks (RNR-94-007,
// section 2.2.4). Each transform sends the whole grid in an all-to-all.
#include <numbers>

#include "benchmarks/algorithm/partition.hpp"
#include "benchmarks/application/npb/kernel.hpp"
#include "benchmarks/application/npb/random_numbers.hpp"
#include "benchmarks/application/npb/variant.hpp"
#include "benchmarks/application/npb/vectors.hpp"

namespace scope::npb::ft {

// Fast Fourier transforms of a power of two points, several at once in the lanes of vectors.

struct Complex {
  double re;
  double im;
};

// One value of each transform, one per lane.
template <class Real>
struct Several {
  Real re;
  Real im;
};

template <class Real>
SCOPE_INLINE inline Several<Real> operator+(const Several<Real>& a, const Several<Real>& b) {
  return {a.re + b.re, a.im + b.im};
}
template <class Real>
SCOPE_INLINE inline Several<Real> operator-(const Several<Real>& a, const Several<Real>& b) {
  return {a.re - b.re, a.im - b.im};
}
template <class Real>
SCOPE_INLINE inline Several<Real> operator*(const Complex& w, const Several<Real>& a) {
  return {w.re * a.re - w.im * a.im, w.re * a.im + w.im * a.re};
}

enum class Direction { forward, backward };

// Four transforms at once, with vectors of `lanes` values.
class Fft {
 public:
  static constexpr int together = 4;

  explicit Fft(int points) : points_(points), roots_(points), work_(bytes(points)), other_(bytes(points)) {
    for (int k = 0; k < points; ++k) {
      const double angle = -2 * std::numbers::pi * k / points;
      roots_[k] = {std::cos(angle), std::sin(angle)};
    }
  }

  int points() const { return points_; }

  // Transforms four columns: `from(i, column)` and `to(i, column)` return the addresses of point i. Not scaled.
  // Uses Stockham's method: passes of radix 4, and one of radix 2 if needed, alternate between two arrays, so that
  // the points end in order (Van Loan 1992, Computational Frameworks for the Fast Fourier Transform, 1.7).
  template <Direction direction, int lanes, class From, class To>
  SCOPE_INLINE void transform(From from, To to) {
    using Values = Several<typename Vector<lanes>::Type>;
    constexpr int groups = together / lanes;
    auto* in = work_.as<Values>().data();
    auto* out = other_.as<Values>().data();
    for (int i = 0; i < points_; ++i) {
      for (int group = 0; group < groups; ++group) {
        each<lanes>([&](auto lane) SCOPE_INLINE {
          const Complex value = from(i, group * lanes + lane);
          set_number(in[i * groups + group].re, lane, value.re);
          set_number(in[i * groups + group].im, lane, value.im);
        });
      }
    }
    int left = points_;
    int done = 1;
    for (; left >= 4; left /= 4, done *= 4) {
      radix_4<direction>(in, out, left / 4, done, done * groups);
      std::swap(in, out);
    }
    if (left == 2) {
      radix_2(in, out, done * groups);
      std::swap(in, out);
    }
    for (int i = 0; i < points_; ++i) {
      for (int group = 0; group < groups; ++group) {
        each<lanes>([&](auto lane) SCOPE_INLINE {
          const Values& value = in[i * groups + group];
          to(i, group * lanes + lane) = {number(value.re, lane), number(value.im, lane)};
        });
      }
    }
  }

 private:
  static std::size_t bytes(int points) { return sizeof(Complex) * together * points; }

  template <Direction direction>
  Complex root(int k) const {
    const Complex root = roots_[k];
    return direction == Direction::forward ? root : Complex{root.re, -root.im};
  }

  // a times -i, or times i in the inverse transform.
  template <Direction direction, class Values>
  SCOPE_INLINE static Values turned(const Values& a) {
    if constexpr (direction == Direction::forward) return {a.im, -a.re};
    return {-a.im, a.re};
  }

  // `quarter`: a quarter of the remaining points; `done`: the length of the transforms done so far, which have
  // `length` values.
  template <Direction direction, class Values>
  SCOPE_INLINE void radix_4(const Values* from, Values* to, int quarter, int done, int length) const {
    for (int p = 0; p < quarter; ++p) {
      const Complex w1 = root<direction>(p * done);
      const Complex w2 = root<direction>(2 * p * done);
      const Complex w3 = root<direction>(3 * p * done);
      const Values* const a = from + p * length;
      const Values* const b = a + quarter * length;
      const Values* const c = b + quarter * length;
      const Values* const d = c + quarter * length;
      Values* const out = to + 4 * p * length;
      for (int q = 0; q < length; ++q) {
        const Values sum_ac = a[q] + c[q];
        const Values difference_ac = a[q] - c[q];
        const Values sum_bd = b[q] + d[q];
        const Values difference_bd = turned<direction>(b[q] - d[q]);
        out[q] = sum_ac + sum_bd;
        out[q + length] = w1 * (difference_ac + difference_bd);
        out[q + 2 * length] = w2 * (sum_ac - sum_bd);
        out[q + 3 * length] = w3 * (difference_ac - difference_bd);
      }
    }
  }

  template <class Values>
  SCOPE_INLINE static void radix_2(const Values* from, Values* to, int length) {
    for (int q = 0; q < length; ++q) {
      to[q] = from[q] + from[q + length];
      to[q + length] = from[q] - from[q + length];
    }
  }

  int points_;
  std::vector<Complex> roots_;
  Buffer work_;  // aligned for any vector
  Buffer other_;
};

namespace {

constexpr const char* name = "application.npb_ft";
constexpr std::uint64_t seed = 314159265;
constexpr double alpha = 1e-6;
constexpr int summed_points = 1024;

// RNR-94-007, table 2.5 (A, B); NPB 3.4 (S, W, C).
constexpr Complex checksums_S[] = {{5.546087004964e2, 4.845363331978e2}, {5.546385409189e2, 4.865304269511e2},
                                   {5.546148406171e2, 4.883910722336e2}, {5.545423607415e2, 4.901273169046e2},
                                   {5.544255039624e2, 4.917475857993e2}, {5.542683411902e2, 4.932597244941e2}};
constexpr Complex checksums_W[] = {{5.673612178944e2, 5.293246849175e2}, {5.631436885271e2, 5.282149986629e2},
                                   {5.594024089970e2, 5.270996558037e2}, {5.560698047020e2, 5.260027904925e2},
                                   {5.530898991250e2, 5.249400845633e2}, {5.504159734538e2, 5.239212247086e2}};
constexpr Complex checksums_A[] = {{5.046735008193e2, 5.114047905510e2}, {5.059412319734e2, 5.098809666433e2},
                                   {5.069376896287e2, 5.098144042213e2}, {5.077892868474e2, 5.101336130759e2},
                                   {5.085233095391e2, 5.104914655194e2}, {5.091487099959e2, 5.107917842803e2}};
constexpr Complex checksums_B[] = {{5.177643571579e2, 5.077803458597e2}, {5.154521291263e2, 5.088249431599e2},
                                   {5.146409228649e2, 5.096208912659e2}, {5.142378756213e2, 5.101023387619e2},
                                   {5.139626667737e2, 5.103976610617e2}, {5.137423460082e2, 5.105948019802e2},
                                   {5.135547056878e2, 5.107404165783e2}, {5.133910925466e2, 5.108576573661e2},
                                   {5.132470705390e2, 5.109577278523e2}, {5.131197729984e2, 5.110460304483e2},
                                   {5.130070319283e2, 5.111252433800e2}, {5.129070537032e2, 5.111968077718e2},
                                   {5.128182883502e2, 5.112616233064e2}, {5.127393733383e2, 5.113203605551e2},
                                   {5.126691062020e2, 5.113735928093e2}, {5.126064276004e2, 5.114218460548e2},
                                   {5.125504076570e2, 5.114656139760e2}, {5.125002331720e2, 5.115053595966e2},
                                   {5.124551951846e2, 5.115415130407e2}, {5.124146770029e2, 5.115744692211e2}};
constexpr Complex checksums_C[] = {{5.195078707457e2, 5.149019699238e2}, {5.155422171134e2, 5.127578201997e2},
                                   {5.144678022222e2, 5.122251847514e2}, {5.140150594328e2, 5.121090289018e2},
                                   {5.137550426810e2, 5.121143685824e2}, {5.135811056728e2, 5.121496764568e2},
                                   {5.134569343165e2, 5.121870921893e2}, {5.133651975661e2, 5.122193250322e2},
                                   {5.132955192805e2, 5.122454735794e2}, {5.132410471738e2, 5.122663649603e2},
                                   {5.131971141679e2, 5.122830879827e2}, {5.131605205716e2, 5.122965869718e2},
                                   {5.131290734194e2, 5.123075927445e2}, {5.131012720314e2, 5.123166486553e2},
                                   {5.130760908195e2, 5.123241541685e2}, {5.130528295923e2, 5.123304037599e2},
                                   {5.130310107773e2, 5.123356167976e2}, {5.130103090133e2, 5.123399592211e2},
                                   {5.129905029333e2, 5.123435588985e2}, {5.129714421109e2, 5.123465164008e2}};

struct Problem {
  int nx;
  int ny;
  int nz;
  std::span<const Complex> checksums;  // one for each iteration

  std::string size() const { return sentence({nx, " x ", ny, " x ", nz, " points"}); }
};

constexpr PerClass<Problem> problems{{{64, 64, 64, checksums_S},
                                      {128, 128, 32, checksums_W},
                                      {256, 256, 128, checksums_A},
                                      {512, 256, 256, checksums_B},
                                      {512, 512, 512, checksums_C}}};

// exp(-4 alpha pi^2 k^2) for the wave numbers of a dimension, which decrease again in the second half.
std::vector<double> decay(int points) {
  std::vector<double> factors(points);
  for (int at = 0; at < points; ++at) {
    const double k = at < points / 2 ? at : at - points;
    factors[at] = std::exp(-4 * alpha * std::numbers::pi * std::numbers::pi * k * k);
  }
  return factors;
}

// Layers of the grid are distributed across z (in space) or across y (in the spectrum, where z is transformed).
// In both, x is contiguous. The layers across z are stored in parcels, with all points for one process together,
// and are sent in place; the layers across y arrive in order.
class FourierTransform final : public Kernel {
 public:
  FourierTransform(const Parameters& parameters, const Communicator& communicator)
      : Kernel(name, parameters, communicator),
        problem_(of_class(problems, parameters)),
        width_(width_of(parameters, communicator)),
        y_layers_(problem_.ny, communicator.size()),
        z_layers_(problem_.nz, communicator.size()) {
    const int most = std::min(problem_.ny, problem_.nz);
    if (ranks() > most) {
      throw Unavailable(sentence({name, ": each rank needs at least one layer across y and one across z; ",
                                  ranks(), " ranks were given: ", most, " ranks would work"}));
    }
    const std::int64_t across_y = y_layers_.largest() * problem_.nz * problem_.nx;
    const std::int64_t across_z = z_layers_.largest() * problem_.ny * problem_.nx;
    const std::int64_t points = 2 * across_y + (ranks() > 1 ? across_z : 0);
    require(points * static_cast<std::int64_t>(sizeof(Complex)));
    spectrum_ = Buffer(across_y * sizeof(Complex));
    across_y_ = Buffer(across_y * sizeof(Complex));
    if (ranks() > 1) across_z_ = Buffer(across_z * sizeof(Complex));
    plane_.resize(static_cast<std::size_t>(problem_.nx) * problem_.ny);
    lay_out_parcels();
  }

 private:
  int nx() const { return problem_.nx; }
  int ny() const { return problem_.ny; }
  int nz() const { return problem_.nz; }
  double points() const { return static_cast<double>(nx()) * ny() * nz(); }
  int own_y() const { return static_cast<int>(y_layers_.size(rank())); }
  int own_z() const { return static_cast<int>(z_layers_.size(rank())); }

  void lay_out_parcels() {
    z_parcels_ = Parcels(y_layers_, own_z() * nx());
    y_parcels_ = Parcels(z_layers_, own_y() * nx());
    for (int other = 0; other < ranks(); ++other) {
      for (int y = 0; y < y_layers_.size(other); ++y) {
        row_begins_.push_back(z_parcels_.begins[other] + y * nx());
        row_strides_.push_back(static_cast<int>(y_layers_.size(other)) * nx());
      }
    }
  }

  Complex* across_z() { return (ranks() > 1 ? across_z_ : across_y_).as<Complex>().data(); }
  Complex* across_y() { return across_y_.as<Complex>().data(); }
  // Row (y, z) of the layers across z, and of the layers across y.
  Complex* z_row(int y, int z) {
    return across_z() + row_begins_[y] + static_cast<std::ptrdiff_t>(z) * row_strides_[y];
  }
  std::ptrdiff_t y_row(int y, int z) const { return (static_cast<std::ptrdiff_t>(z) * own_y() + y) * nx(); }

  // One untimed transform, as NPB prescribes.
  void initialize() override { start(); }

  void iterate() override {
    start();
    for (Complex& sum : sums_) sum = {0, 0};
    for (std::size_t iteration = 0; iteration < problem_.checksums.size(); ++iteration) {
      evolve_and_transform_z();
      if (ranks() > 1) exchange().transpose(across_y(), y_parcels_, across_z(), z_parcels_);
      for (int z = 0; z < own_z(); ++z) {
        transform_y_back(z);
        transform_x_back(z);
      }
      sums_[iteration] = checksum();
    }
  }

  // Computes the spectrum of the initial conditions.
  void start() {
    make_initial_conditions();
    for (int z = 0; z < own_z(); ++z) {
      transform_x(z);
      transform_y(z);
    }
    if (ranks() > 1) exchange().transpose(across_z(), z_parcels_, across_y(), y_parcels_);
    transform_z();
  }

  void make_initial_conditions() {
    RandomNumbers random(seed);
    random.skip(2 * static_cast<std::uint64_t>(z_layers_.begin(rank())) * ny() * nx());
    for (int z = 0; z < own_z(); ++z)
      for (int y = 0; y < ny(); ++y) random.fill({&z_row(y, z)->re, 2 * static_cast<std::size_t>(nx())});
  }

  template <Direction direction, class From, class To>
  void transform(Fft& fft, int begin, int end, From from, To to) {
    in_lanes(width_, [&]<int lanes>() SCOPE_INLINE {
      for (int first = begin; first < end; first += Fft::together) {
        fft.transform<direction, lanes>([&](int i, int column) SCOPE_INLINE { return from(i, first + column); },
                                        [&](int i, int column)
                                            SCOPE_INLINE -> Complex& { return to(i, first + column); });
      }
    });
  }

  Complex& plane_at(int x, int y) { return plane_[static_cast<std::size_t>(y) * nx() + x]; }

  // A layer passes through `plane_`, which stays in cache, between its two transforms.
  void transform_x(int z) {
    transform<Direction::forward>(
        fft_x_, 0, ny(), [&](int x, int y) SCOPE_INLINE { return z_row(y, z)[x]; },
        [&](int x, int y) SCOPE_INLINE -> Complex& { return plane_at(x, y); });
  }
  void transform_y(int z) {
    transform<Direction::forward>(
        fft_y_, 0, nx(), [&](int y, int x) SCOPE_INLINE { return plane_at(x, y); },
        [&](int y, int x) SCOPE_INLINE -> Complex& { return z_row(y, z)[x]; });
  }
  void transform_y_back(int z) {
    transform<Direction::backward>(
        fft_y_, 0, nx(), [&](int y, int x) SCOPE_INLINE { return z_row(y, z)[x]; },
        [&](int y, int x) SCOPE_INLINE -> Complex& { return plane_at(x, y); });
  }
  void transform_x_back(int z) {
    transform<Direction::backward>(
        fft_x_, 0, ny(), [&](int x, int y) SCOPE_INLINE { return plane_at(x, y); },
        [&](int x, int y) SCOPE_INLINE -> Complex& { return z_row(y, z)[x]; });
  }

  void transform_z() {
    Complex* const spectrum = spectrum_.as<Complex>().data();
    for (int y = 0; y < own_y(); ++y) {
      transform<Direction::forward>(
          fft_z_, 0, nx(), [&](int z, int x) SCOPE_INLINE { return across_y()[y_row(y, z) + x]; },
          [&](int z, int x) SCOPE_INLINE -> Complex& { return spectrum[y_row(y, z) + x]; });
    }
  }

  // Lets the spectrum decay by one more time step, and transforms it back along z in the same pass.
  void evolve_and_transform_z() {
    Complex* const spectrum = spectrum_.as<Complex>().data();
    for (int y = 0; y < own_y(); ++y) {
      const double decay_y = decay_y_[y_layers_.begin(rank()) + y];
      transform<Direction::backward>(
          fft_z_, 0, nx(),
          [&](int z, int x) SCOPE_INLINE {
            Complex& value = spectrum[y_row(y, z) + x];
            const double factor = decay_x_[x] * decay_y * decay_z_[z];
            value = {factor * value.re, factor * value.im};
            return value;
          },
          [&](int z, int x) SCOPE_INLINE -> Complex& { return across_y()[y_row(y, z) + x]; });
    }
  }

  // A sum over 1024 points throughout the grid.
  Complex checksum() {
    std::array<double, 2> sum{};
    const auto first = static_cast<int>(z_layers_.begin(rank()));
    for (int j = 1; j <= summed_points; ++j) {
      const int z = 5 * j % nz() - first;
      if (z < 0 || z >= own_z()) continue;
      const Complex value = z_row(3 * j % ny(), z)[j % nx()];
      sum[0] += value.re;
      sum[1] += value.im;
    }
    exchange().sum(std::span(sum));
    return {sum[0] / points(), sum[1] / points()};
  }

  std::vector<double> results() override {
    std::vector<double> found;
    for (std::size_t i = 0; i < problem_.checksums.size(); ++i) {
      found.push_back(sums_[i].re);
      found.push_back(sums_[i].im);
    }
    return found;
  }
  std::vector<Published> published() const override {
    std::vector<Published> wanted;
    for (std::size_t i = 0; i < problem_.checksums.size(); ++i) {
      const std::string of_iteration = sentence({"checksum of iteration ", i + 1});
      wanted.push_back({"real part of the " + of_iteration, problem_.checksums[i].re, 1e-12});
      wanted.push_back({"imaginary part of the " + of_iteration, problem_.checksums[i].im, 1e-12});
    }
    return wanted;
  }

  std::vector<std::span<const std::byte>> solution() override {
    return {spectrum_.bytes(), across_y_.bytes(), across_z_.bytes()};
  }

  double operations() const override {
    const double log_points = std::log(points());
    return points() * (14.8157 + 7.19641 * log_points + (5.23518 + 7.21113 * log_points) * iterations());
  }
  int iterations() const override { return static_cast<int>(problem_.checksums.size()); }
  std::size_t meetings() const override { return 2 * problem_.checksums.size() + 1; }

  Problem problem_;
  Width width_;
  Partition y_layers_;
  Partition z_layers_;
  Parcels y_parcels_;  // parts of the layers across y, by the process that has them across z
  Parcels z_parcels_;
  std::vector<int> row_begins_;   // beginnings of the rows of the first layer across z, by y
  std::vector<int> row_strides_;  // distance to the same row of the next layer
  Buffer spectrum_{0};            // in layers across y
  Buffer across_y_{0};
  Buffer across_z_{0};
  std::vector<Complex> plane_;
  Fft fft_x_{problem_.nx};
  Fft fft_y_{problem_.ny};
  Fft fft_z_{problem_.nz};
  std::vector<double> decay_x_ = decay(problem_.nx);
  std::vector<double> decay_y_ = decay(problem_.ny);
  std::vector<double> decay_z_ = decay(problem_.nz);
  std::array<Complex, 20> sums_{};
};

const Registration registration{
    declaration({.name = name,
                 .title = "NAS FT",
                 .summary = "NAS kernel FT: three-dimensional FFT with all-to-all transposes of the whole grid",
                 .problem_class = problem_class(problems),
                 .further = {vector_variant()}},
                make<FourierTransform>)};

}  // namespace
}  // namespace scope::npb::ft
