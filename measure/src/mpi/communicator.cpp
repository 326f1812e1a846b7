#include "mpi/communicator.hpp"

#include <unistd.h>

#include <array>
#include <utility>

#include "mpi/simulated.hpp"
#include "text/words.hpp"

namespace scope {

MpiEnvironment::MpiEnvironment(int& argc, char**& argv, bool threads) {
  const ToolsInterface tools;
  // By default the level of MPI_Init, which most programs call. From MPI_THREAD_FUNNELED on, Open MPI 4 uses
  // locks, which increase the cost of a small message by half; the only other thread here, which reports
  // progress, never calls MPI.
  int provided = 0;
  MPI_Init_thread(&argc, &argv, threads ? MPI_THREAD_MULTIPLE : MPI_THREAD_SINGLE, &provided);
  int rank = 0;
  MPI_Comm_rank(MPI_COMM_WORLD, &rank);
  if (rank == 0) settings_ = tools.settings();
}

MpiEnvironment::~MpiEnvironment() { MPI_Finalize(); }

std::string MpiEnvironment::library() const {
  std::array<char, MPI_MAX_LIBRARY_VERSION_STRING> text{};
  int length = 0;
  MPI_Get_library_version(text.data(), &length);
  const std::string whole(text.data());
  return whole.substr(0, whole.find('\n'));
}

std::string MpiEnvironment::standard() const {
  int major = 0;
  int minor = 0;
  MPI_Get_version(&major, &minor);
  return sentence({major, ".", minor});
}

Communicator::Communicator(MPI_Comm handle, bool owned) : handle_(handle), owned_(owned) {
  MPI_Comm_rank(handle_, &rank_);
  MPI_Comm_size(handle_, &size_);
}

Communicator Communicator::duplicate(MPI_Comm original) {
  // Others do not send in a simulation, and SMPI sends p^2 messages for p ranks to make a communicator.
  if (mpi_simulates) return Communicator(original, false);
  MPI_Comm copy = MPI_COMM_NULL;
  MPI_Comm_dup(original, &copy);
  return Communicator(copy);
}

Communicator Communicator::split(const Communicator& original, int color, int key) {
  MPI_Comm part = MPI_COMM_NULL;
  MPI_Comm_split(original.handle(), color, key, &part);
  return Communicator(part);
}

Communicator Communicator::grid(const Communicator& original, std::span<const int> extents) {
  const std::vector<int> periodic(extents.size(), 1);
  const int reorder = 0;
  MPI_Comm made = MPI_COMM_NULL;
  MPI_Cart_create(original.handle(), static_cast<int>(extents.size()), extents.data(), periodic.data(), reorder,
                  &made);
  return Communicator(made);
}

Communicator Communicator::on_this_host(MPI_Comm original) {
  MPI_Comm part = MPI_COMM_NULL;
  MPI_Comm_split_type(original, MPI_COMM_TYPE_SHARED, 0, MPI_INFO_NULL, &part);
  return Communicator(part);
}

Communicator::~Communicator() {
  if (owned_ && handle_ != MPI_COMM_NULL) MPI_Comm_free(&handle_);
}

Communicator::Communicator(Communicator&& other) noexcept
    : handle_(std::exchange(other.handle_, MPI_COMM_NULL)),
      owned_(other.owned_),
      rank_(other.rank_),
      size_(other.size_) {}

namespace {

std::vector<std::string> parts_of(const std::string& all, int block, const std::vector<int>& lengths) {
  std::vector<std::string> texts;
  texts.reserve(lengths.size());
  std::size_t offset = 0;
  for (const int length : lengths) {
    texts.push_back(all.substr(offset, length));
    offset += block;
  }
  return texts;
}

}  // namespace

// Gathers blocks of equal size on the root, for which libraries use a tree; texts of different sizes come rank by rank.
int Communicator::gather_blocks(const std::string& text, std::string& all, std::vector<int>& lengths) const {
  const int length = static_cast<int>(text.size());
  MPI_Gather(&length, 1, MPI_INT, lengths.data(), 1, MPI_INT, 0, handle_);
  const int block = largest(length);
  std::string mine = text;
  mine.resize(block);
  if (root()) all.resize(static_cast<std::size_t>(block) * size_);
  MPI_Gather(mine.data(), block, MPI_CHAR, all.data(), block, MPI_CHAR, 0, handle_);
  return block;
}

std::vector<std::string> Communicator::all_gather(const std::string& text) const {
  std::vector<int> lengths(size_);
  std::string all;
  const int block = gather_blocks(text, all, lengths);
  MPI_Bcast(lengths.data(), size_, MPI_INT, 0, handle_);
  all.resize(static_cast<std::size_t>(block) * size_);
  // Via one rank, because some libraries send p^2 messages for an allgather of p ranks.
  MPI_Bcast(all.data(), static_cast<int>(all.size()), MPI_CHAR, 0, handle_);
  return parts_of(all, block, lengths);
}

std::vector<std::string> Communicator::gather(const std::string& text) const {
  std::vector<int> lengths(root() ? size_ : 0);
  std::string all;
  const int block = gather_blocks(text, all, lengths);
  return parts_of(all, block, lengths);
}

std::string Communicator::broadcast(std::string text, int root) const {
  auto length = static_cast<int>(text.size());
  MPI_Bcast(&length, 1, MPI_INT, root, handle_);
  text.resize(length);
  // SimGrid 3.32 divides by the length.
  if (length > 0) MPI_Bcast(text.data(), length, MPI_CHAR, root, handle_);
  return text;
}

std::string host_name() {
  if constexpr (mpi_simulates) {
    std::array<char, MPI_MAX_PROCESSOR_NAME> name{};
    int length = 0;
    MPI_Get_processor_name(name.data(), &length);
    return name.data();
  }
  std::array<char, 256> name{};
  gethostname(name.data(), name.size() - 1);
  return name.data();
}

}  // namespace scope
