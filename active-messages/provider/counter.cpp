#include "counter.hpp"

#include <chrono>

#include "endpoint.hpp"

namespace scope::provider {
namespace {

Counter& counter_of(fid_cntr* counter) { return object<Counter>(counter); }

// Runs `use` on the counter, under the lock.
template <class Use>
auto with(fid_cntr* id, Use use) {
  Counter& counter = counter_of(id);
  const Guard guard(counter.domain.lock);
  return use(counter);
}

// Makes progress first.
template <std::uint64_t Counter::* member>
std::uint64_t read(fid_cntr* id) {
  return with(id, [](Counter& counter) {
    for (Endpoint* endpoint : counter.endpoints) endpoint->progress();
    return counter.*member;
  });
}

template <std::uint64_t Counter::* member>
int set(fid_cntr* id, std::uint64_t value) {
  return with(id, [value](Counter& counter) {
    counter.*member = value;
    return 0;
  });
}

template <std::uint64_t Counter::* member>
int add(fid_cntr* id, std::uint64_t value) {
  return with(id, [value](Counter& counter) {
    counter.*member += value;
    return 0;
  });
}

int wait(fid_cntr* id, std::uint64_t threshold, int timeout_ms) {
  using Clock = std::chrono::steady_clock;
  const auto end = Clock::now() + std::chrono::milliseconds(timeout_ms);
  const std::uint64_t failed = counter_of(id).failed;
  for (;;) {
    if (read<&Counter::completed>(id) >= threshold) return 0;
    if (counter_of(id).failed != failed) return -FI_EAVAIL;
    if (timeout_ms >= 0 && Clock::now() >= end) return -FI_ETIMEDOUT;
  }
}

fi_ops object_functions = closed_by(destroy_unless_bound<Counter, fid_cntr>);

fi_ops_cntr counter_functions{.size = sizeof(fi_ops_cntr),
                              .read = read<&Counter::completed>,
                              .readerr = read<&Counter::failed>,
                              .add = add<&Counter::completed>,
                              .set = set<&Counter::completed>,
                              .wait = wait,
                              .adderr = add<&Counter::failed>,
                              .seterr = set<&Counter::failed>};

}  // namespace

int open_counter(fid_domain* domain, fi_cntr_attr* attributes, fid_cntr** result, void* context) {
  if (attributes != nullptr && attributes->wait_obj != FI_WAIT_NONE && attributes->wait_obj != FI_WAIT_UNSPEC)
    return -FI_ENOSYS;
  return guarded([&] {
    return hand_over(new Counter(object<Domain>(domain)), {FI_CLASS_CNTR, context, &object_functions},
                     counter_functions, result);
  });
}

}  // namespace scope::provider
