// application.shallow_water: the nonlinear shallow water equations on the rotating sphere by the spectral
// transform method.
//
// Timed: time steps on all ranks; the slowest counts. The problem and, as parameters, the parallel algorithms
// are those of PSTSWM (Worley & Foster 1994, Proc. Scalable High-Performance Computing Conf., 207-214), which
// NetFinity's section 3.2 measures. The numerics follow Hack & Jakob 1992, NCAR/TN-343+STR.
#include <cstdio>

#include "benchmarks/algorithm/phase_metrics.hpp"
#include "benchmarks/application/npb/variant.hpp"
#include "benchmarks/application/shallow_water/model.hpp"
#include "memory/available.hpp"
#include "mpi/simulated.hpp"

namespace scope::shallow_water {
namespace {

// Maximum number of operations for repeating a run on one process in a check: about two seconds.
constexpr double repeated_flops = 4e9;
// Rounding error of one step in a coefficient, relative to the largest coefficient of the field.
constexpr double rounding_of_step = 1e-13;
// Memory per meeting, for Phases and for the messages between its processes.
constexpr std::int64_t bytes_per_meeting = 160;

Methods methods_of(const Parameters& parameters) {
  const std::string& legendre = parameters.choice("legendre");
  return {.fourier = parameters.choice("fft") == "distributed" ? FourierMethod::distributed
                                                               : FourierMethod::transposition,
          .legendre = legendre == "allreduce" ? LegendreMethod::allreduce
                      : legendre == "ring"    ? LegendreMethod::ring
                                              : LegendreMethod::transposition};
}

Exchange::Way way_of(const Parameters& parameters) {
  const std::string& name = parameters.choice("exchange");
  if (name == "nonblocking") return Exchange::Way::nonblocking;
  if (name != "shared_memory") return Exchange::Way::blocking;
  if (mpi_simulates)
    throw Unavailable("exchange=shared_memory is not simulated: copies in memory would take no time");
  return Exchange::Way::shared_memory;
}

// Bounds on the errors against the solution and on the relative changes of integrals: a few times what this
// model shows at the coarsest truncation of each kind. `any` stands for no bound.
struct Bounds {
  double height;
  double wind;
  double energy;
  double enstrophy;
};

Bounds bounds_of(const std::string& case_name, int truncation, std::int64_t steps, double days) {
  constexpr double any = 1e300;
  const bool coarse = truncation < 42;
  const double rounding = 1e-12 + 1e-15 * static_cast<double>(steps);
  const double grown = 1 + days;
  if (case_name == "zonal") return {rounding, rounding, rounding, rounding};
  if (case_name == "bell") return {2.0 * grown / truncation, rounding, any, any};
  if (case_name == "compact") return coarse ? Bounds{1e-5, 1e-3, any, any} : Bounds{1e-8, 1e-6, any, any};
  if (case_name == "low")
    return coarse ? Bounds{2e-4 * grown, 5e-2 * grown, any, any} : Bounds{5e-6 * grown, 1e-3 * grown, any, any};
  if (case_name == "mountain") return {any, any, 2e-5 * grown, 3e-4 * grown};
  return {any, any, 3e-4 * grown, 3e-3 * grown};
}

class ShallowWater final : public Benchmark {
 public:
  ShallowWater(const Parameters& parameters, const Communicator& communicator)
      : communicator_(communicator),
        case_name_(parameters.choice("case")),
        test_case_(TestCase::named(case_name_)),
        levels_(static_cast<int>(parameters.integer("levels"))),
        steps_(parameters.integer("steps")),
        width_(npb::width_of(parameters, communicator)),
        decomposition_(resolution_named(parameters.choice("resolution")), communicator,
                       parameters.integer("grid_rows"), methods_of(parameters)),
        exchange_(way_of(parameters)) {
    const std::int64_t most_meetings =
        steps_ * 8 * (2 + decomposition_.row().size() + decomposition_.column().size());
    const Resolution& resolution = decomposition_.resolution();
    // The model, a second one for checks, and a third one that repeats a single level.
    require_memory(2 * Model::bytes(decomposition_, levels_, exchange_) + Model::bytes_alone(resolution, 1) +
                       most_meetings * bytes_per_meeting,
                   communicator);
    model_.emplace(decomposition_, *test_case_, levels_, width_, exchange_);
    // One step shows how often processes meet in a step.
    exchange_.begin(nullptr);
    model_->start();
    started_ = model_->diagnose();
    exchange_.begin(nullptr);
    model_->step();
    meetings_ = exchange_.meetings() * static_cast<std::size_t>(steps_);
  }

  Work work() const override {
    return {.bytes = static_cast<double>(everyones_bytes_),
            .flops = Model::flops(decomposition_.resolution(), levels_) * static_cast<double>(steps_),
            .messages = static_cast<double>(everyones_messages_),
            .steps = static_cast<double>(steps_)};
  }

