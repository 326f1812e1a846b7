// AF_XDP: an XDP program of 18 instructions passes our frames to rings in our own memory before the network stack
// sees them; all other frames pass. Without zero copy in the driver, the kernel copies once in each direction, and
// frames bypass the queue discipline of the interface.
#include <linux/bpf.h>
#include <linux/if_link.h>
#include <linux/if_xdp.h>
#include <sys/socket.h>
#include <sys/syscall.h>
#include <unistd.h>

#include <atomic>
#include <bit>
#include <cerrno>
#include <chrono>
#include <cstring>
#include <thread>
#include <vector>

#include "capabilities.hpp"
#include "descriptor.hpp"
#include "wire.hpp"

namespace scope::active_messages {
namespace {

constexpr std::uint32_t receive_frames = 1024, send_frames = 512;  // powers of two, as the kernel requires
constexpr std::size_t kernel_headroom = 256;                       // XDP_PACKET_HEADROOM
constexpr std::uint32_t queue = 0;  // non-IP frames do not have a hash, so they arrive in the first queue
const std::vector<std::string> capabilities = {"cap_net_raw", "cap_net_admin", "cap_bpf"};

// The kernel releases the queue some time after the end of a process, and programs start one after another.
constexpr auto kernel_delay = std::chrono::milliseconds(50);

struct InterfaceBusy : Error {
  using Error::Error;
};

int bpf(bpf_cmd command, bpf_attr& attributes) {
  return static_cast<int>(::syscall(SYS_bpf, command, &attributes, sizeof attributes));
}

template <class Pointer>
std::uint64_t address_of(Pointer* pointer) {
  return reinterpret_cast<std::uintptr_t>(pointer);
}

// One of the four rings of a socket: the kernel fills it and we empty it, or vice versa.
template <class Item>
class Ring {
 public:
  Ring() = default;
  Ring(int socket, long page, std::uint32_t items, const xdp_ring_offset& offsets)
      : mapping_(offsets.desc + items * sizeof(Item), MAP_SHARED | MAP_POPULATE, socket, page), items_(items) {
    if (!mapping_) refuse("a ring of AF_XDP", capabilities);
    producer_ = word(offsets.producer);
    consumer_ = word(offsets.consumer);
    flags_ = word(offsets.flags);
    first_ = reinterpret_cast<Item*>(mapping_.data() + offsets.desc);
  }
  // For the filling side.
  bool full() const { return produced_ - load(consumer_) == items_; }
  void push(const Item& item) {
    first_[produced_ & (items_ - 1)] = item;
    std::atomic_ref(*producer_).store(++produced_, std::memory_order_release);
  }
  bool drained() const { return load(consumer_) == produced_; }
  // For the emptying side.
  bool empty() const { return load(producer_) == consumed_; }
  Item pop() {
    const Item item = first_[consumed_ & (items_ - 1)];
    std::atomic_ref(*consumer_).store(++consumed_, std::memory_order_release);
    return item;
  }
  bool sleeps() const { return load(flags_) & XDP_RING_NEED_WAKEUP; }

 private:
  std::uint32_t* word(std::uint64_t offset) const {
    return reinterpret_cast<std::uint32_t*>(mapping_.data() + offset);
  }
  static std::uint32_t load(std::uint32_t* from) { return std::atomic_ref(*from).load(std::memory_order_acquire); }

