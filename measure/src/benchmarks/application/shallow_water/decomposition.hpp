// The distribution of latitudes, longitudes and wave numbers over a grid of processes (Worley & Foster 1994).
#pragma once

#include <bit>

#include "benchmark.hpp"
#include "benchmarks/algorithm/partition.hpp"
#include "benchmarks/application/shallow_water/legendre_transform.hpp"
#include "mpi/process_grid.hpp"
#include "sampling/phases.hpp"

namespace scope::shallow_water {

// Triangular truncation T and its transform grid: wave numbers m = -T ... T, degrees n = |m| ... T. The grid has
// at least 3 T + 1 longitudes and (3 T + 1) / 2 latitudes, so that products of two fields are transformed without
// aliasing (Hack & Jakob 1992, section 3).
struct Resolution {
  const char* name;
  int truncation;
  int longitudes;
  int latitudes;

  constexpr int pairs() const { return latitudes / 2; }  // pairs of latitudes at equal distance from the equator
};

// Numbers of longitudes have the factors 2, 3 and 5. PSTSWM uses T42, T85 and T170.
constexpr std::array<Resolution, 6> resolutions{{{"T42", 42, 128, 64},
                                                 {"T21", 21, 64, 32},
                                                 {"T63", 63, 192, 96},
                                                 {"T85", 85, 256, 128},
                                                 {"T106", 106, 320, 160},
                                                 {"T170", 170, 512, 256}}};

constexpr const Resolution& resolution_named(std::string_view name) {
  for (const Resolution& resolution : resolutions)
    if (resolution.name == name) return resolution;
  return resolutions.front();
}

enum class FourierMethod { transposition, distributed };
enum class LegendreMethod { transposition, allreduce, ring };

// How the processes exchange data.
struct Methods {
  FourierMethod fourier = FourierMethod::transposition;
  LegendreMethod legendre = LegendreMethod::transposition;
};

inline Range part(int items, int parts, int number) {
  const Partition partition(items, parts);
  return {static_cast<int>(partition.begin(number)), static_cast<int>(partition.end(number))};
}

// Maximum number of rows that latitudes allow: processes of a column exchange only Fourier coefficients, those of
// a row also the grid.
inline std::int64_t most_rows(const Resolution& resolution, int processes) {
  int rows = std::min(processes, resolution.pairs());
  while (processes % rows != 0) --rows;
  return rows;
}

// The block of the item at this position if items are dealt to blocks forth and back.
inline int dealt_to(int position, int blocks) {
  const int place = position % (2 * blocks);
  return place < blocks ? place : 2 * blocks - 1 - place;
}

// The processes of one row or one column of the grid.
class Line {
 public:
  Line(const Communicator& world, int number, int place)
      : communicator_(Communicator::split(world, number, place)) {
    std::vector<int> ranks(communicator_.size());
    const int rank = world.rank();
    MPI_Allgather(&rank, 1, MPI_INT, ranks.data(), 1, MPI_INT, communicator_.handle());
    for (const int rank : ranks) partners_.push_back(Partners::these({rank}));
    std::erase(ranks, rank);
    others_ = Partners::these(ranks);
  }

  int size() const { return communicator_.size(); }
  int place() const { return communicator_.rank(); }
  MPI_Comm handle() const { return communicator_.handle(); }
  const Partners& others() const { return others_; }
  const Partners& at(int place) const { return partners_[place]; }
  int after() const { return (place() + 1) % size(); }
  int before() const { return (place() + size() - 1) % size(); }

 private:
  Communicator communicator_;
  std::vector<Partners> partners_;
  Partners others_ = Partners::none();
};

// A grid row has the same pairs of latitudes, and a column has the same longitudes and wave numbers.
class Decomposition {
 public:
  // `rows`: number of rows of the process grid; 0: as many as possible. Throws Unavailable if the problem cannot
  // be divided among the processes.
  Decomposition(const Resolution& resolution, const Communicator& world, std::int64_t rows, const Methods& methods)
      : resolution_(resolution),
        methods_(methods),
        world_(world),
        grid_(world, rows > 0 ? rows : most_rows(resolution, world.size())),
        row_(world, grid_.row(), grid_.column()),
        column_(world, grid_.column(), grid_.row()) {
    refuse_what_does_not_fit();
    for (int column = 0; column < grid_.columns(); ++column) {
      std::vector<std::vector<int>> blocks(grid_.rows());
      int position = 0;
      for (int m = residue(column); m <= resolution_.truncation; m += grid_.columns())
        blocks[dealt_to(position++, grid_.rows())].push_back(m);
      auto& all = wavenumbers_.emplace_back();
      for (const auto& block : blocks) {
        const auto begin = static_cast<int>(all.size());
        all.insert(all.end(), block.begin(), block.end());
        if (column == row_.place()) blocks_.push_back({begin, static_cast<int>(all.size())});
      }
    }
  }

