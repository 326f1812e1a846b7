#include "estimator.hpp"

#include <algorithm>
#include <limits>
#include <queue>
#include <unordered_map>
#include <utility>

namespace scope {

namespace {

// Eager limit: larger messages wait for the receiver (rendezvous), then leave in one piece. Open MPI over TCP: 64
// KiB with the longest header (80 B in 5.0, 56 B in 4.1), so a message of 64 KiB waits; pieces of 2 GiB
// (btl_tcp_eager_limit, btl_tcp_rdma_pipeline_frag_size). Also used for other libraries, which were not examined.
constexpr std::int64_t eager_bytes = 65536 - 80;
// This fraction of an empty message's latency is CPU time of the sender, and again of the receiver, up to a limit.
constexpr double overhead_share = 0.4;
constexpr double overhead_most_s = 2e-5;
constexpr double combine_bytes_per_s = 4e9;
constexpr double copy_bytes_per_s = 8e9;
constexpr double infinity = std::numeric_limits<double>::infinity();

double overhead_s(const Route& route) { return std::min(overhead_share * route.latency_s, overhead_most_s); }
double flight_s(const Route& route) { return route.latency_s - 2 * overhead_s(route); }

struct Message {
  int from = 0;
  int to = 0;
  std::int64_t bytes = -1;     // bytes sent; -1: not posted yet
  std::int64_t expected = -1;  // bytes of the posted receive
  double asked = infinity;     // when the receiver learns of the message
  double posted = infinity;    // when the receive was posted
  double left = infinity;      // when the last byte has left the sender
  double arrived = infinity;
  double remaining = 0;           // bytes left of the part that is leaving
  std::int64_t given = 0;         // bytes up to the end of that part
  std::vector<int> answers = {};  // clearances that leave the sender after that part
  bool sender_waits = false;
  bool receiver_waits = false;
};

// One direction between two ranks: messages leave one after another, as on a TCP connection.
struct Connection {
  std::vector<int> messages;  // in order of sending and of receiving, by which they match
  std::size_t sent = 0;
  std::size_t received = 0;
  std::vector<int> queue;  // messages ready to leave
  std::size_t head = 0;
};

struct Posted {
  int message;
  bool incoming;
  bool done;
};

struct RankState {
  Program program;
  std::size_t next = 0;
  double now = 0;
  std::vector<Posted> posted;
  std::size_t waited = 0;  // all steps before it are complete
  bool finished = false;
};

enum class EventKind { resume, request, answer, ready, arrive };

struct Event {
  double at;
  std::uint64_t order;  // breaks ties in order of creation
  EventKind kind;
  int which;
  bool operator>(const Event& other) const { return at != other.at ? at > other.at : order > other.order; }
};

class Simulation {
 public:
  Simulation(const Problem& problem, const Schedule& schedule)
      : network_(*problem.network), unit_bytes_(problem.unit_bytes), ranks_(problem.ranks()) {
    result_.carried.assign(network_.resources().size(), 0);
    stamp_.assign(network_.resources().size(), 0);
    residual_.resize(network_.resources().size());
    users_.resize(network_.resources().size());
    for (int rank = 0; rank < problem.ranks(); ++rank) {
      ranks_[rank].program = schedule.program(rank);
      push(0, EventKind::resume, rank);
    }
  }

  Estimate run() {
    while (true) {
      const double flow_end = next_flow_end();
      const double event_at = events_.empty() ? infinity : events_.top().at;
      const double until = std::min(flow_end, event_at);
      if (until == infinity) break;
      advance(until);
      const double together = until * (1 + 1e-12) + 1e-15;
      end_flows(together);
      while (!events_.empty() && events_.top().at <= together) {
        const Event event = events_.top();
        events_.pop();
        handle(event);
      }
    }
    for (std::size_t rank = 0; rank < ranks_.size(); ++rank) {
      if (!ranks_[rank].finished)
        throw std::logic_error("rank " + std::to_string(rank) + " never ends: its step " +
                               std::to_string(ranks_[rank].next) + " waits for ever");
      result_.seconds = std::max(result_.seconds, ranks_[rank].now);
    }
    for (const Message& message : messages_)
      if (message.bytes != message.expected)
        throw std::logic_error("a message from rank " + std::to_string(message.from) + " to " +
                               std::to_string(message.to) + " is sent with " + std::to_string(message.bytes) +
                               " bytes and received with " + std::to_string(message.expected));
    return std::move(result_);
  }

