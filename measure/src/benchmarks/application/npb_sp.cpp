// application.npb_sp: a flow solver; each time step solves scalar pentadiagonal systems along x, y and z.
//
// Timed: all time steps on every process; the slowest counts. After the simulated application SP of the NAS
// Parallel Benchmarks (RNR-94-007, 3.3.3). Like BT, but with twice the steps and little arithmetic between two
// messages.
//
// Not for sanitizers, with which it takes a minute to compile.
#include "benchmarks/application/npb/alternating_directions.hpp"
#include "benchmarks/application/npb/lines.hpp"

namespace scope::npb::sp {

// SP's lines: the matrices of an axis are diagonalized, so that each of the five characteristic variables has
// a scalar pentadiagonal system (RNR-94-007, section 3.3.3, after Pulliam and Chaussee 1981). Three move with
// the flow and share a matrix; two move with the flow plus or minus the speed of sound.

// The matrices of a line: one for the variables 1 to 3, one for 4 and one for 5.
constexpr int systems = 3;

// The part of the flow at a point that lines need.
template <class Real>
struct Motion {
  Real volume;
  Real velocity[3];
  Real kinetic;
  Real sound;
};

namespace characteristic {

// Transforms the change of the quantities into the change of the characteristic variables of x (inverse of T_xi).
template <class Real>
SCOPE_INLINE inline void into_x(Real (&r)[quantities], const Motion<Real>& at) {
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

// Transforms from the variables of x to those of y (T_eta^-1 T_xi), and from y to z (T_zeta^-1 T_eta), by
// rotations that do not depend on the flow.
template <class Real>
SCOPE_INLINE inline void from_x_to_y(Real (&r)[quantities]) {
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
SCOPE_INLINE inline void from_y_to_z(Real (&r)[quantities]) {
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

// Transforms back to the change of the quantities (T_zeta).
template <class Real>
SCOPE_INLINE inline void out_of_z(Real (&r)[quantities], const Motion<Real>& at) {
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

template <int axis>
class ScalarPentadiagonal : public LineSolver<axis, ScalarPentadiagonal> {
  using Base = LineSolver<axis, npb::sp::ScalarPentadiagonal>;
  using Base::cell_, Base::flow_;

 public:
  using Base::Base;

  static constexpr bool needs_sound = true;
  // Doubles per point for the substitution: two factors of every matrix.
  static constexpr int kept = 2 * systems;
  // The data that a line sends to the next cell: factors and values of two eliminated rows; and back: the values
  // at two points.
  static constexpr int forward = 2 * (kept + quantities);
  static constexpr int backward = 2 * quantities;

  // The row of a point after elimination, for each of the matrices: x + next * (x of the next point) + far * (x of
  // the point after it) = value.
  template <class Real>
  struct Row {
    Real next[systems];
    Real far[systems];
    Real value[quantities];
  };
  template <class Real>
  using Forward = Row<Real>[2];
  template <class Real>
  using Backward = Real[2][quantities];

  // `before`: the rows of the previous two points.
  template <class Real>
  SCOPE_INLINE void eliminate(Row<Real> (&before)[2], double* factors, int i, int j, int k) {
    const double first = flow_.dt * flow_.first_difference();
    const double second = flow_.dt * flow_.second_difference();
    const Stride step = cell_.derived.along(axis);
    const Stride mr = cell_.residual.component();
    const Stride apart = cell_.residual.along(Lines<axis>::inner);
    const double* d = cell_.derived.at(i, j, k);
    double* residual = cell_.residual.at(i, j, k);
    Speeds<Real> behind = speeds_at<Real>(d - step);
    Speeds<Real> here = speeds_at<Real>(d);
    for (int at = cell_.inner_begin(axis); at < cell_.inner_end(axis); ++at) {
      const Speeds<Real> ahead = speeds_at<Real>(d + step);
      double weight[5];
      each<5>([&](auto w)
                  SCOPE_INLINE { weight[w] = flow_.dt * dissipation * cell_.fourth[axis].weights[w][at]; });
      Row<Real> row;
      each<quantities>(
          [&](auto m) SCOPE_INLINE { row.value[m] = Lines<axis>::template get<Real>(residual + m * mr, apart); });
      if constexpr (axis == 0) characteristic::into_x(row.value, motion_at<Real>(d));

      const Real low = weight[1] - first * behind.along - second * behind.diffusion;
      const Real middle = 1 + weight[2] + 2 * second * here.diffusion;
      const Real high = weight[3] + first * ahead.along - second * ahead.diffusion;
      each<systems>([&](auto s) SCOPE_INLINE {
        constexpr int sounding = s == 0 ? 0 : s == 1 ? 1 : -1;
        Real left = low;
        Real right = high;
        if constexpr (sounding != 0) {
          left -= sounding * first * behind.sound;
          right += sounding * first * ahead.sound;
        }
        left -= weight[0] * before[0].next[s];
        const Real own = middle - weight[0] * before[0].far[s] - left * before[1].next[s];
        const Real scale = 1.0 / own;
        row.next[s] = (right - left * before[1].far[s]) * scale;
        row.far[s] = weight[4] * scale;
        each<quantities>([&](auto m) SCOPE_INLINE {
          if constexpr (system_of(m) == s)
            row.value[m] = (row.value[m] - weight[0] * before[0].value[m] - left * before[1].value[m]) * scale;
        });
        store(factors + s * lanes_of<Real>, row.next[s]);
        store(factors + (systems + s) * lanes_of<Real>, row.far[s]);
      });
      each<quantities>([&](auto m) SCOPE_INLINE { Lines<axis>::put(residual + m * mr, apart, row.value[m]); });
      before[0] = before[1];
      before[1] = row;
      behind = here;
      here = ahead;
      d += step;
      residual += cell_.residual.along(axis);
      factors += kept * lanes_of<Real>;
    }
  }

  // `ahead`: the values at the next two points.
  template <class Real>
  SCOPE_INLINE void substitute(Real (&ahead)[2][quantities], const double* factors, int i, int j, int k) {
    const Stride mr = cell_.residual.component();
    const Stride apart = cell_.residual.along(Lines<axis>::inner);
    const int length = Lines<axis>::length(cell_);
    const double* d = cell_.derived.at(i, j, k) + (length - 1) * cell_.derived.along(axis);
    double* residual = cell_.residual.at(i, j, k) + (length - 1) * cell_.residual.along(axis);
    factors += (length - 1) * kept * lanes_of<Real>;
    for (int left = length; left > 0; --left) {
      Real value[quantities];
      each<quantities>([&](auto m) SCOPE_INLINE {
        constexpr int s = system_of(m);
        value[m] = Lines<axis>::template get<Real>(residual + m * mr, apart) -
                   load<Real>(factors + s * lanes_of<Real>) * ahead[0][m] -
                   load<Real>(factors + (systems + s) * lanes_of<Real>) * ahead[1][m];
        ahead[1][m] = ahead[0][m];
        ahead[0][m] = value[m];
      });
      if constexpr (axis == 0) characteristic::from_x_to_y(value);
      if constexpr (axis == 1) characteristic::from_y_to_z(value);
      if constexpr (axis == 2) characteristic::out_of_z(value, motion_at<Real>(d));
      each<quantities>([&](auto m) SCOPE_INLINE { Lines<axis>::put(residual + m * mr, apart, value[m]); });
      d -= cell_.derived.along(axis);
      residual -= cell_.residual.along(axis);
      factors -= kept * lanes_of<Real>;
    }
  }

 private:
  // The matrix of a characteristic variable.
  static constexpr int system_of(int variable) { return variable < 3 ? 0 : variable - 2; }

  // The data that the matrices of a line need at a point.
  template <class Real>
  struct Speeds {
    Real along;
    Real sound;
    Real diffusion;
  };

  template <class Real>
  SCOPE_INLINE Real derived_at(const double* d, int number) const {
    return Lines<axis>::template get<Real>(d + number * cell_.derived.component(),
                                           cell_.derived.along(Lines<axis>::inner));
  }
  // Energy diffuses fastest (k1 k5 > 4/3), and its diffusion bounds all others.
  template <class Real>
  SCOPE_INLINE Speeds<Real> speeds_at(const double* d) const {
    return {derived_at<Real>(d, derived::velocity + axis), derived_at<Real>(d, derived::sound),
            diffusion[axis] + conductivity * derived_at<Real>(d, derived::volume)};
  }
  template <class Real>
  SCOPE_INLINE Motion<Real> motion_at(const double* d) const {
    return {derived_at<Real>(d, derived::volume),
            {derived_at<Real>(d, derived::velocity), derived_at<Real>(d, derived::velocity + 1),
             derived_at<Real>(d, derived::velocity + 2)},
            derived_at<Real>(d, derived::kinetic),
            derived_at<Real>(d, derived::sound)};
  }
};

namespace {

constexpr const char* name = "application.npb_sp";

// Sizes and norms from NPB 3.4; the norms have the digits of its verification.
constexpr PerClass<FlowProblem> problems{
    {{{12, 100, 0.015},
      {2.7470315451339479e-02, 1.0360746705285417e-02, 1.6235745065095532e-02, 1.5840557224455615e-02,
       3.4849040609362460e-02},
      {2.7289258557377227e-05, 1.0364446640837285e-05, 1.6154798287166471e-05, 1.5750704994480102e-05,
       3.4177666183390531e-05}},
     {{36, 400, 0.0015},
      {0.1893253733584e-02, 0.1717075447775e-03, 0.2778153350936e-03, 0.2887475409984e-03, 0.3143611161242e-02},
      {0.7542088599534e-04, 0.6512852253086e-05, 0.1049092285688e-04, 0.1128838671535e-04, 0.1212845639773e-03}},
     {{64, 400, 0.0015},
      {2.4799822399300195e0, 1.1276337964368832e0, 1.5028977888770491e0, 1.4217816211695179e0,
       2.1292113035138280e0},
      {1.0900140297820550e-04, 3.7343951769282091e-05, 5.0092785406541633e-05, 4.7671093939528255e-05,
       1.3621613399213001e-04}},
     {{102, 400, 0.001},
      {0.6903293579998e+02, 0.3095134488084e+02, 0.4103336647017e+02, 0.3864769009604e+02, 0.5643482272596e+02},
      {0.9810006190188e-02, 0.1022827905670e-02, 0.1720597911692e-02, 0.1694479428231e-02, 0.1847456263981e-01}},
     {{162, 400, 0.00067},
      {0.5881691581829e+03, 0.2454417603569e+03, 0.3293829191851e+03, 0.3081924971891e+03, 0.4597223799176e+03},
      {0.2598120500183e+00, 0.2590888922315e-01, 0.5132886416320e-01, 0.4806073419454e-01, 0.5483377491301e+00}}}};

class ScalarPentadiagonalFlow final : public AlternatingDirections<ScalarPentadiagonal> {
 public:
  ScalarPentadiagonalFlow(const Parameters& parameters, const Communicator& communicator)
      : AlternatingDirections(name, parameters, communicator, of_class(problems, parameters)) {}

 private:
  double operations() const override {
    const double n = problem().n;
    return problem().iterations * (881.174 * n * n * n - 4683.91 * n * n + 11484.5 * n - 19272.4);
  }
};

const Registration registration{
    declaration({.name = name,
                 .title = "NAS SP",
                 .summary = "NAS application SP: flow solver with scalar pentadiagonal systems",
                 .problem_class = problem_class(problems),
                 .further = {vector_variant()}},
                make<ScalarPentadiagonalFlow>)};

}  // namespace
}  // namespace scope::npb::sp
