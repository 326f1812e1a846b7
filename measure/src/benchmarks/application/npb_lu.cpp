// application.npb_lu: a flow solver; each time step does two sweeps of successive over-relaxation through the
// grid.
//
// Timed: all time steps on every process; the slowest counts. After the simulated application LU of the NAS
// Parallel Benchmarks (RNR-94-007, 3.3.4). A sweep passes through the processes as a wavefront, plane by
// plane, with very many short messages, each on the critical path.
//
// Not for sanitizers, with which it takes a minute to compile.
#include "benchmarks/algorithm/partition.hpp"
#include "benchmarks/application/npb/flow_norms.hpp"
#include "benchmarks/application/npb/jacobians.hpp"
#include "benchmarks/application/npb/kernel.hpp"
#include "benchmarks/application/npb/right_hand_side.hpp"
#include "benchmarks/application/npb/variant.hpp"

namespace scope::npb::lu {

// LU's sweeps: symmetric successive over-relaxation of the implicit equations, from the first point of the
// grid to the last with the blocks below the diagonal, then back with those above it (RNR-94-007, section
// 3.3.4).
//
// Blocks are never formed: the product of a block with a vector follows from the linearized flow in a few
// operations, and the diagonal blocks are lower triangular.

constexpr double over_relaxation = 1.2;  // omega

// Adds the product of the block of the point before or after along `axis` (`side` -1 or +1) with the change there.
template <int axis, int side, class Real>
SCOPE_INLINE inline void add_outer_block(Real (&sum)[quantities], const Thermodynamics<Real>& at,
                                         const Real (&x)[quantities], const Flow& flow) {
  const double first = side * flow.dt * flow.first_difference();
  const double second = flow.dt * flow.second_difference();
  const auto& v = at.velocity;
  // Changes of pressure, of the velocities, and of energy by conduction.
  const Real pressure = k2 * (at.kinetic * x[0] - v[0] * x[1] - v[1] * x[2] - v[2] * x[3] + x[4]);
  const Real enthalpy = k1 * at.energy - k2 * at.kinetic;
  const Real& mass = x[axis + 1];
  Real moved[3];
  each<3>([&](auto m) SCOPE_INLINE { moved[m] = x[m + 1] - v[m] * x[0]; });
  Real work = conductivity * (x[4] - at.energy * x[0]);
  each<3>([&](auto m)
              SCOPE_INLINE { work += (stretching(axis, m) * viscosity - conductivity) * v[m] * moved[m]; });
  const double spread = second * diffusion[axis];
  sum[0] += first * mass - spread * x[0];
  each<3>([&](auto m) SCOPE_INLINE {
    Real convection = v[axis] * moved[m] + v[m] * mass;
    if constexpr (m == axis) convection += pressure;
    sum[m + 1] +=
        first * convection - (second * stretching(axis, m) * viscosity) * at.volume * moved[m] - spread * x[m + 1];
  });
  sum[4] += first * (v[axis] * (pressure + x[4] - enthalpy * x[0]) + enthalpy * mass) - second * at.volume * work -
            spread * x[4];
}

// Sets x to (diagonal block)^-1 x. Summed over the three axes, all velocities diffuse equally.
template <class Real>
SCOPE_INLINE inline void divide_by_diagonal(Real (&x)[quantities], const Thermodynamics<Real>& at,
                                            const Flow& flow) {
  const double second = 2 * flow.dt * flow.second_difference();
  const double own = 1 + second * (diffusion[0] + diffusion[1] + diffusion[2]);
  const double friction = second * viscosity * (stretching(0, 0) + stretching(1, 0) + stretching(2, 0));
  const double conduction = second * 3 * conductivity;
  const Real scale = 1.0 / (own + friction * at.volume);
  const Real scale_of_energy = 1.0 / (own + conduction * at.volume);
  x[0] *= 1 / own;
  Real energy = x[4] + conduction * at.volume * at.energy * x[0];
  each<3>([&](auto m) SCOPE_INLINE {
    const Real& v = at.velocity[m];
    x[m + 1] = (x[m + 1] + friction * at.volume * v * x[0]) * scale;
    energy -= (friction - conduction) * at.volume * v * (x[m + 1] - v * x[0]);
  });
  x[4] = energy * scale_of_energy;
}

class OverRelaxation {
 public:
  // Number of doubles of workspace for a sweep.
  static std::size_t stored(const Box& box) { return static_cast<std::size_t>(box.size[0]) * quantities; }