 private:
  void push(double at, EventKind kind, int which) { events_.push({at, made_++, kind, which}); }

  Connection& connection(int from, int to) {
    return connections_[static_cast<std::int64_t>(from) * static_cast<std::int64_t>(ranks_.size()) + to];
  }

  // The message at this position on the connection, created by whichever side comes first.
  int message_at(Connection& pair, std::size_t place, int from, int to) {
    if (place == pair.messages.size()) {
      pair.messages.push_back(static_cast<int>(messages_.size()));
      messages_.push_back({.from = from, .to = to});
    }
    return pair.messages[place];
  }

  int post_send(int rank, const Step& step) {
    Connection& pair = connection(rank, step.peer);
    const int id = message_at(pair, pair.sent++, rank, step.peer);
    RankState& state = ranks_[rank];
    const Route& route = network_.route(rank, step.peer);
    state.now += overhead_s(route);
    Message& message = messages_[id];
    message.bytes = step.count * unit_bytes_;
    push(state.now, EventKind::ready, id);
    return id;
  }

  int post_receive(int rank, const Step& step) {
    Connection& pair = connection(step.peer, rank);
    const int id = message_at(pair, pair.received++, step.peer, rank);
    messages_[id].posted = ranks_[rank].now;
    messages_[id].expected = step.count * unit_bytes_;
    clear_to_send(id);
    return id;
  }

  // The rest of a long message leaves when its first part (the request) has arrived, the receive is posted, and
  // the clearance has come.
  void clear_to_send(int id) {
    const Message& message = messages_[id];
    if (message.posted < infinity && message.asked < infinity)
      push(std::max(message.asked, message.posted), EventKind::answer, id);
  }

  // The clearance uses the connection in the opposite direction, after all data that were given to it earlier.
  void answer(int id, double at) {
    const Connection& back = connection(messages_[id].to, messages_[id].from);
    if (back.head < back.queue.size())
      messages_[back.queue.back()].answers.push_back(id);
    else
      cleared(id, at);
  }

  void cleared(int id, double at) {
    push(at + network_.route(messages_[id].to, messages_[id].from).latency_s, EventKind::ready, id);
  }

  void handle(const Event& event) {
    if (event.kind == EventKind::resume) {
      ranks_[event.which].now = std::max(ranks_[event.which].now, event.at);
      go_on(event.which);
      return;
    }
    Message& message = messages_[event.which];
    switch (event.kind) {
      case EventKind::resume: break;
      case EventKind::answer: answer(event.which, event.at); break;
      case EventKind::request:
        message.asked = event.at;
        clear_to_send(event.which);
        break;
      case EventKind::ready: {
        Connection& pair = connection(message.from, message.to);
        pair.queue.push_back(event.which);
        if (pair.head + 1 == pair.queue.size()) start_flow(event.which, event.at);
        break;
      }
      case EventKind::arrive:
        message.arrived = event.at;
        if (message.receiver_waits) wake(message.to, event.at);
        break;
    }
  }

  void wake(int rank, double at) { push(std::max(at, ranks_[rank].now), EventKind::resume, rank); }

  // Blocks the rank until the message has left or arrived; false if a wait is not needed.
  bool blocks(int rank, int id, bool incoming) {
    Message& message = messages_[id];
    const double done = incoming ? message.arrived : message.left;
    RankState& state = ranks_[rank];
    if (done < infinity) {
      state.now = std::max(state.now, done);
      if (incoming) state.now += overhead_s(network_.route(message.from, message.to));
      return false;
    }
    (incoming ? message.receiver_waits : message.sender_waits) = true;
    return true;
  }

