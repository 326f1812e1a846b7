// storage.noncontiguous: a matrix that is distributed to all ranks by blocks, and stored in one file by rows.
//
// Timed: opening the file, transferring each rank's block, flushing if the file is written, and closing, on every rank's
// own clock after a common start; the slowest rank counts. In memory a block is surrounded by `halo` rows and columns
// that are not transferred, as in an application. Before a read, the file is written again and evicted, untimed.
#include <unistd.h>

#include "benchmarks/algorithm/partition.hpp"
#include "benchmarks/storage/content.hpp"
#include "benchmarks/storage/folder.hpp"
#include "benchmarks/storage/mpi_file.hpp"
#include "files/file.hpp"
#include "mpi/datatype.hpp"
#include "mpi/process_grid.hpp"

namespace scope::storage::noncontiguous {
namespace {

constexpr std::int64_t item = 8;
constexpr std::int64_t largest_order = 30000;  // the size of a rank's slab of rows must fit in an int

// A part of an extent, from `begin` up to but excluding `end`.
struct Part {
  std::int64_t begin;
  std::int64_t end;
  std::int64_t size() const { return std::max<std::int64_t>(0, end - begin); }
};

Part part(std::int64_t extent, int parts, int number) {
  return {extent * number / parts, extent * (number + 1) / parts};
}

Part common(const Part& left, const Part& right) {
  return {std::max(left.begin, right.begin), std::min(left.end, right.end)};
}

#ifdef SCOPE_HAS_MPI_IO

Datatype block_of(std::array<std::int64_t, 2> whole, const Part& rows, const Part& columns) {
  const int sizes[] = {static_cast<int>(whole[0]), static_cast<int>(whole[1])};
  const int parts[] = {static_cast<int>(rows.size()), static_cast<int>(columns.size())};
  const int starts[] = {static_cast<int>(rows.begin), static_cast<int>(columns.begin)};
  MPI_Datatype type = MPI_DATATYPE_NULL;
  MPI_Type_create_subarray(2, sizes, parts, starts, MPI_ORDER_C, MPI_UINT64_T, &type);
  return Datatype(type);
}

class Noncontiguous final : public Benchmark {
 public:
  Noncontiguous(const Parameters& parameters, const Communicator& communicator)
      : communicator_(communicator),
        hints_(with_hints({.interface = Interface::mpiio}, parameters)),
        reads_(parameters.choice("operation") == "read"),
        by_view_(parameters.choice("method") == "view"),
        packed_(parameters.choice("method") == "packed"),
        collective_(parameters.choice("access") == "collective"),
        n_(parameters.integer("n")),
        halo_(parameters.integer("halo")),
        grid_(checked(parameters, communicator)),
        rows_(part(n_, grid_.rows(), grid_.row())),
        columns_(part(n_, grid_.columns(), grid_.column())),
        slab_(part(n_, communicator.size(), communicator.rank())),
        folder_(communicator, {.rank_bytes = n_ * n_ * item / communicator.size() + item, .rank_files = 1}),
        content_(folder_.number(), (n_ * n_ * item / Content::page_bytes + 1) * Content::page_bytes),
        in_file_(block_of({n_, n_}, rows_, columns_)),
        in_memory_(block_of({rows_.size() + 2 * halo_, width()}, {halo_, halo_ + rows_.size()},
                            {halo_, halo_ + columns_.size()})),
        block_((rows_.size() + 2 * halo_) * width() * item),
        found_(reads_ ? 0 : slab_.size() * n_ * item),
        outgoing_(packed_ ? rows_.size() * columns_.size() * item : 0),
        rows_of_slab_(packed_ ? 2 * slab_.size() * n_ * item : 0) {
    block_.map();
    if (collective_) hints_.access = Access::collective;
  }

  Work work() const override { return {.bytes = static_cast<double>(n_ * n_ * item)}; }

