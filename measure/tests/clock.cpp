#include <cmath>

#include "check.hpp"
#include "clocks/global_clock.hpp"
#include "clocks/tick_clock.hpp"

using namespace scope;

int main() {
  TickClock fallback(ClockChoice::clock_gettime);
  CHECK(!fallback.uses_register());
  CHECK(std::string(fallback.source()) == "clock_gettime");
  CHECK(!fallback.fallback_reason().empty());
  CHECK(std::abs(fallback.frequency_hz() - 1e9) < 1);

  for (const ClockChoice choice : {ClockChoice::automatic, ClockChoice::clock_gettime}) {
    TickClock clock(choice);
    clock.calibrate(0.02);
    const ClockQuality quality = assess(clock);
    CHECK(quality.monotonic);
    CHECK(quality.resolution_s > 0 && quality.resolution_s < 1e-3);
    CHECK(quality.overhead_s >= 0 && quality.overhead_s < 1e-3);
    // Both clocks agree on a duration far more closely than a scheduler's interruption.
    const Ticks start_ns = nanoseconds_of(CLOCK_MONOTONIC);
    const Ticks start = clock.now();
    while (nanoseconds_of(CLOCK_MONOTONIC) - start_ns < 20'000'000) {
    }
    const double elapsed_s = clock.seconds(clock.now() - start);
    const double reference_s = static_cast<double>(nanoseconds_of(CLOCK_MONOTONIC) - start_ns) * 1e-9;
    CHECK(elapsed_s > 0.5 * reference_s && elapsed_s < 1.5 * reference_s);
  }

  const LinearClock model{.origin_s = 10, .offset_s = 0.5, .drift = 1e-3};
  CHECK(model.global(10) == 10.5);
  CHECK(std::abs(model.global(20) - 20.51) < 1e-12);
  return scope::testing::failures;
}
