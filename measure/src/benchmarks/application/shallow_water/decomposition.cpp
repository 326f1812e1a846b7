#include "benchmarks/application/shallow_water/decomposition.hpp"

#include <bit>

#include "benchmarks/algorithm/partition.hpp"

namespace scope::shallow_water {
namespace {

Range part(int items, int parts, int number) {
  const Partition partition(items, parts);
  return {static_cast<int>(partition.begin(number)), static_cast<int>(partition.end(number))};
}

// The most rows that latitudes allow: processes of a column exchange Fourier coefficients only, those of a row the
// grid as well.
std::int64_t most_rows(const Resolution& resolution, int processes) {
  int rows = std::min(processes, resolution.pairs());
  while (processes % rows != 0) --rows;
  return rows;
}

// The block of the item in this position, of items that are dealt to and fro.
int dealt_to(int position, int blocks) {
  const int place = position % (2 * blocks);
  return place < blocks ? place : 2 * blocks - 1 - place;
}

}  // namespace

Line::Line(const Communicator& world, int number, int place)
    : communicator_(Communicator::split(world, number, place)) {
  std::vector<int> ranks(communicator_.size());
  const int rank = world.rank();
  MPI_Allgather(&rank, 1, MPI_INT, ranks.data(), 1, MPI_INT, communicator_.handle());
  for (const int rank : ranks) partners_.push_back(Partners::these({rank}));
  std::erase(ranks, rank);
  others_ = Partners::these(ranks);
}

Decomposition::Decomposition(const Resolution& resolution, const Communicator& world, std::int64_t rows,
                             const Methods& methods)
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

Range Decomposition::pairs(int row) const { return part(resolution_.pairs(), grid_.rows(), row); }

Range Decomposition::transposed_pairs(int column) const { return part(pairs().size(), grid_.columns(), column); }

Range Decomposition::longitudes(int column) const { return part(resolution_.longitudes, grid_.columns(), column); }

int Decomposition::mirrored_column() const {
  const int wanted = (grid_.columns() - residue(row_.place())) % grid_.columns();
  int column = 0;
  while (residue(column) != wanted) ++column;
  return column;
}

int Decomposition::residue(int column) const {
  if (methods_.fourier == FourierMethod::transposition) return column;
  // A distributed transform leaves the wave numbers in bit-reversed order.
  int reversed = 0;
  for (int bit = 1; bit < grid_.columns(); bit *= 2) reversed = 2 * reversed + ((column & bit) != 0 ? 1 : 0);
  return reversed;
}

void Decomposition::refuse_what_does_not_fit() const {
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
    const int pairs = resolution_.pairs() / rows;  // at least
    if (pairs < columns)
      refuse({"fft=transposition: the ", pairs, " pairs of latitudes of a grid row are too few for ", columns,
              " grid columns"});
  } else if (!std::has_single_bit(static_cast<unsigned>(columns)) || resolution_.longitudes % columns != 0) {
    refuse({"fft=distributed: the grid columns must be a power of two that divides the ", resolution_.longitudes,
            " longitudes"});
  }
}

}  // namespace scope::shallow_water
