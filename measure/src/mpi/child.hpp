// Processes spawned by running ones, and the answer that proves that they started.
#pragma once

#include <mpi.h>
#include <unistd.h>

#include <array>
#include <climits>
#include <string>

#include "memory/buffer.hpp"
#include "text/words.hpp"

namespace scope {

constexpr int question_tag = 21;
constexpr int child_answer_tag = 22;
constexpr int answer_bytes = 1003;

inline std::string own_path() {
  std::array<char, PATH_MAX> path{};
  return readlink("/proc/self/exe", path.data(), path.size() - 1) > 0 ? path.data() : "scope-measure";
}

// Starts `children` processes and returns the intercommunicator to them; MPI_COMM_NULL if the library refuses.
// Collective.
inline MPI_Comm spawn_children(int children, MPI_Comm parents) {
  std::string program = own_path();
  std::string argument = "--action=child";
  std::array<char*, 2> arguments = {argument.data(), nullptr};
  MPI_Comm everyone = MPI_COMM_NULL;
  MPI_Errhandler before = MPI_ERRHANDLER_NULL;
  MPI_Comm_get_errhandler(parents, &before);
  MPI_Comm_set_errhandler(parents, MPI_ERRORS_RETURN);
  const int error = MPI_Comm_spawn(program.data(), arguments.data(), children, MPI_INFO_NULL, 0, parents,
                                   &everyone, MPI_ERRCODES_IGNORE);
  MPI_Comm_set_errhandler(parents, before);
  MPI_Errhandler_free(&before);
  return error == MPI_SUCCESS ? everyone : MPI_COMM_NULL;
}

// Asks every child for the pattern of `question` plus its rank; returns the problem, if any. Called by the parents' rank 0.
inline std::string problem_of_children(MPI_Comm everyone, int children, int question) {
  int count = 0;
  MPI_Comm_remote_size(everyone, &count);
  for (int child = 0; child < count; ++child) MPI_Send(&question, 1, MPI_INT, child, question_tag, everyone);
  std::string problem = count == children ? "" : sentence({count, " children were started of ", children});
  for (int child = 0; child < count; ++child) {
    std::array<std::byte, answer_bytes> answer{};
    MPI_Recv(answer.data(), answer_bytes, MPI_BYTE, child, child_answer_tag, everyone, MPI_STATUS_IGNORE);
    const std::string wrong = pattern_problem(answer, question + child);
    if (problem.empty() && !wrong.empty()) problem = sentence({"answer of child ", child, ": ", wrong});
  }
  return problem;
}

// The main program of a child; returns its exit code.
inline int answer_parent() {
  MPI_Comm parent = MPI_COMM_NULL;
  MPI_Comm_get_parent(&parent);
  if (parent == MPI_COMM_NULL) return 2;
  int rank = 0;
  int question = 0;
  MPI_Comm_rank(MPI_COMM_WORLD, &rank);
  MPI_Recv(&question, 1, MPI_INT, 0, question_tag, parent, MPI_STATUS_IGNORE);
  std::array<std::byte, answer_bytes> answer{};
  write_pattern(answer, question + rank);
  MPI_Send(answer.data(), answer_bytes, MPI_BYTE, 0, child_answer_tag, parent);
  MPI_Comm_disconnect(&parent);
  return 0;
}

}  // namespace scope