  Mapping mapping_;
  std::uint32_t items_ = 0, produced_ = 0, consumed_ = 0;
  std::uint32_t *producer_ = nullptr, *consumer_ = nullptr, *flags_ = nullptr;
  Item* first_ = nullptr;
};

bpf_insn instruction(int code, int destination, int source, int offset, int immediate) {
  bpf_insn made{};
  made.code = static_cast<std::uint8_t>(code);
  made.dst_reg = static_cast<std::uint8_t>(destination) & 15;
  made.src_reg = static_cast<std::uint8_t>(source) & 15;
  made.off = static_cast<std::int16_t>(offset);
  made.imm = immediate;
  return made;
}

// Redirects frames of our type and port to the socket in the map; passes all others to the network stack.
std::vector<bpf_insn> program_of(std::uint16_t port, int map) {
  constexpr int word = BPF_LDX | BPF_MEM | BPF_W, half = BPF_LDX | BPF_MEM | BPF_H;
  constexpr int move = BPF_ALU64 | BPF_MOV, not_equal = BPF_JMP | BPF_JNE | BPF_K;
  return {
      instruction(move | BPF_X, 6, 1, 0, 0),
      instruction(word, 2, 1, offsetof(xdp_md, data), 0),
      instruction(word, 3, 1, offsetof(xdp_md, data_end), 0),
      instruction(move | BPF_X, 4, 2, 0, 0),
      instruction(BPF_ALU64 | BPF_ADD | BPF_K, 4, 0, 0, ethernet_bytes + sizeof port),
      instruction(BPF_JMP | BPF_JGT | BPF_X, 4, 3, 10, 0),
      instruction(half, 5, 2, ethernet_bytes - sizeof ethertype, 0),
      instruction(not_equal, 5, 0, 8, __builtin_bswap16(ethertype)),
      instruction(half, 5, 2, ethernet_bytes, 0),
      instruction(not_equal, 5, 0, 6, port),
      instruction(word, 2, 6, offsetof(xdp_md, rx_queue_index), 0),
      instruction(BPF_LD | BPF_DW | BPF_IMM, 1, BPF_PSEUDO_MAP_FD, 0, map),
      instruction(0, 0, 0, 0, 0),
      instruction(move | BPF_K, 3, 0, 0, XDP_PASS),  // if no socket is bound to this queue
      instruction(BPF_JMP | BPF_CALL, 0, 0, 0, BPF_FUNC_redirect_map),
      instruction(BPF_JMP | BPF_EXIT, 0, 0, 0, 0),
      instruction(move | BPF_K, 0, 0, 0, XDP_PASS),
      instruction(BPF_JMP | BPF_EXIT, 0, 0, 0, 0),
  };
}

class XdpWire final : public EthernetWire {
 public:
  XdpWire(const Interface& interface, std::uint16_t port) : interface_(interface) {
    chunk_bytes_ = std::bit_ceil(longest_frame() + kernel_headroom);
    if (chunk_bytes_ < 2048) chunk_bytes_ = 2048;
    if (chunk_bytes_ > static_cast<std::size_t>(::sysconf(_SC_PAGESIZE)))
      throw Error("AF_XDP on " + interface.name + ": an MTU of " + std::to_string(interface.mtu) +
                  " is longer than its buffers");
    socket_ = Descriptor(::socket(AF_XDP, SOCK_RAW | SOCK_CLOEXEC, 0));
    if (!socket_) refuse("AF_XDP", capabilities);
    make_memory();
    make_rings();
    bind();
    attach(port);
  }

  std::string name() const override {
    return std::string("AF_XDP (") + (zero_copy_ ? "zero copy" : "copy") + ") on " + interface_.name;
  }
  std::size_t longest_frame() const override { return ethernet_bytes + interface_.mtu; }
  std::size_t receive_slots() const override { return receive_frames; }
  int descriptor() const override { return socket_.get(); }

  bool send(Bytes head, Bytes body, bool) override {
    while (!completed_.empty()) free_.push_back(completed_.pop());
    if (free_.empty() || send_.full()) return false;
    const std::uint64_t place = free_.back();
    free_.pop_back();
    std::byte* frame = memory_.data() + place;
    std::memcpy(frame, head.data(), head.size());
    if (!body.empty()) std::memcpy(frame + head.size(), body.data(), body.size());
    std::size_t bytes = head.size() + body.size();
    if (bytes < shortest_frame) {
      std::memset(frame + bytes, 0, shortest_frame - bytes);
      bytes = shortest_frame;
    }
    send_.push({place, static_cast<std::uint32_t>(bytes), 0});
    return true;
  }

  void flush() override {
    // The kernel accepts a limited number of frames at a time; the rest waits for the next flush.
    for (int attempt = 0; attempt < 16 && !send_.drained() && send_.sleeps(); ++attempt)
      if (::sendto(socket_.get(), nullptr, 0, MSG_DONTWAIT, nullptr, 0) < 0 && errno != EAGAIN) break;
  }

  Bytes receive() override {
    if (held_) fill_.push(held_place_);
    held_ = false;
    if (receive_.empty()) {
      if (fill_.sleeps()) ::recvfrom(socket_.get(), nullptr, 0, MSG_DONTWAIT, nullptr, nullptr);
      return {};
    }
    const xdp_desc arrived = receive_.pop();
    held_ = true;
    held_place_ = arrived.addr / chunk_bytes_ * chunk_bytes_;
    return {memory_.data() + arrived.addr, arrived.len};
  }

 private:
  template <class Value>
  void set(int option, const Value& value) {
    if (::setsockopt(socket_.get(), SOL_XDP, option, &value, sizeof value) != 0)
      refuse("AF_XDP on " + interface_.name, capabilities);
  }

  void make_memory() {
    memory_ =
        Mapping((receive_frames + send_frames) * chunk_bytes_, MAP_PRIVATE | MAP_ANONYMOUS | MAP_POPULATE, -1, 0);
    if (!memory_) refuse("memory for AF_XDP", {});
    xdp_umem_reg registration{};
    registration.addr = address_of(memory_.data());
    registration.len = memory_.size();
    registration.chunk_size = static_cast<std::uint32_t>(chunk_bytes_);
    set(XDP_UMEM_REG, registration);
  }

