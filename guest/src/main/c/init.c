// Process 1 of a sandbox: one thread, one epoll set, nothing that blocks. Paths are touched and
// names resolved by workers only.
#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <stdlib.h>
#include <string.h>
#include <sys/epoll.h>
#include <sys/prctl.h>
#include <sys/signalfd.h>
#include <sys/un.h>
#include <time.h>
#include <unistd.h>

#include "init.h"

#define EVENTS_PER_ROUND 64
#define STARVED_RETRY_MILLISECONDS 100
#define LULL_MILLISECONDS 100

static int epoll_set = -1;

void loop_add(int fd, uint32_t events, uint32_t stream, enum fd_role role) {
  struct epoll_event event = {.events = events, .data.u64 = (uint64_t)stream << 8 | role};
  // Fails only for want of kernel memory; then the stream stands still until it is closed.
  (void)epoll_ctl(epoll_set, EPOLL_CTL_ADD, fd, &event);
}

void loop_change(int fd, uint32_t events, uint32_t stream, enum fd_role role) {
  struct epoll_event event = {.events = events, .data.u64 = (uint64_t)stream << 8 | role};
  (void)epoll_ctl(epoll_set, EPOLL_CTL_MOD, fd, &event);
}

int loop_close(int fd) {
  if (fd >= 0) {
    // By hand, because a child that has not reached its exec yet shares the open file.
    (void)epoll_ctl(epoll_set, EPOLL_CTL_DEL, fd, NULL);
    (void)close(fd);
  }
  return -1;
}

int64_t now_milliseconds(void) {
  struct timespec now;
  (void)clock_gettime(CLOCK_MONOTONIC, &now);
  return (int64_t)now.tv_sec * 1000 + now.tv_nsec / 1000000;
}

static void complain(const char *message) {
  (void)!write(2, message, strlen(message));
}

static int open_signals(void) {
  sigset_t children;
  (void)sigemptyset(&children);
  (void)sigaddset(&children, SIGCHLD);
  (void)sigprocmask(SIG_SETMASK, &children, NULL);
  (void)signal(SIGPIPE, SIG_IGN);
  return signalfd(-1, &children, SFD_NONBLOCK | SFD_CLOEXEC);
}

static void drain_signals(int fd) {
  struct signalfd_siginfo information;
  while (read(fd, &information, sizeof information) > 0) {
  }
}

// A negative delay is none.
static int sooner(int delay, int other) { return delay < 0 || delay > other ? other : delay; }

static int wait_milliseconds(void) {
  if (link_can_receive()) return 0;
  if (streams_have_work() && link_has_room() && !streams_starved()) return 0;
  int delay = link_dial_delay();
  if (streams_starved()) delay = sooner(delay, STARVED_RETRY_MILLISECONDS);
  return streams_can_trim() ? sooner(delay, LULL_MILLISECONDS) : delay;
}

static void run_round(int signals) {
  struct epoll_event events[EVENTS_PER_ROUND];
  int wait = wait_milliseconds();
  int count = epoll_wait(epoll_set, events, EVENTS_PER_ROUND, wait);
  if (count == 0 && wait != 0) streams_trim();
  for (int i = 0; i < count; i++) {
    uint32_t stream = (uint32_t)(events[i].data.u64 >> 8);
    enum fd_role role = (enum fd_role)(events[i].data.u64 & 0xFF);
    if (role == ROLE_HOST) {
      link_event(events[i].events);
    } else if (role == ROLE_SIGNALS) {
      drain_signals(signals);
      streams_reap();
    } else {
      streams_event(stream, role, events[i].events);
    }
  }
  link_dial_when_due();
  link_receive();
  streams_pump();
  link_flush();
  link_settle();
}

// Children take 0 to 2 from here, and code that expects them open must not be surprised.
static bool open_standard_descriptors(void) {
  int fd;
  do {
    fd = open("/dev/null", O_RDWR);
    if (fd < 0) return false;
  } while (fd <= 2);
  (void)close(fd);
  return true;
}

int main(int argc, char **argv) {
  if (argc != 2 || argv[1][0] == 0 ||
      strlen(argv[1]) >= sizeof ((struct sockaddr_un *)NULL)->sun_path) {
    complain("usage: hopx-init SOCKET (a path of at most 107 bytes)\n");
    return 2;
  }
  // Root inside must not read or trace what every sandbox depends on.
  (void)prctl(PR_SET_DUMPABLE, 0, 0, 0, 0);
  // Of no effect for process 1; makes the reaping of orphans the same for an ordinary process.
  (void)prctl(PR_SET_CHILD_SUBREAPER, 1, 0, 0, 0);
  if (!open_standard_descriptors()) {
    complain("hopx-init: cannot open /dev/null\n");
    return 1;
  }
  spawn_init();
  epoll_set = epoll_create1(EPOLL_CLOEXEC);
  int signals = open_signals();
  if (epoll_set < 0 || signals < 0) {
    complain("hopx-init: no event descriptors\n");
    return 1;
  }
  loop_add(signals, EPOLLIN, 0, ROLE_SIGNALS);
  link_init(argv[1]);
  for (;;) run_round(signals);
}
