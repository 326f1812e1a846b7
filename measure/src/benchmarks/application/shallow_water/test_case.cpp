#include "benchmarks/application/shallow_water/test_case.hpp"

#include <cmath>
#include <stdexcept>
#include <string>

#include "benchmarks/application/shallow_water/quadrature.hpp"

namespace scope::shallow_water {
namespace test_set {
namespace {

using std::cos;
using std::pow;
using std::sin;
using std::numbers::pi;

constexpr double a = earth::radius;
constexpr double omega = earth::rotation;
constexpr double g = earth::gravity;
// Once around the sphere in twelve days.
constexpr double wind = 2 * pi * a / (12 * day_s);

// The integral of a smooth function.
template <class Function>
double integral(double from, double to, Function function) {
  static const Quadrature quadrature = gauss_legendre(64);
  const double middle = (from + to) / 2;
  const double half = (to - from) / 2;
  double sum = 0;
  for (std::size_t i = 0; i < quadrature.nodes.size(); ++i) {
    const double x = half * quadrature.nodes[i];
    sum += quadrature.weights[i] * (function(middle + x) + function(middle - x));
  }
  return half * sum;
}

// Flow around an axis that is tilted by an angle alpha against the axis of the coordinates: (-sin alpha, 0, cos
// alpha). The rotation of the sphere is tilted too.
class TurnedFlow : public TestCase {
 public:
  explicit TurnedFlow(double alpha) : sin_(sin(alpha)), cos_(cos(alpha)) {}

  double coriolis(double longitude, double latitude) const override {
    return 2 * omega * sine_of_latitude(longitude, latitude);
  }

 protected:
  // In tilted coordinates.
  double sine_of_latitude(double longitude, double latitude) const {
    return sin(latitude) * cos_ - cos(latitude) * cos(longitude) * sin_;
  }
  // The wind if the flow turns around its axis with this speed at its equator.
  Flow turning(double speed, double longitude, double latitude) const {
    return {speed * (cos(latitude) * cos_ + cos(longitude) * sin(latitude) * sin_), -speed * sin(longitude) * sin_,
            0};
  }

  double sin_;
  double cos_;
};

// Case 1: a cosine bell carried around the sphere, nearly over the poles.
class Bell final : public TurnedFlow {
 public:
  Bell() : TurnedFlow(pi / 2 - 0.05) {}
  bool only_advects() const override { return true; }

  Flow flow(double longitude, double latitude, double t_s) const override {
    Flow flow = turning(wind, longitude, latitude);
    // Its center begins at longitude 3 pi / 2 on the equator.
    const double turned = wind / a * t_s;
    const double x = sin(turned) * cos_;
    const double y = -cos(turned);
    const double z = sin(turned) * sin_;
    const double cosine = cos(latitude) * (cos(longitude) * x + sin(longitude) * y) + sin(latitude) * z;
    const double distance = a * std::acos(std::min(1.0, std::max(-1.0, cosine)));
    const double width = a / 3;
    if (distance < width) flow.geopotential = g * 1000 / 2 * (1 + cos(pi * distance / width));
    return flow;
  }
};

// Case 2: steady zonal flow in geostrophic balance.
class Zonal final : public TurnedFlow {
 public:
  Zonal() : TurnedFlow(pi / 4) {}

  Flow flow(double longitude, double latitude, double /*t_s*/) const override {
    Flow flow = turning(wind, longitude, latitude);
    const double sine = sine_of_latitude(longitude, latitude);
    flow.geopotential = 2.94e4 - (a * omega * wind + wind * wind / 2) * sine * sine;
    return flow;
  }
};

// Case 3: steady zonal flow only between 30 degrees south and the pole of the tilted coordinates.
class CompactZonal final : public TurnedFlow {
 public:
  CompactZonal() : TurnedFlow(pi / 3) {}

