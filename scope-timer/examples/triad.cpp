// Times a triad and names its parts for `scope monitor`; only the headers are needed.
#include <cstdio>
#include <scope_timer.hpp>
#include <vector>

int main() {
  constexpr int items = 200'000;
  constexpr int repetitions = 50;
  std::vector<double> a(items);
  std::vector<double> b(items);
  std::vector<double> c(items, 1.0);
  {
    const scope::timer::Region region("fill");
    for (int i = 0; i < items; ++i) b[i] = i;
  }
  scope::timer::Stopwatch watch;
  for (int r = 0; r < repetitions; ++r) {
    const scope::timer::Region region("triad");
    watch.start();
    for (int i = 0; i < items; ++i) a[i] = b[i] + 3 * c[i];
    watch.stop();
  }
  const double seconds = watch.seconds() / static_cast<double>(watch.intervals());
  std::printf("triad %.3g us, %.3g GB/s, last item %g\n", seconds * 1e6, 24e-9 * items / seconds, a.back());
}
