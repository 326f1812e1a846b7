// What all kernels of the suite share as benchmarks: the rules of timing, the published values that decide
// whether a run was right, Mop/s, phases, messages and memory.
#pragma once

#include <memory>
#include <string>
#include <vector>

#include "benchmark.hpp"
#include "benchmarks/application/npb/exchange.hpp"
#include "benchmarks/application/npb/problem_class.hpp"

namespace scope::npb {

// A value that a right run must lead to.
struct Published {
  std::string name;
  double value;
  double tolerance = 1e-8;  // relative; 0 for what is counted
};

class Kernel : public Benchmark {
 public:
  Kernel(const std::string& benchmark, const Parameters& parameters, const Communicator& communicator)
      : exchange_(benchmark, communicator), class_(parameters.choice("class")) {}

  // Messages and bytes of all processes are known only after a run.
  Work work() const override;
  void run(Repetition& repetition) final;
  Check verify(std::uint64_t seed) final;
  // What the root derived. A corrupted payload is the business of Exchange, during the run.
  std::span<std::byte> received() final;
  bool loops() const final { return false; }

 protected:
  // Everything that is not timed: the data of the problem and, where the suite prescribes it, one iteration.
  virtual void initialise() = 0;
  // The timed part. It begins in Phase::compute.
  virtual void iterate() = 0;
  // What the run led to, in the order of `published`, the same on every process. Collective, never timed.
  virtual std::vector<double> results() = 0;
  virtual std::vector<Published> published() const = 0;
  // Checks that are no comparison with a published number.
  virtual Check verify_further() { return {}; }
  // By the suite's formula.
  virtual double operations() const = 0;
  virtual bool counts_flops() const { return true; }
  virtual int iterations() const = 0;
  // How many meetings of processes the timed part has at most, so that none asks for memory.
  virtual std::size_t meetings() const = 0;

  // Says what this process is about to allocate; throws Unavailable where it does not fit. Collective.
  void require(std::int64_t bytes);

  Exchange& exchange() { return exchange_; }
  const Communicator& communicator() const { return exchange_.communicator(); }
  int ranks() const { return communicator().size(); }
  int rank() const { return communicator().rank(); }

 private:
  std::string problem(const Published& wanted, double found) const;
  void observe(Repetition& repetition);

  Exchange exchange_;
  std::string class_;
  std::int64_t memory_bytes_ = 0;
  Sent everyones_;
  std::vector<double> found_;
};

// What the operations are that a kernel counts.
enum class Operations { floating_point, others };

// What is to be told of a kernel that runs on any number of processes. `problem_class`: see problem_class.hpp.
struct KernelDeclaration {
  Text name;
  Text title;
  Text summary;
  Parameter problem_class;
  std::vector<Parameter> further = {};
  Operations operations = Operations::floating_point;
};
Declaration declaration(const KernelDeclaration& kernel,
                        std::unique_ptr<Benchmark> (*make)(const Parameters&, const Communicator&));

}  // namespace scope::npb
