#include "probing/probe.hpp"

#include <poll.h>
#include <unistd.h>

#include <array>
#include <iostream>
#include <set>
#include <sstream>
#include <stdexcept>
#include <thread>

#include "json/json.hpp"
#include "mpi/abort.hpp"
#include "probing/transfer.hpp"
#include "probing/waiting.hpp"

namespace scope {
namespace {

using std::chrono::microseconds;

enum Tag { command_tag = 50, ready_tag, start_tag, answer_tag, echo_tag };

constexpr microseconds shortest_nap{50};
constexpr microseconds longest_nap{5000};  // for an idle rank
constexpr std::chrono::seconds longest_silence{60};
constexpr int silence_ms = 120'000;  // after this silence the peer counts as gone
constexpr std::int64_t largest_chunk = std::int64_t{1} << 28;
constexpr int largest_window = 64;
constexpr int most_transfers = 4096;  // each has two tags, and MPI guarantees tags up to 32767
constexpr double longest_s = 60;
constexpr int most_echoes = 10000;
constexpr microseconds between_echoes{2000};

// Lines of standard input, until the line `end`, the end of input, or a long silence, because not every
// launcher closes rank 0's input when its own ends.
class Input {
 public:
  std::optional<std::string> next() {
    std::size_t end = 0;
    while ((end = text_.find('\n')) == std::string::npos) {
      pollfd input{STDIN_FILENO, POLLIN, 0};
      if (poll(&input, 1, silence_ms) <= 0) return std::nullopt;
      std::array<char, 4096> part{};
      const ssize_t length = ::read(STDIN_FILENO, part.data(), part.size());
      if (length <= 0) return std::nullopt;
      text_.append(part.data(), static_cast<std::size_t>(length));
    }
    const std::string line = text_.substr(0, end);
    text_.erase(0, end + 1);
    if (line == "end") return std::nullopt;
    return line;
  }

