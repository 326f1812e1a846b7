// operation.scatter and operation.gather: distribution and collection of an N x N matrix as in a program.
//
// The root has the whole matrix, and every rank has its stripe of contiguous rows, or of columns, which a derived
// datatype accesses with a stride through the rows. The whole core is repeated, including buffers and datatypes;
// only MPI_Scatterv or MPI_Gatherv is timed, from the agreed start to the last exit. The warm variant keeps the
// buffers and shows the difference. After thesis 6.6.3 and 7.5.2.

#include "benchmarks/algorithm/partition.hpp"
#include "benchmarks/operation/matrix_parameters.hpp"
#include "benchmarks/operation/operation_call.hpp"
#include "memory/available.hpp"
#include "mpi/datatype.hpp"

namespace scope::distribution {
namespace {

enum class Direction { scatter, gather };

class Distribution final : public Benchmark {
 public:
  Distribution(Direction direction, const Parameters& parameters, const Communicator& communicator)
      : direction_(direction),
        by_rows_(parameters.choice("layout") == "rows"),
        cold_(parameters.choice("buffers") == "cold"),
        communicator_(communicator),
        size_(static_cast<int>(parameters.integer("n"))),
        stripes_(size_, communicator.size()),
        begin_(static_cast<int>(stripes_.begin(communicator.rank()))),
        width_(static_cast<int>(stripes_.size(communicator.rank()))),
        call_(parameters, communicator) {
    require_memory(call_.sets() * (whole_bytes() + stripe_bytes()), communicator);
    allocate();
  }

  // Effective bandwidth counts the stripes of all p ranks, which form the matrix (thesis, eq. 6.1).
  Work work() const override {
    return {.bytes = static_cast<double>(size_) * size_ * sizeof(double),
            .messages = static_cast<double>(communicator_.size() - 1)};
  }

  void fill(std::uint64_t seed) override {
    seed_ = seed;
    if (!cold_) write_sources();
  }

  void run(Repetition& repetition) override {
    if (cold_) {
      allocate();  // the old pages are unmapped at once, so the new ones are untouched
      write_sources();
    }
    const MPI_Datatype theirs = whole_type_->handle();
    const MPI_Datatype mine = stripe_type_->handle();
    const MPI_Comm comm = communicator_.handle();
    const int count = parcels_.counts[communicator_.rank()];
    MPI_Request request = MPI_REQUEST_NULL;
    const auto finish = [&](int) { MPI_Wait(&request, MPI_STATUS_IGNORE); };
    if (direction_ == Direction::scatter) {
      call_.time(
          repetition,
          [&](int set) {
            MPI_Scatterv(sets_[set].whole.data(), parcels_.counts.data(), parcels_.begins.data(), theirs,
                         sets_[set].stripe.data(), count, mine, 0, comm);
          },
          [&](int set) {
            MPI_Iscatterv(sets_[set].whole.data(), parcels_.counts.data(), parcels_.begins.data(), theirs,
                          sets_[set].stripe.data(), count, mine, 0, comm, &request);
          },
          finish);
    } else {
      call_.time(
          repetition,
          [&](int set) {
            MPI_Gatherv(sets_[set].stripe.data(), count, mine, sets_[set].whole.data(), parcels_.counts.data(),
                        parcels_.begins.data(), theirs, 0, comm);
          },
          [&](int set) {
            MPI_Igatherv(sets_[set].stripe.data(), count, mine, sets_[set].whole.data(), parcels_.counts.data(),
                         parcels_.begins.data(), theirs, 0, comm, &request);
          },
          finish);
    }
  }

  Check verify(std::uint64_t seed) override {
    const bool looks = direction_ == Direction::scatter || communicator_.root();
    Check check;
    for (Set& set : sets_) {
      const auto values = words(received_in(set));
      if (looks) check.checks += static_cast<std::int64_t>(values.size());
      for (std::size_t i = 0; looks && check.problem.empty() && i < values.size(); ++i) {
        if (values[i] == pattern_word(seed, destination(i))) continue;
        check.problem = sentence({"element ", i, " of ", values.size(), " is not what was sent"});
      }
    }
    return check;
  }

  std::span<std::byte> received() override { return received_in(sets_[0]).bytes(); }
  bool loops() const override { return false; }

 private:
  struct Set {
    Buffer whole;  // on the root
    Buffer stripe;
  };

  std::int64_t whole_bytes() const {
    return communicator_.root() ? std::int64_t{size_} * size_ * static_cast<std::int64_t>(sizeof(double)) : 0;
  }
  std::int64_t stripe_bytes() const {
    return std::int64_t{size_} * width_ * static_cast<std::int64_t>(sizeof(double));
  }

  void allocate() {
    sets_.clear();
    for (int set = 0; set < call_.sets(); ++set) sets_.push_back({Buffer(whole_bytes()), Buffer(stripe_bytes())});
    describe();
  }

