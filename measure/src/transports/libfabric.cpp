// libfabric (OFI), which MPICH, Open MPI and Intel MPI use for most networks, including TCP.
//
// Reliable datagrams (FI_EP_RDM) with plain messages. The provider is the first one in the library's order that
// both processes have and that transfers a byte in both directions.
#include "transports/fabric.hpp"

#ifdef SCOPE_LIBFABRIC_LIBRARY

#include <netinet/in.h>
#include <rdma/fabric.h>
#include <rdma/fi_cm.h>
#include <rdma/fi_domain.h>
#include <rdma/fi_endpoint.h>
#include <rdma/fi_eq.h>
#include <rdma/fi_errno.h>

#include "transports/route.hpp"
#include "transports/shared_library.hpp"

namespace scope {
namespace {

constexpr std::uint32_t interface_version = FI_VERSION(1, 9);
constexpr std::size_t most_sends = 64;  // in flight at once
constexpr int nap_ms = 10;

struct Library {
  SharedLibrary library{"libfabric.so.1", SCOPE_LIBFABRIC_LIBRARY};
  decltype(&::fi_getinfo) getinfo = library["fi_getinfo"];
  decltype(&::fi_freeinfo) freeinfo = library["fi_freeinfo"];
  decltype(&::fi_dupinfo) dupinfo = library["fi_dupinfo"];
  decltype(&::fi_fabric) fabric = library["fi_fabric"];
  decltype(&::fi_strerror) strerror = library["fi_strerror"];
};

const Library& ofi() {
  static const Library loaded;
  return loaded;
}

void check(ssize_t code, const char* what) {
  if (code < 0) throw Unavailable(std::string(what) + ": " + ofi().strerror(static_cast<int>(-code)));
}

struct Free {
  void operator()(fi_info* info) const { ofi().freeinfo(info); }
};
using Info = std::unique_ptr<fi_info, Free>;

struct Close {
  template <class Object>
  void operator()(Object* object) const {
    fi_close(&object->fid);
  }
};
template <class Object>
using Owned = std::unique_ptr<Object, Close>;

// All providers that support such messages, in the library's order.
Info offers(const Partner& partner) {
  const Info wish(ofi().dupinfo(nullptr));
  if (wish == nullptr) throw Unavailable("fi_allocinfo: no memory");
  wish->caps = FI_MSG | (partner.nearby ? FI_LOCAL_COMM : FI_REMOTE_COMM);
  wish->mode = FI_CONTEXT | FI_CONTEXT2;
  wish->ep_attr->type = FI_EP_RDM;
  wish->tx_attr->msg_order = FI_ORDER_SAS;
  wish->rx_attr->msg_order = FI_ORDER_SAS;
  wish->domain_attr->threading = FI_THREAD_DOMAIN;
  wish->domain_attr->mr_mode = FI_MR_ENDPOINT | FI_MR_ALLOCATED | FI_MR_VIRT_ADDR | FI_MR_PROV_KEY;
  wish->domain_attr->data_progress = FI_PROGRESS_MANUAL;
  wish->domain_attr->control_progress = FI_PROGRESS_MANUAL;
  fi_info* found = nullptr;
  check(ofi().getinfo(interface_version, nullptr, nullptr, 0, wish.get(), &found), "fi_getinfo");
  return Info(found);
}

// IP providers appear once for each address of the host; the address that TCP uses reaches the partner.
bool on_route(const fi_info& info, in_addr_t here) {
  const std::string_view name = info.fabric_attr->prov_name;
  const auto starts_with = [&](std::string_view word) { return name.starts_with(word); };
  constexpr std::array<std::string_view, 4> over_ip = {"tcp", "net", "udp", "sockets"};
  if (std::none_of(over_ip.begin(), over_ip.end(), starts_with)) return true;
  if (info.src_addr == nullptr || static_cast<sockaddr*>(info.src_addr)->sa_family != AF_INET) return false;
  return static_cast<sockaddr_in*>(info.src_addr)->sin_addr.s_addr == here;
}

struct Names {
  std::array<std::array<char, 48>, 16> list{};
  std::size_t count = 0;

