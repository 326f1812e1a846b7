// application.cfd: the unsteady incompressible Navier-Stokes equations in three dimensions, by finite differences
// and explicit time steps; the pressure equation is iterated until an error criterion is met.
//
// Timed: time steps on all ranks; the slowest counts. The problem is that of P-CFD (Rao et al., Performance of
// system and application benchmarks on PARAM), a program that is not published.
#include <cstdio>

#include "benchmarks/algorithm/phase_metrics.hpp"
#include "benchmarks/application/cfd/solver.hpp"
#include "benchmarks/application/npb/variant.hpp"
#include "memory/available.hpp"
#include "mpi/simulated.hpp"

namespace scope::cfd {
namespace {

// Maximum cells times iterations for repeating a run on one process in a check: about one second.
constexpr double repeated_cells = 3e8;
// Memory per meeting, for Phases and for the messages between its processes.
constexpr std::int64_t bytes_per_meeting = 160;
// Estimate for the first repetition, before their number is known.
constexpr std::size_t meetings_of_step = 100;

Partitioning partitioning_of(const Parameters& parameters) {
  const std::string& name = parameters.choice("partition");
  if (name == "pencils") return Partitioning::pencils;
  return name == "blocks" ? Partitioning::blocks : Partitioning::slabs;
}

Extents cells_of(const Parameters& parameters) {
  const auto n = static_cast<int>(parameters.integer("n"));
  const auto depth = static_cast<int>(parameters.integer("depth"));
  for (const auto& [name, value] : {std::pair("n", n), std::pair("depth", depth)})
    if (value % 2 != 0) throw Unavailable(sentence({name, "=", value, ": must be even, for red-black cells"}));
  return {n, n, depth == 0 ? n : depth};
}

// Several times the largest error of the scheme, which is of second order in the spacing, but of first order next
// to walls until diffusion has crossed a cell. Beltrami's flow is unstable at large Reynolds numbers, so that
// errors grow by themselves.
double error_bound(const std::string& case_name, double spacing, double time) {
  const double grown = (0.1 + time) * std::exp(0.3 * time);
  return case_name == "ethier_steinman" ? 0.5 * spacing * grown : spacing * spacing * grown;
}

class Cfd final : public Benchmark {
 public:
  Cfd(const Parameters& parameters, const Communicator& communicator)
      : communicator_(communicator),
        case_name_(parameters.choice("case")),
        flow_(Flow::named(case_name_, static_cast<double>(parameters.integer("reynolds")))),
        cells_(cells_of(parameters)),
        steps_(parameters.integer("steps")),
        tolerance_(std::pow(10.0, -static_cast<double>(parameters.integer("digits")))),
        block_(cells_, flow_->periodic(), partitioning_of(parameters), communicator.size(), communicator.rank()),
        halo_(communicator, block_),
        methods_{npb::width_of(parameters, communicator), parameters.choice("variant") == "tuned",
                 parameters.choice("exchange") == "overlapped"} {
    const bool two_dimensional = case_name_ == "cavity" || case_name_ == "taylor_green";
    if (!two_dimensional && cells_[2] != cells_[0])
      throw Unavailable(sentence({"depth=", cells_[2], ": must be 0 or n for case=", case_name_}));
    meetings_ = static_cast<std::size_t>(steps_) * meetings_of_step;
    // The solver, one for a check that has another number of steps, and one with all cells.
    require_memory(2 * Solver::bytes(block_.size()) + Solver::bytes(cells_) +
                       static_cast<std::int64_t>(meetings_) * bytes_per_meeting,
                   communicator);
    if (parameters.choice("exchange") == "shared_memory") share_memory();
    solver_.emplace(*flow_, block_, methods_, tolerance_, halo_);
  }