  Flow flow(double longitude, double latitude, double /*t_s*/) const override {
    const double sine = sine_of_latitude(longitude, latitude);
    const double turned = std::asin(std::min(1.0, std::max(-1.0, sine)));
    const double cosine = cos(turned);
    const double speed = zonal_wind(turned);
    Flow flow = speed == 0 ? Flow{0, 0, 0} : turning(speed / cosine, longitude, latitude);
    flow.geopotential = 2.94e4;
    if (turned > begin) {
      flow.geopotential -= a * integral(begin, turned, [](double at) {
                             const double u = zonal_wind(at);
                             return (2 * omega * sin(at) + u * std::tan(at) / a) * u;
                           });
    }
    return flow;
  }

 private:
  static constexpr double begin = -pi / 6;
  static constexpr double end = pi / 2;

  static double zonal_wind(double latitude) {
    constexpr double extent = 0.3;
    const double x = extent * (latitude - begin) / (end - begin);
    if (x <= 0 || x >= extent) return 0;
    return wind * std::exp(-1 / x - 1 / (extent - x) + 4 / extent);
  }
};

// Case 4: a low in a jet, moved eastwards unchanged by forces. The solution is known, and the forces follow from
// the equations.
class TranslatingLow final : public TestCase {
 public:
  bool forced() const override { return true; }

  Flow flow(double longitude, double latitude, double t_s) const override {
    const Stream psi = stream(longitude - speed / a * t_s, latitude);
    return {jet(latitude) - psi.by_latitude / a, psi.by_longitude / (a * cos(latitude)),
            balanced(latitude) + 2 * omega * sin(latitude) * psi.value};
  }

  // F_u cos = dU/dt - eta V, F_v cos = dV/dt + eta U, and the gradient of energy and geopotential; the depth
  // changes by the divergence of geopotential times wind relative to the moving low.
  void sources(double latitude, double first_longitude, double spacing, int count, double t_s, double mean,
               Sources* to) const override {
    const double cosine = cos(latitude);
    const double f = 2 * omega * sin(latitude);
    const double undisturbed = jet(latitude);
    const double zeta_of_jet = -(jet_slope(latitude) - undisturbed * std::tan(latitude)) / a;
    const double geopotential = balanced(latitude);
    for (int i = 0; i < count; ++i) {
      const Stream psi = stream(first_longitude + spacing * i - speed / a * t_s, latitude);
      const double u_cos = cosine * (undisturbed - psi.by_latitude / a);
      const double v_cos = psi.by_longitude / a;
      const double eta = f + zeta_of_jet +
                         (psi.by_longitude_twice / (cosine * cosine) + psi.by_latitude_twice -
                          std::tan(latitude) * psi.by_latitude) /
                             (a * a);
      const double phi = geopotential + f * psi.value - mean;
      const double change_of_u = speed / a * cosine * psi.by_both / a;  // d(u cos)/dt
      const double change_of_v = -speed / a * psi.by_longitude_twice / a;
      to[i] = {-phi - (u_cos * u_cos + v_cos * v_cos) / (2 * cosine * cosine), -(change_of_v + eta * u_cos),
               change_of_u - eta * v_cos, -phi * (u_cos - speed * cosine * cosine), -phi * v_cos};
    }
  }

 private:
  static constexpr double speed = 20;   // of the low and of the jet, m/s
  static constexpr double depth = 1e5;  // m^2/s^2
  static constexpr double center = pi / 4;
  static constexpr double sigma = 12.74244 * 12.74244;

  // The stream function of the low and its derivatives.
  struct Stream {
    double value;
    double by_longitude;
    double by_latitude;
    double by_longitude_twice;
    double by_both;
    double by_latitude_twice;
  };
  static Stream stream(double longitude, double latitude) {
    const double amplitude = -0.03 * depth / (2 * omega * sin(center));
    // c: cosine of the distance from the center.
    const double c = sin(center) * sin(latitude) + cos(center) * cos(latitude) * cos(longitude);
    if (1 + c < 1e-3) return {};  // exp(-sigma 2000) underflows
    const double by_longitude = -cos(center) * cos(latitude) * sin(longitude);
    const double by_latitude = sin(center) * cos(latitude) - cos(center) * sin(latitude) * cos(longitude);
    const double by_longitude_twice = -cos(center) * cos(latitude) * cos(longitude);
    const double by_both = cos(center) * sin(latitude) * sin(longitude);
    const double value = amplitude * std::exp(-sigma * (1 - c) / (1 + c));
    const double by_c = 2 * sigma * value / ((1 + c) * (1 + c));
    const double by_c_twice = 2 * sigma * by_c / ((1 + c) * (1 + c)) - 2 * by_c / (1 + c);
    return {value,
            by_c * by_longitude,
            by_c * by_latitude,
            by_c_twice * by_longitude * by_longitude + by_c * by_longitude_twice,
            by_c_twice * by_longitude * by_latitude + by_c * by_both,
            by_c_twice * by_latitude * by_latitude - by_c * c};
  }

