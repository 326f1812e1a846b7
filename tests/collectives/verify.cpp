// Every collective, compared element by element with what each rank can compute by itself, in random cases
// from a seed: communicators, roots, lengths, datatypes, operations. Run it under the library, with each
// algorithm forced.
//
// usage: verify SEED CASES MOST_ELEMENTS [--corrupt]
// With --corrupt one received element is changed before it is compared, to see that a comparison notices.
#include <mpi.h>

#include <algorithm>
#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <random>
#include <string>
#include <thread>
#include <vector>

namespace {

using Numbers = std::vector<std::int64_t>;

int failures = 0;
long long compared = 0;
bool corrupt = false;
std::string current;

void check(bool fine, const std::string& what) {
  if (fine) return;
  if (++failures <= 5) {
    int rank = 0;
    MPI_Comm_rank(MPI_COMM_WORLD, &rank);
    std::fprintf(stderr, "rank %d: %s: %s\n", rank, current.c_str(), what.c_str());
  }
}

void compare(Numbers got, const Numbers& expected, const char* what) {
  if (corrupt && !got.empty()) got[got.size() / 2] += 1;
  check(got.size() == expected.size(), std::string(what) + ": length");
  for (std::size_t i = 0; i < got.size() && i < expected.size(); ++i) {
    ++compared;
    if (got[i] != expected[i]) {
      check(false, std::string(what) + ": element " + std::to_string(i) + " is " + std::to_string(got[i]) +
                       " and should be " + std::to_string(expected[i]));
      return;
    }
  }
}

std::int64_t value(int rank, std::int64_t index, std::int64_t salt) {
  return (rank + 1) * 1000003LL + index * 17 + salt * 7919;
}

// How numbers lie in memory: close together, with gaps, or backwards in pairs (no gaps, but another order).
enum class Form { plain, gaps, swapped };

struct Layout {
  explicit Layout(Form form) : form(form) {
    if (form == Form::gaps) {
      MPI_Datatype pair;
      MPI_Type_vector(2, 1, 2, MPI_INT64_T, &pair);  // x . x
      MPI_Type_create_resized(pair, 0, 4 * sizeof(std::int64_t), &type);
      MPI_Type_free(&pair);
      MPI_Type_commit(&type);
    } else if (form == Form::swapped) {
      const int lengths[] = {1, 1};
      const int places[] = {1, 0};
      MPI_Type_indexed(2, lengths, places, MPI_INT64_T, &type);
      MPI_Type_commit(&type);
    }
  }
  ~Layout() {
    if (form != Form::plain) MPI_Type_free(&type);
  }
  Layout(const Layout&) = delete;
  int count(std::size_t numbers) const { return static_cast<int>(form == Form::plain ? numbers : numbers / 2); }
  std::size_t place(std::size_t index) const {
    if (form == Form::gaps) return index / 2 * 4 + index % 2 * 2;
    return form == Form::swapped ? index ^ 1 : index;
  }
  std::size_t room(std::size_t numbers) const { return form == Form::gaps ? 2 * numbers : numbers; }
  Numbers spread(const Numbers& numbers) const {
    Numbers memory(room(numbers.size()) + 1, -5);
    for (std::size_t i = 0; i < numbers.size(); ++i) memory[place(i)] = numbers[i];
    return memory;
  }
  // The numbers again; what lies between them must be untouched.
  Numbers collect(const Numbers& memory, std::size_t numbers) const {
    Numbers found;
    Numbers rest = memory;
    for (std::size_t i = 0; i < numbers; ++i) {
      found.push_back(memory[place(i)]);
      rest[place(i)] = -5;
    }
    for (const std::int64_t each : rest) check(each == -5, "a gap was overwritten");
    return found;
  }
  Form form;
  MPI_Datatype type = MPI_INT64_T;
};

// 2x2 matrices modulo a prime: their product depends on the order.
void multiply(void* in, void* inout, int* count, MPI_Datatype*) {
  auto* a = static_cast<std::int64_t*>(in);
  auto* b = static_cast<std::int64_t*>(inout);
  for (int i = 0; i < *count; ++i, a += 4, b += 4) {
    const std::int64_t c[4] = {a[0] * b[0] + a[1] * b[2], a[0] * b[1] + a[1] * b[3], a[2] * b[0] + a[3] * b[2],
                               a[2] * b[1] + a[3] * b[3]};
    for (int k = 0; k < 4; ++k) b[k] = c[k] % 10007;
  }
}

// The sum of the numbers of a type with gaps.
void add_pairs(void* in, void* inout, int* count, MPI_Datatype*) {
  auto* a = static_cast<std::int64_t*>(in);
  auto* b = static_cast<std::int64_t*>(inout);
  for (int i = 0; i < *count; ++i, a += 4, b += 4) {
    b[0] += a[0];
    b[2] += a[2];
  }
}

struct Case {
  MPI_Comm comm;
  int rank, size, root;
  std::size_t length;
  bool in_place;
  std::int64_t salt;
  const Layout& mine;    // of this rank
  const Layout& common;  // the same everywhere, for reductions
};

Numbers contribution(const Case& c, int rank, std::size_t numbers) {
  Numbers list(numbers);
  for (std::size_t i = 0; i < numbers; ++i) list[i] = value(rank, static_cast<std::int64_t>(i), c.salt);
  return list;
}

void broadcast(const Case& c) {
  const Numbers expected = contribution(c, c.root, c.length);
  Numbers memory = c.mine.spread(c.rank == c.root ? expected : Numbers(c.length, 0));
  MPI_Bcast(memory.data(), c.mine.count(c.length), c.mine.type, c.root, c.comm);
  compare(c.mine.collect(memory, c.length), expected, "broadcast");
}

Numbers sum(const Case& c) {
  Numbers total(c.length, 0);
  for (int rank = 0; rank < c.size; ++rank)
    for (std::size_t i = 0; i < c.length; ++i) total[i] += value(rank, static_cast<std::int64_t>(i), c.salt);
  return total;
}

void reductions(const Case& c, MPI_Op add) {
  const MPI_Op op = c.common.form == Form::gaps ? add : MPI_SUM;
  const Layout plain(Form::plain);
  const Layout& layout = c.common.form == Form::gaps ? c.common : plain;
  const int count = layout.count(c.length);
  const Numbers send = layout.spread(contribution(c, c.rank, c.length));
  Numbers receive = layout.spread(Numbers(c.length, 0));
#if defined(MPICH_NUMVERSION) && MPICH_NUMVERSION < 40100000
  const bool in_place = c.in_place && c.root == 0;  // MPICH 4.0.2 crashes by itself at other roots
#else
  const bool in_place = c.in_place;
#endif
  if (in_place) receive = send;
  const bool root = c.rank == c.root;
  const Numbers before = receive;
  MPI_Reduce(in_place && root ? MPI_IN_PLACE : send.data(), receive.data(), count, layout.type, op, c.root,
             c.comm);
  if (root)
    compare(layout.collect(receive, c.length), sum(c), "reduce");
  else
    check(receive == before, "reduce: a receive buffer was changed that is not the root's");
  receive = c.in_place ? send : layout.spread(Numbers(c.length, 0));
  MPI_Allreduce(c.in_place ? MPI_IN_PLACE : send.data(), receive.data(), count, layout.type, op, c.comm);
  compare(layout.collect(receive, c.length), sum(c), "allreduce");
}

void order_kept(const Case& c, MPI_Op product, MPI_Datatype matrix) {
  const std::size_t matrices = std::min<std::size_t>(c.length, 50);
  const auto of = [&](int rank) {
    Numbers list(4 * matrices);
    for (std::size_t i = 0; i < list.size(); ++i)
      list[i] = value(rank, static_cast<std::int64_t>(i), c.salt) % 10007;
    return list;
  };
  Numbers expected = of(c.size - 1);
  for (int rank = c.size - 2; rank >= 0; --rank) {
    Numbers left = of(rank);
    int count = static_cast<int>(matrices);
    multiply(left.data(), expected.data(), &count, nullptr);
  }
  const Numbers send = of(c.rank);
  Numbers receive(4 * matrices, 0);
  MPI_Reduce(send.data(), receive.data(), static_cast<int>(matrices), matrix, product, c.root, c.comm);
  if (c.rank == c.root) compare(receive, expected, "reduce, not commutative");
  MPI_Allreduce(send.data(), receive.data(), static_cast<int>(matrices), matrix, product, c.comm);
  compare(receive, expected, "allreduce, not commutative");
}

void largest_and_where(const Case& c) {
  struct Pair {
    double number;
    int where;
  };
  std::vector<Pair> send(c.length), receive(c.length);
  for (std::size_t i = 0; i < c.length; ++i)
    send[i] = {static_cast<double>((c.rank * 7 + static_cast<int>(i) * 3) % (c.size + 2)), c.rank};
  MPI_Allreduce(send.data(), receive.data(), static_cast<int>(c.length), MPI_DOUBLE_INT, MPI_MAXLOC, c.comm);
  for (std::size_t i = 0; i < c.length; ++i) {
    Pair best{-1, 0};
    for (int rank = 0; rank < c.size; ++rank)
      if (const double number = (rank * 7 + static_cast<int>(i) * 3) % (c.size + 2); number > best.number)
        best = {number, rank};
    check(receive[i].number == best.number && receive[i].where == best.where, "largest and where");
    ++compared;
  }
}

Numbers blocks_of_all(const Case& c) {
  Numbers all;
  for (int rank = 0; rank < c.size; ++rank) {
    const Numbers block = contribution(c, rank, c.length);
    all.insert(all.end(), block.begin(), block.end());
  }
  return all;
}

void gathers(const Case& c) {
  const bool root = c.rank == c.root;
  const int count = c.mine.count(c.length);
  const Numbers all = blocks_of_all(c);
  const std::size_t total = c.length * static_cast<std::size_t>(c.size);
  const Numbers send = c.mine.spread(contribution(c, c.rank, c.length));
  Numbers start(total, 0);
  std::copy_n(all.begin() + static_cast<std::ptrdiff_t>(c.length) * c.rank, c.length,
              start.begin() + static_cast<std::ptrdiff_t>(c.length) * c.rank);
  Numbers receive = c.mine.spread(c.in_place ? start : Numbers(total, 0));
  MPI_Gather(c.in_place && root ? MPI_IN_PLACE : send.data(), count, c.mine.type, receive.data(), count,
             c.mine.type, c.root, c.comm);
  if (root) compare(c.mine.collect(receive, total), all, "gather");

  receive = c.mine.spread(c.in_place ? start : Numbers(total, 0));
  MPI_Allgather(c.in_place ? MPI_IN_PLACE : send.data(), count, c.mine.type, receive.data(), count, c.mine.type,
                c.comm);
  compare(c.mine.collect(receive, total), all, "allgather");
}

void scatter(const Case& c) {
  const bool root = c.rank == c.root;
  const int count = c.mine.count(c.length);
  const Numbers send = c.mine.spread(root ? blocks_of_all(c) : Numbers());
  Numbers receive = c.mine.spread(Numbers(c.length, 0));
  MPI_Scatter(send.data(), count, c.mine.type, c.in_place && root ? MPI_IN_PLACE : receive.data(), count,
              c.mine.type, c.root, c.comm);
  if (!(c.in_place && root))
    compare(c.mine.collect(receive, c.length), contribution(c, c.rank, c.length), "scatter");
}

void alltoall(const Case& c) {
  const int count = c.mine.count(c.length);
  Numbers send, expected;
  for (int other = 0; other < c.size; ++other)
    for (std::size_t i = 0; i < c.length; ++i) {
      send.push_back(value(c.rank, static_cast<std::int64_t>(i), c.salt + 31 * other));
      expected.push_back(value(other, static_cast<std::int64_t>(i), c.salt + 31 * c.rank));
    }
  const Numbers given = c.mine.spread(send);
  Numbers receive = c.in_place ? given : c.mine.spread(Numbers(send.size(), 0));
  MPI_Alltoall(c.in_place ? MPI_IN_PLACE : given.data(), count, c.mine.type, receive.data(), count, c.mine.type,
               c.comm);
  compare(c.mine.collect(receive, send.size()), expected, "alltoall");
}

// Nobody leaves before everybody has come: each tells the next that it has come.
void barrier(const Case& c) {
  int came = c.rank, seen = -1;
  MPI_Request request;
  MPI_Irecv(&seen, 1, MPI_INT, (c.rank + c.size - 1) % c.size, 5, c.comm, &request);
  MPI_Ssend(&came, 1, MPI_INT, (c.rank + 1) % c.size, 5, c.comm);
  MPI_Wait(&request, MPI_STATUS_IGNORE);
  MPI_Barrier(c.comm);
  check(seen == (c.rank + c.size - 1) % c.size, "barrier");
}

// Receives that take anything must not take the library's messages.
void own_traffic(const Case& c) {
  int got = -1;
  const int sent = c.rank;
  MPI_Request request;
  MPI_Irecv(&got, 1, MPI_INT, MPI_ANY_SOURCE, MPI_ANY_TAG, c.comm, &request);
  broadcast(c);
  MPI_Barrier(c.comm);
  MPI_Send(&sent, 1, MPI_INT, (c.rank + 1) % c.size, 3, c.comm);
  MPI_Wait(&request, MPI_STATUS_IGNORE);
  check(got == (c.rank + c.size - 1) % c.size, "own traffic");
}

void errors_are_the_librarys() {
  MPI_Comm mine;
  MPI_Comm_dup(MPI_COMM_WORLD, &mine);
  MPI_Comm_set_errhandler(mine, MPI_ERRORS_RETURN);
  int number = 0, size = 0;
  MPI_Comm_size(mine, &size);
  current = "errors";
  check(MPI_Bcast(&number, 1, MPI_INT, size, mine) != MPI_SUCCESS, "a root that is none was accepted");
  check(MPI_Bcast(&number, -1, MPI_INT, 0, mine) != MPI_SUCCESS, "a negative count was accepted");
  check(MPI_Reduce(&number, &number + 1, 1, MPI_INT, MPI_OP_NULL, 0, mine) != MPI_SUCCESS,
        "no operation was accepted");
  MPI_Comm_free(&mine);
}

void between_groups(int rank, int size) {
  if (size < 2) return;
  current = "between groups";
  MPI_Comm half, both;
  const bool low = rank < size / 2;
  MPI_Comm_split(MPI_COMM_WORLD, low, rank, &half);
  MPI_Intercomm_create(half, 0, MPI_COMM_WORLD, low ? size / 2 : 0, 9, &both);
  int number = rank == 0 ? 42 : 0;
  MPI_Bcast(&number, 1, MPI_INT, low ? (rank == 0 ? MPI_ROOT : MPI_PROC_NULL) : 0, both);
  check(low || number == 42, "broadcast");
  MPI_Barrier(both);
  MPI_Comm merged;
  MPI_Intercomm_merge(both, low, &merged);
  int total = 0;
  MPI_Allreduce(&rank, &total, 1, MPI_INT, MPI_SUM, merged);
  check(total == size * (size - 1) / 2, "merged");
  MPI_Comm_free(&merged);
  MPI_Comm_free(&both);
  MPI_Comm_free(&half);
}

// Two threads of every rank at the same time, each on a communicator of its own.
void in_threads(int provided, std::int64_t salt) {
  if (provided < MPI_THREAD_MULTIPLE) return;
  current = "in threads";
  MPI_Comm comms[2];
  for (MPI_Comm& comm : comms) MPI_Comm_dup(MPI_COMM_WORLD, &comm);
  int rank = 0, size = 0;
  MPI_Comm_rank(MPI_COMM_WORLD, &rank);
  MPI_Comm_size(MPI_COMM_WORLD, &size);
  bool fine[2] = {true, true};
  const auto work = [&](int thread) {
    for (int round = 0; round < 20; ++round) {
      const int root = (round + thread) % size;
      Numbers numbers(3000, rank == root ? salt + round : 0);
      MPI_Bcast(numbers.data(), static_cast<int>(numbers.size()), MPI_INT64_T, root, comms[thread]);
      std::int64_t total = 0;
      MPI_Allreduce(&numbers[numbers.size() - 1], &total, 1, MPI_INT64_T, MPI_SUM, comms[thread]);
      fine[thread] = fine[thread] && total == size * (salt + round) &&
                     std::count(numbers.begin(), numbers.end(), salt + round) == 3000;
    }
  };
  std::thread other(work, 1);
  work(0);
  other.join();
  check(fine[0] && fine[1], "wrong data");
  for (MPI_Comm& comm : comms) MPI_Comm_free(&comm);
}

}  // namespace

