// Sums over the grid that show whether a flow was computed correctly (RNR-94-007, section 3.3.5).
#pragma once

#include "benchmarks/application/npb/cell.hpp"
#include "benchmarks/application/npb/kernel.hpp"

namespace scope::npb {

struct FlowSize {
  int n;
  int iterations;
  double dt;

  std::string size() const { return sentence({n, "^3 points"}); }
};

struct FlowProblem : FlowSize {
  Quantities residual;  // root mean squares after the last iteration
  Quantities error;
};

inline std::vector<Published> published_norms(const FlowProblem& problem) {
  std::vector<Published> published;
  for (int m = 0; m < quantities; ++m) published.push_back({sentence({"residual ", m + 1}), problem.residual[m]});
  for (int m = 0; m < quantities; ++m) published.push_back({sentence({"error ", m + 1}), problem.error[m]});
  return published;
}

// Sums of squares of the residual and of the deviation of u from the exact solution.
class SquareSums {
 public:
  // Adds the inner points of a cell, whose residual is the flow's residual times the time step.
  void add(Cell& cell, const Flow& flow) {
    const Stride mu = cell.u.component();
    const Stride mr = cell.residual.component();
    for_points({cell.inner_begin(0), cell.inner_begin(1), cell.inner_begin(2)},
               {cell.inner_end(0), cell.inner_end(1), cell.inner_end(2)}, [&](int i, int j, int k) {
                 const Quantities exact = exact_solution(cell.place(0, i), cell.place(1, j), cell.place(2, k));
                 for (int m = 0; m < quantities; ++m) {
                   const double residual = cell.residual.at(i, j, k)[m * mr] / flow.dt;
                   const double error = cell.u.at(i, j, k)[m * mu] - exact[m];
                   sums_[m] += residual * residual;
                   sums_[quantities + m] += error * error;
                 }
               });
  }

  // Root mean squares over all processes, in the order of `published_norms`. Collective.
  std::vector<double> norms(const Flow& flow, Exchange& exchange) {
    exchange.sum(std::span(sums_));
    std::vector<double> norms;
    for (const double sum : sums_) norms.push_back(std::sqrt(sum / std::pow(flow.n - 2, 3)));
    return norms;
  }

 private:
  std::array<double, 2 * quantities> sums_{};
};

}  // namespace scope::npb
