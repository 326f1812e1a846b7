#include "information.hpp"

#include <rdma/fi_errno.h>

#include <cstdlib>
#include <cstring>

#include "../src/endpoint.hpp"
#include "library.hpp"

namespace scope::provider {
namespace {

constexpr std::uint64_t primary = FI_MSG | FI_TAGGED | FI_RMA | FI_ATOMIC;
constexpr std::uint64_t modifiers = FI_SEND | FI_RECV | FI_READ | FI_WRITE | FI_REMOTE_READ | FI_REMOTE_WRITE |
                                    FI_MULTI_RECV | FI_DIRECTED_RECV | FI_SOURCE | FI_LOCAL_COMM | FI_REMOTE_COMM;
constexpr std::uint64_t capabilities = primary | modifiers;
constexpr std::uint64_t sending = primary | FI_SEND | FI_READ | FI_WRITE;
constexpr std::uint64_t receiving =
    primary | FI_RECV | FI_REMOTE_READ | FI_REMOTE_WRITE | FI_MULTI_RECV | FI_DIRECTED_RECV | FI_SOURCE;
constexpr std::uint64_t send_flags = FI_COMPLETION | FI_INJECT | FI_INJECT_COMPLETE | FI_TRANSMIT_COMPLETE |
                                     FI_DELIVERY_COMPLETE | FI_MATCH_COMPLETE;
constexpr std::uint64_t receive_flags = FI_COMPLETION | FI_MULTI_RECV;
constexpr std::uint64_t orders =
    FI_ORDER_SAS | FI_ORDER_ATOMIC_RAR | FI_ORDER_ATOMIC_RAW | FI_ORDER_ATOMIC_WAR | FI_ORDER_ATOMIC_WAW;
constexpr std::size_t pieces_limit = 1;  // pieces of one buffer

template <class Bits>
bool within(Bits asked, Bits offered) {
  return (asked & ~offered) == 0;
}

bool same_name(const char* asked, const char* offered) {
  return asked == nullptr || strcasecmp(asked, offered) == 0;
}

bool offered(const fi_tx_attr& asked) {
  return within(asked.caps, capabilities) && within(asked.op_flags, send_flags) &&
         within(asked.msg_order, orders) && asked.inject_size <= inject_limit && asked.size <= operations_limit &&
         asked.iov_limit <= pieces_limit && asked.rma_iov_limit <= pieces_limit;
}

bool offered(const fi_rx_attr& asked) {
  return within(asked.caps, capabilities) && within(asked.op_flags, receive_flags) &&
         within(asked.msg_order, orders) && asked.iov_limit <= pieces_limit;
}

bool offered(const fi_ep_attr& asked) {
  return (asked.type == FI_EP_UNSPEC || asked.type == FI_EP_RDM) && asked.protocol == FI_PROTO_UNSPEC &&
         asked.max_msg_size <= operation_bytes_limit && asked.msg_prefix_size == 0 &&
         asked.max_order_raw_size == 0 && asked.max_order_war_size == 0 && asked.max_order_waw_size == 0 &&
         asked.tx_ctx_cnt <= 1 && asked.rx_ctx_cnt <= 1 && asked.auth_key_size == 0;
}

bool offered(const fi_domain_attr& asked) {
  // Progress happens inside calls. Memory does not need any registration, so every registration mode is accepted.
  return same_name(asked.name, fabric_name) && asked.control_progress != FI_PROGRESS_AUTO &&
         asked.data_progress != FI_PROGRESS_AUTO && asked.cq_data_size <= sizeof(std::uint64_t) &&
         asked.mr_key_size <= sizeof(std::uint64_t);
}

bool offered(const fi_info& asked) {
  return within(asked.caps, capabilities) && asked.addr_format == FI_FORMAT_UNSPEC &&
         (asked.tx_attr == nullptr || offered(*asked.tx_attr)) &&
         (asked.rx_attr == nullptr || offered(*asked.rx_attr)) &&
         (asked.ep_attr == nullptr || offered(*asked.ep_attr)) &&
         (asked.domain_attr == nullptr || offered(*asked.domain_attr)) &&
         (asked.fabric_attr == nullptr || same_name(asked.fabric_attr->name, fabric_name));
}

void describe(fi_info& info, const fi_info* hints) {
  // A program without hints gets all capabilities except FI_DIRECTED_RECV, which changes the meaning of receives
  // and must be asked for.
  info.caps = hints != nullptr && hints->caps != 0 ? hints->caps | (modifiers & ~FI_DIRECTED_RECV) : capabilities;
  info.addr_format = FI_FORMAT_UNSPEC;

  info.tx_attr->caps = info.caps & sending;
  info.tx_attr->op_flags = hints != nullptr && hints->tx_attr != nullptr ? hints->tx_attr->op_flags : 0;
  info.tx_attr->msg_order = orders;
  info.tx_attr->inject_size = inject_limit;
  info.tx_attr->size = operations_limit;
  info.tx_attr->iov_limit = pieces_limit;
  info.tx_attr->rma_iov_limit = pieces_limit;

  info.rx_attr->caps = info.caps & receiving;
  info.rx_attr->op_flags = hints != nullptr && hints->rx_attr != nullptr ? hints->rx_attr->op_flags : 0;
  info.rx_attr->msg_order = orders;
  info.rx_attr->size = operations_limit;
  info.rx_attr->iov_limit = pieces_limit;

  info.ep_attr->type = FI_EP_RDM;
  info.ep_attr->protocol = FI_PROTO_UNSPEC;
  info.ep_attr->protocol_version = 1;
  info.ep_attr->max_msg_size = operation_bytes_limit;
  info.ep_attr->mem_tag_format = ~std::uint64_t{0};
  info.ep_attr->tx_ctx_cnt = 1;
  info.ep_attr->rx_ctx_cnt = 1;

  const fi_domain_attr* domain = hints != nullptr ? hints->domain_attr : nullptr;
  info.domain_attr->name = strdup(fabric_name);
  info.domain_attr->threading =
      domain != nullptr && domain->threading != FI_THREAD_UNSPEC ? domain->threading : FI_THREAD_SAFE;
  info.domain_attr->control_progress = FI_PROGRESS_MANUAL;
  info.domain_attr->data_progress = FI_PROGRESS_MANUAL;
  info.domain_attr->resource_mgmt = FI_RM_ENABLED;
  info.domain_attr->av_type = domain != nullptr && domain->av_type != FI_AV_UNSPEC ? domain->av_type : FI_AV_TABLE;
  info.domain_attr->mr_mode = 0;
  info.domain_attr->mr_key_size = sizeof(std::uint64_t);
  info.domain_attr->cq_data_size = sizeof(std::uint64_t);
  info.domain_attr->cq_cnt = 1024;
  info.domain_attr->ep_cnt = 1024;
  info.domain_attr->tx_ctx_cnt = 1024;
  info.domain_attr->rx_ctx_cnt = 1024;
  info.domain_attr->max_ep_tx_ctx = 1;
  info.domain_attr->max_ep_rx_ctx = 1;
  info.domain_attr->cntr_cnt = 1024;
  info.domain_attr->mr_iov_limit = 1;
  info.domain_attr->caps = FI_LOCAL_COMM | FI_REMOTE_COMM;
  info.domain_attr->mr_cnt = 65'536;

  info.fabric_attr->name = strdup(fabric_name);
}

}  // namespace

int getinfo(std::uint32_t, const char*, const char*, std::uint64_t, const fi_info* hints, fi_info** info) {
  if (hints != nullptr && !offered(*hints)) return -FI_ENODATA;
  *info = library().duplicate(nullptr);
  if (*info == nullptr) return -FI_ENOMEM;
  describe(**info, hints);
  if (hints != nullptr && hints->dest_addr != nullptr && hints->dest_addrlen == sizeof(active_messages::Address)) {
    (*info)->dest_addr = std::malloc(hints->dest_addrlen);
    if ((*info)->dest_addr != nullptr) {
      std::memcpy((*info)->dest_addr, hints->dest_addr, hints->dest_addrlen);
      (*info)->dest_addrlen = hints->dest_addrlen;
    }
  }
  return 0;
}

}  // namespace scope::provider
