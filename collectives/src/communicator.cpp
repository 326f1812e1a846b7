#include "communicator.hpp"

#include <algorithm>
#include <cstdio>
#include <exception>
#include <fstream>
#include <mutex>
#include <sstream>

#include "json/json.hpp"

namespace scope {

bool collectives_active = false;

namespace {

struct State {
  Settings settings;
  Topology topology;
  std::vector<std::string> hosts;  // host of every rank in MPI_COMM_WORLD
  int keyval = MPI_KEYVAL_INVALID;
  bool ending = false;
  std::mutex creation;  // several threads may create attributes of different communicators
};

State& state() {
  // Never destroyed: communicators may be freed after everything else.
  static State* const only = new State;
  return *only;
}

// The attribute value of communicators whose calls are passed through.
char pass_through;

int forget(MPI_Comm, int, void* value, void*) {
  if (value != &pass_through) delete static_cast<Communicator*>(value);
  return MPI_SUCCESS;
}

// Shares rank 0's result with every rank: empty text and false if rank 0 failed.
bool share_text(std::string& text, bool fine) {
  long long length = fine ? static_cast<long long>(text.size()) : -1;
  PMPI_Bcast(&length, 1, MPI_LONG_LONG, 0, MPI_COMM_WORLD);
  if (length < 0) return false;
  text.resize(static_cast<std::size_t>(length));
  PMPI_Bcast(text.data(), static_cast<int>(length), MPI_CHAR, 0, MPI_COMM_WORLD);
  return true;
}

std::vector<std::string> processor_names(int ranks) {
  char name[MPI_MAX_PROCESSOR_NAME + 1] = {};
  int length = 0;
  PMPI_Get_processor_name(name, &length);
  std::vector<char> all(static_cast<std::size_t>(ranks) * sizeof name);
  PMPI_Allgather(name, sizeof name, MPI_CHAR, all.data(), sizeof name, MPI_CHAR, MPI_COMM_WORLD);
  std::vector<std::string> names;
  for (int rank = 0; rank < ranks; ++rank) names.emplace_back(all.data() + rank * sizeof name);
  return names;
}

// Whether there is something to do even if all ranks are on one host: imitate another library's choice.
bool acts_inside_hosts(const Settings& settings) {
  return std::any_of(settings.forced.begin(), settings.forced.end(),
                     [](const auto& choice) { return library_named(choice.second).has_value(); });
}

// Reads the file on rank 0; every rank parses the same text and so reaches the same result. Rank 0's settings of
// algorithms apply.
bool prepare(State& state, bool root, int ranks) {
  std::string text;
  bool fine = true;
  try {
    state.settings = read_settings();
  } catch (const std::exception& error) {
    if (root) complain(error.what());
    fine = false;  // rank 0 decides, because the environment may differ between hosts
  }
  if (root && fine) {
    std::ifstream file(state.settings.topology);
    std::ostringstream content;
    content << file.rdbuf();
    text = content.str();
    if (!file) {
      complain(state.settings.topology + ": cannot be read");
      fine = false;
    }
  }
  int everywhere = fine;
  PMPI_Allreduce(MPI_IN_PLACE, &everywhere, 1, MPI_INT, MPI_LAND, MPI_COMM_WORLD);
  if (!share_text(text, everywhere) || !share_text(state.settings.choices, everywhere)) return false;
  try {
    state.settings.forced = forced_by(state.settings.choices);
    state.topology = parse_topology(text, state.settings.topology);
    state.hosts = state.settings.hosts.empty() ? processor_names(ranks) : state.settings.hosts;
    if (static_cast<int>(state.hosts.size()) != ranks)
      throw TopologyError("SCOPE_TOPOLOGY_HOSTS names " + std::to_string(state.hosts.size()) +
                          " hosts: " + std::to_string(ranks) + " are needed, one per rank");
    try {
      return !Network(state.topology, state.hosts).one_host() || acts_inside_hosts(state.settings);
    } catch (const TopologyError& error) {
      throw TopologyError(state.settings.topology + ": " + error.what());
    }
  } catch (const std::exception& error) {
    if (root) complain(error.what());
    return false;
  }
}

// Classes of similar message sizes that share a decision.
int size_class(std::int64_t bytes) {
  int power = 0;
  while ((bytes >> power) > 1) ++power;
  const bool upper_half = power > 0 && ((bytes >> (power - 1)) & 1);
  return bytes == 0 ? -1 : 2 * power + upper_half;
}

}  // namespace

void begin_collectives() {
  const char* topology = std::getenv("SCOPE_TOPOLOGY");
  int wanted = topology != nullptr && *topology != '\0';
  int rank = 0, ranks = 0;
  PMPI_Comm_rank(MPI_COMM_WORLD, &rank);
  PMPI_Comm_size(MPI_COMM_WORLD, &ranks);
  if (ranks < 2) return;
  PMPI_Bcast(&wanted, 1, MPI_INT, 0, MPI_COMM_WORLD);
  if (!wanted || !prepare(state(), rank == 0, ranks)) return;
  PMPI_Comm_create_keyval(MPI_COMM_NULL_COPY_FN, forget, &state().keyval, nullptr);
  collectives_active = true;
}

void end_collectives() {
  if (!collectives_active) return;
  collectives_active = false;
  // While MPI is up, because the duplicate of the world could not be freed later.
  void* value = nullptr;
  int known = 0;
  PMPI_Comm_get_attr(MPI_COMM_WORLD, state().keyval, &value, &known);
  if (known) PMPI_Comm_delete_attr(MPI_COMM_WORLD, state().keyval);
  state().ending = true;
}

Communicator* Communicator::of(MPI_Comm comm) {
  if (comm == MPI_COMM_NULL) return nullptr;
  void* value = nullptr;
  int known = 0;
  if (PMPI_Comm_get_attr(comm, state().keyval, &value, &known) != MPI_SUCCESS) return nullptr;
  if (known) return value == &pass_through ? nullptr : static_cast<Communicator*>(value);

  int between = 0, ranks = 0;
  PMPI_Comm_test_inter(comm, &between);
  PMPI_Comm_size(comm, &ranks);
  std::unique_ptr<Network> network;
  if (!between && ranks > 1) {
    std::vector<int> here(static_cast<std::size_t>(ranks)), there(here);
    for (int rank = 0; rank < ranks; ++rank) here[rank] = rank;
    MPI_Group group, world;
    PMPI_Comm_group(comm, &group);
    PMPI_Comm_group(MPI_COMM_WORLD, &world);
    PMPI_Group_translate_ranks(group, ranks, here.data(), world, there.data());
    PMPI_Group_free(&group);
    PMPI_Group_free(&world);
    if (std::find(there.begin(), there.end(), MPI_UNDEFINED) == there.end()) {
      std::vector<std::string> hosts;
      for (const int rank : there) hosts.push_back(state().hosts[static_cast<std::size_t>(rank)]);
      network = std::make_unique<Network>(state().topology, hosts);
      if (network->one_host() && !acts_inside_hosts(state().settings)) network.reset();
    }
  }
  Communicator* const made = network ? new Communicator(comm, std::move(network)) : nullptr;
  const std::lock_guard lock(state().creation);
  PMPI_Comm_set_attr(comm, state().keyval, made ? static_cast<void*>(made) : &pass_through);
  return made;
}

Communicator::Communicator(MPI_Comm comm, std::unique_ptr<Network> network) : network_(std::move(network)) {
  PMPI_Comm_dup(comm, &own_);
  PMPI_Comm_set_errhandler(own_, MPI_ERRORS_RETURN);
  PMPI_Comm_rank(comm, &rank_);
  PMPI_Comm_size(comm, &size_);
}

Communicator::~Communicator() {
  if (!state().ending) PMPI_Comm_free(&own_);
}

int Communicator::fail(MPI_Comm comm, int code) const {
  PMPI_Comm_call_errhandler(comm, code);
  return code;
}

Candidate Communicator::choose(const Problem& problem) const {
  const Settings& settings = state().settings;
  try {
    const auto forced = settings.forced.find(problem.operation);
    std::vector<Candidate> all;
    Candidate taken;
    if (forced == settings.forced.end()) {
      all = candidates(problem, this_library(), settings.segment_bytes);
      taken = chosen(all);
    } else if (const Algorithm* asked = find_algorithm(problem.operation, forced->second);
               asked && possible(problem, *asked)) {
      taken = best_of(problem, *asked, settings.segment_bytes);
      all = {taken};
    }
    if (!settings.log.empty()) log(problem, taken, all);
    return taken;
  } catch (const std::exception& error) {
    complain(std::string(name_of(problem.operation)) + ": " + error.what());
    return {};
  }
}

void Communicator::log(const Problem& problem, const Candidate& taken, const std::vector<Candidate>& all) const {
  const auto forced = state().settings.forced.find(problem.operation);
  const bool another = forced != state().settings.forced.end() && library_named(forced->second);
  const auto name = [&](const Candidate& candidate) -> std::string {
    if (candidate.algorithm) return candidate.algorithm->name;
    return another ? forced->second : "library";
  };
  const bool segmented = taken.algorithm && taken.algorithm->segmented;
  Json line;
  line.object();
  line.member("operation", name_of(problem.operation));
  line.member("bytes", problem.units * problem.unit_bytes);
  line.member("ranks", size_);
  line.member("root", problem.root);
  line.member("algorithm", name(taken));
  line.member("shape", taken.algorithm && taken.algorithm->shapes.size() > 1 ? name_of(taken.shape) : "");
  line.member("segment", segmented ? taken.segment_units * problem.unit_bytes : 0);
  line.object("estimated_s");
  for (const Candidate& candidate : all) line.member(name(candidate), candidate.seconds);
  line.end();
  line.end();
  if (std::FILE* file = std::fopen(state().settings.log.c_str(), "a")) {
    std::fputs((line.text() + "\n").c_str(),
               file);  // one write, so that lines of different communicators are not interleaved
    std::fclose(file);
  }
}

void Communicator::make(Decision& decision, const Problem& problem) const {
  const auto& all_forced = state().settings.forced;
  const auto forced = all_forced.find(problem.operation);
  const std::string name = forced == all_forced.end() ? "" : forced->second;
  const Candidate taken = rank_ == 0 ? choose(problem) : Candidate{};
  decision.library = library_named(name);
  if (decision.library || name == "library") return;  // known to every rank
  // Rank 0 decides, because estimates may differ in the last bit between processors.
  long long said[3] = {-1, 0, 0};
  if (taken.algorithm) said[0] = taken.algorithm - algorithms().data();
  said[1] = static_cast<long long>(taken.shape);
  said[2] = taken.segment_units * problem.unit_bytes;
  PMPI_Bcast(said, 3, MPI_LONG_LONG, 0, own_);
  if (said[0] >= 0) decision.algorithm = &algorithms()[static_cast<std::size_t>(said[0])];
  decision.shape = static_cast<Shape>(said[1]);
  decision.segment_bytes = said[2];
}

Decision* Communicator::decide(Operation operation, int root, std::int64_t units, std::int64_t unit_bytes) {
  Problem problem{operation, network_.get(), root, units, unit_bytes};
  const auto [found, fresh] = decisions_.try_emplace({operation, root, size_class(units * unit_bytes)});
  Decision& decision = found->second;
  if (fresh) make(decision, problem);
  if (!decision.algorithm && !decision.library) return nullptr;
  if (decision.units != units || decision.unit_bytes != unit_bytes) {
    problem.shape = decision.shape;
    problem.segment_units =
        std::max<std::int64_t>(1, decision.segment_bytes / std::max<std::int64_t>(1, unit_bytes));
    const Schedule schedule =
        decision.library ? library_schedule(problem, *decision.library) : decision.algorithm->make(problem);
    decision.program = schedule.program(rank_);
    decision.order = schedule.order;
    decision.units = units;
    decision.unit_bytes = unit_bytes;
  }
  return &decision;
}

}  // namespace scope
