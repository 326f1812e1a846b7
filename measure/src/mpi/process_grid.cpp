#include "mpi/process_grid.hpp"

#include "text/words.hpp"
#include "unavailable.hpp"

namespace scope {
namespace {

int squarest(int processes) {
  int rows = 1;
  for (int candidate = 2; candidate * candidate <= processes; ++candidate)
    if (processes % candidate == 0) rows = candidate;
  return rows;
}

}  // namespace

ProcessGrid::ProcessGrid(const Communicator& communicator, std::int64_t rows, GridOrder order)
    : rows_(static_cast<int>(rows != 0 ? rows : squarest(communicator.size()))), order_(order) {
  if (rows > communicator.size() || communicator.size() % rows_ != 0) {
    throw Unavailable(sentence(
        {"grid_rows=", rows, ": must divide ", communicator.size(), " ranks, or be 0 for the squarest grid"}));
  }
  columns_ = communicator.size() / rows_;
  const int rank = communicator.rank();
  row_ = order == GridOrder::rows ? rank / columns_ : rank % rows_;
  column_ = order == GridOrder::rows ? rank % columns_ : rank / rows_;
}

}  // namespace scope