 private:
  std::string text_;
};

struct Command {
  double seconds = 0;
  microseconds nap{0};
  std::vector<Transfer> transfers;
  int repetitions = 0;           // number of echoes; 0: as long as the transfers last
  std::optional<Transfer> echo;  // between ranks without a transfer
};

void check(bool allowed, const std::string& what) {
  if (!allowed) throw std::invalid_argument(what);
}

Transfer read_ends(std::istream& words, int ranks) {
  Transfer transfer;
  check(static_cast<bool>(words >> transfer.from >> transfer.to), "FROM and TO must be rank numbers");
  const auto rank = [ranks](int number) { return number >= 0 && number < ranks; };
  check(rank(transfer.from) && rank(transfer.to), "FROM and TO must be below " + std::to_string(ranks));
  check(transfer.from != transfer.to, "FROM and TO must differ");
  return transfer;
}

// If `paced`, each transfer has a rate.
void read_transfers(std::istream& words, int ranks, bool paced, Command& command) {
  std::int64_t nap_us = 0;
  check(static_cast<bool>(words >> command.seconds >> nap_us), "SECONDS and NAP_US must be numbers");
  check(command.seconds > 0 && command.seconds <= longest_s, "SECONDS must be above 0 and at most 60");
  check(nap_us >= 0 && nap_us <= 10000, "NAP_US must be from 0 to 10000");
  command.nap = microseconds(nap_us);
  if (paced) command.echo = read_ends(words, ranks);
  while (words >> std::ws, !words.eof()) {
    Transfer transfer = read_ends(words, ranks);
    check(static_cast<bool>(words >> transfer.chunk_bytes >> transfer.window),
          "CHUNK_BYTES and WINDOW are missing");
    check(transfer.chunk_bytes >= 16 && transfer.chunk_bytes <= largest_chunk,
          "CHUNK_BYTES must be from 16 to 2^28");
    check(transfer.window >= 2 && transfer.window <= largest_window, "WINDOW must be from 2 to 64");
    if (paced) {
      check(static_cast<bool>(words >> transfer.bytes_per_s), "BYTES_PER_S is missing");
      check(transfer.bytes_per_s > 0 && transfer.bytes_per_s < 1e15, "BYTES_PER_S must be above 0");
      for (const int rank : {transfer.from, transfer.to})
        check(rank != command.echo->from && rank != command.echo->to,
              "the ranks of the echo must not take part in a transfer");
    }
    command.transfers.push_back(transfer);
  }
  check(!command.transfers.empty(), "there must be a transfer");
  check(command.transfers.size() <= most_transfers, "there must be at most 4096 transfers");
}

// Throws std::invalid_argument with a message that tells what is allowed.
Command read_command(const std::string& line, int ranks) {
  std::istringstream words(line);
  std::string kind;
  words >> kind;
  Command command;
  if (kind == "transfers" || kind == "loaded") {
    read_transfers(words, ranks, kind == "loaded", command);
    return command;
  }
  check(kind == "latency", kind + ": must be transfers, loaded or latency");
  command.echo = read_ends(words, ranks);
  check(static_cast<bool>(words >> command.repetitions), "REPETITIONS must be a number");
  check(command.repetitions >= 1 && command.repetitions <= most_echoes, "REPETITIONS must be from 1 to 10000");
  return command;
}

// Waits for a message without occupying the processor; returns its length in bytes.
int await(int source, int tag, const std::string& what, std::chrono::seconds limit, MPI_Comm world) {
  Waiting waiting(what, shortest_nap, limit.count() > 0 ? 4 * shortest_nap : longest_nap, limit);
  MPI_Status status;
  for (;;) {
    int there = 0;
    MPI_Iprobe(source, tag, world, &there, &status);
    if (there != 0) break;
    waiting.pause();
  }
  int length = 0;
  MPI_Get_count(&status, MPI_BYTE, &length);
  return length;
}

std::string rank_name(int rank) { return "rank " + std::to_string(rank); }

// Half round trips in seconds, on the initiating rank: a set number with empty messages or, as long as concurrent
// transfers last, with messages of one byte, which tells whether another one follows.
std::vector<double> echo(const Command& command, const Communicator& world) {
  using Clock = std::chrono::steady_clock;
  const auto since = [](Clock::time_point begin) {
    return std::chrono::duration<double>(Clock::now() - begin).count();
  };
  const Transfer& pair = *command.echo;
  const bool first = world.rank() == pair.from;
  const int peer = first ? pair.to : pair.from;
  const bool counted = command.repetitions > 0;
  const int bytes = counted ? 0 : 1;
  const int most = counted ? command.repetitions : most_echoes;
  std::vector<double> halves;
  const auto start = Clock::now();
  char more = 1;
  for (int number = 1; number <= most && more != 0; ++number) {
    if (!counted && first && since(start) > command.seconds) more = 0;
    const auto begin = Clock::now();
    if (first) MPI_Send(&more, bytes, MPI_CHAR, peer, echo_tag, world.handle());
    MPI_Recv(&more, bytes, MPI_CHAR, peer, echo_tag, world.handle(), MPI_STATUS_IGNORE);
    if (!first) MPI_Send(&more, bytes, MPI_CHAR, peer, echo_tag, world.handle());
    halves.push_back(since(begin) / 2);
    // During a load, echoes only sample and must not add to the load.
    if (!counted && first) std::this_thread::sleep_for(between_echoes);
  }
  return first ? halves : std::vector<double>{};
}

// The results of a command on this rank, numbers that rank 0 reads in the same order.
std::vector<double> carry_out_here(const Command& command, const Communicator& world, const Faults& faults,
                                   const std::function<void()>& start_together) {
  if (command.echo && (world.rank() == command.echo->from || world.rank() == command.echo->to)) {
    start_together();
    return echo(command, world);
  }
  faults.hang_if_asked("probe", world);
  std::vector<double> numbers;
  const auto deliveries =
      carry_out(command.transfers, command.seconds, command.nap, world, faults, start_together);
  for (const Delivery& delivery : deliveries)
    numbers.insert(numbers.end(),
                   {delivery.bytes, delivery.seconds, delivery.starved, static_cast<double>(delivery.correct)});
  return numbers;
}

// Ranks above 0: carry out rank 0's commands until an empty one arrives.
void follow(const Communicator& world, const Faults& faults) {
  for (;;) {
    std::string line(await(0, command_tag, "a command", std::chrono::seconds(0), world.handle()), '\0');
    MPI_Recv(line.data(), static_cast<int>(line.size()), MPI_BYTE, 0, command_tag, world.handle(),
             MPI_STATUS_IGNORE);
    if (line.empty()) return;
    const auto start_together = [&] {
      MPI_Send(nullptr, 0, MPI_BYTE, 0, ready_tag, world.handle());
      await(0, start_tag, "the start", longest_silence, world.handle());
      MPI_Recv(nullptr, 0, MPI_BYTE, 0, start_tag, world.handle(), MPI_STATUS_IGNORE);
    };
    const auto numbers = carry_out_here(read_command(line, world.size()), world, faults, start_together);
    MPI_Send(numbers.data(), static_cast<int>(numbers.size() * sizeof(double)), MPI_BYTE, 0, answer_tag,
             world.handle());
  }
}

// Rank 0: distributes a command; returns the results of each participating rank, in rank order.
std::vector<std::vector<double>> lead(const std::string& line, const Command& command, const Communicator& world,
                                      const Faults& faults) {
  std::set<int> others;
  for (const Transfer& transfer : command.transfers) others.insert({transfer.from, transfer.to});
  if (command.echo) others.insert({command.echo->from, command.echo->to});
  const bool here = others.erase(0) > 0;
  for (const int rank : others)
    MPI_Send(line.data(), static_cast<int>(line.size()), MPI_BYTE, rank, command_tag, world.handle());
  const auto start_together = [&] {
    for (const int rank : others) {
      await(rank, ready_tag, rank_name(rank) + "'s readiness", longest_silence, world.handle());
      MPI_Recv(nullptr, 0, MPI_BYTE, rank, ready_tag, world.handle(), MPI_STATUS_IGNORE);
    }
    for (const int rank : others) MPI_Send(nullptr, 0, MPI_BYTE, rank, start_tag, world.handle());
  };
  std::vector<std::vector<double>> answers(world.size());
  if (here)
    answers[0] = carry_out_here(command, world, faults, start_together);
  else
    start_together();
  for (const int rank : others) {
    const int length =
        await(rank, answer_tag, rank_name(rank) + "'s answer",
              longest_silence + std::chrono::seconds(static_cast<int>(command.seconds)), world.handle());
    answers[rank].resize(length / sizeof(double));
    MPI_Recv(answers[rank].data(), length, MPI_BYTE, rank, answer_tag, world.handle(), MPI_STATUS_IGNORE);
  }
  return answers;
}

void write_transfers(Json& json, const Command& command, const std::vector<std::vector<double>>& answers) {
  std::vector<std::size_t> read(answers.size());
  json.array("transfers");
  for (const Transfer& transfer : command.transfers) {
    const double* numbers = &answers[transfer.to][4 * read[transfer.to]++];
    json.object();
    json.member("bytes", numbers[0]);
    json.member("seconds", numbers[1]);
    json.member("starved", numbers[2]);
    json.member("correct", numbers[3] != 0);
    json.end();
  }
  json.end();
}

void answer(const std::string& line, const Communicator& world, const Faults& faults) {
  Json json;
  json.object();
  json.member("record", "probe");
  try {
    const Command command = read_command(line, world.size());
    const auto answers = lead(line, command, world, faults);
    if (command.echo) json.member("half_round_trips_s", answers[command.echo->from]);
    if (!command.transfers.empty()) write_transfers(json, command, answers);
  } catch (const std::invalid_argument& error) {
    json.member("error", error.what());
  }
  json.end();
  std::cout << json.text() << std::endl;
}

void introduce(const std::vector<std::string>& hosts) {
  Json json;
  json.object();
  json.member("record", "probe");
  json.member("hosts", hosts);
  json.end();
  std::cout << json.text() << std::endl;
}

}  // namespace

int answer_questions(const Communicator& world, const Faults& faults) {
  try {
    const auto hosts = world.all_gather(faults.host(world.rank()));
    if (!world.root()) {
      follow(world, faults);
      return 0;
    }
    introduce(hosts);
    Input input;
    while (const auto line = input.next()) answer(*line, world, faults);
    for (int rank = 1; rank < world.size(); ++rank)
      MPI_Send(nullptr, 0, MPI_BYTE, rank, command_tag, world.handle());
    return 0;
  } catch (const Overdue& overdue) {
    abort_all(world.handle(), 1, sentence({"rank ", world.rank(), " on ", host_name(), ": ", overdue.what}));
  }
}

}  // namespace scope