  OverRelaxation(Cell& cell, const Flow& flow, double* row) : cell_(cell), flow_(flow), row_(row) {}

  // Does one plane of the forward sweep (`side` -1) or of the backward sweep. The residuals of the layer before
  // the cell must be present.
  template <int side, int lanes>
  SCOPE_INLINE void sweep(int k) {
    if constexpr (side < 0)
      for (int j = cell_.inner_begin(1); j < cell_.inner_end(1); ++j) sweep_row<side, lanes>(j, k);
    else
      for (int j = cell_.inner_end(1) - 1; j >= cell_.inner_begin(1); --j) sweep_row<side, lanes>(j, k);
  }

 private:
  template <class Real>
  SCOPE_INLINE Thermodynamics<Real> derived_at(const double* d) const {
    return Thermodynamics<Real>::at(d, cell_.derived.component(),
                                    [](const double* from) SCOPE_INLINE { return load<Real>(from); });
  }
  template <class Real>
  SCOPE_INLINE void change_at(Real (&x)[quantities], const double* r) const {
    each<quantities>([&](auto m) SCOPE_INLINE { x[m] = load<Real>(r + m * cell_.residual.component()); });
  }

  // Only the contribution along the row has recurrences, not the contributions of earlier planes and rows.
  template <int side, int lanes>
  SCOPE_INLINE void sweep_row(int j, int k) {
    const Stride mr = cell_.residual.component();
    const int begin = cell_.inner_begin(0);
    const int end = cell_.inner_end(0);
    in_runs<lanes>(begin, end, [&](auto run, int i) SCOPE_INLINE {
      using Real = typename decltype(run)::Real;
      const double* const d = cell_.derived.at(i, j, k);
      const double* const r = cell_.residual.at(i, j, k);
      Real sum[quantities]{};
      Real x[quantities];
      each<2>([&](auto which) SCOPE_INLINE {
        constexpr int axis = which + 1;
        change_at<Real>(x, r + side * cell_.residual.along(axis));
        add_outer_block<axis, side>(sum, derived_at<Real>(d + side * cell_.derived.along(axis)), x, flow_);
      });
      each<quantities>([&](auto m) SCOPE_INLINE { store(row_ + m * cell_.size[0] + i, sum[m]); });
    });
    double x[quantities];
    const int first = side < 0 ? begin : end - 1;
    const double* d = cell_.derived.at(first, j, k);
    double* r = cell_.residual.at(first, j, k);
    const double* row = row_ + first;
    change_at<double>(x, r + side);
    for (int left = end - begin; left > 0; --left) {
      double sum[quantities];
      each<quantities>([&](auto m) SCOPE_INLINE { sum[m] = row[m * cell_.size[0]]; });
      add_outer_block<0, side>(sum, derived_at<double>(d + side), x, flow_);
      each<quantities>([&](auto m) SCOPE_INLINE {
        const double own = side < 0 ? r[m * mr] : 0;
        x[m] = own - over_relaxation * sum[m];
      });
      divide_by_diagonal(x, derived_at<double>(d), flow_);
      each<quantities>([&](auto m) SCOPE_INLINE {
        if constexpr (side > 0) x[m] += r[m * mr];
        r[m * mr] = x[m];
      });
      d -= side;
      r -= side;
      row -= side;
    }
  }

