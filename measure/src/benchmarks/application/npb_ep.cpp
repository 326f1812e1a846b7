// application.npb_ep: pairs of Gaussian random numbers, counted by square annulus.
//
// Timed: generation, acceptance, counting and the final sums on every process; the slowest counts. After
// kernel EP of the NAS Parallel Benchmarks (RNR-94-007, section 2.2.1). Only ten counts and two sums are sent: the
// kernel shows the speed of the processors, and whether all are equally fast.

#include "benchmarks/algorithm/partition.hpp"
#include "benchmarks/application/npb/kernel.hpp"
#include "benchmarks/application/npb/random_numbers.hpp"

namespace scope::npb::ep {
namespace {

constexpr const char* name = "application.npb_ep";
constexpr std::uint64_t seed = 271828183;
constexpr int annuli = 10;
// Numbers are generated in batches that stay in cache.
constexpr int batch_pairs = 1 << 11;

using Counts = std::array<double, annuli>;

struct Problem {
  int log2_pairs;
  double sum_x;
  double sum_y;
  Counts pairs;  // number in each annulus

  std::string size() const { return sentence({"2^", log2_pairs, " pairs"}); }
};

// Sizes and sums: RNR-94-007, section 2.2.1 (A, B); NPB 3.4 (S, W, C). Pairs in the annuli: RNR-94-007, table 2.1
// (A, B), which requires exact agreement; output of NPB 3.4 (S, W); its port to MPITB (C).
constexpr PerClass<Problem> problems{
    {{24, -3.247834652034740e3, -6.958407078382297e3, {6140517, 5865300, 1100361, 68546, 1648, 17}},
     {25, -2.863319731645753e3, -6.320053679109499e3, {12281576, 11729692, 2202726, 137368, 3371, 36}},
     {28, -4.295875165629892e3, -1.580732573678431e4, {98257395, 93827014, 17611549, 1110028, 26536, 245}},
     {30, 4.033815542441498e4, -2.660669192809235e4, {393058470, 375280898, 70460742, 4438852, 105691, 948, 5}},
     {32,
      4.764367927995374e4,
      -8.084072988043731e4,
      {1572172634, 1501108549, 281805648, 17761221, 424017, 3821, 13}}}};

// The accepted points: the sums of X and of Y, and the number of pairs in each annulus, max(|X|, |Y|) in [l,
// l + 1).
struct Tally {
  double sum_x = 0;
  double sum_y = 0;
  Counts pairs{};
};

// A point of the square (-1, 1)^2 and its squared distance from the center.
struct Point {
  double x;
  double y;
  double t;
};

// Keeps the points inside the unit circle; returns their number.
int accept(std::span<const double> numbers, std::span<Point> accepted) {
  int count = 0;
  for (std::size_t i = 0; i + 1 < numbers.size(); i += 2) {
    const double x = 2 * numbers[i] - 1;
    const double y = 2 * numbers[i + 1] - 1;
    const double t = x * x + y * y;
    // Branch-free, as a branch would be unpredictable: rejected points are overwritten.
    accepted[count] = {x, y, t};
    count += t <= 1 ? 1 : 0;
  }
  return count;
}

// The method of Marsaglia: each accepted point gives a pair of independent Gaussian deviates.
void tally_points(std::span<const Point> points, Tally& tally) {
  for (const auto& [x, y, t] : points) {
    const double factor = std::sqrt(-2 * std::log(t) / t);
    const double gaussian_x = x * factor;
    const double gaussian_y = y * factor;
    ++tally.pairs[static_cast<int>(std::max(std::abs(gaussian_x), std::abs(gaussian_y)))];
    tally.sum_x += gaussian_x;
    tally.sum_y += gaussian_y;
  }
}

class EmbarrassinglyParallel final : public Kernel {
 public:
  EmbarrassinglyParallel(const Parameters& parameters, const Communicator& communicator)
      : Kernel(name, parameters, communicator),
        problem_(of_class(problems, parameters)),
        batches_((std::int64_t{1} << problem_.log2_pairs) / batch_pairs, communicator.size()) {
    if (communicator.size() > batches_.end(communicator.size() - 1)) {
      throw Unavailable(sentence({name, ": there are more ranks than batches of random numbers; ",
                                  batches_.end(communicator.size() - 1), " ranks would work"}));
    }
    require(batch_pairs * static_cast<std::int64_t>(2 * sizeof(double) + sizeof(Point)));
    numbers_.resize(2 * batch_pairs);
    points_.resize(batch_pairs);
  }

 private:
  void initialize() override { tally_ = {}; }

  void iterate() override {
    RandomNumbers random(seed);
    random.skip(2 * batch_pairs * static_cast<std::uint64_t>(batches_.begin(rank())));
    for (std::int64_t batch = 0; batch < batches_.size(rank()); ++batch) {
      random.fill(numbers_);
      const int accepted = accept(numbers_, points_);
      tally_points(std::span(points_).first(accepted), tally_);
    }
    std::array<double, 2 + annuli> sums{tally_.sum_x, tally_.sum_y};
    std::copy(tally_.pairs.begin(), tally_.pairs.end(), sums.begin() + 2);
    exchange().sum(std::span(sums));
    tally_.sum_x = sums[0];
    tally_.sum_y = sums[1];
    std::copy(sums.begin() + 2, sums.end(), tally_.pairs.begin());
  }

  std::vector<double> results() override {
    std::vector<double> found{tally_.sum_x, tally_.sum_y};
    found.insert(found.end(), tally_.pairs.begin(), tally_.pairs.end());
    return found;
  }
  std::vector<Published> published() const override {
    std::vector<Published> wanted{{"sum of X", problem_.sum_x}, {"sum of Y", problem_.sum_y}};
    for (int annulus = 0; annulus < annuli; ++annulus)
      wanted.push_back({sentence({"pairs in annulus ", annulus}), problem_.pairs[annulus], 0});
    return wanted;
  }
  std::vector<std::span<const std::byte>> solution() override { return {}; }  // every process has the results
  double operations() const override { return std::ldexp(2.0, problem_.log2_pairs); }
  bool counts_flops() const override { return false; }  // random numbers
  int iterations() const override { return 1; }
  std::size_t meetings() const override { return 1; }

  Problem problem_;
  Partition batches_;
  std::vector<double> numbers_;
  std::vector<Point> points_;
  Tally tally_;
};

const Registration registration{
    declaration({.name = name,
                 .title = "NAS EP",
                 .summary = "NAS kernel EP: generation of pairs of Gaussian random numbers, without communication",
                 .problem_class = problem_class(problems),
                 .operations = Operations::others},
                make<EmbarrassinglyParallel>)};

}  // namespace
}  // namespace scope::npb::ep
