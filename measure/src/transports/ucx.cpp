// UCX, which Open MPI and MPICH use for InfiniBand and, within a host, for shared memory.
//
// Tagged messages (ucp_tag_send_nbx) between two workers; UCX chooses the transport, as for an MPI library.
#include "transports/fabric.hpp"

#ifdef SCOPE_UCX_LIBRARY

#include <ucp/api/ucp.h>

#include <chrono>
#include <stdexcept>

#include "transports/shared_library.hpp"

namespace scope {
namespace {

constexpr unsigned interface_major = 1;
constexpr unsigned interface_minor = 10;  // the first version with calls that end in nbx
constexpr std::size_t most_sends = 64;    // in flight at once
constexpr std::chrono::seconds closing_limit(1);
constexpr ucp_tag_t tag = 0x5c09e;
constexpr ucp_tag_t whole_tag = ~ucp_tag_t{0};

struct Library {
  SharedLibrary library{"libucp.so.0", SCOPE_UCX_LIBRARY};
  decltype(&::ucp_config_read) config_read = library["ucp_config_read"];
  decltype(&::ucp_config_release) config_release = library["ucp_config_release"];
  decltype(&::ucp_init_version) init_version = library["ucp_init_version"];
  decltype(&::ucp_cleanup) cleanup = library["ucp_cleanup"];
  decltype(&::ucp_worker_create) worker_create = library["ucp_worker_create"];
  decltype(&::ucp_worker_destroy) worker_destroy = library["ucp_worker_destroy"];
  decltype(&::ucp_worker_get_address) worker_get_address = library["ucp_worker_get_address"];
  decltype(&::ucp_worker_release_address) worker_release_address = library["ucp_worker_release_address"];
  decltype(&::ucp_worker_progress) worker_progress = library["ucp_worker_progress"];
  decltype(&::ucp_ep_create) ep_create = library["ucp_ep_create"];
  decltype(&::ucp_ep_close_nbx) ep_close_nbx = library["ucp_ep_close_nbx"];
  decltype(&::ucp_tag_send_nbx) tag_send_nbx = library["ucp_tag_send_nbx"];
  decltype(&::ucp_tag_recv_nbx) tag_recv_nbx = library["ucp_tag_recv_nbx"];
  decltype(&::ucp_request_check_status) request_check_status = library["ucp_request_check_status"];
  decltype(&::ucp_request_cancel) request_cancel = library["ucp_request_cancel"];
  decltype(&::ucp_request_free) request_free = library["ucp_request_free"];
  decltype(&::ucs_status_string) status_string = library["ucs_status_string"];
};

const Library& ucx() {
  static const Library loaded;
  return loaded;
}

void check(ucs_status_t status, const char* what) {
  if (status != UCS_OK) throw Unavailable(std::string(what) + ": " + ucx().status_string(status));
}

struct Cleanup {
  void operator()(ucp_context_h context) const { ucx().cleanup(context); }
};
struct Destroy {
  void operator()(ucp_worker_h worker) const { ucx().worker_destroy(worker); }
};
using Context = std::unique_ptr<ucp_context, Cleanup>;
using Worker = std::unique_ptr<ucp_worker, Destroy>;

Context open_context() {
  ucp_config_t* config = nullptr;
  check(ucx().config_read(nullptr, nullptr, &config), "ucp_config_read");
  ucp_params_t parameters{};
  parameters.field_mask = UCP_PARAM_FIELD_FEATURES;
  parameters.features = UCP_FEATURE_TAG;
  ucp_context_h context = nullptr;
  const auto status = ucx().init_version(interface_major, interface_minor, &parameters, config, &context);
  ucx().config_release(config);
  check(status, "ucp_init");
  return Context(context);
}

Worker open_worker(const Context& context) {
  ucp_worker_params_t parameters{};
  parameters.field_mask = UCP_WORKER_PARAM_FIELD_THREAD_MODE;
  parameters.thread_mode = UCS_THREAD_MODE_SINGLE;
  ucp_worker_h worker = nullptr;
  check(ucx().worker_create(context.get(), &parameters, &worker), "ucp_worker_create");
  return Worker(worker);
}

using Address = std::array<std::byte, 8192>;

Address address_of(const Worker& worker) {
  Address copy{};
  ucp_address_t* address = nullptr;
  std::size_t length = 0;
  check(ucx().worker_get_address(worker.get(), &address, &length), "ucp_worker_get_address");
  if (length <= copy.size()) std::memcpy(copy.data(), address, length);
  ucx().worker_release_address(worker.get(), address);
  if (length > copy.size()) throw Unavailable(sentence({"ucp_worker_get_address: an address of ", length, " B"}));
  return copy;
}

// A pending nonblocking call; empty if it completed at once.
class Request {
 public:
  void begin(ucs_status_ptr_t started) {
    if (UCS_PTR_IS_ERR(started)) fail(UCS_PTR_STATUS(started));
    started_ = started;
  }

