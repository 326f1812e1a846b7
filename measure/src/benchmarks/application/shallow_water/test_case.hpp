// The standard test set for the shallow water equations on the sphere: Williamson, Drake, Hack, Jakob &
// Swarztrauber 1992, J. Comput. Phys. 102, 211-224, section 3. Case 7 is omitted, because it begins with observed
// winds and heights, which we may not distribute.
#pragma once

#include <memory>
#include <string_view>

namespace scope::shallow_water {

namespace earth {
constexpr double radius = 6.37122e6;   // m
constexpr double rotation = 7.292e-5;  // 1/s
constexpr double gravity = 9.80616;    // m/s^2
}  // namespace earth

constexpr double day_s = 86400;

struct Flow {
  double u;             // eastward, m/s
  double v;             // northward, m/s
  double geopotential;  // gravity times depth of the fluid, m^2/s^2
};

// Terms that a forced case adds to the equations at a point (see `Model`). With forces F_u and F_v: E + energy,
// A - F_v cos(latitude) and B + F_u cos(latitude), without the gradient that is in `energy`; C and D as if caused
// by a divergence.
struct Sources {
  double energy;
  double a;
  double b;
  double c;
  double d;
};

class TestCase {
 public:
  // The test case with a declared name: zonal, bell, ... Throws std::out_of_range for other names.
  static std::unique_ptr<TestCase> named(std::string_view name);

  virtual ~TestCase() = default;

  // The solution t seconds after the beginning, or the initial state if it is unknown. Angles are in radians.
  virtual Flow flow(double longitude, double latitude, double t_s) const = 0;
  virtual bool has_solution() const { return true; }

  virtual double coriolis(double longitude, double latitude) const;
  // Gravity times the height of the ground.
  virtual double ground(double /*longitude*/, double /*latitude*/) const { return 0; }
  // Whether winds stay constant and only the depth is advected.
  virtual bool only_advects() const { return false; }

  virtual bool forced() const { return false; }
  // Sources at `count` points of a latitude, from one longitude on; `mean` is subtracted from the geopotential.
  virtual void sources(double /*latitude*/, double /*first_longitude*/, double /*spacing*/, int /*count*/,
                       double /*t_s*/, double /*mean*/, Sources* /*to*/) const {}
};

}  // namespace scope::shallow_water