  bool has(std::string_view name) const {
    return std::any_of(list.begin(), list.begin() + count,
                       [&](const auto& known) { return name == known.data(); });
  }
  void add(std::string_view name) {
    if (has(name) || count == list.size() || name.size() >= list[0].size()) return;
    std::copy(name.begin(), name.end(), list[count++].begin());
  }
};

struct Address {
  std::array<std::byte, 256> bytes{};
  std::uint64_t largest_message = 0;
};

// One operation: its context belongs to the provider until completion.
struct Operation {
  fi_context2 context{};
  bool done = true;
};

class Libfabric final : public Fabric {
 public:
  Libfabric(const fi_info& info, const Partner& partner, const TransportOptions& options)
      : Fabric(options.sleeps), inject_bytes_(options.sleeps ? 0 : info.tx_attr->inject_size) {
    const Address there = partner.agree([&] { return open(info); });
    partner.agree([&] {
      if (fi_av_insert(addresses_.get(), there.bytes.data(), 1, &partner_, 0, nullptr) != 1)
        throw Unavailable("fi_av_insert: the peer's address is not accepted");
    });
    piece_bytes_ = std::min<std::uint64_t>(info.ep_attr->max_msg_size, there.largest_message);
    sends_.resize(std::min(info.tx_attr->size, most_sends));
    greet(partner);
  }

 protected:
  std::size_t send_some(std::span<const std::byte> rest, bool may_sleep) override {
    const std::size_t bytes = std::min(rest.size(), piece_bytes_);
    if (bytes <= inject_bytes_)
      return posted(fi_inject(endpoint_.get(), rest.data(), bytes, partner_), "fi_inject") ? bytes : 0;
    Operation& send = sends_[next_send_];
    if (!send.done) {
      look(may_sleep);
      return 0;
    }
    if (!posted(fi_send(endpoint_.get(), rest.data(), bytes, nullptr, partner_, &send), "fi_send")) return 0;
    send.done = false;
    next_send_ = (next_send_ + 1) % sends_.size();
    return bytes;
  }

  std::size_t receive_some(std::span<std::byte> rest, bool may_sleep) override {
    const std::size_t bytes = std::min(rest.size(), piece_bytes_);
    if (!receiving_) {
      const auto code = fi_recv(endpoint_.get(), rest.data(), bytes, nullptr, FI_ADDR_UNSPEC, &arrival_);
      receiving_ = posted(code, "fi_recv");
      arrival_.done = !receiving_;
      if (!receiving_) return 0;
    }
    if (!arrival_.done) look(may_sleep);
    if (!arrival_.done) return 0;
    receiving_ = false;
    return bytes;
  }

  void look(bool may_sleep) override {
    std::array<fi_cq_entry, 16> entries;
    const ssize_t count = may_sleep ? fi_cq_sread(queue_.get(), entries.data(), entries.size(), nullptr, nap_ms)
                                    : fi_cq_read(queue_.get(), entries.data(), entries.size());
    if (count == -FI_EAVAIL) fail_with_its_error();
    if (count == -FI_EAGAIN || count == -FI_ETIMEDOUT || count == -FI_EINTR) return;
    check(count, "fi_cq_read");
    for (ssize_t i = 0; i < count; ++i) static_cast<Operation*>(entries[i].op_context)->done = true;
  }

 private:
  Address open(const fi_info& info) {
    fi_info& wanted = const_cast<fi_info&>(info);  // the interface lacks const
    check(ofi().fabric(info.fabric_attr, into(fabric_), nullptr), "fi_fabric");
    check(fi_domain(fabric_.get(), &wanted, into(domain_), nullptr), "fi_domain");
    fi_cq_attr queue{};
    queue.size = 2 * most_sends;
    queue.format = FI_CQ_FORMAT_CONTEXT;
    queue.wait_obj = sleeps() ? FI_WAIT_UNSPEC : FI_WAIT_NONE;
    check(fi_cq_open(domain_.get(), &queue, into(queue_), nullptr), "fi_cq_open");
    fi_av_attr addresses{};
    addresses.type = FI_AV_TABLE;
    check(fi_av_open(domain_.get(), &addresses, into(addresses_), nullptr), "fi_av_open");
    check(fi_endpoint(domain_.get(), &wanted, into(endpoint_), nullptr), "fi_endpoint");
    check(fi_ep_bind(endpoint_.get(), &queue_->fid, FI_TRANSMIT | FI_RECV), "fi_ep_bind");
    check(fi_ep_bind(endpoint_.get(), &addresses_->fid, 0), "fi_ep_bind");
    check(fi_enable(endpoint_.get()), "fi_enable");
    Address here;
    std::size_t length = here.bytes.size();
    check(fi_getname(&endpoint_->fid, here.bytes.data(), &length), "fi_getname");
    here.largest_message = info.ep_attr->max_msg_size;
    return here;
  }

