// The entry of the provider: libfabric loads the library and calls fi_prov_ini().
#include <rdma/fi_eq.h>
#include <rdma/providers/fi_prov.h>

#include "domain.hpp"
#include "information.hpp"
#include "library.hpp"
#include "objects.hpp"

namespace scope::provider {
namespace {

// A queue for connection events, which reliable datagram endpoints never have, but programs open one anyway.
fi_ops object_functions = closed_by(destroy<fid_eq, fid_eq>);

fi_ops_eq queue_functions{
    .size = sizeof(fi_ops_eq),
    .read = [](fid_eq*, std::uint32_t*, void*, std::size_t, std::uint64_t) -> ssize_t { return -FI_EAGAIN; },
    .readerr = [](fid_eq*, fi_eq_err_entry*, std::uint64_t) -> ssize_t { return -FI_EAGAIN; },
    .write = unsupported,
    .sread = unsupported,
    .strerror = [](fid_eq*, int, const void*, char*, std::size_t) -> const char* { return "no events"; }};

int open_event_queue(fid_fabric*, fi_eq_attr*, fid_eq** result, void* context) {
  return guarded(
      [&] { return hand_over(new fid_eq{}, {FI_CLASS_EQ, context, &object_functions}, queue_functions, result); });
}

fi_ops fabric_functions = closed_by(destroy<fid_fabric, fid_fabric>);

fi_ops_fabric openings{.size = sizeof(fi_ops_fabric),
                       .domain = open_domain,
                       .passive_ep = unsupported,
                       .eq_open = open_event_queue,
                       .wait_open = unsupported,
                       .trywait = unsupported,
                       .domain2 = nullptr};

int open_fabric(fi_fabric_attr*, fid_fabric** result, void* context) {
  return guarded([&] {
    return hand_over(new fid_fabric{}, {FI_CLASS_FABRIC, context, &fabric_functions}, openings, result);
  });
}

fi_provider provider{.version = provider_version,
                     .fi_version = 0,
                     .context = {},
                     .name = provider_name,
                     .getinfo = getinfo,
                     .fabric = open_fabric,
                     .cleanup = [] {}};

}  // namespace
}  // namespace scope::provider

extern "C" __attribute__((visibility("default"))) fi_provider* fi_prov_ini() {
  using namespace scope::provider;
  if (!find_library(__builtin_return_address(0))) return nullptr;
  // libfabric skips a provider whose version is older than the version that the program asks for. New versions
  // append to structures, and newer structures come from the library itself, so its own version is the right
  // one to report.
  provider.fi_version = library().version;
  return &provider;
}