  void fill(std::uint64_t) override {
    if (settings_.empty()) {
      auto file = open(hints_, Mode::create);
      settings_ = file.settings();
      file.close();
    }
    if (reads_) rewrite_file();
  }

  void run(Repetition& repetition) override {
    problem_.clear();
    prepare();
    const TickClock& ticks = repetition.ticks();
    Ticks at[7]{};
    repetition.time([&] {
      at[0] = ticks.now();
      MpiFile file = open(hints_, reads_ ? Mode::read : Mode::create);
      if (by_view_) file.set_view(0, in_file_.handle());
      at[1] = ticks.now();
      // Packing and exchanging are timed, as the library's own method includes them.
      if (packed_ && !reads_) exchange();
      at[2] = ticks.now();
      transfer(file);
      at[3] = ticks.now();
      if (packed_ && reads_) exchange();
      at[4] = ticks.now();
      if (!reads_) file.sync();
      at[5] = ticks.now();
      file.close();
      at[6] = ticks.now();
      keep(file.problem());
    });
    repetition.observe("open_s", ticks.seconds(at[1] - at[0]));
    repetition.observe("pack_s", ticks.seconds(at[2] - at[1]) + ticks.seconds(at[4] - at[3]));
    repetition.observe("transfer_s", ticks.seconds(at[3] - at[2]));
    if (!reads_) repetition.observe("sync_s", ticks.seconds(at[5] - at[4]));
    repetition.observe("close_s", ticks.seconds(at[6] - at[5]));
    if (reads_) repetition.observe("resident_share", resident_);
    if (!reads_) read_back();
  }

  Check verify(std::uint64_t) override {
    if (reads_) {
      for (std::int64_t row = 0; row < rows_.size() && problem_.empty(); ++row)
        problem_ = content_.problem(line(row), version(), at(rows_.begin + row, columns_.begin));
      return {rows_.size() * columns_.size() * item, problem_};
    }
    if (problem_.empty()) problem_ = content_.problem(found_.bytes(), version(), at(slab_.begin, 0));
    return {slab_.size() * n_ * item, problem_};
  }

  // Excludes the halo.
  std::span<std::byte> received() override {
    return reads_ ? (rows_.size() > 0 ? line(rows_.size() / 2) : std::span<std::byte>()) : found_.bytes();
  }
  std::vector<ControlVariable> settings() const override { return settings_; }
  bool repeats() const override { return false; }
  bool loops() const override { return false; }
  bool prepares() const override { return true; }

 private:
  static ProcessGrid checked(const Parameters& parameters, const Communicator& communicator) {
    if (parameters.choice("method") == "rows" && parameters.choice("access") == "collective")
      throw Unavailable("method=rows needs access=independent, because ranks may have different numbers of rows");
    ProcessGrid grid(communicator, parameters.integer("grid_rows"));
    if (parameters.integer("n") < std::max(grid.rows(), grid.columns()))
      throw Unavailable("n must be at least the number of rows and the number of columns of the grid");
    return grid;
  }

  std::int64_t width() const { return columns_.size() + 2 * halo_; }
  std::int64_t at(std::int64_t row, std::int64_t column) const { return (row * n_ + column) * item; }
  // The whole matrix is one stream.
  Version version() const { return {generation_, 0}; }
  std::span<std::byte> line(std::int64_t row) {
    return {block_.data() + ((row + halo_) * width() + halo_) * item,
            static_cast<std::size_t>(columns_.size() * item)};
  }
  std::string path() const { return folder_.path() + "/matrix"; }
  MpiFile open(const Method& method, Mode mode) const {
    return MpiFile(method, communicator_.handle(), path(), mode);
  }

  void keep(const std::string& problem) {
    if (problem_.empty()) problem_ = problem;
  }