  // Defines the unit of the datatype, which must divide all stripes, as MPI_Scatterv takes one datatype for all:
  // a whole row; or, by columns, a stripe if p divides N, else a single column.
  void describe() {
    const int ranks = communicator_.size();
    const int piece = !by_rows_ && size_ % ranks == 0 ? size_ / ranks : 1;
    if (by_rows_) {
      whole_type_.emplace(Datatype::vector(1, size_, size_, size_, MPI_DOUBLE, sizeof(double)));
      stripe_type_.emplace(Datatype::vector(1, size_, size_, size_, MPI_DOUBLE, sizeof(double)));
    } else {
      whole_type_.emplace(Datatype::vector(size_, piece, size_, piece, MPI_DOUBLE, sizeof(double)));
      stripe_type_.emplace(Datatype::vector(size_, piece, width_, piece, MPI_DOUBLE, sizeof(double)));
    }
    parcels_ = Parcels(stripes_);
    for (auto* numbers : {&parcels_.counts, &parcels_.begins})
      for (int& number : *numbers) number /= piece;
  }

  std::span<std::uint64_t> words(Buffer& buffer) { return buffer.as<std::uint64_t>(); }
  Buffer& received_in(Set& set) { return direction_ == Direction::scatter ? set.stripe : set.whole; }

  // Position in the whole matrix of element i of this rank's stripe.
  std::size_t place(std::size_t i) const {
    if (by_rows_) return static_cast<std::size_t>(begin_) * size_ + i;
    return i / width_ * size_ + begin_ + i % width_;
  }
  std::size_t destination(std::size_t i) const { return direction_ == Direction::scatter ? place(i) : i; }

  void write_sources() {
    for (Set& set : sets_) write_source(set);
  }
  void write_source(Set& set) {
    if (direction_ == Direction::gather) {
      const auto stripe = words(set.stripe);
      for (std::size_t i = 0; i < stripe.size(); ++i) stripe[i] = pattern_word(seed_, place(i));
      if (!cold_) set.whole.clear();
      return;
    }
    const auto whole = words(set.whole);
    for (std::size_t i = 0; i < whole.size(); ++i) whole[i] = pattern_word(seed_, i);
    if (!cold_) set.stripe.clear();
  }

  Direction direction_;
  bool by_rows_;
  bool cold_;
  const Communicator& communicator_;
  int size_;
  Partition stripes_;
  int begin_;
  int width_;
  OperationCall call_;
  std::vector<Set> sets_;
  std::optional<Datatype> whole_type_;
  std::optional<Datatype> stripe_type_;
  Parcels parcels_;
  std::uint64_t seed_ = 0;
};

struct Row {
  const char* name;
  const char* title;
  const char* summary;
  const char* routine;
  const char* nonblocking_routine;
  const char* phase;
};

Declaration declaration(Direction direction, const Row& row) {
  return {
      .name = row.name,
      .title = row.title,
      .summary = row.summary,
      .ranks = Ranks::at_least(2),
      .routines = {{row.routine, "buffers=cold layout=rows"},
                   {row.nonblocking_routine, "buffers=cold layout=rows call=nonblocking"}},
      .costs = {{.phase = row.phase, .kind = Step::Kind::messages, .count = "p-1", .bytes = "8*n^2/p"}},
      .parameters = {matrix_order(),
                     layout("layout", "columns,rows", "stripes of columns (strided) or of rows (contiguous)")
                         .worded(",stripes of rows"),
                     buffers(), operation_call()},
      .definition = Definition::global,
      .metrics = operation_metrics({moved_bytes_per_second(), effective_bandwidth()}),
      .sweeps = {{"baseline", "ranks=2,4 layout=columns buffers=cold n=120,480,1080"},
                 {"baseline", "ranks=2,4 layout=columns,rows buffers=warm n=480"},
                 {"standard",
                  "ranks=powers layout=columns,rows buffers=cold,warm n=120,240,360,480,600,840,1080,1320,1680"},
                 {"standard", "ranks=2 transport=tcp layout=columns,rows buffers=cold,warm n=120,480,1080,1680"},
                 {"standard",
                  "ranks=2,4 layout=columns,rows buffers=cold,warm call=nonblocking,overlapped n=120,480,1080"}},
      .make = [direction](const Parameters& parameters,
                          const Communicator& communicator) -> std::unique_ptr<Benchmark> {
        return std::make_unique<Distribution>(direction, parameters, communicator);
      },
  };
}

const Registration scatter{
    declaration(Direction::scatter, {"operation.scatter", "matrix scatter",
                                     "distribution of a matrix in stripes by MPI_Scatterv, as applications do it",
                                     "MPI_Scatterv", "MPI_Iscatterv", "distribute"})};
const Registration gather{
    declaration(Direction::gather, {"operation.gather", "matrix gather",
                                    "collection of a matrix from stripes by MPI_Gatherv, as applications do it",
                                    "MPI_Gatherv", "MPI_Igatherv", "collect"})};

}  // namespace
}  // namespace scope::distribution
