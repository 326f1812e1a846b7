#include "inbox.hpp"

#include <dirent.h>
#include <fcntl.h>
#include <poll.h>
#include <sys/random.h>
#include <sys/stat.h>
#include <sys/syscall.h>

#include <cerrno>
#include <cstdio>

#include "identity.hpp"

namespace scope::active_messages {
namespace {

constexpr std::uint32_t layout_version = 1;
constexpr std::size_t page = 4096;

constexpr std::size_t whole_pages(std::size_t bytes) { return (bytes + page - 1) / page * page; }
constexpr std::size_t inbox_bytes = whole_pages(sizeof(Inbox));
constexpr std::size_t ring_stride = whole_pages(sizeof(Ring));
constexpr std::size_t file_bytes = inbox_bytes + senders_limit * ring_stride;  // only pages in use take memory

std::string cause() { return std::strerror(errno); }

// Distinguishes endpoints of one process, and a process from its predecessor with the same number.
std::string file_name(const Address& address) {
  char text[64];
  std::snprintf(text, sizeof text, "scope-messages-%016llx-%04x", static_cast<unsigned long long>(address.process),
                address.port);
  return text;
}

// Finds a file that another process has open; empty if there is no such process or file.
std::optional<std::string> find_file(pid_t process, const std::string& name) {
  const std::string folder = "/proc/" + std::to_string(process) + "/fd";
  const std::unique_ptr<DIR, int (*)(DIR*)> files(opendir(folder.c_str()), &closedir);
  if (!files) {
    if (errno == ENOENT || errno == ESRCH) return std::nullopt;
    throw Error(folder + ": " + cause() +
                "; the processes of one host must run as one user, without setuid or file capabilities");
  }
  const std::string wanted = "/memfd:" + name + " (deleted)";
  while (const dirent* entry = readdir(files.get())) {
    char target[128];
    const std::string path = folder + "/" + entry->d_name;
    const ssize_t length = readlink(path.c_str(), target, sizeof target);
    if (length > 0 && std::string(target, static_cast<std::size_t>(length)) == wanted) return path;
  }
  return std::nullopt;
}

Mapping mapped(const Descriptor& file, std::size_t offset, std::size_t bytes) {
  Mapping mapping(bytes, MAP_SHARED | MAP_NORESERVE, file.get(), static_cast<long>(offset));
  if (!mapping) throw Error("memory shared within the host cannot be mapped: " + cause());
  return mapping;
}

}  // namespace

pid_t process_number(const Address& address) {
  return static_cast<pid_t>(address.process & ((std::uint64_t{1} << process_number_bits) - 1));
}

OwnInbox::OwnInbox(const Address& self, const std::array<std::byte, 16>& session_key)
    : file_(memfd_create(file_name(self).c_str(), MFD_CLOEXEC | MFD_ALLOW_SEALING)) {
  if (!file_) throw Error("memory shared within the host cannot be made (memfd_create): " + cause());
  // The mode repeats what /proc enforces. Sealing prevents truncation of the file while others have it mapped.
  if (fchmod(file_.get(), S_IRUSR | S_IWUSR) != 0 || ftruncate(file_.get(), off_t{file_bytes}) != 0 ||
      fcntl(file_.get(), F_ADD_SEALS, F_SEAL_SHRINK | F_SEAL_GROW | F_SEAL_SEAL) != 0)
    throw Error("memory shared within the host cannot be made: " + cause());
  whole_ = mapped(file_, 0, file_bytes);
  int ends[2];
  if (pipe2(ends, O_CLOEXEC | O_NONBLOCK) != 0) throw Error("no pipe: " + cause());
  bell_ = Descriptor(ends[0]);
  bell_of_senders_ = Descriptor(ends[1]);
  head().doorbell = ends[1];
  head().session_key = session_key;
  head().owner = self;
  head().layout = layout_version;
}

Ring& OwnInbox::ring(std::uint32_t sender) const {
  return *reinterpret_cast<Ring*>(whole_.data() + inbox_bytes + sender * ring_stride);
}

void OwnInbox::silence() {
  char bytes[64];
  while (read(bell_.get(), bytes, sizeof bytes) > 0) continue;
}

PeerInbox::PeerInbox(const Address& self, const Address& peer, const std::array<std::byte, 16>& session_key) {
  const pid_t number = process_number(peer);
  process_ = Descriptor(static_cast<int>(syscall(SYS_pidfd_open, number, 0)));
  if (!process_ && errno == ESRCH) throw Gone{};
  if (!process_) throw Error("process " + std::to_string(number) + " cannot be watched (pidfd_open): " + cause());
  // The number may now belong to another process, which does not have a file of this name.
  const std::optional<std::string> path = find_file(number, file_name(peer));
  if (!path) throw Gone{};
  const Descriptor file(open(path->c_str(), O_RDWR | O_CLOEXEC));
  if (!file && errno == ENOENT) throw Gone{};
  struct stat about{};
  if (!file || fstat(file.get(), &about) != 0) throw Error(*path + ": " + cause());
  const int seals = fcntl(file.get(), F_GET_SEALS);
  if (about.st_uid != geteuid() || about.st_size != off_t{file_bytes} || seals < 0 || !(seals & F_SEAL_SHRINK))
    throw Error(*path + ": not the inbox of an endpoint of this user and version");
  head_ = mapped(file, 0, inbox_bytes);
  if (head().layout != layout_version || head().owner != peer)
    throw Error(*path + ": not the inbox of an endpoint of this version");
  if (head().session_key != session_key)
    throw Error("process " + std::to_string(number) + " has another session key than this process");
  // Opened for reading, too, because a write to a pipe without readers would raise a signal.
  bell_ = Descriptor(open(("/proc/" + std::to_string(number) + "/fd/" + std::to_string(head().doorbell)).c_str(),
                          O_RDWR | O_NONBLOCK | O_CLOEXEC));
  if (!bell_) throw Gone{};

  const std::uint32_t index = head().senders.fetch_add(1);
  if (index >= senders_limit)
    throw Error("process " + std::to_string(number) + " has " + std::to_string(senders_limit) +
                " senders on its host already");
  ring_ = mapped(file, inbox_bytes + index * ring_stride, ring_stride);
  sender_ = &head().sender[index];
  sender_->address = self;
  sender_->probe_address = reinterpret_cast<std::uintptr_t>(&sender_->probe_value);
  if (getrandom(&sender_->probe_value, sizeof sender_->probe_value, 0) < 0) sender_->probe_value = self.process;
  sender_->granted.store(window, std::memory_order_relaxed);
  sender_->ready.store(1, std::memory_order_release);
  ring_bell();
}

void PeerInbox::ring_bell() {
  // Between our write and our check of `asleep`, as between the owner's `asleep` and its last check of the rings.
  std::atomic_thread_fence(std::memory_order_seq_cst);
  if (head().asleep.load(std::memory_order_relaxed) != 0 && head().asleep.exchange(0) != 0) [[maybe_unused]]
    const ssize_t rung = write(bell_.get(), "", 1);  // a full pipe is readable as well
}

bool PeerInbox::closed() const { return head().closed.load(std::memory_order_acquire) != 0; }

bool PeerInbox::alive() const {
  if (closed()) return false;
  pollfd ended{process_.get(), POLLIN, 0};
  return poll(&ended, 1, 0) == 0;
}

}  // namespace scope::active_messages