  bool done() {
    if (started_ == nullptr) return true;
    const ucs_status_t status = ucx().request_check_status(started_);
    if (status == UCS_INPROGRESS) return false;
    ucx().request_free(started_);
    started_ = nullptr;
    if (status != UCS_OK) fail(status);
    return true;
  }

  // Cancels the request if it is pending, and frees it.
  void give_up(const Worker& worker) noexcept {
    if (started_ == nullptr) return;
    if (ucx().request_check_status(started_) == UCS_INPROGRESS) ucx().request_cancel(worker.get(), started_);
    ucx().request_free(started_);
    started_ = nullptr;
  }

 private:
  [[noreturn]] static void fail(ucs_status_t status) {
    throw std::runtime_error(std::string("UCX: ") + ucx().status_string(status));
  }

  ucs_status_ptr_t started_ = nullptr;
};

class Ucx final : public Fabric {
 public:
  Ucx(const Partner& partner, const TransportOptions& options) : Fabric(options.sleeps) {
    const Address there = partner.agree([&] {
      context_ = open_context();
      worker_ = open_worker(context_);
      return address_of(worker_);
    });
    try {
      partner.agree([&] {
        ucp_ep_params_t parameters{};
        parameters.field_mask = UCP_EP_PARAM_FIELD_REMOTE_ADDRESS;
        parameters.address = reinterpret_cast<const ucp_address_t*>(there.data());
        check(ucx().ep_create(worker_.get(), &parameters, &endpoint_), "ucp_ep_create");
      });
      greet(partner);
    } catch (...) {
      close();
      throw;
    }
  }

  ~Ucx() override { close(); }

 protected:
  std::size_t send_some(std::span<const std::byte> rest, bool) override {
    Request& send = sends_[next_send_];
    if (!send.done()) {
      look(false);
      return 0;
    }
    send.begin(ucx().tag_send_nbx(endpoint_, rest.data(), rest.size(), tag, &plain_));
    next_send_ = (next_send_ + 1) % sends_.size();
    return rest.size();
  }

  std::size_t receive_some(std::span<std::byte> rest, bool) override {
    if (!receiving_) {
      arrival_.begin(ucx().tag_recv_nbx(worker_.get(), rest.data(), rest.size(), tag, whole_tag, &plain_));
      receiving_ = true;
    }
    if (!arrival_.done()) {
      look(false);
      if (!arrival_.done()) return 0;
    }
    receiving_ = false;
    return rest.size();
  }

  void look(bool) override { ucx().worker_progress(worker_.get()); }

 private:
  // The peer has all data and may be gone, so allow only a moment for the disconnect.
  void close() noexcept {
    if (endpoint_ == nullptr) return;
    arrival_.give_up(worker_);
    for (Request& send : sends_) send.give_up(worker_);
    const ucs_status_ptr_t closing = ucx().ep_close_nbx(endpoint_, &plain_);
    endpoint_ = nullptr;
    if (closing == nullptr || UCS_PTR_IS_ERR(closing)) return;
    const auto end = std::chrono::steady_clock::now() + closing_limit;
    while (ucx().request_check_status(closing) == UCS_INPROGRESS && std::chrono::steady_clock::now() < end)
      look(false);
    ucx().request_free(closing);
  }

  const ucp_request_param_t plain_{};
  std::array<Request, most_sends> sends_;
  std::size_t next_send_ = 0;
  Request arrival_;
  bool receiving_ = false;
  Context context_;
  Worker worker_;
  ucp_ep_h endpoint_ = nullptr;
};

}  // namespace

std::unique_ptr<Transport> connect_ucx(const Partner& partner, const TransportOptions& options) {
  try {
    return std::make_unique<Ucx>(partner, options);
  } catch (const Unavailable& error) {
    throw Unavailable(std::string("protocol=ucx: ") + error.what());
  }
}

}  // namespace scope

#else

namespace scope {

std::unique_ptr<Transport> connect_ucx(const Partner&, const TransportOptions&) {
  throw Unavailable("protocol=ucx: this build has no UCX, because UCX was not found when Scope was compiled");
}

}  // namespace scope

#endif