  Cell& cell_;
  const Flow& flow_;
  double* row_;
};

namespace {

constexpr const char* name = "application.npb_lu";
constexpr int faces_tag = 41;
constexpr int wave_tag = 45;
// Number of points that the fourth differences need from a neighbor.
constexpr int fewest_points = 2;

struct Problem : FlowProblem {
  double surface_integral;
};

// Sizes and norms from NPB 3.4; the norms have the digits of its verification.
constexpr PerClass<Problem> problems{
    {{{{12, 50, 0.5},
       {1.6196343210976702e-02, 2.1976745164821318e-03, 1.5179927653399185e-03, 1.5029584435994323e-03,
        3.4264073155896461e-02},
       {6.4223319957960924e-04, 8.4144342047347926e-05, 5.8588269616485186e-05, 5.8474222595157350e-05,
        1.3103347914111294e-03}},
      7.8418928865937083e+00},
     {{{33, 300, 0.0015},
       {0.1236511638192e+02, 0.1317228477799e+01, 0.2550120713095e+01, 0.2326187750252e+01, 0.2826799444189e+02},
       {0.4867877144216e+00, 0.5064652880982e-01, 0.9281818101960e-01, 0.8570126542733e-01, 0.1084277417792e+01}},
      0.1161399311023e+02},
     {{{64, 250, 2.0},
       {7.7902107606689367e+02, 6.3402765259692870e+01, 1.9499249727292479e+02, 1.7845301160418537e+02,
        1.8384760349464247e+03},
       {2.9964085685471943e+01, 2.8194576365003349e+00, 7.3473412698774742e+00, 6.7139225687777051e+00,
        7.0715315688392578e+01}},
      2.6030925604886277e+01},
     {{{102, 250, 2.0},
       {3.5532672969982736e+03, 2.6214750795310692e+02, 8.8333721850952190e+02, 7.7812774739425265e+02,
        7.3087969592545314e+03},
       {1.1401176380212709e+02, 8.1098963655421574e+00, 2.8480597317698308e+01, 2.5905394567832939e+01,
        2.6054907504857413e+02}},
      4.7887162703308227e+01},
     {{{162, 250, 2.0},
       {1.03766980323537846e+04, 8.92212458801008552e+02, 2.56238814582660871e+03, 2.19194343857831427e+03,
        1.78078057261061185e+04},
       {2.15986399716949279e+02, 1.55789559239863600e+01, 5.41318863077207766e+01, 4.82262643154045421e+01,
        4.55902910043250358e+02}},
      6.66404553572181300e+01}}};

// A grid of processes in x and y, numbered along x, each with a column of the grid from bottom to top.
class Columns {
 public:
  Columns(int n, int processes, int rank) : processes_(chosen(n, processes)) {
    place_ = {rank % processes_[0], rank / processes_[0]};
    for (int axis = 0; axis < 2; ++axis) {
      const Partition parts(n, processes_[axis]);
      box_.begin[axis] = static_cast<int>(parts.begin(place_[axis]));
      box_.size[axis] = static_cast<int>(parts.size(place_[axis]));
    }
    box_.begin[2] = 0;
    box_.size[2] = box_.n = n;
  }

  const Box& box() const { return box_; }
  bool cut(int axis) const { return processes_[axis] > 1; }
  // The process before (`step` -1) or after this one along x or y, or MPI_PROC_NULL.
  int beside(int axis, int step) const {
    const int there = place_[axis] + step;
    if (there < 0 || there >= processes_[axis]) return MPI_PROC_NULL;
    return axis == 0 ? there + processes_[0] * place_[1] : place_[0] + processes_[0] * there;
  }

 private:
  using Pair = std::array<int, 2>;

  // As square as possible, with the longer side along y, because vectors run along rows in x.
  static std::optional<Pair> squarest(int n, int processes) {
    std::optional<Pair> best;
    for (int x = 1; x * x <= processes; ++x)
      if (processes % x == 0 && n / (processes / x) >= fewest_points) best = Pair{x, processes / x};
    return best;
  }
  static Pair chosen(int n, int processes) {
    if (const auto found = squarest(n, processes)) return *found;
    const auto fits = [&](int count) { return squarest(n, count).has_value(); };
    throw Unavailable(sentence({name, " needs blocks of at least ", fewest_points, " of the ", n,
                                " points along x and along y; ", processes,
                                " ranks were given: ", nearest_counts(processes, fits)}));
  }