int main(int count, char** words) {
  int provided = 0;
  MPI_Init_thread(&count, &words, MPI_THREAD_MULTIPLE, &provided);
  std::mt19937_64 random(std::strtoull(words[1], nullptr, 10));  // the same on every rank
  const int cases = std::atoi(words[2]);
  const auto most = static_cast<std::size_t>(std::atoll(words[3]));
  corrupt = count > 4 && std::strcmp(words[4], "--corrupt") == 0;
  const auto draw = [&](std::size_t below) { return static_cast<std::size_t>(random() % below); };

  int rank = 0, size = 0;
  MPI_Comm_rank(MPI_COMM_WORLD, &rank);
  MPI_Comm_size(MPI_COMM_WORLD, &size);
  MPI_Datatype matrix;
  MPI_Type_contiguous(4, MPI_INT64_T, &matrix);
  MPI_Type_commit(&matrix);
  MPI_Op product, add;
  MPI_Op_create(multiply, 0, &product);
  MPI_Op_create(add_pairs, 1, &add);
  errors_are_the_librarys();
  between_groups(rank, size);
  in_threads(provided, 77);
  for (int number = 0; number < cases; ++number) {
    MPI_Comm comm;
    const std::size_t kind = draw(4);
    if (kind == 0)
      comm = MPI_COMM_WORLD;
    else if (kind == 1)
      MPI_Comm_split(MPI_COMM_WORLD, 0, -rank, &comm);  // backwards
    else if (kind == 2)
      MPI_Comm_split(MPI_COMM_WORLD, rank % 2, rank, &comm);
    else
      MPI_Comm_dup(MPI_COMM_WORLD, &comm);
    int own_rank = 0, own_size = 0;
    MPI_Comm_rank(comm, &own_rank);
    MPI_Comm_size(comm, &own_size);
    const std::size_t lengths[] = {0, 2, 2 * draw(100), 2 * draw(most / 2 + 1)};
    const std::size_t length = lengths[draw(4)];
    const std::size_t root = draw(1000);
    const bool in_place = draw(2);
    const auto salt = static_cast<std::int64_t>(draw(1000));
    // Ranks may describe the same numbers differently.
    const std::size_t forms[] = {(draw(3) + static_cast<std::size_t>(rank) * draw(2)) % 3, draw(3)};
    const Layout mine(static_cast<Form>(forms[0]));
    const Layout common(static_cast<Form>(forms[1]));
    const Case c{comm,   own_rank, own_size, static_cast<int>(root % static_cast<std::size_t>(own_size)),
                 length, in_place, salt,     mine,
                 common};
    current = "case " + std::to_string(number) + " of " + std::to_string(length) + " numbers, " +
              std::to_string(own_size) + " ranks, root " + std::to_string(c.root) + ", communicator " +
              std::to_string(kind) + (in_place ? ", in place" : "");
    broadcast(c);
    reductions(c, add);
    order_kept(c, product, matrix);
    largest_and_where(c);
    gathers(c);
    scatter(c);
    alltoall(c);
    barrier(c);
    own_traffic(c);
    if (kind != 0) MPI_Comm_free(&comm);
  }
  MPI_Op_free(&product);
  MPI_Op_free(&add);
  MPI_Type_free(&matrix);
  int alone = rank;
  MPI_Bcast(&alone, 1, MPI_INT, 0, MPI_COMM_SELF);
  long long totals[2] = {failures, compared};
  MPI_Allreduce(MPI_IN_PLACE, totals, 2, MPI_LONG_LONG, MPI_SUM, MPI_COMM_WORLD);
  if (rank == 0) std::printf("%lld failures, %lld compared\n", totals[0], totals[1]);
  MPI_Finalize();
  return totals[0] ? 1 : 0;
}