  void go_on(int rank) {
    RankState& state = ranks_[rank];
    const std::vector<Step>& steps = state.program.steps();
    for (; state.next < steps.size(); ++state.next) {
      const Step& step = steps[state.next];
      switch (step.action) {
        case Action::send:
        case Action::receive: {
          const bool incoming = step.action == Action::receive;
          if (current_[rank] < 0) current_[rank] = incoming ? post_receive(rank, step) : post_send(rank, step);
          if (blocks(rank, current_[rank], incoming)) return;
          current_[rank] = -1;
          break;
        }
        case Action::start_send: state.posted.push_back({post_send(rank, step), false, false}); break;
        case Action::start_receive: state.posted.push_back({post_receive(rank, step), true, false}); break;
        case Action::wait: {
          Posted& posted = state.posted[step.to];
          if (!posted.done && blocks(rank, posted.message, posted.incoming)) return;
          posted.done = true;
          break;
        }
        case Action::wait_all:
          for (; state.waited < state.posted.size(); ++state.waited) {
            Posted& posted = state.posted[state.waited];
            if (!posted.done && blocks(rank, posted.message, posted.incoming)) return;
            posted.done = true;
          }
          break;
        case Action::copy: state.now += step.count * unit_bytes_ / copy_bytes_per_s; break;
        case Action::combine: state.now += step.count * unit_bytes_ / combine_bytes_per_s; break;
      }
    }
    state.finished = true;
  }

  void start_flow(int id, double at) {
    Message& message = messages_[id];
    const std::int64_t rest = message.bytes - message.given;
    const bool request = message.given == 0 && rest > eager_bytes;
    const std::int64_t part = request ? eager_bytes : rest;
    message.given += part;
    message.remaining = static_cast<double>(part);
    if (part == 0) {
      end_flow(id, at);
      return;
    }
    for (const int resource : network_.route(message.from, message.to).resources)
      result_.carried[resource] += part;
    flows_.push_back({id, 0});
    stale_ = true;
  }

  void end_flow(int id, double at) {
    Message& message = messages_[id];
    Connection& pair = connection(message.from, message.to);
    const double flight = flight_s(network_.route(message.from, message.to));
    if (message.given == message.bytes) {
      message.left = at;
      push(at + flight, EventKind::arrive, id);
      if (message.sender_waits) wake(message.from, at);
    } else {
      push(at + flight, EventKind::request, id);
    }
    for (const int waiting : std::exchange(message.answers, {})) cleared(waiting, at);
    if (++pair.head < pair.queue.size()) start_flow(pair.queue[pair.head], at);
  }

  void advance(double until) {
    for (Flow& flow : flows_) messages_[flow.message].remaining -= flow.rate * (until - clock_);
    clock_ = until;
  }

  void end_flows(double together) {
    std::vector<int> ended;
    std::erase_if(flows_, [&](const Flow& flow) {
      const bool over = clock_ + messages_[flow.message].remaining / flow.rate <= together;
      if (over) ended.push_back(flow.message);
      return over;
    });
    if (!ended.empty()) stale_ = true;
    for (const int id : ended) end_flow(id, clock_);
  }

  double next_flow_end() {
    if (stale_) share();
    double first = infinity;
    for (const Flow& flow : flows_)
      first = std::min(first, clock_ + messages_[flow.message].remaining / flow.rate);
    return flows_.empty() ? infinity : std::max(first, clock_);
  }

  // Max-min fair: the most contended resource is divided equally, then the next, among the remaining transfers.
  void share() {
    stale_ = false;
    ++round_;
    touched_.clear();
    open_.clear();
    for (std::size_t i = 0; i < flows_.size(); ++i) {
      open_.push_back(static_cast<int>(i));
      for (const int resource : route_of(flows_[i]).resources) {
        if (stamp_[resource] != round_) {
          stamp_[resource] = round_;
          residual_[resource] = network_.resources()[resource].bytes_per_s;
          users_[resource] = 0;
          touched_.push_back(resource);
        }
        ++users_[resource];
      }
    }
    while (!open_.empty()) {
      double least = infinity;
      for (const int resource : touched_)
        if (users_[resource] > 0) least = std::min(least, residual_[resource] / users_[resource]);
      for (const int flow : open_) least = std::min(least, route_of(flows_[flow]).limit_bytes_per_s);
      const double fixed = least * (1 + 1e-9);
      std::erase_if(open_, [&](int index) {
        const Route& route = route_of(flows_[index]);
        bool bound = route.limit_bytes_per_s <= fixed;
        for (const int resource : route.resources)
          bound = bound || residual_[resource] / users_[resource] <= fixed;
        if (bound) {
          flows_[index].rate = least;
          chosen_.push_back(index);
        }
        return bound;
      });
      for (const int index : chosen_)
        for (const int resource : route_of(flows_[index]).resources) {
          residual_[resource] = std::max(0.0, residual_[resource] - least);
          --users_[resource];
        }
      chosen_.clear();
    }
  }

