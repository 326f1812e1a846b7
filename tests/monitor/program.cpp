// A program whose calls are known in advance; tests/monitor/test_counts.py holds the same numbers.
//
//     program MODE
#include <mpi.h>
#include <sys/wait.h>
#include <unistd.h>

#include <csignal>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <map>
#include <string>
#include <thread>
#include <vector>

namespace {

int rank = 0;
int ranks = 1;
int right = 0;
int left = 0;
const MPI_Comm world() { return MPI_COMM_WORLD; }

void point_to_point() {
  std::vector<double> out(1000, rank), in(1000);
  MPI_Status status;
  // 100 doubles to the right, room for 1000: 800 bytes arrive.
  for (int i = 0; i < 10; ++i) {
    MPI_Request requests[2];
    MPI_Irecv(in.data(), 1000, MPI_DOUBLE, left, i, world(), &requests[0]);
    MPI_Isend(out.data(), 100, MPI_DOUBLE, right, i, world(), &requests[1]);
    MPI_Waitall(2, requests, MPI_STATUSES_IGNORE);
  }
  MPI_Sendrecv(out.data(), 3, MPI_INT, right, 1, in.data(), 1000, MPI_INT, left, 1, world(), &status);
  MPI_Sendrecv_replace(in.data(), 5, MPI_INT, right, 1, left, 1, world(), MPI_STATUS_IGNORE);
  if (rank == 0) MPI_Send(out.data(), 7, MPI_DOUBLE, 1, 3, world());
  if (rank == 1) MPI_Recv(in.data(), 1000, MPI_DOUBLE, MPI_ANY_SOURCE, MPI_ANY_TAG, world(), MPI_STATUS_IGNORE);
  MPI_Send(out.data(), 7, MPI_DOUBLE, MPI_PROC_NULL, 3, world());
  MPI_Recv(in.data(), 7, MPI_DOUBLE, MPI_PROC_NULL, 3, world(), &status);
  // Persistent: 3 rounds of 50 doubles.
  MPI_Request pair[2];
  MPI_Send_init(out.data(), 50, MPI_DOUBLE, right, 4, world(), &pair[0]);
  MPI_Recv_init(in.data(), 1000, MPI_DOUBLE, left, 4, world(), &pair[1]);
  for (int i = 0; i < 3; ++i) {
    MPI_Startall(2, pair);
    int done = 0, index = 0;
    MPI_Waitany(2, pair, &index, MPI_STATUS_IGNORE);
    while (!done) MPI_Test(&pair[1 - index], &done, MPI_STATUS_IGNORE);
  }
  MPI_Request_free(&pair[0]);
  MPI_Request_free(&pair[1]);
  // Matched probes: 11 ints.
  MPI_Request sent;
  MPI_Issend(out.data(), 11, MPI_INT, right, 6, world(), &sent);
  MPI_Message message;
  MPI_Mprobe(left, 6, world(), &message, &status);
  MPI_Mrecv(in.data(), 1000, MPI_INT, &message, MPI_STATUS_IGNORE);
  int completed = 0, index[1];
  MPI_Waitsome(1, &sent, &completed, index, MPI_STATUSES_IGNORE);
}

void collectives() {
  const std::size_t many = static_cast<std::size_t>(ranks);
  std::vector<double> out(64 * many, 1), in(64 * many);
  std::vector<int> counts(many), places(many);
  for (int i = 0; i < ranks; ++i) {
    counts[static_cast<std::size_t>(i)] = i + 1;
    places[static_cast<std::size_t>(i)] = i * 64;
  }
  for (int i = 0; i < 5; ++i) MPI_Barrier(world());
  MPI_Bcast(out.data(), 32, MPI_DOUBLE, 0, world());
  MPI_Reduce(out.data(), in.data(), 8, MPI_DOUBLE, MPI_SUM, 0, world());
  for (int i = 0; i < 5; ++i) MPI_Allreduce(MPI_IN_PLACE, in.data(), 8, MPI_DOUBLE, MPI_SUM, world());
  MPI_Gather(out.data(), 3, MPI_DOUBLE, in.data(), 3, MPI_DOUBLE, 0, world());
  MPI_Gatherv(out.data(), rank + 1, MPI_DOUBLE, in.data(), counts.data(), places.data(), MPI_DOUBLE, 0, world());
  MPI_Scatter(out.data(), 3, MPI_DOUBLE, in.data(), 3, MPI_DOUBLE, 0, world());
  MPI_Scatterv(out.data(), counts.data(), places.data(), MPI_DOUBLE, in.data(), rank + 1, MPI_DOUBLE, 0, world());
  MPI_Allgather(MPI_IN_PLACE, 0, MPI_DATATYPE_NULL, in.data(), 4, MPI_DOUBLE, world());
  MPI_Allgatherv(MPI_IN_PLACE, 0, MPI_DATATYPE_NULL, in.data(), counts.data(), places.data(), MPI_DOUBLE, world());
  MPI_Alltoall(out.data(), 2, MPI_DOUBLE, in.data(), 2, MPI_DOUBLE, world());
  std::vector<int> mine(many, rank + 1);
  MPI_Alltoallv(out.data(), counts.data(), places.data(), MPI_DOUBLE, in.data(), mine.data(), places.data(),
                MPI_DOUBLE, world());
  std::vector<MPI_Datatype> types(many, MPI_DOUBLE);
  std::vector<int> offsets(places);
  for (int& each : offsets) each *= 8;
  MPI_Alltoallw(out.data(), counts.data(), offsets.data(), types.data(), in.data(), mine.data(), offsets.data(),
                types.data(), world());
  MPI_Reduce_scatter(out.data(), in.data(), counts.data(), MPI_DOUBLE, MPI_SUM, world());
  MPI_Reduce_scatter_block(out.data(), in.data(), 2, MPI_DOUBLE, MPI_SUM, world());
  MPI_Scan(out.data(), in.data(), 6, MPI_DOUBLE, MPI_SUM, world());
  MPI_Request request;
  MPI_Iallreduce(out.data(), in.data(), 16, MPI_DOUBLE, MPI_SUM, world(), &request);
  MPI_Wait(&request, MPI_STATUS_IGNORE);
}

void communicators() {
  MPI_Comm half;
  MPI_Comm_split(world(), rank % 2, -rank, &half);
  int value = rank;
  MPI_Bcast(&value, 1, MPI_INT, 0, half);
  int size = 0;
  MPI_Comm_size(half, &size);
  int mine = 0;
  MPI_Comm_rank(half, &mine);
  // Ranks run backwards here: partners are counted by their rank in the world.
  if (size > 1 && mine == 0) MPI_Send(&value, 1, MPI_INT, 1, 0, half);
  if (size > 1 && mine == 1) MPI_Recv(&value, 1, MPI_INT, 0, 0, half, MPI_STATUS_IGNORE);
  MPI_Comm_free(&half);
  MPI_Datatype block;
  MPI_Type_contiguous(12, MPI_DOUBLE, &block);
  MPI_Type_commit(&block);
  double data[24] = {};
  MPI_Bcast(data, 2, block, 0, world());
  MPI_Type_free(&block);
  int dims[1] = {ranks}, periods[1] = {1};
  MPI_Comm ring;
  MPI_Cart_create(world(), 1, dims, periods, 0, &ring);
  double both[8] = {}, from[8];
  MPI_Neighbor_alltoall(both, 4, MPI_DOUBLE, from, 4, MPI_DOUBLE, ring);
  MPI_Comm_free(&ring);
}

void windows_and_files(const char* path) {
  std::vector<double> memory(100);
  MPI_Win window;
  MPI_Win_create(memory.data(), 800, 8, MPI_INFO_NULL, world(), &window);
  const double values[4] = {1, 2, 3, 4};
  double read[4];
  MPI_Win_fence(0, window);
  MPI_Put(values, 4, MPI_DOUBLE, right, 0, 4, MPI_DOUBLE, window);
  MPI_Win_fence(0, window);
  MPI_Get(read, 2, MPI_DOUBLE, left, 0, 2, MPI_DOUBLE, window);
  MPI_Win_fence(0, window);
  MPI_Win_free(&window);
  MPI_File file;
  MPI_File_open(world(), path, MPI_MODE_CREATE | MPI_MODE_WRONLY, MPI_INFO_NULL, &file);
  MPI_File_write_at(file, rank * 32, values, 4, MPI_DOUBLE, MPI_STATUS_IGNORE);
  MPI_File_close(&file);
}

void regions() {
  MPI_Barrier(world());
  MPI_Pcontrol(7);
  for (int i = 0; i < 3; ++i) MPI_Barrier(world());
  MPI_Pcontrol(-7);
  MPI_Pcontrol(0);
  for (int i = 0; i < 4; ++i) MPI_Barrier(world());
  MPI_Pcontrol(1);
  MPI_Pcontrol(7);
  MPI_Barrier(world());
  MPI_Pcontrol(9);
  for (int i = 0; i < 2; ++i) MPI_Barrier(world());
  MPI_Pcontrol(-9);
}

// More rows than the table has: every size is a class, every class at sites that the compiler cannot merge.
template <int... Sites>
void overflow(std::integer_sequence<int, Sites...>) {
  static std::vector<char> data(1 << 12);
  for (int bytes = 0; bytes <= 1 << 12; bytes = bytes ? bytes * 2 : 1) {
    const auto call = [&](auto site) {
      MPI_Bcast(data.data(), bytes, MPI_CHAR, 0, world());
      asm volatile("" ::"i"(decltype(site)::value));
    };
    (call(std::integral_constant<int, Sites>{}), ...);
  }
}

void in_threads() {
  std::vector<std::thread> threads;
  for (int thread = 0; thread < 4; ++thread)
    threads.emplace_back([thread] {
      for (int i = 0; i < 500; ++i) {
        int out = i, in = -1;
        MPI_Request requests[2];
        MPI_Irecv(&in, 1, MPI_INT, rank, thread, world(), &requests[0]);
        MPI_Isend(&out, 1, MPI_INT, rank, thread, world(), &requests[1]);
        MPI_Waitall(2, requests, MPI_STATUSES_IGNORE);
        if (in != i) MPI_Abort(world(), 5);
      }
    });
  for (auto& each : threads) each.join();
}

void busy(double seconds) {
  const double begin = MPI_Wtime();
  while (MPI_Wtime() - begin < seconds) {
  }
}

}  // namespace