  Pair processes_;
  Pair place_;
  Box box_;
};

class OverRelaxedFlow final : public Kernel {
 public:
  OverRelaxedFlow(const Parameters& parameters, const Communicator& communicator)
      : Kernel(name, parameters, communicator),
        problem_(of_class(problems, parameters)),
        flow_{problem_.n, problem_.dt},
        columns_(problem_.n, communicator.size(), communicator.rank()),
        width_(width_of(parameters, communicator)) {
    const Box& box = columns_.box();
    std::size_t numbers = OverRelaxation::stored(box);
    std::vector<int> around;
    for (int axis = 0; axis < 2; ++axis) {
      numbers += 4 * face_numbers(box, axis) + 2 * wave_numbers(axis);
      for (const int step : {-1, 1}) {
        around.push_back(columns_.beside(axis, step));
        partners_.push_back(Partners::these({around.back()}));
      }
    }
    around_ = Partners::these(around);
    require(static_cast<std::int64_t>(Cell::bytes(box, derived::without_sound, 1) + numbers * sizeof(double)));
    cell_.emplace(box, derived::without_sound, 1);
    row_.resize(OverRelaxation::stored(box));
    for (int axis = 0; axis < 2; ++axis) {
      wave_[axis].resize(wave_numbers(axis));
      for (const int step : {0, 1}) {
        faces_[2 * axis + step].sent.resize(face_numbers(box, axis));
        faces_[2 * axis + step].received.resize(face_numbers(box, axis));
      }
    }
    set_forcing(*cell_, flow_);
  }

 private:
  struct Face {
    std::vector<double> sent;
    std::vector<double> received;
  };

  // NPB's rule: do one step untimed, then restore everything.
  void initialize() override {
    set_u(*cell_, 0, initial_values);
    find_residual();
    step();
    set_u(*cell_, 0, initial_values);
    find_residual();
  }

  void iterate() override {
    for (int iteration = 1; iteration <= problem_.iterations; ++iteration) {
      if (iteration == problem_.iterations) exchange().expose();
      step();
    }
  }

  void step() {
    for (int k = cell_->inner_begin(2); k < cell_->inner_end(2); ++k) sweep_plane<-1>(k);
    for (int k = cell_->inner_end(2) - 1; k >= cell_->inner_begin(2); --k) sweep_plane<1>(k);
    in_lanes(width_, [&]<int lanes>() SCOPE_INLINE {
      add_change<lanes>(*cell_, 1 / (over_relaxation * (2 - over_relaxation)));
    });
    find_residual();
  }

  // Computes the right-hand side, times dt.
  void find_residual() {
    if (ranks() > 1) exchange_faces();
    in_lanes(width_, [&]<int lanes>() SCOPE_INLINE { derive<lanes>(*cell_, false); });
    in_lanes(width_, [&]<int lanes>()
                         SCOPE_INLINE { right_hand_side<lanes>(*cell_, flow_, flow_.dt, cell_->residual, true); });
  }

  // Exchanges two layers of u around the cell.
  void exchange_faces() {
    sides_.clear();
    for (int axis = 0; axis < 2; ++axis) {
      for (const int step : {-1, 1}) {
        Face& face = face_towards(axis, step);
        double* to = face.sent.data();
        for_face(*cell_, axis, step, false, [&](double value) { *to++ = value; });
        sides_.push_back({columns_.beside(axis, step), face.sent, columns_.beside(axis, -step), face.received,
                          faces_tag + static_cast<int>(sides_.size())});
      }
    }
    exchange().swap(sides_, around_);
    for (int axis = 0; axis < 2; ++axis) {
      for (const int step : {-1, 1}) {
        if (columns_.beside(axis, -step) == MPI_PROC_NULL) continue;
        const double* from = face_towards(axis, step).received.data();
        for_face(*cell_, axis, -step, true, [&](double& value) { value = *from++; });
      }
    }
  }
  Face& face_towards(int axis, int step) { return faces_[2 * axis + (step > 0 ? 1 : 0)]; }

  // Sweeps a plane, from the processes before this one to those after it (`side` -1), or back (+1).
  template <int side>
  void sweep_plane(int k) {
    for (int axis = 0; axis < 2; ++axis) receive_wave(axis, side, k);
    in_lanes(width_, [&]<int lanes>() SCOPE_INLINE {
      OverRelaxation(*cell_, flow_, row_.data()).template sweep<side, lanes>(k);
    });
    for (int axis = 0; axis < 2; ++axis) send_wave(axis, -side, k);
  }

