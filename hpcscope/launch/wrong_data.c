#include <mpi.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

typedef unsigned long long Word;
enum { times = 5 };
static const Word untouched = ~0ull;

// What the ranks first to last sent at a place, the time-th time, by exclusive or.
static Word sent(int time, int first, int last, int place) {
  Word all = 0;
  for (int rank = first; rank <= last; ++rank) {
    const Word word = ((Word)time << 48 ^ (Word)rank << 32 ^ (Word)place) * 0x9e3779b97f4a7c15ull;
    all ^= word ^ word >> 29;
  }
  return all;
}

// What is at a place instead of what was sent; of: at which time that was sent.
static const char* found(const Word* in, int at, int time, int rank, int ranks, int words, int* of) {
  int i = at;
  (void)rank, (void)ranks;
  if (in[at] == untouched) return "untouched";
  for (*of = time - 1; *of >= 0; --*of)
    if (in[at] == sent(*of, EXPECTED)) return "old";
  for (i = 0; i < words * BLOCKS; ++i)
    if (in[at] == sent(time, EXPECTED)) return "shifted";
  return "foreign";
}

static int wrong_of(int bytes, int rank, int ranks) {
  const int words = bytes < 8 ? 1 : bytes / 8;
  const size_t room = (size_t)words * ranks * sizeof(Word);
  const int space = times * (8 * words + MPI_BSEND_OVERHEAD);
  Word* out = (Word*)malloc(room);
  Word* in = (Word*)malloc(room);
  void* attached = malloc(space);
  int length, wrong = 0;
  MPI_Request request = MPI_REQUEST_NULL;
  MPI_Buffer_attach(attached, space);  // for buffered sends
  for (int i = 0; i < words * ranks; ++i) out[i] = sent(0, rank, rank, i);
  PREPARE;
  for (int time = 1; time <= times; ++time) {
    for (int i = 0; i < words * ranks; ++i) out[i] = sent(time, rank, rank, i);
    memset(in, 0xff, room);
    POST;
    MPI_Barrier(MPI_COMM_WORLD);
    CALL;
    MPI_Wait(&request, MPI_STATUS_IGNORE);
    for (int i = 0; ARRIVES && i < words * BLOCKS; ++i) {
      int of = -1;
      if (in[i] == sent(time, EXPECTED)) continue;
      printf("%d B, time %d, rank %d: wrong from byte %d: ", words * 8, time, rank, i * 8);
      printf("%s", found(in, i, time, rank, ranks, words, &of));
      printf(of >= 0 ? ", of time %d\n" : "\n", of);
      ++wrong;
      break;
    }
  }
  if (request != MPI_REQUEST_NULL) MPI_Request_free(&request);
  MPI_Buffer_detach(&attached, &length);
  free(attached);
  free(out);
  free(in);
  return wrong;
}

int main(int argc, char** argv) {
  int rank, ranks, length, failed = 0;
  char library[MPI_MAX_LIBRARY_VERSION_STRING];
  MPI_Init(&argc, &argv);
  MPI_Comm_rank(MPI_COMM_WORLD, &rank);
  MPI_Comm_size(MPI_COMM_WORLD, &ranks);
  MPI_Get_library_version(library, &length);
  if (rank == 0) printf("library %.*s\n", (int)strcspn(library, ",\n"), library);
  for (int i = 1; i < argc; ++i) {
    int all = 0, own = wrong_of(atoi(argv[i]), rank, ranks);
    MPI_Allreduce(&own, &all, 1, MPI_INT, MPI_SUM, MPI_COMM_WORLD);
    if (rank == 0) printf("%s B: %s\n", argv[i], all ? "WRONG" : "right");
    failed |= all;
  }
  MPI_Finalize();
  return failed != 0;
}
