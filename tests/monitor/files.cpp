// Does known things with files. Modes: calls, stream, collective, end, threads, many, behavior.
#include <fcntl.h>
#include <mpi.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/uio.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cerrno>
#include <csignal>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <fstream>
#include <string>
#include <thread>
#include <vector>

static std::string folder;
static int rank = 0, ranks = 1;

static void check(bool right, int line) {
  if (right) return;
  std::fprintf(stderr, "line %d: %s\n", line, std::strerror(errno));
  _exit(9);
}
#define CHECK(right) check(right, __LINE__)

static std::string own(const char* name) { return folder + '/' + name + std::to_string(rank); }

// Written: 4 x 4096 one after the other, 100 at 10000, 2 x 50 as parts; read: 8192, 4096 at 0, then the end.
static void calls() {
  const std::string path = own("calls");
  std::vector<char> data(8192, 'x');
  const int file = open(path.c_str(), O_RDWR | O_CREAT | O_TRUNC, 0600);
  CHECK(file >= 0);
  for (int i = 0; i < 4; ++i) CHECK(write(file, data.data(), 4096) == 4096);
  CHECK(pwrite(file, data.data(), 100, 10000) == 100);
  iovec parts[2] = {{data.data(), 50}, {data.data(), 50}};
  CHECK(writev(file, parts, 2) == 100);
  CHECK(fsync(file) == 0 && fdatasync(file) == 0);
  struct flock whole{};
  whole.l_type = F_WRLCK;
  CHECK(fcntl(file, F_SETLK, &whole) == 0 && (fcntl(file, F_GETFL) & O_ACCMODE) == O_RDWR);
  CHECK(fcntl(file, F_SETFD, FD_CLOEXEC) == 0 && fcntl(file, F_GETFD) == FD_CLOEXEC);
  CHECK(lseek(file, 0, SEEK_SET) == 0);
  CHECK(read(file, data.data(), 8192) == 8192);
  CHECK(pread(file, data.data(), 4096, 0) == 4096);
  CHECK(lseek(file, 0, SEEK_END) == 16484);
  CHECK(read(file, data.data(), 10) == 0);
  CHECK(close(file) == 0);
}

// What is no regular file, and descriptors that change what they mean.
static void others() {
  char byte = 'x';
  int ends[2];
  CHECK(pipe(ends) == 0);
  CHECK(write(ends[1], &byte, 1) == 1 && read(ends[0], &byte, 1) == 1);
  close(ends[0]);
  close(ends[1]);
  const int null = open("/dev/null", O_WRONLY);
  CHECK(write(null, &byte, 1) == 1);
  close(null);
  const int status = open("/proc/self/status", O_RDONLY);
  CHECK(read(status, &byte, 1) == 1);
  close(status);
  const int file = open(own("dup").c_str(), O_WRONLY | O_CREAT, 0600);
  const int twin = dup(file);
  CHECK(write(file, "abc", 3) == 3);
  CHECK(write(twin, "de", 2) == 2);
  CHECK(pipe(ends) == 0);
  CHECK(dup2(ends[1], file) == file);
  CHECK(write(file, "pipe", 4) == 4);  // into the pipe
  close(file);
  close(twin);
  close(ends[0]);
  close(ends[1]);
}