  // Argument for a call that creates an object and writes it to a given address.
  template <class Object>
  struct Into {
    Owned<Object>& owner;
    Object* made = nullptr;
    ~Into() { owner.reset(made); }
    operator Object**() { return &made; }
  };
  template <class Object>
  static Into<Object> into(Owned<Object>& owner) {
    return {owner};
  }

  // Returns false if the queue is full.
  bool posted(ssize_t code, const char* what) {
    if (code == -FI_EAGAIN) {
      look(false);
      return false;
    }
    check(code, what);
    return true;
  }

  [[noreturn]] void fail_with_its_error() {
    struct {
      fi_cq_err_entry entry{};
      std::array<std::byte, 64> more{};  // written by later versions
    } error;
    const ssize_t count = fi_cq_readerr(queue_.get(), &error.entry, 0);
    throw std::runtime_error(std::string("libfabric: ") +
                             ofi().strerror(count > 0 ? error.entry.err : static_cast<int>(-count)));
  }

  // Operations outlive the endpoint that writes into them; the rest is closed in reverse order.
  std::vector<Operation> sends_;
  std::size_t next_send_ = 0;
  Operation arrival_;
  bool receiving_ = false;
  std::size_t inject_bytes_;
  std::size_t piece_bytes_ = 0;
  fi_addr_t partner_ = 0;
  Owned<fid_fabric> fabric_;
  Owned<fid_domain> domain_;
  Owned<fid_cq> queue_;
  Owned<fid_av> addresses_;
  Owned<fid_ep> endpoint_;
};

const fi_info* offer_of(const fi_info* first, std::string_view provider, in_addr_t here) {
  for (const fi_info* info = first; info != nullptr; info = info->next)
    if (provider == info->fabric_attr->prov_name && on_route(*info, here)) return info;
  return nullptr;
}

std::unique_ptr<Transport> connect_by_first_that_works(const Partner& partner, const TransportOptions& options) {
  const in_addr_t here = route_to(partner).here.sin_addr.s_addr;
  Info offered;
  Names mine;
  const Names theirs = partner.agree([&] {
    offered = offers(partner);
    for (const fi_info* info = offered.get(); info != nullptr; info = info->next)
      if (on_route(*info, here)) mine.add(info->fabric_attr->prov_name);
    return mine;
  });
  std::string problem = "no libfabric provider exists on both sides of the connection";
  const Names& ordered = partner.leads ? mine : theirs;
  const Names& other = partner.leads ? theirs : mine;
  for (std::size_t i = 0; i < ordered.count; ++i) {
    const char* provider = ordered.list[i].data();
    if (!other.has(provider)) continue;
    try {
      return std::make_unique<Libfabric>(*offer_of(offered.get(), provider, here), partner, options);
    } catch (const Unavailable& error) {
      problem = std::string(provider) + ": " + error.what();
    }
  }
  throw Unavailable(problem);
}

}  // namespace

std::unique_ptr<Transport> connect_libfabric(const Partner& partner, const TransportOptions& options) {
  try {
    return connect_by_first_that_works(partner, options);
  } catch (const Unavailable& error) {
    throw Unavailable(std::string("protocol=libfabric: ") + error.what());
  }
}

}  // namespace scope

#else

namespace scope {

std::unique_ptr<Transport> connect_libfabric(const Partner&, const TransportOptions&) {
  throw Unavailable(
      "protocol=libfabric: this build has no libfabric: its header or library was not found when it was compiled");
}

}  // namespace scope

#endif
