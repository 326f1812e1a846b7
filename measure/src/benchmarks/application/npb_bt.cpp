// application.npb_bt: a flow solver; each time step solves block tridiagonal systems (5 x 5 blocks) along x,
// y and z.
//
// Timed: all time steps on every process; the slowest counts. After the simulated application BT of the NAS
// Parallel Benchmarks (RNR-94-007, 3.3.2). Few long messages, and the most arithmetic at each point.
//
// Not for sanitizers, with which it takes a minute to compile.
#include "benchmarks/application/npb/alternating_directions.hpp"
#include "benchmarks/application/npb/jacobians.hpp"
#include "benchmarks/application/npb/lines.hpp"

namespace scope::npb::bt {

// BT's lines: block tridiagonal systems with 5 x 5 blocks, by elimination from the first cell of a line to
// the last and back-substitution (Thomas), without pivoting (RNR-94-007, section 3.3.2).

// Arithmetic on two rows of blocks side by side, in the columns whose bits are set. Explicit functions
// compile in a fraction of the time that nested lambdas take.
template <unsigned ours, unsigned others, class Real>
SCOPE_INLINE inline void scale_rows(Real (&a)[quantities], Real (&b)[quantities], const Real& factor) {
  each<quantities>([&](auto column) SCOPE_INLINE {
    if constexpr ((ours >> column & 1) != 0) a[column] *= factor;
    if constexpr ((others >> column & 1) != 0) b[column] *= factor;
  });
}
template <unsigned ours, unsigned others, class Real>
SCOPE_INLINE inline void subtract_rows(Real (&a)[quantities], Real (&b)[quantities], const Real& factor,
                                       const Real (&from_a)[quantities], const Real (&from_b)[quantities]) {
  each<quantities>([&](auto column) SCOPE_INLINE {
    if constexpr ((ours >> column & 1) != 0) a[column] -= factor * from_a[column];
    if constexpr ((others >> column & 1) != 0) b[column] -= factor * from_b[column];
  });
}
template <class Real>
SCOPE_INLINE inline void subtract_row(Real (&row)[quantities], const Real& factor,
                                      const Real (&from)[quantities]) {
  each<quantities>([&](auto column) SCOPE_INLINE { row[column] -= factor * from[column]; });
}

template <int axis>
class BlockTridiagonal : public LineSolver<axis, BlockTridiagonal> {
  using Base = LineSolver<axis, npb::bt::BlockTridiagonal>;
  using Base::cell_;

 public:
  using Base::Base;

  static constexpr bool needs_sound = false;
  // Doubles per point for the substitution: the right block of the point's eliminated row.
  static constexpr int kept = quantities * quantities;
  // The data that a line sends to the next cell: the right block and the values of its last point; and back: the
  // change at its first point.
  static constexpr int forward = kept + quantities;
  static constexpr int backward = quantities;

  // The row of a point after elimination: change + right * (change at the next point) = value.
  template <class Real>
  struct Row {
    Real right[quantities][quantities];
    Real value[quantities];
  };
  template <class Real>
  using Forward = Row<Real>;
  template <class Real>
  using Backward = Real[quantities];

  template <class Real>
  SCOPE_INLINE void eliminate(Row<Real>& before, double* rights, int i, int j, int k) {
    const Stride step = cell_.derived.along(axis);
    const Stride md = cell_.derived.component();
    const Stride mr = cell_.residual.component();
    const Stride apart = cell_.derived.along(Lines<axis>::inner);
    const Stride residuals_apart = cell_.residual.along(Lines<axis>::inner);
    const auto at = [&](const double* d) SCOPE_INLINE {
      return Thermodynamics<Real>::at(
          d, md, [&](const double* from) SCOPE_INLINE { return Lines<axis>::template get<Real>(from, apart); });
    };
    const double* d = cell_.derived.at(i, j, k);
    double* residual = cell_.residual.at(i, j, k);
    Thermodynamics<Real> behind = at(d - step);
    Thermodynamics<Real> here = at(d);
    for (int left = Lines<axis>::length(cell_); left > 0; --left) {
      const Thermodynamics<Real> ahead = at(d + step);
      Real middle[quantities][quantities];
      Real right[quantities][quantities];
      Real value[quantities];
      each<quantities>([&](auto row) SCOPE_INLINE {
        each<quantities>([&](auto column) SCOPE_INLINE {
          middle[row][column] = middle_block<axis, row, column>(here, this->flow_);
          right[row][column] = Real{};
        });
        value[row] = Lines<axis>::template get<Real>(residual + row * mr, residuals_apart);
        each<quantities>([&](auto column) SCOPE_INLINE {
          if constexpr (present(axis, row, column)) {
            right[row][column] = outer_block<axis, 1, row, column>(ahead, this->flow_);
            const Real left = outer_block<axis, -1, row, column>(behind, this->flow_);
            subtract_row(middle[row], left, before.right[column]);
            value[row] -= left * before.value[column];
          }
        });
      });
      divide(middle, right, value);
      each<quantities>([&](auto row) SCOPE_INLINE {
        each<quantities>([&](auto column) SCOPE_INLINE {
          before.right[row][column] = right[row][column];
          store(rights + (row * quantities + column) * lanes_of<Real>, right[row][column]);
        });
        before.value[row] = value[row];
        Lines<axis>::put(residual + row * mr, residuals_apart, value[row]);
      });
      behind = here;
      here = ahead;
      d += step;
      residual += cell_.residual.along(axis);
      rights += kept * lanes_of<Real>;
    }
  }

