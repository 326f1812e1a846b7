#include "benchmarks/algorithm/scalapack_case.hpp"

namespace scope {

std::vector<Parameter> scalapack_parameters(const std::vector<Parameter>& further) {
  return together({{problem("precision", "double,single", "precision of the matrices and the arithmetic")
                        .worded(",single precision"),
                    size("n", "", 120, 1, 1'000'000, "rows and columns of the matrix")
                        .labeled("matrix order")
                        .worded("N = {}"),
                    method("block", "", 32, 1, 100'000, "edge of the blocks of the block-cyclic distribution")
                        .labeled("block size")},
                   grid_parameters(),
                   further});
}

Parameter condition_parameter() {
  return problem("condition", "", 1000, 1, 1'000'000'000'000, "condition number of the matrix");
}

std::vector<Sweep> scalapack_sweeps() {
  return {{"standard", "ranks=powers n=500,1000"},
          {"standard", "ranks=2 precision=single n=1000"},
          {"advanced", "ranks=powers precision=double,single n=2000 block=32,64,128"}};
}

Declaration declaration(const SystemSolver& solver, std::vector<Parameter> parameters, std::vector<Sweep> sweeps) {
  return {.name = solver.name,
          .title = solver.title,
          .summary = solver.summary,
          .needs = {Requirement::scalapack},
          .rungs = {arithmetic()},
          .parameters = std::move(parameters),
          .definition = Definition::max_rank,
          .metrics = {flops_per_second(), seconds("time_s"), phase("factorise_s"), phase("solve_s")},
          .sweeps = std::move(sweeps),
          .make = solver.make};
}

}  // namespace scope
