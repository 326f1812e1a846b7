// The channel within a host, between a parent and a child process that is forked before either opens anything.
#include "../src/shared_memory.hpp"

#include <poll.h>
#include <signal.h>
#include <sys/mman.h>
#include <sys/socket.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cstring>
#include <functional>
#include <string>
#include <vector>

#include "../src/identity.hpp"
#include "../src/inbox.hpp"
#include "expect.hpp"

using namespace scope::active_messages;

namespace {

Address address_of_this_process() {
  Address address;
  address.host = 1;
  address.process = process_identity();
  return address;
}

Options with_key(int byte) {
  Options options;
  options.session_key.fill(static_cast<std::byte>(byte));
  return options;
}

// The state of one endpoint; peer 0 is the other process.
struct Side final : Sink {
  explicit Side(int key = 1) : self(address_of_this_process()), channel(shared_memory(with_key(key), self)) {}

  void deliver(Peer, const Message& message) override { on_message(message); }
  std::byte* target(Region, std::size_t offset, std::size_t bytes) override {
    return offset + bytes <= memory.size() ? memory.data() + offset : nullptr;
  }
  bool open(Peer) const override { return is_open; }
  std::optional<Peer> admit(const Address& address) override {
    add(address);
    admitted = true;
    return 0;
  }
  void died(Peer, bool, std::string reason) override {
    dead = true;
    how = std::move(reason);
  }

  void add(const Address& address) {
    if (!added) channel->add(0, address);
    added = true;
  }
  void poll() { channel->poll(Clock::now(), *this); }
  void poll_until(const std::function<bool()>& done) {
    while (!done()) poll();
  }
  void send(Kind kind, Bytes header, Bytes payload) {
    Outcome outcome;
    while ((outcome = channel->send(Clock::now(), 0, kind, {3, header, payload})) == Outcome::again) poll();
    EXPECT(outcome == Outcome::done);
  }