  template <class Real>
  SCOPE_INLINE void substitute(Real (&change)[quantities], const double* rights, int i, int j, int k) {
    const Stride mr = cell_.residual.component();
    const Stride apart = cell_.residual.along(Lines<axis>::inner);
    const int length = Lines<axis>::length(cell_);
    double* residual = cell_.residual.at(i, j, k) + (length - 1) * cell_.residual.along(axis);
    rights += (length - 1) * kept * lanes_of<Real>;
    for (int left = length; left > 0; --left) {
      Real next[quantities];
      each<quantities>([&](auto row) SCOPE_INLINE {
        next[row] = Lines<axis>::template get<Real>(residual + row * mr, apart);
        each<quantities>([&](auto column) SCOPE_INLINE {
          next[row] -= load<Real>(rights + (row * quantities + column) * lanes_of<Real>) * change[column];
        });
      });
      each<quantities>([&](auto row) SCOPE_INLINE {
        change[row] = next[row];
        Lines<axis>::put(residual + row * mr, apart, next[row]);
      });
      residual -= cell_.residual.along(axis);
      rights -= kept * lanes_of<Real>;
    }
  }

 private:
  // The columns in which the right block may be non-zero in a row when that row becomes the pivot.
  static constexpr unsigned filled(int row) {
    unsigned columns = 0;
    for (int above = 0; above <= row; ++above)
      for (int column = 0; column < quantities; ++column) columns |= present(axis, above, column) << column;
    return columns;
  }
  static constexpr unsigned behind(int pivot) { return ~1u << pivot; }

  // right = middle^-1 right, value = middle^-1 value, by Gaussian elimination.
  template <class Real>
  SCOPE_INLINE static void divide(Real (&middle)[quantities][quantities], Real (&right)[quantities][quantities],
                                  Real (&value)[quantities]) {
    each<quantities>([&](auto pivot) SCOPE_INLINE {
      constexpr unsigned columns = behind(pivot);
      const Real scale = 1.0 / middle[pivot][pivot];
      scale_rows<columns, filled(pivot)>(middle[pivot], right[pivot], scale);
      value[pivot] *= scale;
      each<quantities>([&](auto row) SCOPE_INLINE {
        if constexpr (row > pivot) {
          const Real factor = middle[row][pivot];
          subtract_rows<columns, filled(pivot)>(middle[row], right[row], factor, middle[pivot], right[pivot]);
          value[row] -= factor * value[pivot];
        }
      });
    });
    each<quantities>([&](auto step) SCOPE_INLINE {
      constexpr int row = quantities - 1 - step;
      each<quantities>([&](auto below) SCOPE_INLINE {
        if constexpr (below > row) {
          subtract_row(right[row], middle[row][below], right[below]);
          value[row] -= middle[row][below] * value[below];
        }
      });
    });
  }
};

namespace {

constexpr const char* name = "application.npb_bt";

// Sizes and norms from NPB 3.4; the norms have the digits of its verification.
constexpr PerClass<FlowProblem> problems{
    {{{12, 60, 0.01},
      {1.7034283709541311e-01, 1.2975252070034097e-02, 3.2527926989486055e-02, 2.6436421275166801e-02,
       1.9211784131744430e-01},
      {4.9976913345811579e-04, 4.5195666782961927e-05, 7.3973765172921357e-05, 7.3821238632439731e-05,
       8.9269630987491446e-04}},
     {{24, 200, 0.0008},
      {0.1125590409344e+03, 0.1180007595731e+02, 0.2710329767846e+02, 0.2469174937669e+02, 0.2638427874317e+03},
      {0.4419655736008e+01, 0.4638531260002e+00, 0.1011551749967e+01, 0.9235878729944e+00, 0.1018045837718e+02}},
     {{64, 200, 0.0008},
      {1.0806346714637264e+02, 1.1319730901220813e+01, 2.5974354511582465e+01, 2.3665622544678910e+01,
       2.5278963211748344e+02},
      {4.2348416040525025e+00, 4.4390282496995698e-01, 9.6692480136345650e-01, 8.8302063039765474e-01,
       9.7379901770829278e+00}},
     {{102, 200, 0.0003},
      {1.4233597229287254e+03, 9.9330522590150238e+01, 3.5646025644535285e+02, 3.2485447959084092e+02,
       3.2707541254659363e+03},
      {5.2969847140936856e+01, 4.4632896115670668e+00, 1.3122573342210174e+01, 1.2006925323559144e+01,
       1.2459576151035986e+02}},
     {{162, 200, 0.0001},
      {0.62398116551764615e+04, 0.50793239190423964e+03, 0.15423530093013596e+04, 0.13302387929291190e+04,
       0.11604087428436455e+05},
      {0.16462008369091265e+03, 0.11497107903824313e+02, 0.41207446207461508e+02, 0.37087651059694167e+02,
       0.36211053051841265e+03}}}};

class BlockTridiagonalFlow final : public AlternatingDirections<BlockTridiagonal> {
 public:
  BlockTridiagonalFlow(const Parameters& parameters, const Communicator& communicator)
      : AlternatingDirections(name, parameters, communicator, of_class(problems, parameters)) {}

 private:
  double operations() const override {
    const double n = problem().n;
    return problem().iterations * (3478.8 * n * n * n - 17655.7 * n * n + 28023.7 * n);
  }
};

const Registration registration{
    declaration({.name = name,
                 .title = "NAS BT",
                 .summary = "NAS application BT: flow solver with block tridiagonal systems",
                 .problem_class = problem_class(problems),
                 .further = {vector_variant()}},
                make<BlockTridiagonalFlow>)};

}  // namespace
}  // namespace scope::npb::bt
