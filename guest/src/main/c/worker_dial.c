// A TCP connection from inside, relayed between the pipes of channels 0 and 1 and a socket.
#include <errno.h>
#include <fcntl.h>
#include <netdb.h>
#include <netinet/in.h>
#include <netinet/tcp.h>
#include <poll.h>
#include <stdio.h>
#include <string.h>
#include <sys/socket.h>
#include <unistd.h>

#include "worker.h"

#define CONNECT_MILLISECONDS 10000
#define RELAY_SIZE 65536
#define MAX_HOST 255

struct relay {
  int from, to;
  bool ended;
  size_t start, length;
  uint8_t bytes[RELAY_SIZE];
};

static struct relay upwards, downwards;

// Gives 0 or an errno.
static int connect_within_time(int fd, const struct addrinfo *address) {
  if (connect(fd, address->ai_addr, address->ai_addrlen) == 0) return 0;
  if (errno != EINPROGRESS) return errno;
  struct pollfd ready = {.fd = fd, .events = POLLOUT};
  int count;
  do {
    count = poll(&ready, 1, CONNECT_MILLISECONDS);
  } while (count < 0 && errno == EINTR);
  if (count == 0) return ETIMEDOUT;
  int error = 0;
  socklen_t size = sizeof error;
  if (getsockopt(fd, SOL_SOCKET, SO_ERROR, &error, &size) < 0) return errno;
  return error;
}

static int dial(const char *host, uint16_t port, uint32_t *code) {
  struct addrinfo hints = {.ai_family = AF_UNSPEC, .ai_socktype = SOCK_STREAM};
  struct addrinfo *addresses = NULL;
  char service[8];
  (void)snprintf(service, sizeof service, "%u", port);
  *code = CODE_UNRESOLVED;
  if (getaddrinfo(host, service, &hints, &addresses) != 0) return -1;
  for (const struct addrinfo *address = addresses; address != NULL; address = address->ai_next) {
    int fd = socket(address->ai_family, SOCK_STREAM | SOCK_CLOEXEC | SOCK_NONBLOCK, 0);
    int error = fd < 0 ? errno : connect_within_time(fd, address);
    if (error == 0) {
      *code = 0;
      return fd;
    }
    if (fd >= 0) (void)close(fd);
    *code = (uint32_t)error;
  }
  return -1;
}

// Moves what can be moved in one direction without waiting; false on an error, with errno.
static bool move(struct relay *relay) {
  if (relay->length == 0 && !relay->ended) {
    ssize_t length = read(relay->from, relay->bytes, sizeof relay->bytes);
    if (length < 0) return errno == EAGAIN || errno == EINTR;
    relay->start = 0;
    relay->length = (size_t)length;
    relay->ended = length == 0;
  }
  while (relay->length > 0) {
    ssize_t length = write(relay->to, relay->bytes + relay->start, relay->length);
    if (length < 0) return errno == EAGAIN || errno == EINTR;
    relay->start += (size_t)length;
    relay->length -= (size_t)length;
  }
  return true;
}

// An ended direction has passed its end on and is waited for no more.
static struct pollfd wanted(const struct relay *relay) {
  if (relay->length > 0) return (struct pollfd){.fd = relay->to, .events = POLLOUT};
  return (struct pollfd){.fd = relay->ended ? -1 : relay->from, .events = POLLIN};
}

_Noreturn void run_dial(const struct task_request *request) {
  char host[MAX_HOST + 1];
  uint32_t code;
  if (request->path.length > MAX_HOST) worker_fail(EINVAL);
  *write_bytes((uint8_t *)host, request->path.data, request->path.length) = 0;
  int fd = dial(host, request->port, &code);
  if (fd < 0) worker_fail(code);
  int yes = 1;
  (void)setsockopt(fd, IPPROTO_TCP, TCP_NODELAY, &yes, sizeof yes);
  (void)fcntl(0, F_SETFL, O_NONBLOCK);
  (void)fcntl(1, F_SETFL, O_NONBLOCK);
  answer(0, NULL, false);
  upwards.from = 0;
  upwards.to = downwards.from = fd;
  downwards.to = 1;
  while (!upwards.ended || !downwards.ended) {
    struct pollfd ready[] = {wanted(&upwards), wanted(&downwards)};
    if (poll(ready, 2, -1) < 0 && errno != EINTR) _exit(errno);
    if (!upwards.ended && ready[0].revents != 0) {
      if (!move(&upwards)) _exit(errno);
      if (upwards.ended) (void)shutdown(fd, SHUT_WR);
    }
    if (!downwards.ended && ready[1].revents != 0) {
      if (!move(&downwards)) _exit(errno);
      if (downwards.ended) (void)close(1);
    }
  }
  _exit(0);
}
