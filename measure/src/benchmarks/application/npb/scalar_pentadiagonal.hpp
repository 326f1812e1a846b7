// SP's lines: the matrices of an axis are diagonalised, so that each of the five characteristic variables has
// a scalar system on five diagonals (RNR-94-007, section 3.3.3, after Pulliam and Chaussee 1981). Three move
// with the flow and share their matrix; two move with the flow plus or minus the velocity of sound.
#pragma once

#include "benchmarks/application/npb/lines.hpp"

namespace scope::npb {

// The matrices of a line: of the variables 1 to 3, of 4 and of 5.
constexpr int systems = 3;
// What one line tells the next cell: two eliminated rows, each with two factors of every matrix and five
// values; and back: the values at two points.
constexpr int scalar_forward = 2 * (2 * systems + quantities);
constexpr int scalar_backward = 2 * quantities;

// What a point knows of the flow along a line.
template <class Real>
struct Motion {
  Real volume;
  Real velocity[3];
  Real kinetic;
  Real sound;
};

namespace characteristic {

// The change of the quantities becomes that of the characteristic variables of x (the inverse of T_xi).
template <class Real>
void into_x(Real (&r)[quantities], const Motion<Real>& at) {
  const double half_root = std::sqrt(0.5);
  const auto& [u, v, w] = at.velocity;
  const Real pressure = k2 * (at.kinetic * r[0] - u * r[1] - v * r[2] - w * r[3] + r[4]);
  const Real inverse = 1.0 / at.sound;
  const Real lost = pressure * inverse * inverse;
  const Real moved = half_root * at.volume * (u * r[0] - r[1]);
  const Real sounding = half_root * at.volume * pressure * inverse;
  const Real along_z = at.volume * (r[3] - w * r[0]);
  const Real along_y = at.volume * (v * r[0] - r[2]);
  r[0] = r[0] - lost;
  r[1] = along_z;
  r[2] = along_y;
  r[3] = sounding - moved;
  r[4] = sounding + moved;
}

// From the variables of x to those of y (T_eta^-1 T_xi), and from y to z (T_zeta^-1 T_eta): rotations that do
// not depend on the flow.
template <class Real>
void from_x_to_y(Real (&r)[quantities]) {
  const double half_root = std::sqrt(0.5);
  const Real turned = half_root * r[2];
  const Real mean = 0.5 * (r[3] + r[4]);
  const Real first = -r[1];
  r[1] = r[0];
  r[0] = first;
  r[2] = half_root * (r[3] - r[4]);
  r[3] = mean - turned;
  r[4] = mean + turned;
}
template <class Real>
void from_y_to_z(Real (&r)[quantities]) {
  const double half_root = std::sqrt(0.5);
  const Real turned = half_root * r[0];
  const Real mean = 0.5 * (r[3] + r[4]);
  const Real second = -r[2];
  r[0] = half_root * (r[3] - r[4]);
  r[2] = r[1];
  r[1] = second;
  r[3] = mean - turned;
  r[4] = mean + turned;
}

// Back to the change of the quantities (T_zeta).
template <class Real>
void out_of_z(Real (&r)[quantities], const Motion<Real>& at) {
  const auto& [u, v, w] = at.velocity;
  const Real density = 1.0 / at.volume;
  const Real scaled = std::sqrt(0.5) * density;
  const Real sounding = scaled / at.sound * (r[3] + r[4]);
  const Real moved = scaled * (r[3] - r[4]);
  const Real mass = r[2] + sounding;
  const Real along_x = density * r[1];
  const Real along_y = density * r[0];
  r[4] = v * along_y - u * along_x + at.kinetic * mass + at.sound * at.sound / k2 * sounding + w * moved;
  r[0] = mass;
  r[1] = u * mass - along_x;
  r[2] = v * mass + along_y;
  r[3] = w * mass + moved;
}

}  // namespace characteristic
}  // namespace scope::npb