  void prepare() {
    if (reads_) {
      keep(preparing_);
      keep(evict(path()));
      block_.clear();
      MPI_Barrier(communicator_.handle());
      resident_ = resident_share(path(), n_ * n_ * item);
      return;
    }
    ++generation_;
    for (std::int64_t row = 0; row < rows_.size(); ++row)
      content_.write(line(row), version(), at(rows_.begin + row, columns_.begin));
    MPI_Barrier(communicator_.handle());  // some ranks may still be reading the file back
    if (communicator_.root()) unlink(path().c_str());
    MPI_Barrier(communicator_.handle());
  }

  // Writes by slabs of rows, so that later errors of a view cannot be hidden.
  void rewrite_file() {
    MPI_Barrier(communicator_.handle());
    ++generation_;
    Buffer slab(slab_.size() * n_ * item);
    content_.write(slab.bytes(), version(), at(slab_.begin, 0));
    MpiFile file = open(hints_.plain(), Mode::create);
    file.write(slab.data(), static_cast<std::int64_t>(slab.size()), at(slab_.begin, 0));
    file.sync();
    file.close();
    preparing_ = file.problem();
    MPI_Barrier(communicator_.handle());
  }

  void read_back() {
    MPI_Barrier(communicator_.handle());
    MpiFile file = open(hints_.plain(), Mode::read);
    file.read(found_.data(), static_cast<std::int64_t>(found_.size()), at(slab_.begin, 0));
    file.close();
    keep(file.problem());
  }

  void transfer(MpiFile& file) {
    if (by_view_) {
      reads_ ? file.read_view(block_.data(), 1, in_memory_.handle(), collective_)
             : file.write_view(block_.data(), 1, in_memory_.handle(), collective_);
    } else if (packed_) {
      std::byte* rows = rows_of_slab_.data();
      const std::int64_t bytes = slab_.size() * n_ * item;
      reads_ ? file.read(rows, bytes, at(slab_.begin, 0)) : file.write(rows, bytes, at(slab_.begin, 0));
    } else {
      for (std::int64_t row = 0; row < rows_.size(); ++row) {
        const auto bytes = static_cast<std::int64_t>(line(row).size());
        const std::int64_t offset = at(rows_.begin + row, columns_.begin);
        reads_ ? file.read(line(row).data(), bytes, offset) : file.write(line(row).data(), bytes, offset);
      }
    }
  }

  // Exchanges between blocks and slabs of whole rows: the intersection of a rank's block and another rank's slab
  // is sent packed row by row.
  void exchange() {
    const int ranks = communicator_.size();
    std::vector<int> of_block;
    std::vector<int> of_slab;
    for (int rank = 0; rank < ranks; ++rank) {
      of_block.push_back(static_cast<int>(common(rows_, part(n_, ranks, rank)).size() * columns_.size() * item));
      of_slab.push_back(static_cast<int>(common(slab_, rows_of(rank)).size() * columns_of(rank).size() * item));
    }
    const Parcels block(std::move(of_block));
    const Parcels slab(std::move(of_slab));
    std::byte* const parts = rows_of_slab_.data() + slab_.size() * n_ * item;
    if (reads_) {
      copy_slab(parts, slab.begins, true);
      MPI_Alltoallv(parts, slab.counts.data(), slab.begins.data(), MPI_BYTE, outgoing_.data(), block.counts.data(),
                    block.begins.data(), MPI_BYTE, communicator_.handle());
      copy_block(true);
    } else {
      copy_block(false);
      MPI_Alltoallv(outgoing_.data(), block.counts.data(), block.begins.data(), MPI_BYTE, parts,
                    slab.counts.data(), slab.begins.data(), MPI_BYTE, communicator_.handle());
      copy_slab(parts, slab.begins, false);
    }
  }

  // The grid is filled row by row.
  Part rows_of(int rank) const { return part(n_, grid_.rows(), rank / grid_.columns()); }
  Part columns_of(int rank) const { return part(n_, grid_.columns(), rank % grid_.columns()); }

