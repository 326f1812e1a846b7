// Sends messages from the first rank to the last, on different hosts, and prints what the receiver's network
// interfaces counted meanwhile (proc(5), /proc/net/dev) as a line "PAYLOAD INTERFACE=BYTES ...".
#include <mpi.h>
#include <unistd.h>

#include <csignal>
#include <fstream>
#include <iostream>
#include <map>
#include <sstream>
#include <string>
#include <vector>

namespace {

constexpr int messages = 16;
constexpr unsigned finalize_timeout_s = 5;
constexpr int message_bytes = 1 << 14;

std::map<std::string, long long> received() {
  std::map<std::string, long long> counts;
  std::ifstream file("/proc/self/net/dev");
  for (std::string line; std::getline(file, line);) {
    const auto colon = line.find(':');
    if (colon == std::string::npos) continue;
    std::string name = line.substr(0, colon);
    name.erase(0, name.find_first_not_of(' '));
    counts[name] = std::stoll(line.substr(colon + 1));
  }
  return counts;
}

}  // namespace

int main(int argc, char** argv) {
  MPI_Init(&argc, &argv);
  int rank = 0, ranks = 1;
  MPI_Comm_rank(MPI_COMM_WORLD, &rank);
  MPI_Comm_size(MPI_COMM_WORLD, &ranks);
  std::vector<char> message(message_bytes);
  const auto exchange = [&](int count) {
    for (int i = 0; i < count; ++i) {
      if (rank == 0) MPI_Send(message.data(), message_bytes, MPI_CHAR, ranks - 1, 0, MPI_COMM_WORLD);
      if (rank == ranks - 1)
        MPI_Recv(message.data(), message_bytes, MPI_CHAR, 0, 0, MPI_COMM_WORLD, MPI_STATUS_IGNORE);
    }
  };
  exchange(1);  // the first message sets up connections
  const auto before = received();
  // The sender waits until the receiver has read its counters.
  if (rank == ranks - 1) MPI_Send(message.data(), 1, MPI_CHAR, 0, 1, MPI_COMM_WORLD);
  if (rank == 0) MPI_Recv(message.data(), 1, MPI_CHAR, ranks - 1, 1, MPI_COMM_WORLD, MPI_STATUS_IGNORE);
  exchange(messages);
  if (rank == ranks - 1) {
    std::ostringstream line;
    line << static_cast<long long>(messages) * message_bytes;
    for (const auto& [name, bytes] : received()) line << ' ' << name << '=' << bytes - before.at(name);
    std::cout << line.str() << std::endl;
  }
  // MPICH 4.0 over UCX may hang in MPI_Finalize; everything is printed by now.
  std::signal(SIGALRM, [](int) { _exit(0); });
  alarm(finalize_timeout_s);
  MPI_Finalize();
}