  void run(Repetition& repetition) override {
    model_->start();
    std::optional<Phases> phases;
    repetition.time([&] {
      phases.emplace(repetition, meetings_);
      exchange_.begin(&*phases);
      for (std::int64_t step = 0; step < steps_; ++step) model_->step();
      phases->leave();
    });
    phases->observe(repetition, communicator_);
    observe(repetition);
  }

  // Every rank compares each of its spectral coefficients, in all levels, with the same run on one process;
  // errors and integrals are compared with bounds.
  Check verify(std::uint64_t /*seed*/) override {
    exchange_.begin(nullptr);
    const std::string outside = problem_of(model_->diagnose());
    Check check{static_cast<std::int64_t>(model_->state().size()), ""};
    check.problem = repeated_problem();
    // A wrong coefficient is reported in preference to its consequences, as it says more.
    if (!communicator_.any(!check.problem.empty())) check.problem = outside;
    return check;
  }

  std::span<std::byte> received() override { return std::as_writable_bytes(std::span(model_->state())); }
  bool loops() const override { return false; }

 private:
  void observe(Repetition& repetition) {
    repetition.observe("flops_per_step", Model::flops(decomposition_.resolution(), levels_));
    repetition.observe("memory_bytes", static_cast<double>(Model::bytes(decomposition_, levels_, exchange_)));
    repetition.observe("exchange_messages", static_cast<double>(exchange_.messages()));
    repetition.observe("exchange_bytes", static_cast<double>(exchange_.bytes()));
    everyones_messages_ = communicator_.sum(exchange_.messages());
    everyones_bytes_ = communicator_.sum(exchange_.bytes());
    exchange_.begin(nullptr);
    const Diagnosis found = model_->diagnose();
    repetition.observe("height_error", found.height_error);
    repetition.observe("wind_error", found.wind_error);
    repetition.observe("mass_change", change(found.mass, started_.mass));
    repetition.observe("energy_change", change(found.energy, started_.energy));
    repetition.observe("enstrophy_change", change(found.enstrophy, started_.enstrophy));
  }

  static double change(double after, double before) {
    return before != 0 ? std::abs(after - before) / std::abs(before) : 0;
  }

  std::string problem_of(const Diagnosis& found) const {
    const Bounds bounds =
        bounds_of(case_name_, decomposition_.resolution().truncation, steps_, model_->time_s() / day_s);
    std::string problem;
    const auto hold = [&](const char* what, double value, double bound) {
      if (value <= bound || !problem.empty()) return;
      char text[160];
      std::snprintf(text, sizeof text, "%s of case=%s after %.2f days is %.3e: must be at most %.1e", what,
                    case_name_.c_str(), model_->time_s() / day_s, value, bound);
      problem = text;
    };
    hold("the relative error of the geopotential", found.height_error, bounds.height);
    hold("the relative error of the wind", found.wind_error, bounds.wind);
    hold("the relative change of the mass", change(found.mass, started_.mass), 1e-12);
    hold("the relative change of the energy", change(found.energy, started_.energy), bounds.energy);
    hold("the relative change of the enstrophy", change(found.enstrophy, started_.enstrophy), bounds.enstrophy);
    return problem;
  }

  // Compares the whole run or, if that takes too long, the first steps of another run.
  std::string repeated_problem() {
    const double possible = repeated_flops / Model::flops(decomposition_.resolution(), 1);
    const std::int64_t steps = std::min(steps_, std::max<std::int64_t>(1, static_cast<std::int64_t>(possible)));
    if (!repeated_) repeated_ = alone(steps);
    if (steps == steps_) return difference(*model_, steps);
    Model again(decomposition_, *test_case_, levels_, width_, exchange_);
    advance(again, steps);
    return difference(again, steps);
  }

  static void advance(Model& model, std::int64_t steps) {
    model.start();
    for (std::int64_t step = 0; step < steps; ++step) model.step();
  }

  // The state of one level after this many steps on one process.
  std::vector<double> alone(std::int64_t steps) const {
    const Communicator self = Communicator::split(communicator_, communicator_.rank(), 0);
    const Decomposition whole(decomposition_.resolution(), self, 1, {});
    Exchange none(Exchange::Way::blocking);
    Model model(whole, *test_case_, 1, width_, none);
    advance(model, steps);
    return model.state();
  }

