#include "event_queue.hpp"

#include "objects.hpp"

namespace scope::provider {
namespace {

fi_ops object_functions = closed_by(destroy<fid_eq, fid_eq>);

fi_ops_eq queue_functions{
    .size = sizeof(fi_ops_eq),
    .read = [](fid_eq*, std::uint32_t*, void*, std::size_t, std::uint64_t) -> ssize_t { return -FI_EAGAIN; },
    .readerr = [](fid_eq*, fi_eq_err_entry*, std::uint64_t) -> ssize_t { return -FI_EAGAIN; },
    .write = unsupported,
    .sread = unsupported,
    .strerror = [](fid_eq*, int, const void*, char*, std::size_t) -> const char* { return "no events"; }};

}  // namespace

int open_event_queue(fid_fabric*, fi_eq_attr*, fid_eq** result, void* context) {
  return guarded([&] {
    auto* queue = new fid_eq{};
    queue->fid = {FI_CLASS_EQ, context, &object_functions};
    queue->ops = &queue_functions;
    *result = queue;
    return 0;
  });
}

}  // namespace scope::provider