  struct Flow {
    int message;
    double rate;
  };

  const Route& route_of(const Flow& flow) const {
    return network_.route(messages_[flow.message].from, messages_[flow.message].to);
  }

  const Network& network_;
  std::int64_t unit_bytes_;
  std::vector<RankState> ranks_;
  std::vector<int> current_ = std::vector<int>(ranks_.size(), -1);  // message of the current blocking step
  std::vector<Message> messages_;
  std::unordered_map<std::int64_t, Connection> connections_;
  std::priority_queue<Event, std::vector<Event>, std::greater<>> events_;
  std::uint64_t made_ = 0;
  double clock_ = 0;
  std::vector<Flow> flows_;
  bool stale_ = false;
  std::uint64_t round_ = 0;
  std::vector<std::uint64_t> stamp_;
  std::vector<double> residual_;
  std::vector<int> users_;
  std::vector<int> touched_;
  std::vector<int> open_;
  std::vector<int> chosen_;
  Estimate result_;
};

}  // namespace

Estimate simulate(const Problem& problem, const Schedule& schedule) { return Simulation(problem, schedule).run(); }

double estimate(const Problem& problem, const Algorithm& algorithm) {
  const std::int64_t pieces =
      algorithm.segmented ? (problem.units + problem.segment_units - 1) / problem.segment_units : 1;
  // Enough segments to fill the pipeline (as many as ranks in a chain) and to measure the steady state.
  const std::int64_t enough = problem.ranks() + 24;
  if (pieces <= enough + 8) return simulate(problem, algorithm.make(problem)).seconds;
  Problem shorter = problem;
  const auto seconds = [&](std::int64_t count) {
    shorter.units = count * problem.segment_units;
    return simulate(shorter, algorithm.make(shorter)).seconds;
  };
  const double some = seconds(enough - 12);
  const double more = seconds(enough);
  const double beyond = static_cast<double>(problem.units) / static_cast<double>(problem.segment_units) -
                        static_cast<double>(enough);
  return more + beyond * (more - some) / 12;
}

namespace {

struct Crossing {
  double in = 0;
  double out = 0;
};

// The bytes that must enter and leave a set of ranks.
Crossing crossing(const Problem& problem, const std::vector<int>& inside) {
  const double message = static_cast<double>(problem.units) * static_cast<double>(problem.unit_bytes);
  const auto here = static_cast<double>(inside.size());
  const double away = problem.ranks() - here;
  if (here == 0 || away == 0) return {};
  const bool root = std::find(inside.begin(), inside.end(), problem.root) != inside.end();
  switch (problem.operation) {
    case Operation::broadcast: return root ? Crossing{0, message} : Crossing{message, 0};
    case Operation::reduce: return root ? Crossing{message, 0} : Crossing{0, message};
    case Operation::allreduce: return {message, message};
    case Operation::barrier: return {};
    case Operation::gather: return root ? Crossing{away * message, 0} : Crossing{0, here * message};
    case Operation::scatter: return root ? Crossing{0, away * message} : Crossing{here * message, 0};
    case Operation::allgather: return {away * message, here * message};
    case Operation::alltoall: return {here * away * message, here * away * message};
  }
  return {};
}

}  // namespace

double physical_limit(const Problem& problem) {
  const Network& network = *problem.network;
  double longest = 0;
  const auto occupy = [&](int resource, double bytes) {
    if (resource >= 0) longest = std::max(longest, bytes / network.resources()[resource].bytes_per_s);
  };
  for (const Cut& cut : network.cuts()) {
    const Crossing through = crossing(problem, cut.inside);
    if (cut.in >= 0 && cut.in == cut.out) {
      occupy(cut.in, through.in + through.out);
    } else {
      occupy(cut.in, through.in);
      occupy(cut.out, through.out);
    }
    double within = through.out;  // outgoing data also pass the medium
    for (const std::vector<int>& part : cut.parts) within += crossing(problem, part).in;
    occupy(cut.medium, within);
  }
  // A single transfer cannot be faster than its path: some pair must carry the data for a remote part.
  double farthest = 0;
  for (int rank = 0; rank < problem.ranks(); ++rank)
    farthest = std::max(farthest, rank == problem.root ? 0 : network.route(problem.root, rank).latency_s);
  return std::max(longest, farthest);
}

}  // namespace scope