  // Parts of successive slabs follow one another, like the rows of the block.
  void copy_block(bool into_block) {
    const std::int64_t bytes = columns_.size() * item;
    for (std::int64_t row = 0; row < rows_.size(); ++row) {
      std::byte* packed = outgoing_.data() + row * bytes;
      into_block ? std::memcpy(line(row).data(), packed, bytes) : std::memcpy(packed, line(row).data(), bytes);
    }
  }

  void copy_slab(std::byte* parts, const std::vector<int>& from, bool out_of_slab) {
    for (int rank = 0; rank < communicator_.size(); ++rank) {
      const Part rows = common(slab_, rows_of(rank));
      const Part columns = columns_of(rank);
      for (std::int64_t row = 0; row < rows.size(); ++row) {
        std::byte* packed = parts + from[rank] + row * columns.size() * item;
        std::byte* place = rows_of_slab_.data() + ((rows.begin - slab_.begin + row) * n_ + columns.begin) * item;
        out_of_slab ? std::memcpy(packed, place, columns.size() * item)
                    : std::memcpy(place, packed, columns.size() * item);
      }
    }
  }

  const Communicator& communicator_;
  Method hints_;
  bool reads_;
  bool by_view_;
  bool packed_;
  bool collective_;
  std::int64_t n_;
  std::int64_t halo_;
  ProcessGrid grid_;
  Part rows_;
  Part columns_;
  Part slab_;
  Folder folder_;
  Content content_;
  Datatype in_file_;
  Datatype in_memory_;
  Buffer block_;
  Buffer found_;
  Buffer outgoing_;      // the block, packed
  Buffer rows_of_slab_;  // whole rows, followed by the packed parts that are exchanged
  double resident_ = 0;
  std::uint64_t generation_ = 0;
  std::string preparing_;  // the problem in writing the file that is to be read
  std::string problem_;
  std::vector<ControlVariable> settings_;
};

std::unique_ptr<Benchmark> make_it(const Parameters& parameters, const Communicator& communicator) {
  return make<Noncontiguous>(parameters, communicator);
}

#else

std::unique_ptr<Benchmark> make_it(const Parameters&, const Communicator&) {
  throw Unavailable("this MPI library has no MPI-IO");
}

#endif

const Registration registration{{
    .name = "storage.noncontiguous",
    .title = "matrix in blocks",
    .summary = "a matrix distributed over the ranks in blocks, written to or read from one file",
    .needs = {Requirement::file_system},
    .routines = {{"MPI_File_write_all", "operation=write access=collective"},
                 {"MPI_File_read_all", "operation=read access=collective"}},
    .parameters = together(
        {{problem("operation", "write,read", "operation on the file").worded("write,read"),
          size("n", "", 1024, 1, largest_order, "order of the matrix"),
          call("method", "view,rows,packed",
               "a file view, a call for each row of a block, or rows exchanged and packed by the program")
              .worded(",by rows,packed by hand"),
          call("access", "collective,independent", "collective or independent calls").worded(",independent"),
          parallel("grid_rows", "", 0, 0, 1 << 20, "rows of the process grid; 0: the squarest grid"),
          layout("halo", "", 1, 0, 1024,
                 "rows and columns around each block in memory, which are not transferred")},
         hint_parameters()}),
    .definition = Definition::max_rank,
    .metrics = {bytes_per_second(), seconds("time_s"), phase("open_s"), phase("pack_s"), phase("transfer_s"),
                phase("sync_s"), phase("close_s"),
                condition("resident_share", "1", Better::lower).labeled("fraction of the file in memory")},
    .sweeps = {{"standard", "ranks=all operation=write,read method=view,packed"},
               {"standard", "ranks=all operation=write,read method=view,rows access=independent"},
               {"advanced", "ranks=powers n=4096 operation=write,read method=view,packed grid_rows=0,1"},
               {"advanced", "ranks=all n=4096 operation=write,read method=view collective_buffering=on,off"},
               {"advanced",
                "ranks=all n=4096 operation=write,read method=view access=independent data_sieving=on,off"}},
    .make = make_it,
}};

}  // namespace
}  // namespace scope::storage::noncontiguous