  std::string difference(const Model& model, std::int64_t steps) const {
    constexpr const char* names[] = {"vorticity", "divergence", "geopotential"};
    constexpr int parts = 6;  // real and imaginary parts of three fields
    std::array<double, 3> scales{};
    for (std::size_t i = 0; i < repeated_->size(); ++i)
      scales[i % parts / 2] = std::max(scales[i % parts / 2], std::abs((*repeated_)[i]));
    // A divergence of 0 is the difference of terms as large as the terms of the vorticity.
    scales[1] = std::max(scales[0], scales[1]);
    const double allowed = rounding_of_step * static_cast<double>(10 + steps);
    const int degrees = decomposition_.resolution().truncation + 2;
    const auto& state = model.state();
    std::size_t at = 0;
    for (const int m : model.own_wavenumbers()) {
      const std::ptrdiff_t first = m * degrees - m * (m - 1) / 2;  // number of coefficients before those of m
      for (int n = m; n < degrees; ++n) {
        for (int part = 0; part < parts; ++part) {
          const double right = (*repeated_)[(first + n - m) * parts + part];
          for (int level = 0; level < levels_; ++level, ++at) {
            const double error = std::abs(state[at] - right) / scales[part / 2];
            if (error <= allowed) continue;
            char text[200];
            std::snprintf(text, sizeof text,
                          "%s coefficient m=%d, n=%d of level %d is %.15e after %lld steps, but %.15e on one rank",
                          names[part / 2], m, n, level, state[at], static_cast<long long>(steps), right);
            return text;
          }
        }
      }
    }
    return "";
  }

  const Communicator& communicator_;
  std::string case_name_;
  std::unique_ptr<TestCase> test_case_;
  int levels_;
  std::int64_t steps_;
  npb::Width width_;
  Decomposition decomposition_;
  Exchange exchange_;
  std::optional<Model> model_;
  Diagnosis started_{};
  std::optional<std::vector<double>> repeated_;
  std::size_t meetings_ = 0;
  std::int64_t everyones_messages_ = 0;
  std::int64_t everyones_bytes_ = 0;
};

const Registration registration{{
    .name = "application.shallow_water",
    .title = "shallow water on the sphere",
    .summary = "shallow water equations on the rotating sphere by the spectral transform method: time per "
               "step and phases",
    .rungs = {communication(), arithmetic()},
    .parameters =
        {size("resolution", "T42,T21,T63,T85,T106,T170",
              "triangular truncation and grid: T21 64 x 32, T42 128 x 64, T63 192 x 96, T85 256 x 128, T106 "
              "320 x 160, T170 512 x 256")
             .worded("T42,T21,T63,T85,T106,T170"),
         problem("levels", "", 1, 1, 1000, "number of independent layers").worded("1=1 level,{} levels"),
         problem("steps", "", 24, 1, 1'000'000, "time steps, of 20 min each at T42").worded("1=1 step,{} steps"),
         problem("case", "zonal,bell,compact,low,mountain,wave",
                 "case of Williamson et al. (1992): zonal flow (2), a bell in given winds (1), zonal flow in a "
                 "band (3), a forced low (4), flow over a mountain (5), a Rossby-Haurwitz wave (6)")
             .worded(",advected bell,zonal flow in a band,moving low,flow over a mountain,Rossby-Haurwitz wave"),
         parallel("fft", "transposition,distributed",
                  "each rank transforms whole lines, or several ranks transform each line together")
             .labeled("FFT")
             .worded(",distributed FFT"),
         parallel("legendre", "transposition,allreduce,ring",
                  "each rank has whole meridians, or the ranks add partial sums by allreduce or in a ring")
             .labeled("Legendre transform")
             .worded(",Legendre sums by allreduce,Legendre sums around a ring"),
         parallel("exchange", "blocking,nonblocking,shared_memory",
                  "send messages after all data are computed, or while other messages' data are computed; "
                  "or, within a host, copy data through shared memory")
             .worded(",nonblocking,transpositions in shared memory"),
         npb::vector_variant(),
         parallel("grid_rows", "ranks", 0, 0, 1'000'000,
                  "rows of the process grid (bands of latitudes); 0: as many as possible")
             .worded("1=1 grid row,{} grid rows")},
    .definition = Definition::max_rank,
    .metrics =
        with_phases({seconds("time_s"), seconds_per_step("time_per_step_s"), flops_per_second(),
                     count("flops_per_step", "flop"), count("exchange_messages"), count("exchange_bytes", "B"),
                     condition("memory_bytes", "B", Better::lower).labeled("memory per rank"),
                     condition("height_error", "1", Better::lower), condition("wind_error", "1", Better::lower),
                     condition("mass_change", "1", Better::lower), condition("energy_change", "1", Better::lower),
                     condition("enstrophy_change", "1", Better::lower)}),
    .sweeps = {{"standard", "ranks=1,2,4 resolution=T42 levels=1,16"},
               {"standard", "ranks=powers resolution=T85 fft=transposition,distributed"},
               {"advanced", "ranks=powers resolution=T42,T85,T170 levels=1,4,16 variant=plain,tuned"},
               {"advanced",
                "ranks=powers resolution=T85 fft=transposition,distributed legendre=transposition,allreduce,ring "
                "exchange=blocking,nonblocking variant=tuned"}},
    .make = make<ShallowWater>,
}};

}  // namespace
}  // namespace scope::shallow_water