  static double jet(double latitude) { return speed * pow(sin(2 * latitude), 14); }
  static double jet_slope(double latitude) { return 28 * speed * pow(sin(2 * latitude), 13) * cos(2 * latitude); }
  // The geopotential that balances the jet.
  static double balanced(double latitude) {
    return depth - integral(-pi / 2, latitude, [](double at) {
             return (a * 2 * omega * sin(at) + jet(at) * std::tan(at)) * jet(at);
           });
  }
};

// Case 5: zonal flow over a conical mountain.
class Mountain final : public TestCase {
 public:
  bool has_solution() const override { return false; }

  Flow flow(double longitude, double latitude, double /*t_s*/) const override {
    constexpr double speed = 20;
    const double sine = sin(latitude);
    const double surface = g * 5960 - (a * omega * speed + speed * speed / 2) * sine * sine;
    return {speed * cos(latitude), 0, surface - ground(longitude, latitude)};
  }

  double ground(double longitude, double latitude) const override {
    constexpr double width = pi / 9;
    const double distance = std::hypot(longitude - 3 * pi / 2, latitude - pi / 6);
    return distance < width ? g * 2000 * (1 - distance / width) : 0;
  }
};

// Case 6: a Rossby-Haurwitz wave of wave number 4.
class RossbyHaurwitz final : public TestCase {
 public:
  bool has_solution() const override { return false; }

  Flow flow(double longitude, double latitude, double /*t_s*/) const override {
    constexpr double k = 7.848e-6;  // for both the wave and the zonal flow, 1/s
    constexpr int r = 4;
    const double s = sin(latitude);
    const double c = cos(latitude);
    const double c_r = pow(c, r);
    const double zonal = k / 2 * (2 * omega + k) * c * c +
                         k * k / 4 * c_r * c_r * ((r + 1) * c * c + (2 * r * r - r - 2)) -
                         k * k / 2 * r * r * pow(c, 2 * r - 2);
    const double once =
        2 * (omega + k) * k / ((r + 1) * (r + 2)) * c_r * ((r * r + 2 * r + 2) - (r + 1) * (r + 1) * c * c);
    const double twice = k * k / 4 * c_r * c_r * ((r + 1) * c * c - (r + 2));
    return {a * k * c + a * k * pow(c, r - 1) * (r * s * s - c * c) * cos(r * longitude),
            -a * k * r * pow(c, r - 1) * s * sin(r * longitude),
            g * 8000 + a * a * (zonal + once * cos(r * longitude) + twice * cos(2 * r * longitude))};
  }
};

}  // namespace
}  // namespace test_set

double TestCase::coriolis(double /*longitude*/, double latitude) const {
  return 2 * earth::rotation * std::sin(latitude);
}

std::unique_ptr<TestCase> TestCase::named(std::string_view name) {
  if (name == "bell") return std::make_unique<test_set::Bell>();
  if (name == "zonal") return std::make_unique<test_set::Zonal>();
  if (name == "compact") return std::make_unique<test_set::CompactZonal>();
  if (name == "low") return std::make_unique<test_set::TranslatingLow>();
  if (name == "mountain") return std::make_unique<test_set::Mountain>();
  if (name == "wave") return std::make_unique<test_set::RossbyHaurwitz>();
  throw std::out_of_range(std::string(name));
}

}  // namespace scope::shallow_water
