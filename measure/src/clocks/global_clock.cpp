#include "clocks/global_clock.hpp"

#include <unistd.h>

#include <algorithm>
#include <limits>

namespace scope {
namespace {

constexpr int tag = 1;
constexpr int fewest_exchanges = 3;
// Simulated exchanges all take the same time, and simulating many would take long.
constexpr int exchanges_per_offset = mpi_simulates ? fewest_exchanges : 20;
constexpr int exchanges_of_error = mpi_simulates ? fewest_exchanges : 60;
// Slow connections use fewer exchanges, as a fixed number would take a minute for tens of hosts on a WAN.
constexpr double longest_synchronization_s = 1.0;
constexpr int points_at_start = mpi_simulates ? 3 : 50;
constexpr int points_per_refresh = mpi_simulates ? 1 : 4;
// The first points are spread over 0.2 s, because a longer base gives a better slope.
constexpr useconds_t pause_at_start_us = 4000;
constexpr std::size_t points_kept = 400;

}  // namespace

GlobalClock::GlobalClock(const Communicator& world, const TickClock& ticks, const Hosts& hosts, ClockSkew skew)
    : world_(world), ticks_(ticks), hosts_(hosts), skew_(skew) {
  // Small numbers keep their precision in a double; all ranks of a host must use the same origin.
  base_ = ticks_.now();
  MPI_Bcast(&base_, 1, MPI_INT64_T, 0, hosts_.neighbors().handle());
}

double GlobalClock::local(Ticks ticks) const {
  const double true_s = ticks_.seconds(ticks - base_);
  return true_s + skew_.offset_s + skew_.drift * true_s;
}

void GlobalClock::synchronize() {
  offsets_.clear();
  model_ = {};
  learn(points_at_start, pause_at_start_us);
}

void GlobalClock::refresh() {
  if (!one_host()) learn(points_per_refresh, 0);
}

void GlobalClock::learn(int points, useconds_t pause_us) {
  const Communicator& leaders = hosts_.leaders();
  if (hosts_.leads() && leaders.size() > 1) {
    int span = 1;
    while (span < leaders.size()) span *= 2;
    for (int distance = span / 2; distance >= 1; distance /= 2) {
      const int place = leaders.rank() % (2 * distance);
      if (place == 0 && leaders.rank() + distance < leaders.size()) {
        const int client = leaders.rank() + distance;
        answer(leaders, client, fewest_exchanges);
        int exchanges = 0;
        MPI_Recv(&exchanges, 1, MPI_INT, client, tag, leaders.handle(), MPI_STATUS_IGNORE);
        answer(leaders, client, points * exchanges);
      } else if (place == distance) {
        const int reference = leaders.rank() - distance;
        const double affordable =
            longest_synchronization_s / (points * measure(leaders, reference, fewest_exchanges).round_trip_s);
        const int exchanges =
            static_cast<int>(std::clamp<double>(affordable, fewest_exchanges, exchanges_per_offset));
        MPI_Send(&exchanges, 1, MPI_INT, reference, tag, leaders.handle());
        for (int point = 0; point < points; ++point) {
          usleep(pause_us);
          offsets_.push_back(measure(leaders, reference, exchanges));
          if (offsets_.size() > points_kept) offsets_.pop_front();
        }
        fit();
      }
    }
  }
  share_with_host();
}

GlobalClock::Offset GlobalClock::measure(const Communicator& ranks, int reference, int exchanges) const {
  Offset best{0, 0, std::numeric_limits<double>::infinity()};
  for (int exchange = 0; exchange < exchanges; ++exchange) {
    double theirs = 0;
    const double sent = local(ticks_.now());
    MPI_Send(&sent, 1, MPI_DOUBLE, reference, tag, ranks.handle());
    MPI_Recv(&theirs, 1, MPI_DOUBLE, reference, tag, ranks.handle(), MPI_STATUS_IGNORE);
    const double received = local(ticks_.now());
    if (received - sent < best.round_trip_s) {
      const double middle = sent + (received - sent) / 2;
      best = {middle, theirs - middle, received - sent};
    }
  }
  return best;
}

void GlobalClock::answer(const Communicator& ranks, int client, int exchanges) const {
  for (int exchange = 0; exchange < exchanges; ++exchange) {
    double theirs = 0;
    MPI_Recv(&theirs, 1, MPI_DOUBLE, client, tag, ranks.handle(), MPI_STATUS_IGNORE);
    const double mine = now();
    MPI_Send(&mine, 1, MPI_DOUBLE, client, tag, ranks.handle());
  }
}

void GlobalClock::fit() {
  // The uncertainty of an offset is proportional to its round trip, so its weight is the inverse square.
  double weight_sum = 0;
  double mean_local = 0;
  double mean_offset = 0;
  for (const auto& point : offsets_) {
    const double weight = 1.0 / (point.round_trip_s * point.round_trip_s);
    weight_sum += weight;
    mean_local += weight * point.local_s;
    mean_offset += weight * point.offset_s;
  }
  mean_local /= weight_sum;
  mean_offset /= weight_sum;
  double covariance = 0;
  double variance = 0;
  for (const auto& point : offsets_) {
    const double weight = 1.0 / (point.round_trip_s * point.round_trip_s);
    covariance += weight * (point.local_s - mean_local) * (point.offset_s - mean_offset);
    variance += weight * (point.local_s - mean_local) * (point.local_s - mean_local);
  }
  model_ = {mean_local, mean_offset, variance > 0 ? covariance / variance : 0.0};
}

void GlobalClock::share_with_host() { MPI_Bcast(&model_, 3, MPI_DOUBLE, 0, hosts_.neighbors().handle()); }

double GlobalClock::measure_error() {
  double worst = error_against_mirror(hosts_.neighbors());
  if (hosts_.leads()) worst = std::max(worst, error_against_mirror(hosts_.leaders()));
  return world_.largest(worst);
}

// Each rank compares its time with the mirror rank, counted from the end, which usually learnt the time along another
// branch of the tree; the middle rank of an odd number compares with the first rank. No rank has more than two
// comparisons, however many ranks there are. The error includes the asymmetry of the two directions of an exchange.
double GlobalClock::error_against_mirror(const Communicator& ranks) const {
  const int mirror = ranks.size() - 1 - ranks.rank();
  const int middle = ranks.size() % 2 == 1 ? ranks.size() / 2 : 0;
  double error = 0;
  if (ranks.rank() < mirror)
    answer(ranks, mirror, exchanges_of_error);
  else if (ranks.rank() > mirror)
    error = error_against(ranks, mirror);
  if (middle > 0 && ranks.root()) answer(ranks, middle, exchanges_of_error);
  if (middle > 0 && ranks.rank() == middle) error = error_against(ranks, 0);
  return error;
}

double GlobalClock::error_against(const Communicator& ranks, int reference) const {
  const Offset offset = measure(ranks, reference, exchanges_of_error);
  return std::abs(offset.local_s + offset.offset_s - model_.global(offset.local_s));
}

std::vector<double> GlobalClock::drifts() const {
  std::vector<double> all(hosts());
  if (hosts_.leads())
    MPI_Gather(&model_.drift, 1, MPI_DOUBLE, all.data(), 1, MPI_DOUBLE, 0, hosts_.leaders().handle());
  return all;
}

}  // namespace scope
