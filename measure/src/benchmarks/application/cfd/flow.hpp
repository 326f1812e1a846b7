// Flows with velocities that are known at all times, and the lid-driven cavity.
#pragma once

#include <array>
#include <memory>
#include <span>
#include <string>

namespace scope::cfd {

using Point = std::array<double, 3>;

// A flow in a box, in units of its largest velocity and characteristic length, so that the viscosity is 1/Re.
class Flow {
 public:
  // `name` is one of the choices of `case`.
  static std::unique_ptr<Flow> named(const std::string& name, double reynolds);
  virtual ~Flow() = default;

  // The lower corner of the box, and the length of the box along x and y.
  virtual double begin() const = 0;
  virtual double length() const = 0;
  virtual std::array<bool, 3> periodic() const { return {true, true, true}; }
  // Upper bound on |u| + |v| + |w| at any point and time.
  virtual double speed() const = 0;
  // Component `c` of the velocity at a time: its mean over the square of side h around `at` whose normal is axis
  // c. If the flow is divergence-free, so is a grid of such means, within rounding.
  virtual double velocity(int c, const Point& at, double time, double h) const = 0;
  // Whether `velocity` is the solution; otherwise it gives only initial and boundary values.
  virtual bool known() const { return true; }

  double viscosity() const { return viscosity_; }

  explicit Flow(double reynolds) : viscosity_(1 / reynolds) {}

 private:
  double viscosity_;
};

// A point of a published profile of the cavity: the distance from the wall along the line, and the velocity.
struct ProfilePoint {
  double distance;
  double velocity;
};

// Ghia, Ghia & Shin 1982: tables I (u along the vertical line through the center) and II (v along the
// horizontal one). Empty for other Reynolds numbers than those listed.
std::span<const ProfilePoint> ghia_u(int reynolds);
std::span<const ProfilePoint> ghia_v(int reynolds);

}  // namespace scope::cfd