  Work work() const override {
    const double cells = static_cast<double>(cells_[0]) * cells_[1] * cells_[2];
    return {.bytes = static_cast<double>(everyones_bytes_),
            .flops = cells * (Solver::step_flops * static_cast<double>(steps_) +
                              Solver::iteration_flops * static_cast<double>(iterations_)),
            .messages = static_cast<double>(everyones_messages_),
            .steps = static_cast<double>(steps_)};
  }

  void run(Repetition& repetition) override {
    halo_.begin(nullptr);
    solver_->start();
    std::optional<Phases> phases;
    repetition.time([&] {
      phases.emplace(repetition, meetings_);
      halo_.begin(&*phases);
      for (std::int64_t step = 0; step < steps_; ++step) solver_->step();
      phases->leave();
    });
    meetings_ = halo_.meetings();
    iterations_ = solver_->iterations();
    phases->observe(repetition, communicator_);
    observe(repetition);
    state_ = solver_->state();
  }

  // Every rank compares all its velocities and pressures bitwise with those of the same run on one process; the
  // error of the velocities and the divergence have bounds.
  Check verify(std::uint64_t /*seed*/) override {
    Check check{static_cast<std::int64_t>(state_.size()), repeated_problem()};
    // A wrong value is reported in preference to its consequences, as it says more.
    if (!communicator_.any(!check.problem.empty())) check.problem = problem_of(solver_->diagnose());
    return check;
  }

  std::span<std::byte> received() override { return std::as_writable_bytes(std::span(state_)); }
  bool loops() const override { return false; }

 private:
  void share_memory() {
    if (mpi_simulates)
      throw Unavailable("exchange=shared_memory: in a simulation, copies in memory would take no time");
    halo_.share_memory();
  }

  void observe(Repetition& repetition) {
    repetition.observe("iterations", static_cast<double>(iterations_));
    repetition.observe("memory_bytes", static_cast<double>(Solver::bytes(block_.size())));
    repetition.observe("exchange_messages", static_cast<double>(halo_.messages()));
    repetition.observe("exchange_bytes", static_cast<double>(halo_.bytes()));
    everyones_messages_ = communicator_.sum(halo_.messages());
    everyones_bytes_ = communicator_.sum(halo_.bytes());
    halo_.begin(nullptr);
    const Diagnosis found = solver_->diagnose();
    repetition.observe("velocity_error", found.error);
    repetition.observe("divergence", found.divergence);
    repetition.observe("profile_error", found.profile_error);
  }

  std::string problem_of(const Diagnosis& found) const {
    if (!solver_->converged())
      return sentence({"the pressure iterations did not reach a divergence of ", tolerance_});
    const double spacing = flow_->length() / cells_[0];
    // The criterion uses the residuals of cells at the time of their update; some grow afterwards.
    const double divergence = 10 * tolerance_ + 1e-13 * static_cast<double>(steps_);
    const double error = error_bound(case_name_, spacing, solver_->time()) + divergence;
    char text[160] = "";
    if (found.error > error) {
      std::snprintf(text, sizeof text, "the velocity error of case=%s at time %.3f is %.3e: must be at most %.1e",
                    case_name_.c_str(), solver_->time(), found.error, error);
    } else if (!(found.divergence <= divergence)) {
      std::snprintf(text, sizeof text, "the divergence of a cell is %.3e: must be at most %.1e", found.divergence,
                    divergence);
    }
    return text;
  }

  // Compares the whole run or, if that takes too long, the first steps of another run.
  std::string repeated_problem() {
    const double cells = static_cast<double>(cells_[0]) * cells_[1] * cells_[2];
    const double cost_of_step = cells * (10 + static_cast<double>(iterations_) / static_cast<double>(steps_));
    const auto possible = static_cast<std::int64_t>(repeated_cells / cost_of_step);
    const std::int64_t steps = std::min(steps_, std::max<std::int64_t>(1, possible));
    if (repeated_.empty()) repeated_ = alone(steps);
    if (steps == steps_) return difference(state_, steps);
    Solver again(*flow_, block_, methods_, tolerance_, halo_);
    return difference(advanced(again, steps), steps);
  }