  void make_rings() {
    set(XDP_UMEM_FILL_RING, receive_frames);
    set(XDP_UMEM_COMPLETION_RING, send_frames);
    set(XDP_RX_RING, receive_frames);
    set(XDP_TX_RING, send_frames);
    xdp_mmap_offsets offsets{};
    socklen_t bytes = sizeof offsets;
    if (::getsockopt(socket_.get(), SOL_XDP, XDP_MMAP_OFFSETS, &offsets, &bytes) != 0 || bytes != sizeof offsets)
      refuse("the rings of AF_XDP", capabilities);
    const int socket = socket_.get();
    fill_ = {socket, static_cast<long>(XDP_UMEM_PGOFF_FILL_RING), receive_frames, offsets.fr};
    completed_ = {socket, static_cast<long>(XDP_UMEM_PGOFF_COMPLETION_RING), send_frames, offsets.cr};
    receive_ = {socket, XDP_PGOFF_RX_RING, receive_frames, offsets.rx};
    send_ = {socket, static_cast<long>(XDP_PGOFF_TX_RING), send_frames, offsets.tx};
    for (std::uint32_t frame = 0; frame < receive_frames; ++frame) fill_.push(frame * chunk_bytes_);
    for (std::uint32_t frame = 0; frame < send_frames; ++frame)
      free_.push_back((receive_frames + frame) * chunk_bytes_);
  }

  void bind() {
    sockaddr_xdp address{};
    address.sxdp_family = AF_XDP;
    address.sxdp_ifindex = interface_.index;
    address.sxdp_queue_id = queue;
    for (const bool zero_copy : {true, false}) {
      address.sxdp_flags = static_cast<std::uint16_t>(XDP_USE_NEED_WAKEUP | (zero_copy ? XDP_ZEROCOPY : XDP_COPY));
      zero_copy_ = zero_copy;
      if (::bind(socket_.get(), reinterpret_cast<const sockaddr*>(&address), sizeof address) == 0) return;
    }
    refuse_taken();
  }

  void attach(std::uint16_t port) {
    bpf_attr map{};
    map.map_type = BPF_MAP_TYPE_XSKMAP;
    map.key_size = map.value_size = sizeof(std::uint32_t);
    map.max_entries = queue + 1;
    map_ = Descriptor(bpf(BPF_MAP_CREATE, map));
    if (!map_) refuse("the map of the XDP program", capabilities);
    const std::uint32_t key = queue;
    const int socket = socket_.get();
    bpf_attr entry{};
    entry.map_fd = static_cast<std::uint32_t>(map_.get());
    entry.key = address_of(&key);
    entry.value = address_of(&socket);
    if (bpf(BPF_MAP_UPDATE_ELEM, entry) != 0) refuse("the map of the XDP program", capabilities);

    const std::vector<bpf_insn> code = program_of(port, map_.get());
    constexpr char license[] = "Apache-2.0";
    bpf_attr load{};
    load.prog_type = BPF_PROG_TYPE_XDP;
    load.insns = address_of(code.data());
    load.insn_cnt = static_cast<std::uint32_t>(code.size());
    load.license = address_of(license);
    program_ = Descriptor(bpf(BPF_PROG_LOAD, load));
    if (!program_) refuse("the XDP program", capabilities);

    // The link ends with its descriptor, and so with this process. In copy mode, the generic hook is faster.
    bpf_attr link{};
    link.link_create.prog_fd = static_cast<std::uint32_t>(program_.get());
    link.link_create.target_ifindex = interface_.index;
    link.link_create.attach_type = BPF_XDP;
    link.link_create.flags = zero_copy_ ? XDP_FLAGS_DRV_MODE : XDP_FLAGS_SKB_MODE;
    link_ = Descriptor(bpf(BPF_LINK_CREATE, link));
    if (!link_) refuse_taken();
  }

  [[noreturn]] void refuse_taken() const {
    if (errno == EBUSY || errno == EEXIST)
      throw InterfaceBusy("AF_XDP on " + interface_.name + ": another process has it");
    refuse("AF_XDP on " + interface_.name, capabilities);
  }

  Interface interface_;
  std::size_t chunk_bytes_ = 0;
  bool zero_copy_ = false;
  Mapping memory_;
  Descriptor socket_, map_, program_, link_;
  Ring<std::uint64_t> fill_, completed_;
  Ring<xdp_desc> receive_, send_;
  std::vector<std::uint64_t> free_;
  bool held_ = false;
  std::uint64_t held_place_ = 0;
};

}  // namespace

std::unique_ptr<EthernetWire> xdp_wire(const Interface& interface, std::uint16_t port) {
  const auto patience = std::chrono::steady_clock::now() + kernel_delay;
  for (;;) try {
      return std::make_unique<XdpWire>(interface, port);
    } catch (const InterfaceBusy&) {
      if (std::chrono::steady_clock::now() > patience) throw;
      std::this_thread::sleep_for(std::chrono::milliseconds(2));
    }
}

}  // namespace scope::active_messages