  const Resolution& resolution() const { return resolution_; }
  const Methods& methods() const { return methods_; }
  const Communicator& world() const { return world_; }
  // This process's row, along longitudes, and column, along latitudes.
  const Line& row() const { return row_; }
  const Line& column() const { return column_; }

  // Pairs of latitudes of a grid row, counted from the poles.
  Range pairs(int row) const { return part(resolution_.pairs(), grid_.rows(), row); }
  Range pairs() const { return pairs(column_.place()); }
  // The part of these that one process of the row transforms after a transposition, counted from the first
  // of them.
  Range transposed_pairs(int column) const { return part(pairs().size(), grid_.columns(), column); }
  // Longitudes of a grid column.
  Range longitudes(int column) const { return part(resolution_.longitudes, grid_.columns(), column); }
  Range longitudes() const { return longitudes(row_.place()); }

  // The wave numbers of a grid column, in one block after another for its processes. They are dealt out like
  // cards: although a larger m has fewer degrees n, the numbers of degrees differ by at most one round.
  const std::vector<int>& wavenumbers(int column) const { return wavenumbers_[column]; }
  const std::vector<int>& wavenumbers() const { return wavenumbers(row_.place()); }
  // The indices of one process's block among the wave numbers.
  Range block(int row) const { return blocks_[row]; }
  Range all_wavenumbers() const { return {0, static_cast<int>(wavenumbers().size())}; }
  // The indices of the wave numbers whose spectral coefficients this process has and advances: its block, or
  // the whole column's if all processes receive the sums.
  Range own_wavenumbers() const {
    return methods_.legendre == LegendreMethod::allreduce ? all_wavenumbers() : block(column_.place());
  }

  // The column that has the wave numbers -m for this column's wave numbers m.
  int mirrored_column() const {
    const int wanted = (grid_.columns() - residue(row_.place())) % grid_.columns();
    int column = 0;
    while (residue(column) != wanted) ++column;
    return column;
  }

 private:
  void refuse_what_does_not_fit() const {
    const int rows = grid_.rows();
    const int columns = grid_.columns();
    const auto refuse = [&](std::initializer_list<Word> reason) {
      throw Unavailable(sentence({rows, " x ", columns, " ranks: ", sentence(reason)}));
    };
    const auto share = [&](int items, const char* what, int processes) {
      if (items < processes)
        refuse({resolution_.name, " has ", items, " ", what, ": too few to share among ", processes, " ranks"});
    };
    share(resolution_.pairs(), "pairs of latitudes", rows);
    share(resolution_.longitudes, "longitudes", columns);
    share(resolution_.truncation + 1, "wave numbers",
          methods_.legendre == LegendreMethod::allreduce ? columns : rows * columns);
    if (methods_.fourier == FourierMethod::transposition) {
      const int pairs = resolution_.pairs() / rows;  // minimum
      if (pairs < columns)
        refuse({"fft=transposition: a grid row has ", pairs, " pairs of latitudes; it needs at least ", columns,
                ", the number of grid columns"});
    } else if (!std::has_single_bit(static_cast<unsigned>(columns)) || resolution_.longitudes % columns != 0) {
      refuse({"fft=distributed: the number of grid columns must be a power of two that divides the ",
              resolution_.longitudes, " longitudes"});
    }
  }
  // The wave numbers of a column are m = residue, residue + columns, ...
  int residue(int column) const {
    if (methods_.fourier == FourierMethod::transposition) return column;
    // A distributed transform leaves the wave numbers in bit-reversed order.
    int reversed = 0;
    for (int bit = 1; bit < grid_.columns(); bit *= 2) reversed = 2 * reversed + ((column & bit) != 0 ? 1 : 0);
    return reversed;
  }

  Resolution resolution_;
  Methods methods_;
  const Communicator& world_;
  ProcessGrid grid_;
  Line row_;
  Line column_;
  std::vector<std::vector<int>> wavenumbers_;  // by column
  std::vector<Range> blocks_;                  // blocks of this column, by row
};

}  // namespace scope::shallow_water