#if MPI_VERSION >= 4
// One after the other, each with a barrier.
int two_sessions() {
  for (int i = 0; i < 2; ++i) {
    MPI_Session session;
    MPI_Group group;
    MPI_Comm comm;
    MPI_Session_init(MPI_INFO_NULL, MPI_ERRORS_ARE_FATAL, &session);
    MPI_Group_from_session_pset(session, "mpi://WORLD", &group);
    MPI_Comm_create_from_group(group, "two_sessions", MPI_INFO_NULL, MPI_ERRORS_ARE_FATAL, &comm);
    MPI_Barrier(comm);
    MPI_Comm_free(&comm);
    MPI_Group_free(&group);
    MPI_Session_finalize(&session);
  }
  return 0;
}
#endif

int main(int count, char** words) {
  const std::string mode = count > 1 ? words[1] : "calls";
#if MPI_VERSION >= 4
  if (mode == "sessions") return two_sessions();
#endif
  if (mode == "threads") {
    int provided = 0;
    MPI_Init_thread(&count, &words, MPI_THREAD_MULTIPLE, &provided);
    if (provided != MPI_THREAD_MULTIPLE) MPI_Abort(world(), 6);
  } else {
    MPI_Init(&count, &words);
  }
  MPI_Comm_rank(world(), &rank);
  MPI_Comm_size(world(), &ranks);
  right = (rank + 1) % ranks;
  left = (rank + ranks - 1) % ranks;
  if (mode == "calls") {
    point_to_point();
    collectives();
    communicators();
    if (count > 2) windows_and_files(words[2]);
  } else if (mode == "regions") {
    regions();
  } else if (mode == "overflow") {
    overflow(std::make_integer_sequence<int, 8>{});
  } else if (mode == "threads") {
    in_threads();
  } else if (mode == "phases") {
    for (int i = 0; i < 5; ++i) {
      usleep(20000);
      MPI_Barrier(world());
    }
  } else if (mode == "kill" || mode == "abort" || mode == "exit" || mode == "wait") {
    for (int i = 0; i < 100; ++i) MPI_Barrier(world());
    while (mode == "kill" && rank == 1) pause();  // until the test has seen the others in their receive
    if (mode == "abort" && rank == 1) MPI_Abort(world(), 3);
    if (mode == "exit") std::exit(0);
    int never = 0;
    MPI_Recv(&never, 1, MPI_INT, right, 99, world(), MPI_STATUS_IGNORE);
  } else if (mode == "fork") {
    MPI_Barrier(world());
    const pid_t child = fork();
    if (child == 0) {
      int flag = 0;
      MPI_Initialized(&flag);  // must not be counted
      std::exit(flag ? 0 : 1);
    }
    int status = 0;
    waitpid(child, &status, 0);
    if (status != 0) MPI_Abort(world(), 4);
    MPI_Barrier(world());
  }
  if (mode == "phases") busy(0.01);
  MPI_Finalize();
}