  // Receives the neighbor's changes in its last row or column of a plane.
  void receive_wave(int axis, int side, int k) {
    if (!columns_.cut(axis)) return;
    const int from = columns_.beside(axis, side);
    exchange().receive(wave_[axis], from, wave_tag + axis, partners_[2 * axis + (side > 0 ? 1 : 0)]);
    if (from == MPI_PROC_NULL) return;
    const double* next = wave_[axis].data();
    for_wave(axis, side < 0 ? -1 : cell_->size[axis], k, [&](double& value) { value = *next++; });
  }
  void send_wave(int axis, int side, int k) {
    const int to = columns_.beside(axis, side);
    if (to == MPI_PROC_NULL) return;
    double* next = wave_[axis].data();
    for_wave(axis, side < 0 ? 0 : cell_->size[axis] - 1, k, [&](double value) { *next++ = value; });
    exchange().send(wave_[axis], to, wave_tag + axis);
  }
  // Calls `action` with every number of the residual in row or column `at` of a plane.
  template <class Action>
  void for_wave(int axis, int at, int k, Action&& action) {
    const int along = 1 - axis;
    const Stride mr = cell_->residual.component();
    for (int i = cell_->inner_begin(along); i < cell_->inner_end(along); ++i) {
      double* const point = axis == 0 ? cell_->residual.at(at, i, k) : cell_->residual.at(i, at, k);
      for (int m = 0; m < quantities; ++m) action(point[m * mr]);
    }
  }
  std::size_t wave_numbers(int axis) const {
    return static_cast<std::size_t>(columns_.box().inner(1 - axis)) * quantities;
  }

  std::vector<double> results() override {
    SquareSums sums;
    sums.add(*cell_, flow_);
    auto results = sums.norms(flow_, exchange());
    results.push_back(surface_integral());
    return results;
  }
  std::vector<Published> published() const override {
    auto published = published_norms(problem_);
    published.push_back({"surface integral", problem_.surface_integral});
    return published;
  }

  std::vector<std::span<const std::byte>> solution() override {
    return {cell_->u.bytes(), cell_->residual.bytes()};
  }

  // Integral of the pressure over the faces of a box within the grid, by the trapezoidal rule.
  double surface_integral() {
    const int n = problem_.n;
    const Extents first{1, 1, 2};
    const Extents last{n - 2, n - 3, n - 2};
    std::array<double, 1> sum{};
    for_points({0, 0, 0}, cell_->size, [&](int i, int j, int k) {
      const Extents at{cell_->begin[0] + i, cell_->begin[1] + j, cell_->begin[2] + k};
      double faces = 0;
      for (int axis = 0; axis < 3; ++axis) {
        double weight = at[axis] == first[axis] || at[axis] == last[axis] ? 1 : 0;
        for (int other = 0; other < 3; ++other) {
          if (other == axis) continue;
          if (at[other] < first[other] || at[other] > last[other]) weight = 0;
          if (at[other] == first[other] || at[other] == last[other]) weight /= 2;
        }
        faces += weight;
      }
      if (faces == 0) return;
      const double* const u = cell_->u.at(i, j, k);
      const double* const d = cell_->derived.at(i, j, k);
      const double kinetic = d[derived::kinetic * cell_->derived.component()];
      sum[0] += faces * k2 * (u[4 * cell_->u.component()] - kinetic * u[0]);
    });
    exchange().sum(std::span(sum));
    return sum[0] / flow_.second_difference();
  }

  double operations() const override {
    const double n = problem_.n;
    return problem_.iterations * (1984.77 * n * n * n - 10923.3 * n * n + 27770.9 * n - 144010.0);
  }
  int iterations() const override { return problem_.iterations; }
  std::size_t meetings() const override {
    const int in_plane = (columns_.cut(0) ? 2 : 0) + (columns_.cut(1) ? 2 : 0);
    const std::size_t in_step = in_plane * (problem_.n - 2) + (ranks() > 1 ? 1 : 0);
    return in_step * problem_.iterations;
  }

  Problem problem_;
  Flow flow_;
  Columns columns_;
  Width width_;
  std::optional<Cell> cell_;
  std::vector<double> row_;
  std::array<std::vector<double>, 2> wave_;
  std::array<Face, 4> faces_;
  std::vector<Side> sides_;
  std::vector<Partners> partners_;  // before and after along x, then along y
  Partners around_ = Partners::none();
};

const Registration registration{
    declaration({.name = name,
                 .title = "NAS LU",
                 .summary = "NAS application LU: flow solver with SSOR in wavefronts of short messages",
                 .problem_class = problem_class(problems),
                 .further = {vector_variant()}},
                make<OverRelaxedFlow>)};

}  // namespace
}  // namespace scope::npb::lu
