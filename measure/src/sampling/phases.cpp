#include "sampling/phases.hpp"

#include <algorithm>
#include <iterator>

namespace scope {
namespace {

constexpr int offers_tag = 10;
constexpr int asking_tag = 11;

// How many ranks want this rank's times. Does not use an all-to-all, as there may be thousands of ranks.
int count_asking(const std::vector<int>& wanted, const Communicator& communicator) {
  std::vector<int> asked(communicator.size());
  for (const int rank : wanted) asked[rank] = 1;
  int asking = 0;
  MPI_Reduce_scatter_block(asked.data(), &asking, 1, MPI_INT, MPI_SUM, communicator.handle());
  return asking;
}

// For each rank in `wanted`, the times at which it offered its message in each meeting. Every rank answers its
// partners. Ranks ask again only after all have their answers, as `observe` begins with a reduction over all.
std::map<int, std::vector<double>> offers_of(const std::vector<int>& wanted, const std::vector<double>& mine,
                                             const Communicator& communicator) {
  const int asking = count_asking(wanted, communicator);
  const int count = static_cast<int>(mine.size());
  std::map<int, std::vector<double>> offers;
  std::vector<MPI_Request> requests;
  for (const int rank : wanted) {
    auto& theirs = offers[rank];
    theirs.resize(mine.size());
    MPI_Irecv(theirs.data(), count, MPI_DOUBLE, rank, offers_tag, communicator.handle(), &requests.emplace_back());
    MPI_Isend(nullptr, 0, MPI_BYTE, rank, asking_tag, communicator.handle(), &requests.emplace_back());
  }
  std::vector<MPI_Request> questions(asking);
  for (auto& question : questions)
    MPI_Irecv(nullptr, 0, MPI_BYTE, MPI_ANY_SOURCE, asking_tag, communicator.handle(), &question);
  std::vector<MPI_Status> asked(asking);
  MPI_Waitall(asking, questions.data(), asked.data());
  for (const auto& question : asked) {
    MPI_Isend(mine.data(), count, MPI_DOUBLE, question.MPI_SOURCE, offers_tag, communicator.handle(),
              &requests.emplace_back());
  }
  MPI_Waitall(static_cast<int>(requests.size()), requests.data(), MPI_STATUSES_IGNORE);
  return offers;
}

}  // namespace

Phases::Phases(const Repetition& repetition, std::size_t meetings)
    : ticks_(repetition.ticks()), clock_(repetition.clock()) {
  meetings_.reserve(meetings);
  since_ = ticks_.now();
}

// SCOPE_WITHOUT_PHASES omits the marks, to measure their cost (benchmarks/npb_phase_cost.py): everything except
// the time is then 0.
#ifdef SCOPE_WITHOUT_PHASES
void Phases::enter(Phase) {}
void Phases::meet(Phase, const Partners&) {}
#else
void Phases::enter(Phase phase) {
  const Ticks now = ticks_.now();
  spent_[static_cast<int>(phase_)] += ticks_.seconds(now - since_);
  if (meeting_) meetings_.back().left = now;
  meeting_ = false;
  since_ = now;
  phase_ = phase;
}

void Phases::meet(Phase phase, const Partners& partners) {
  enter(phase);
  meetings_.push_back({phase, offered_ != 0 ? offered_ : since_, since_, since_, &partners});
  offered_ = 0;
  meeting_ = true;
}
#endif

void Phases::offer() { offered_ = ticks_.now(); }

void Phases::leave() { enter(phase_); }

// The layout of MPI_DOUBLE_INT.
struct Phases::Last {
  double offered_s;
  int rank;
};

std::vector<double> Phases::offered_s() const {
  std::vector<double> times_s;
  for (const auto& meeting : meetings_) times_s.push_back(clock_.global(meeting.offered));
  return times_s;
}

std::vector<double> Phases::waited_s(const std::vector<Last>& last, const Communicator& communicator) const {
  const auto mine = offered_s();
  auto of_root = mine;
  MPI_Bcast(of_root.data(), static_cast<int>(of_root.size()), MPI_DOUBLE, 0, communicator.handle());

  std::vector<int> wanted;
  for (const auto& meeting : meetings_) {
    const auto& ranks = meeting.partners->ranks_;
    std::copy_if(ranks.begin(), ranks.end(), std::back_inserter(wanted), [](int rank) { return rank >= 0; });
  }
  std::sort(wanted.begin(), wanted.end());
  wanted.erase(std::unique(wanted.begin(), wanted.end()), wanted.end());
  const auto offers = offers_of(wanted, mine, communicator);

  std::vector<double> waited(meetings_.size());
  for (std::size_t i = 0; i < meetings_.size(); ++i) {
    const Partners& partners = *meetings_[i].partners;
    const double came_s = clock_.global(meetings_[i].came);
    double complete_s = came_s;
    if (partners.kind_ == Partners::Kind::root) complete_s = of_root[i];
    if (partners.kind_ == Partners::Kind::everyone) complete_s = last[i].offered_s;
    for (const int rank : partners.ranks_)
      if (rank >= 0) complete_s = std::max(complete_s, offers.at(rank)[i]);
    // Limited because the clocks of two hosts may differ slightly: a wait is at most as long as the meeting.
    const double stayed_s = ticks_.seconds(meetings_[i].left - meetings_[i].came);
    waited[i] = std::clamp(complete_s - came_s, 0.0, stayed_s);
  }
  return waited;
}

double Phases::share_as_last(const std::vector<Last>& last, int rank) const {
  int exchanges = 0;
  int came_last = 0;
  for (std::size_t i = 0; i < meetings_.size(); ++i) {
    if (meetings_[i].phase != Phase::exchange) continue;
    ++exchanges;
    came_last += last[i].rank == rank ? 1 : 0;
  }
  return exchanges > 0 ? static_cast<double>(came_last) / exchanges : 0.0;
}

void Phases::observe(Repetition& repetition, const Communicator& communicator) const {
  std::vector<Last> mine;
  for (const double when_s : offered_s()) mine.push_back({when_s, communicator.rank()});
  std::vector<Last> last(mine.size());
  MPI_Allreduce(mine.data(), last.data(), static_cast<int>(mine.size()), MPI_DOUBLE_INT, MPI_MAXLOC,
                communicator.handle());
  const auto waited = waited_s(last, communicator);

  auto spent = spent_;
  double idle = 0;
  for (std::size_t i = 0; i < meetings_.size(); ++i) {
    spent[static_cast<int>(meetings_[i].phase)] -= waited[i];
    idle += waited[i];
  }
  const auto of = [&](Phase phase) { return std::max(0.0, spent[static_cast<int>(phase)]); };
  repetition.observe("initialize_s", of(Phase::initialize));
  repetition.observe("distribute_s", of(Phase::distribute));
  repetition.observe("compute_s", of(Phase::compute));
  repetition.observe("exchange_s", of(Phase::exchange));
  repetition.observe("collect_s", of(Phase::collect));
  repetition.observe("communicate_s", of(Phase::distribute) + of(Phase::exchange) + of(Phase::collect));
  repetition.observe("idle_s", idle);
  repetition.observe("last_arrival_share", share_as_last(last, communicator.rank()));

  const double end_s = clock_.global(since_);
  double initialized_s = mine.empty() ? end_s : mine.front().offered_s;
  MPI_Bcast(&initialized_s, 1, MPI_DOUBLE, 0, communicator.handle());
  repetition.observe("solve_s", std::max(0.0, end_s - initialized_s));
}

}  // namespace scope
