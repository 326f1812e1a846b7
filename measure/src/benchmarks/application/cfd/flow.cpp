#include "benchmarks/application/cfd/flow.hpp"

#include <cmath>
#include <numbers>

namespace scope::cfd {
namespace {

constexpr double pi = std::numbers::pi;

// The mean of cos(k x + phase) over an interval of length h, relative to its value in the middle; the second
// function is the same for exp(k x), as if k were imaginary.
double mean_of_wave(double k, double h) { return std::sin(k * h / 2) / (k * h / 2); }
double mean_of_growth(double k, double h) { return std::sinh(k * h / 2) / (k * h / 2); }

// Two-dimensional vortices that decay without changing their form.
class TaylorGreen final : public Flow {
 public:
  using Flow::Flow;
  double begin() const override { return 0; }
  double length() const override { return 2 * pi; }
  double speed() const override { return std::numbers::sqrt2; }
  double velocity(int c, const Point& at, double time, double h) const override {
    const double decay = std::exp(-2 * viscosity() * time) * mean_of_wave(1, h);
    if (c == 0) return std::sin(at[0]) * std::cos(at[1]) * decay;
    if (c == 1) return -std::cos(at[0]) * std::sin(at[1]) * decay;
    return 0;
  }
};

// The flow of Arnold, Beltrami and Childress with A = B = C = 1: its curl is the flow itself.
class Beltrami final : public Flow {
 public:
  using Flow::Flow;
  double begin() const override { return 0; }
  double length() const override { return 2 * pi; }
  double speed() const override { return 3 * std::numbers::sqrt2; }
  double velocity(int c, const Point& at, double time, double h) const override {
    const double one = at[(c + 2) % 3];
    const double other = at[(c + 1) % 3];
    return (std::sin(one) + std::cos(other)) * std::exp(-viscosity() * time) * mean_of_wave(1, h);
  }
};

// Beltrami's flow between walls that move with it, a = pi/4 and d = pi/2; eq. (7) and (8) of the paper.
class EthierSteinman final : public Flow {
 public:
  using Flow::Flow;
  double begin() const override { return -1; }
  double length() const override { return 2; }
  std::array<bool, 3> periodic() const override { return {false, false, false}; }
  double speed() const override { return 6; }
  double velocity(int c, const Point& at, double time, double h) const override {
    const double x = at[c];
    const double y = at[(c + 1) % 3];
    const double z = at[(c + 2) % 3];
    const double wave_a = mean_of_wave(a, h);
    const double wave_d = mean_of_wave(d, h);
    const double growth = mean_of_growth(a, h);
    return -a *
           (std::exp(a * x) * std::sin(a * y + d * z) * wave_a * wave_d +
            std::exp(a * z) * growth * std::cos(a * x + d * y) * wave_d) *
           std::exp(-d * d * viscosity() * time);
  }

 private:
  static constexpr double a = pi / 4;
  static constexpr double d = pi / 2;
};

// A square of fluid at rest under a lid that begins to move; periodic along z, so that the flow is 2-dimensional.
class Cavity final : public Flow {
 public:
  using Flow::Flow;
  double begin() const override { return 0; }
  double length() const override { return 1; }
  std::array<bool, 3> periodic() const override { return {false, false, true}; }
  double speed() const override { return 1; }
  double velocity(int c, const Point& at, double /*time*/, double /*h*/) const override {
    return c == 0 && at[1] >= 1 ? 1 : 0;
  }
  bool known() const override { return false; }
};

constexpr ProfilePoint u_100[] = {{.0547, -.03717}, {.0625, -.04192}, {.0703, -.04775}, {.1016, -.06434},
                                  {.1719, -.10150}, {.2813, -.15662}, {.4531, -.21090}, {.5000, -.20581},
                                  {.6172, -.13641}, {.7344, .00332},  {.8516, .23151},  {.9531, .68717},
                                  {.9609, .73722},  {.9688, .78871},  {.9766, .84123}};
constexpr ProfilePoint v_100[] = {{.0625, .09233},  {.0703, .10091},  {.0781, .10890},  {.0938, .12317},
                                  {.1563, .16077},  {.2266, .17507},  {.2344, .17527},  {.5000, .05454},
                                  {.8047, -.24533}, {.8594, -.22445}, {.9063, -.16914}, {.9453, -.10313},
                                  {.9531, -.08864}, {.9609, -.07391}, {.9688, -.05906}};
constexpr ProfilePoint u_1000[] = {{.0547, -.18109}, {.0625, -.20196}, {.0703, -.22220}, {.1016, -.29730},
                                   {.1719, -.38289}, {.2813, -.27805}, {.4531, -.10648}, {.5000, -.06080},
                                   {.6172, .05702},  {.7344, .18719},  {.8516, .33304},  {.9531, .46604},
                                   {.9609, .51117},  {.9688, .57492},  {.9766, .65928}};
constexpr ProfilePoint v_1000[] = {{.0625, .27485},  {.0703, .29012},  {.0781, .30353},  {.0938, .32627},
                                   {.1563, .37095},  {.2266, .33075},  {.2344, .32235},  {.5000, .02526},
                                   {.8047, -.31966}, {.8594, -.42665}, {.9063, -.51550}, {.9453, -.39188},
                                   {.9531, -.33714}, {.9609, -.27669}, {.9688, -.21388}};

}  // namespace

std::unique_ptr<Flow> Flow::named(const std::string& name, double reynolds) {
  if (name == "taylor_green") return std::make_unique<TaylorGreen>(reynolds);
  if (name == "ethier_steinman") return std::make_unique<EthierSteinman>(reynolds);
  if (name == "cavity") return std::make_unique<Cavity>(reynolds);
  return std::make_unique<Beltrami>(reynolds);
}

std::span<const ProfilePoint> ghia_u(int reynolds) {
  if (reynolds == 100) return u_100;
  if (reynolds == 1000) return u_1000;
  return {};
}

std::span<const ProfilePoint> ghia_v(int reynolds) {
  if (reynolds == 100) return v_100;
  if (reynolds == 1000) return v_1000;
  return {};
}

}  // namespace scope::cfd
