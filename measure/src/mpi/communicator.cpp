#include "mpi/communicator.hpp"

#include <unistd.h>

#include <array>
#include <numeric>
#include <utility>

#include "mpi/simulated.hpp"
#include "text/words.hpp"

namespace scope {

MpiEnvironment::MpiEnvironment(int& argc, char**& argv, bool threads) {
  const ToolsInterface tools;
  // The level that MPI_Init gives, as most programs call it. Open MPI 4 locks from MPI_THREAD_FUNNELED on,
  // which makes a small message half as expensive again; the only other thread here, which reports progress,
  // never calls MPI.
  int provided = 0;
  MPI_Init_thread(&argc, &argv, threads ? MPI_THREAD_MULTIPLE : MPI_THREAD_SINGLE, &provided);
  int rank = 0;
  MPI_Comm_rank(MPI_COMM_WORLD, &rank);
  if (rank == 0) settings_ = tools.settings();
}

MpiEnvironment::~MpiEnvironment() {
  MPI_Finalize();
}

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

Communicator::Communicator(MPI_Comm handle) : handle_(handle) {
  MPI_Comm_rank(handle_, &rank_);
  MPI_Comm_size(handle_, &size_);
}

Communicator Communicator::duplicate(MPI_Comm original) {
  MPI_Comm copy = MPI_COMM_NULL;
  MPI_Comm_dup(original, &copy);
  return Communicator(copy);
}

Communicator Communicator::split(const Communicator& original, int color, int key) {
  MPI_Comm part = MPI_COMM_NULL;
  MPI_Comm_split(original.handle(), color, key, &part);
  return Communicator(part);
}

Communicator::~Communicator() {
  if (handle_ != MPI_COMM_NULL) MPI_Comm_free(&handle_);
}

Communicator::Communicator(Communicator&& other) noexcept
    : handle_(std::exchange(other.handle_, MPI_COMM_NULL)), rank_(other.rank_), size_(other.size_) {}

namespace {

std::vector<int> offsets_of(const std::vector<int>& lengths) {
  std::vector<int> offsets(lengths.size());
  std::exclusive_scan(lengths.begin(), lengths.end(), offsets.begin(), 0);
  return offsets;
}

std::vector<std::string> parts_of(const std::string& all, const std::vector<int>& lengths) {
  std::vector<std::string> texts;
  texts.reserve(lengths.size());
  std::size_t offset = 0;
  for (const int length : lengths) {
    texts.push_back(all.substr(offset, length));
    offset += length;
  }
  return texts;
}

}  // namespace

std::vector<std::string> Communicator::all_gather(const std::string& text) const {
  const int length = static_cast<int>(text.size());
  std::vector<int> lengths(size_);
  MPI_Allgather(&length, 1, MPI_INT, lengths.data(), 1, MPI_INT, handle_);
  std::string all(std::accumulate(lengths.begin(), lengths.end(), std::size_t{0}), '\0');
  // By way of one rank: from each to each, some libraries send as many messages as the square of the ranks.
  MPI_Gatherv(text.data(), length, MPI_CHAR, all.data(), lengths.data(), offsets_of(lengths).data(), MPI_CHAR,
              0, handle_);
  MPI_Bcast(all.data(), static_cast<int>(all.size()), MPI_CHAR, 0, handle_);
  return parts_of(all, lengths);
}

std::vector<std::string> Communicator::gather(const std::string& text) const {
  const int length = static_cast<int>(text.size());
  std::vector<int> lengths(root() ? size_ : 0);
  MPI_Gather(&length, 1, MPI_INT, lengths.data(), 1, MPI_INT, 0, handle_);
  std::string all(std::accumulate(lengths.begin(), lengths.end(), std::size_t{0}), '\0');
  MPI_Gatherv(text.data(), length, MPI_CHAR, all.data(), lengths.data(), offsets_of(lengths).data(), MPI_CHAR,
              0, handle_);
  return parts_of(all, lengths);
}

std::string Communicator::broadcast(std::string text, int root) const {
  auto length = static_cast<int>(text.size());
  MPI_Bcast(&length, 1, MPI_INT, root, handle_);
  text.resize(length);
  MPI_Bcast(text.data(), length, MPI_CHAR, root, handle_);
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