  static std::vector<double> advanced(Solver& solver, std::int64_t steps) {
    solver.start();
    for (std::int64_t step = 0; step < steps; ++step) solver.step();
    return solver.state();
  }

  std::vector<double> alone(std::int64_t steps) const {
    const Communicator self = Communicator::split(communicator_, communicator_.rank(), 0);
    const Block all(cells_, flow_->periodic(), Partitioning::slabs, 1, 0);
    Halo none(self, all);
    Solver solver(*flow_, all, methods_, tolerance_, none);
    return advanced(solver, steps);
  }

  std::string difference(const std::vector<double>& state, std::int64_t steps) const {
    constexpr const char* names[] = {"the velocity along x", "the velocity along y", "the velocity along z",
                                     "the pressure"};
    const auto [nx, ny, nz] = block_.size();
    std::size_t at = 0;
    for (int field = 0; field < 4; ++field) {
      for (int z = 0; z < nz; ++z) {
        for (int y = 0; y < ny; ++y) {
          const std::size_t row =
              ((static_cast<std::size_t>(field) * cells_[2] + block_.begin()[2] + z) * cells_[1] +
               block_.begin()[1] + y) *
                  cells_[0] +
              block_.begin()[0];
          for (int x = 0; x < nx; ++x, ++at) {
            if (state[at] == repeated_[row + x]) continue;
            char text[200];
            std::snprintf(text, sizeof text,
                          "%s of cell (%d, %d, %d) is %.17g after %lld steps, but %.17g on one rank", names[field],
                          block_.begin()[0] + x, block_.begin()[1] + y, block_.begin()[2] + z, state[at],
                          static_cast<long long>(steps), repeated_[row + x]);
            return text;
          }
        }
      }
    }
    return "";
  }