static void stream() {
  std::FILE* file = std::fopen(own("stream").c_str(), "w+");
  CHECK(file);
  char data[1000] = {};
  CHECK(std::fwrite(data, 10, 100, file) == 100);
  CHECK(std::fprintf(file, "%d lines\n", 12) == 9);
  CHECK(std::fputs("word\n", file) >= 0);
  CHECK(std::fflush(file) == 0);
  std::rewind(file);
  CHECK(std::fread(data, 1, 1000, file) == 1000);
  CHECK(std::fgets(data, 100, file) && std::strcmp(data, "12 lines\n") == 0);
  CHECK(std::fclose(file) == 0);
  std::ofstream out(own("iostream"));
  out << std::string(100'000, 'y');
}

// Every rank its part of one file, collectively, then alone; read by the next one.
static void collective() {
  const std::string path = folder + "/shared";
  MPI_File file;
  const int mode = MPI_MODE_CREATE | MPI_MODE_RDWR;
  CHECK(MPI_File_open(MPI_COMM_WORLD, path.c_str(), mode, MPI_INFO_NULL, &file) == MPI_SUCCESS);
  std::vector<double> data(1000, rank);
  const MPI_Offset bytes = 8000;
  MPI_File_write_at_all(file, rank * bytes, data.data(), 1000, MPI_DOUBLE, MPI_STATUS_IGNORE);
  MPI_File_sync(file);
  MPI_Barrier(MPI_COMM_WORLD);
  MPI_File_read_at(file, (rank + 1) % ranks * bytes, data.data(), 500, MPI_DOUBLE, MPI_STATUS_IGNORE);
  CHECK(data[0] == (rank + 1) % ranks);
  MPI_Request request;
  MPI_File_iwrite_at(file, (ranks + rank) * bytes, data.data(), 10, MPI_DOUBLE, &request);
  MPI_Wait(&request, MPI_STATUS_IGNORE);
  MPI_File_close(&file);
}

// The ranks' values in turn, once alone and twice collectively, the last time from every second place in memory;
// then contiguous again.
static void gaps() {
  MPI_File file;
  const int mode = MPI_MODE_CREATE | MPI_MODE_RDWR;
  CHECK(MPI_File_open(MPI_COMM_WORLD, (folder + "/gaps").c_str(), mode, MPI_INFO_NULL, &file) == MPI_SUCCESS);
  std::vector<double> data(200, rank);
  MPI_Datatype turns, second;
  MPI_Type_create_resized(MPI_DOUBLE, 0, 8 * ranks, &turns);
  MPI_Type_vector(100, 1, 2, MPI_DOUBLE, &second);
  MPI_Type_commit(&turns);
  MPI_Type_commit(&second);
  MPI_File_set_view(file, 8 * rank, MPI_DOUBLE, turns, "native", MPI_INFO_NULL);
  MPI_File_write(file, data.data(), 100, MPI_DOUBLE, MPI_STATUS_IGNORE);
  MPI_File_write_all(file, data.data(), 100, MPI_DOUBLE, MPI_STATUS_IGNORE);
  MPI_File_write_all(file, data.data(), 1, second, MPI_STATUS_IGNORE);
  MPI_File_set_view(file, 0, MPI_BYTE, MPI_BYTE, "native", MPI_INFO_NULL);
  MPI_File_read_at(file, 0, data.data(), 100, MPI_BYTE, MPI_STATUS_IGNORE);
  MPI_File_close(&file);
  MPI_Type_free(&turns);
  MPI_Type_free(&second);
}

static void threads() {
  std::vector<std::thread> all;
  for (int i = 0; i < 4; ++i)
    all.emplace_back([i] {
      const int file = open(own(i % 2 ? "odd" : "even").c_str(), O_WRONLY | O_CREAT, 0600);
      for (int n = 0; n < 2000; ++n) CHECK(pwrite(file, "12345678", 8, 8 * n) == 8);
      close(file);
    });
  for (auto& each : all) each.join();
}

static volatile int handled = 0;
static int log_file = -1;
static void handler(int) {
  const int before = errno;
  if (write(log_file, "s", 1) == 1) handled = handled + 1;
  errno = before;
}

// errno, results and signal handlers as without the monitor.
static void behavior() {
  errno = 0;
  CHECK(open((folder + "/not/there").c_str(), O_RDONLY) == -1 && errno == ENOENT);
  CHECK(write(-1, "x", 1) == -1 && errno == EBADF);
  CHECK(close(-1) == -1 && errno == EBADF);
  CHECK(!std::fopen((folder + "/not/there").c_str(), "r") && errno == ENOENT);
  const int once = open(own("mode").c_str(), O_WRONLY | O_CREAT, 0640);
  struct stat facts;
  CHECK(fstat(once, &facts) == 0);
  const mode_t mask = umask(0);
  CHECK((facts.st_mode & 0777) == (0640 & ~mask));
  errno = 77;
  CHECK(write(once, "x", 1) == 1 && errno == 77);
  CHECK(read(once, nullptr, 1) == -1 && errno == EBADF);
  CHECK(close(once) == 0 && errno == EBADF);
  log_file = open(own("log").c_str(), O_WRONLY | O_CREAT | O_APPEND, 0600);
  struct sigaction action{};
  action.sa_handler = handler;
  action.sa_flags = SA_RESTART;
  sigaction(SIGALRM, &action, nullptr);
  ualarm(200, 200);
  const int file = open(own("busy").c_str(), O_WRONLY | O_CREAT, 0600);
  for (int i = 0; i < 200'000 || handled < 3; ++i) CHECK(pwrite(file, "x", 1, 0) == 1);
  ualarm(0, 0);
  const pid_t child = fork();
  if (child == 0) {
    CHECK(pwrite(file, "child", 5, 0) == 5);
    _exit(0);
  }
  int status = -1;
  CHECK(waitpid(child, &status, 0) == child && status == 0);
}

int main(int argc, char** argv) {
  int given;
  MPI_Init_thread(&argc, &argv, MPI_THREAD_FUNNELED, &given);
  MPI_Comm_rank(MPI_COMM_WORLD, &rank);
  MPI_Comm_size(MPI_COMM_WORLD, &ranks);
  const std::string mode = argv[1];
  folder = argv[2];
  if (mode == "calls") calls(), others();
  if (mode == "stream") stream();
  if (mode == "collective") collective();
  if (mode == "gaps") gaps();
  if (mode == "threads") threads();
  if (mode == "behavior") behavior();
  if (mode == "many")
    for (int i = 0; i < 200; ++i) {
      const int file = open(own(std::to_string(i).append("-").c_str()).c_str(), O_WRONLY | O_CREAT, 0600);
      CHECK(write(file, "abc", 3) == 3);
      close(file);
    }
  if (mode == "kill" || mode == "abort") {
    const int file = open(own("lost").c_str(), O_WRONLY | O_CREAT, 0600);
    for (int i = 0; i < 100; ++i) CHECK(write(file, "0123456789", 10) == 10);
    MPI_Barrier(MPI_COMM_WORLD);
    if (rank == 1 && mode == "kill") raise(SIGKILL);
    if (mode == "abort") std::abort();
    MPI_Barrier(MPI_COMM_WORLD);
  }
  MPI_Finalize();
}
