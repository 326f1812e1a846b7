// Flows whose velocities are known at all times, and the lid-driven cavity.
#pragma once

#include <array>
#include <memory>
#include <span>
#include <string>

namespace scope::cfd {

using Point = std::array<double, 3>;

// A flow in a box, in units of its largest velocity and of a length of its own, so that the viscosity is 1/Re.
class Flow {
 public:
  // `name` is one of the choices of `case`.
  static std::unique_ptr<Flow> named(const std::string& name, double reynolds);
  virtual ~Flow() = default;

  // A corner of the box, and its length along x and y.
  virtual double begin() const = 0;
  virtual double length() const = 0;
  virtual std::array<bool, 3> periodic() const { return {true, true, true}; }
  // At most |u| + |v| + |w| at any point and time.
  virtual double speed() const = 0;
  // Component `c` of the velocity at a time: its mean over the square of side h round `at` whose normal is
  // the axis c. A grid of such means is free of divergence to rounding where the flow is.
  virtual double velocity(int c, const Point& at, double time, double h) const = 0;
  // Whether `velocity` is the solution; otherwise only its initial and boundary values.
  virtual bool known() const { return true; }

  double viscosity() const { return viscosity_; }

  explicit Flow(double reynolds) : viscosity_(1 / reynolds) {}

 private:
  double viscosity_;
};

// A point of a printed profile of the cavity: the distance from the wall along the line, and the velocity.
struct ProfilePoint {
  double distance;
  double velocity;
};

// Ghia, Ghia & Shin 1982: tables I (u along the vertical line through the center) and II (v along the
// horizontal one). Empty for Reynolds numbers that are not here.
std::span<const ProfilePoint> ghia_u(int reynolds);
std::span<const ProfilePoint> ghia_v(int reynolds);

}  // namespace scope::cfd