  Address self;
  std::unique_ptr<Channel> channel;
  std::function<void(const Message&)> on_message = [](const Message&) {};
  std::vector<std::byte> memory;
  bool is_open = true, added = false, admitted = false, dead = false;
  std::string how;  // reason why the peer died
};

// Runs `child` in a child process, `parent` here; each gets a socket to the other.
void in_two_processes(const std::function<void(int)>& parent, const std::function<void(int)>& child,
                      bool killed = false) {
  int sockets[2];
  EXPECT(socketpair(AF_UNIX, SOCK_SEQPACKET, 0, sockets) == 0);
  const pid_t pid = fork();
  if (pid == 0) {
    alarm(60);
    close(sockets[0]);
    child(sockets[1]);
    std::_Exit(0);
  }
  close(sockets[1]);
  parent(sockets[0]);
  int status = 0;
  EXPECT(waitpid(pid, &status, 0) == pid);
  EXPECT(killed ? WIFSIGNALED(status) : WIFEXITED(status) && WEXITSTATUS(status) == 0);
  close(sockets[0]);
}

Address exchanged(int socket, const Address& own) {
  EXPECT(write(socket, &own, sizeof own) == sizeof own);
  Address other;
  EXPECT(read(socket, &other, sizeof other) == sizeof other);
  return other;
}

void connect(Side& side, int socket) { side.add(exchanged(socket, side.self)); }

void say(int socket) { EXPECT(write(socket, "x", 1) == 1); }
void hear(int socket) {
  char byte;
  EXPECT(read(socket, &byte, 1) == 1);
}

std::byte pattern(std::size_t message, std::size_t index) {
  return static_cast<std::byte>(message * 31 + index * 7 + index / 251);
}

void all_messages_arrive_once_in_order_and_whole() {
  constexpr std::size_t messages = 30'000;
  const auto size_of = [](std::size_t i) { return i % 97 == 0 ? 15'000 : i * 13 % 700; };
  in_two_processes(
      [&](int socket) {
        Side side;
        std::size_t next = 0;
        side.on_message = [&](const Message& message) {
          EXPECT(message.handler == 3);
          std::size_t number;
          EXPECT(message.header.size() == sizeof number);
          std::memcpy(&number, message.header.data(), sizeof number);
          EXPECT(number == next);
          EXPECT(message.payload.size() == size_of(number));
          for (std::size_t i = 0; i < message.payload.size(); ++i)
            EXPECT(message.payload[i] == pattern(number, i));
          ++next;
        };
        connect(side, socket);
        side.poll_until([&] { return next == messages; });
        say(socket);
      },
      [&](int socket) {
        Side side;
        connect(side, socket);
        std::vector<std::byte> payload;
        for (std::size_t number = 0; number < messages; ++number) {
          payload.resize(size_of(number));
          for (std::size_t i = 0; i < payload.size(); ++i) payload[i] = pattern(number, i);
          side.send(number % 2 ? Kind::reply : Kind::request, std::as_bytes(std::span(&number, 1)), payload);
        }
        hear(socket);
      });
}

// The put is read from the sender's memory or, like every small put, sent in pieces through the ring.
void a_put_arrives_before_the_message_that_ends_it(std::size_t bytes) {
  in_two_processes(
      [&](int socket) {
        Side side;
        side.memory.resize(bytes + 100);
        int ends = 0;
        side.on_message = [&](const Message& message) {
          EXPECT(message.header.size() == 5);
          for (std::size_t i = 0; i < bytes; ++i) EXPECT(side.memory[i + 50] == pattern(1, i));
          EXPECT(side.memory[49] == std::byte{0} && side.memory[bytes + 50] == std::byte{0});
          ++ends;
        };
        connect(side, socket);
        side.poll_until([&] { return ends == 2; });
        say(socket);
        hear(socket);
      },
      [&](int socket) {
        Side side;
        connect(side, socket);
        std::vector<std::byte> source(bytes);
        for (std::size_t i = 0; i < bytes; ++i) source[i] = pattern(1, i);
        int completed = 0;
        const std::byte header[5] = {};
        const Put put{0,
                      50,
                      source,
                      {3, header, {}},
                      [](void* context, Outcome outcome) {
                        EXPECT(outcome == Outcome::done);
                        ++*static_cast<int*>(context);
                      },
                      &completed};
        for (int i = 0; i < 2; ++i)
          side.poll_until([&] { return side.channel->put(Clock::now(), 0, put) == Outcome::done; });
        side.poll_until([&] { return completed == 2; });
        EXPECT(side.channel->idle());
        hear(socket);
        say(socket);
      });
}

void requests_stop_at_the_grant_and_replies_pass() {
  in_two_processes(
      [&](int socket) {
        Side side;
        int arrived = 0;
        side.on_message = [&](const Message&) { ++arrived; };
        connect(side, socket);
        side.is_open = false;
        side.poll_until([&] { return arrived > 0 && side.added; });
        hear(socket);  // the child was refused
        for (int i = 0; i < 100; ++i) side.poll();
        const int requests = arrived;
        say(socket);
        side.poll_until([&] { return arrived == requests + 1; });  // a reply
        side.is_open = true;
        side.poll_until([&] { return arrived == requests + 2; });
        say(socket);
      },
      [&](int socket) {
        Side side;
        connect(side, socket);
        int sent = 0, refused = 0;
        while (refused < 1000 || sent == 0) {
          const Outcome outcome = side.channel->send(Clock::now(), 0, Kind::request, {3, {}, {}});
          ++(outcome == Outcome::done ? sent : refused);
          side.poll();
        }
        EXPECT(sent < 10'000);
        say(socket);
        hear(socket);
        side.send(Kind::reply, {}, {});
        side.send(Kind::request, {}, {});
        hear(socket);
      });
}

void the_death_of_a_peer_is_told_after_its_last_words(bool killed) {
  in_two_processes(
      [&](int socket) {
        Side side;
        int arrived = 0;
        side.on_message = [&](const Message&) { ++arrived; };
        connect(side, socket);
        hear(socket);
        EXPECT(!side.dead);
        side.poll_until([&] { return side.dead; });
        EXPECT(arrived == 10);
        EXPECT(side.channel->send(Clock::now(), 0, Kind::reply, {3, {}, {}}) == Outcome::peer_dead);
      },
      [&](int socket) {
        Side side;
        connect(side, socket);
        for (int i = 0; i < 10; ++i) side.send(Kind::reply, {}, {});
        if (!killed) side.channel->farewell(Clock::now());
        say(socket);
        if (killed) raise(SIGKILL);
      },
      killed);
}

void puts_to_a_dead_peer_complete_with_its_death() {
  in_two_processes(
      [&](int socket) {
        Side side;
        connect(side, socket);
        std::vector<std::byte> source(1 << 20);
        Outcome seen = Outcome::done;
        const Put put{0,
                      0,
                      source,
                      {3, {}, {}},
                      [](void* context, Outcome outcome) { *static_cast<Outcome*>(context) = outcome; },
                      &seen};
        side.poll_until([&] { return side.channel->put(Clock::now(), 0, put) == Outcome::done; });
        say(socket);
        side.poll_until([&] { return side.dead; });
        EXPECT(seen == Outcome::peer_dead);
      },
      [&](int socket) {
        Side side;
        connect(side, socket);
        side.poll_until([&] { return side.admitted; });
        hear(socket);
        raise(SIGKILL);
      },
      true);
}

// A library above may send from a wrongly computed address. Its process is alive and must not be reported as dead.
// If the kernel does not let anyone read another process's memory, the sender itself would read there.
void a_put_from_nowhere_is_not_the_end_of_its_process() {
  in_two_processes(
      [&](int socket) {
        Side side;
        side.memory.resize(1 << 20);
        connect(side, socket);
        // The receiver reads from an admitted process, and reports this with the message.
        side.poll_until([&] { return side.admitted; });
        side.send(Kind::reply, {}, {});
        side.poll_until([&] { return side.dead; });
        EXPECT(side.how.find("invalid address") != std::string::npos);
        say(socket);
      },
      [&](int socket) {
        Side side;
        connect(side, socket);
        int arrived = 0;
        side.on_message = [&](const Message&) { ++arrived; };
        side.poll_until([&] { return arrived == 1; });
        void* nowhere = mmap(nullptr, 1 << 20, PROT_NONE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
        const Bytes source(static_cast<const std::byte*>(nowhere), 1 << 20);
        const Put put{0, 0, source, {3, {}, {}}, [](void*, Outcome) {}, nullptr};
        side.poll_until([&] { return side.channel->put(Clock::now(), 0, put) == Outcome::done; });
        hear(socket);
      });
}

void another_session_key_is_refused() {
  in_two_processes(
      [&](int socket) {
        Side side(1);
        const Address other = exchanged(socket, side.self);
        bool refused = false;
        try {
          side.add(other);
        } catch (const Error& error) {
          refused = std::string(error.what()).find("session key") != std::string::npos;
        }
        EXPECT(refused);
        say(socket);
      },
      [&](int socket) {
        Side side(2);
        exchanged(socket, side.self);
        hear(socket);
      });
}

// A sender that overwrites its ring with nonsense loses its connection without affecting the others.
void a_damaged_ring_ends_its_connection() {
  in_two_processes(
      [&](int socket) {
        Side side;
        int arrived = 0;
        side.on_message = [&](const Message&) { ++arrived; };
        connect(side, socket);
        side.poll_until([&] { return side.dead; });
        EXPECT(arrived == 0);
        Statistics statistics{};
        side.channel->add_to(statistics);
        EXPECT(statistics.corrupt == 1);
        say(socket);
      },
      [&](int socket) {
        const Address self = address_of_this_process();
        const std::unique_ptr<Channel> own = shared_memory(with_key(1), self);
        const Address other = exchanged(socket, self);
        PeerInbox inbox(self, other, with_key(1).session_key);
        std::memset(inbox.ring().data, 0xff, ring_bytes);
        inbox.ring().written.store(ring_bytes);
        hear(socket);
      });
}

void an_arrival_wakes_a_sleeper() {
  in_two_processes(
      [&](int socket) {
        Side side;
        int arrived = 0;
        side.on_message = [&](const Message&) { ++arrived; };
        connect(side, socket);
        while (!side.channel->arm()) side.poll();
        say(socket);
        while (arrived == 0) {
          pollfd bell{side.channel->descriptor(), POLLIN, 0};
          EXPECT(poll(&bell, 1, 30'000) == 1);
          side.poll();
          if (arrived == 0) side.channel->arm();
        }
        say(socket);
      },
      [&](int socket) {
        Side side;
        connect(side, socket);
        hear(socket);
        side.send(Kind::reply, {}, {});
        hear(socket);
      });
}

}  // namespace

int main() {
  alarm(100);
  all_messages_arrive_once_in_order_and_whole();
  for (const std::size_t bytes : {0, 1, 8'192, 8'193, 5'000'001})
    a_put_arrives_before_the_message_that_ends_it(bytes);
  requests_stop_at_the_grant_and_replies_pass();
  the_death_of_a_peer_is_told_after_its_last_words(true);
  the_death_of_a_peer_is_told_after_its_last_words(false);
  puts_to_a_dead_peer_complete_with_its_death();
  a_put_from_nowhere_is_not_the_end_of_its_process();
  another_session_key_is_refused();
  a_damaged_ring_ends_its_connection();
  an_arrival_wakes_a_sleeper();
}
