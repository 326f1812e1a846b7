// The common part of all NPB kernels: timing rules, the published values that verify a run, Mop/s, phases,
// messages and memory.
#pragma once

#include "benchmark.hpp"
#include "benchmarks/application/npb/exchange.hpp"

namespace scope::npb {

// NPB's problem classes, and tables with an entry for each.
enum class ProblemClass { S, W, A, B, C };
constexpr int problem_classes = 5;

// One entry for each class, in their order.
template <class Entry>
using PerClass = std::array<Entry, problem_classes>;

inline ProblemClass problem_class_of(const Parameters& parameters) {
  return static_cast<ProblemClass>(std::string("SWABC").find(parameters.choice("class")));
}

template <class Entry>
const Entry& of_class(const PerClass<Entry>& table, const Parameters& parameters) {
  return table[static_cast<std::size_t>(problem_class_of(parameters))];
}

// The parameter, with the size of each class of `table` in words: `S 12^3 points, W ...`.
template <class Entry>
Parameter problem_class(const PerClass<Entry>& table) {
  std::string meaning = "problem class of NPB";
  for (std::size_t i = 0; i < table.size(); ++i)
    meaning += std::string(i == 0 ? ": " : ", ") + "SWABC"[i] + ' ' + table[i].size();
  return size("class", "S,W,A,B,C", kept(meaning));
}

// A value that a correct run must reproduce.
struct Published {
  std::string name;
  double value;
  double tolerance = 1e-8;  // relative; 0 for counts
};

class Kernel : public Benchmark {
 public:
  Kernel(const std::string& benchmark, const Parameters& parameters, const Communicator& communicator)
      : exchange_(benchmark, communicator), class_(parameters.choice("class")) {}

  // Messages and bytes of all processes are known only after a run.
  Work work() const override;
  void run(Repetition& repetition) final;
  Check verify(std::uint64_t seed) final;
  // The results on the root. Exchange handles corrupted payloads, during the run.
  std::span<std::byte> received() final;
  std::vector<std::span<const std::byte>> computed() final;
  bool loops() const final { return false; }

 protected:
  // The untimed part: the data of the problem and, where NPB prescribes it, one iteration.
  virtual void initialize() = 0;
  // The timed part. It begins in Phase::compute.
  virtual void iterate() = 0;
  // The results of the run, in the order of `published`, the same on every process. Collective, never timed.
  virtual std::vector<double> results() = 0;
  virtual std::vector<Published> published() const = 0;
  // All that the run left on this process: the results show some errors only in part, or not at all.
  virtual std::vector<std::span<const std::byte>> solution() = 0;
  // Checks other than comparisons with published numbers.
  virtual Check verify_further() { return {}; }
  // By NPB's formula.
  virtual double operations() const = 0;
  virtual bool counts_flops() const { return true; }
  virtual int iterations() const = 0;
  // The maximum number of meetings in the timed part, so that none allocates memory.
  virtual std::size_t meetings() const = 0;

  // Announces the memory that this process is about to allocate; throws Unavailable where it does not fit.
  // Collective.
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

// The kind of operations that a kernel counts.
enum class Operations { floating_point, others };

// The declaration of a kernel that runs on any number of processes. `problem_class`: see ProblemClass.
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
