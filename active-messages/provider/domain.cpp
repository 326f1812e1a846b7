#include "domain.hpp"

#include "address_vector.hpp"
#include "completion_queue.hpp"
#include "counter.hpp"
#include "endpoint.hpp"
#include "settings.hpp"

namespace scope::provider {
namespace {

fi_ops domain_functions = closed_by(destroy<Domain, fid_domain>);

fi_ops_domain openings{.size = sizeof(fi_ops_domain),
                       .av_open = open_address_vector,
                       .cq_open = open_completion_queue,
                       .endpoint = open_endpoint,
                       .scalable_ep = unsupported,
                       .cntr_open = open_counter,
                       .poll_open = unsupported,
                       .stx_ctx = unsupported,
                       .srx_ctx = unsupported,
                       .query_atomic = query_atomic,
                       .query_collective = unsupported,
                       .endpoint2 = nullptr};

}  // namespace

int open_domain(fid_fabric*, fi_info* info, fid_domain** result, void* context) {
  return guarded([&] {
    bool several_threads = info->domain_attr == nullptr || info->domain_attr->threading != FI_THREAD_DOMAIN;
    try {
      several_threads = several_threads || settings().has_thread();
    } catch (const active_messages::Error&) {
      // Reported later, when enabling an endpoint fails.
    }
    auto* domain = new Domain(several_threads);
    domain->mr = &memory_functions;
    return hand_over(domain, {FI_CLASS_DOMAIN, context, &domain_functions}, openings, result);
  });
}

}  // namespace scope::provider