  const Communicator& communicator_;
  std::string case_name_;
  std::unique_ptr<Flow> flow_;
  Extents cells_;
  std::int64_t steps_;
  double tolerance_;
  Block block_;
  Halo halo_;
  Methods methods_;
  std::optional<Solver> solver_;
  std::vector<double> state_;
  std::vector<double> repeated_;
  std::size_t meetings_ = 0;
  std::int64_t iterations_ = 0;
  std::int64_t everyones_messages_ = 0;
  std::int64_t everyones_bytes_ = 0;
};

// Blocks are taken to be squares or cubes, and processes to have neighbors on both sides. Pressures that pass
// through shared memory are counted as messages, which they are between hosts.
std::vector<Step> costs() {
  struct Cut {
    Text settings;
    Text sides;  // number of sides on which a block has neighbors
    Text face;   // number of cells of a face between blocks
    Text half;   // bytes sent for the cells of one color on a face
    Text cells;  // number of cells of a block
  };
  const std::string depth = "(depth+n*(1-min(depth,1)))";
  const Cut cuts[] = {
      {"partition=slabs case=beltrami,taylor_green,cavity", "2", "n^2", "4*n^2+32*(n-1)",
       kept("n^2*ceil(" + depth + "/p)")},
      {"partition=slabs case=ethier_steinman", "min(p-1,2)", "n^2", "4*n^2+32*(n-1)",
       kept("n^2*ceil(" + depth + "/p)")},
      {"partition=pencils", "2*min(1+floor(p/4),2)", "n^2/sqrt(p)", "4*n^2/sqrt(p)", kept("n^2*" + depth + "/p")},
      {"partition=blocks", "2*min(1+floor(p/4),2+floor(p/8),3)", "n^2/p^(2/3)", "4*n^2/p^(2/3)",
       kept("n^2*" + depth + "/p")},
  };
  std::vector<Step> steps;
  for (const Cut& cut : cuts) {
    const auto times = [&](const char* factor, Text of) { return kept(factor + ("*" + std::string(of))); };
    const auto settings = [&](const char* exchange) {
      return kept(std::string(cut.settings) + " exchange=" + exchange);
    };
    steps.push_back({"compute", Step::Kind::work, "", cut.cells, "0", "p", false, cut.settings});
    // Velocities go in one direction after the other: messages cross, as in an all-to-all of two processes.
    const auto shifts = [&](Text count, Text bytes) {
      steps.push_back(
          {"exchange", Step::Kind::collective, "MPI_Alltoallv", count, bytes, "2", false, cut.settings});
    };
    shifts(times("steps", cut.sides), times("24", cut.face));
    shifts(times("steps/2", cut.sides), times("8", cut.face));
    // Pressures go to all neighbors at once.
    steps.push_back({.phase = "exchange",
                     .kind = Step::Kind::neighbor_exchange,
                     .count = "2*iterations",
                     .bytes = cut.half,
                     .settings = settings("blocking,shared_memory"),
                     .at_once = cut.sides});
    steps.push_back({"exchange", Step::Kind::messages, "", times("2*iterations", cut.sides), cut.half, "p", true,
                     settings("overlapped")});
    steps.push_back(
        {"exchange", Step::Kind::collective, "MPI_Allreduce", "iterations/4", "8", "p", false, cut.settings});
  }
  return steps;
}

const Registration registration{{
    .name = "application.cfd",
    .title = "incompressible flow",
    .summary =
        "unsteady Navier-Stokes equations in three dimensions by finite differences, with pressure iterations: "
        "time per step and phases",
    .rungs = {communication(), arithmetic()},
    .costs = costs(),
    .parameters =
        {size("n", "", 64, 4, 4096, "cells along x and y").labeled("cells per side"),
         problem("depth", "", 0, 0, 4096, "cells along z; 0: as many as along x").labeled("cells in depth"),
         problem("steps", "", 10, 1, 1'000'000, "number of time steps").worded("1=1 step,{} steps"),
         problem("case", "beltrami,taylor_green,ethier_steinman,cavity",
                 "Arnold-Beltrami-Childress flow or decaying Taylor-Green vortices in a periodic box, "
                 "Ethier-Steinman flow between walls, or a cavity under a moving lid")
             .worded(",Taylor-Green vortices,Ethier-Steinman flow,lid-driven cavity"),
         problem("reynolds", "", 100, 1, 10'000, "Reynolds number").labeled("Reynolds number"),
         problem("digits", "", 5, 1, 12,
                 "pressure criterion: the net flow out of a cell is at most 10^-digits of the flow through a "
                 "face at unit velocity")
             .worded("divergence below 1e-{}"),
         parallel("partition", "slabs,pencils,blocks", "the grid is cut along one, two or three dimensions")
             .worded(",pencils,blocks"),
         parallel("exchange", "blocking,overlapped,shared_memory",
                  "send pressures before or while the interior is computed; or, within a host, copy them through "
                  "shared memory first")
             .worded(",overlapped,halos in shared memory"),
         method("variant", "plain,tuned",
                "plain loops over one color after the other; or vectors of up to 256 bits, and several "
                "iterations in each pass over memory")
             .worded(",tuned")},
    .definition = Definition::max_rank,
    .metrics = with_phases(
        {seconds("time_s"), seconds_per_step("time_per_step_s"), flops_per_second(),
         count("iterations").labeled("pressure iterations"), count("exchange_messages"),
         count("exchange_bytes", "B"), condition("memory_bytes", "B", Better::lower).labeled("memory per rank"),
         condition("velocity_error", "1", Better::lower), condition("divergence", "1", Better::lower),
         condition("profile_error", "1", Better::lower)}),
    .sweeps = {{"standard", "ranks=powers n=64 variant=plain,tuned"},
               {"advanced",
                "ranks=powers n=32,64,128 variant=tuned partition=slabs,pencils,blocks "
                "exchange=blocking,overlapped"},
               {"advanced", "ranks=powers n=64 case=cavity,ethier_steinman variant=tuned"}},
    .make = make<Cfd>,
}};

}  // namespace
}  // namespace scope::cfd
