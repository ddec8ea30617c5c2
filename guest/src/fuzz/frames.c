// A libFuzzer target over the frame parser, the dispatcher and the relay. The real sources are linked
// in; only what would leave the process is replaced, by -D on the compiler's command line:
// fork, kill and wait4 do nothing, connect gives a pair of sockets, pipes hold what no child wrote. The input is what a host sends; its first byte
// chooses how it is cut into pieces.
#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <stdlib.h>
#include <string.h>
#include <sys/epoll.h>
#include <sys/resource.h>
#include <sys/socket.h>
#include <sys/un.h>
#include <sys/wait.h>
#include <unistd.h>

#include "../main/c/init.h"

int LLVMFuzzerInitialize(int *argc, char ***argv);
int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);
pid_t fuzz_fork(void);
int fuzz_kill(pid_t pid, int number);
int fuzz_connect(int fd, const struct sockaddr *address, socklen_t size);
int fuzz_pipe2(int pair[2], int flags);
#undef pipe2
int pipe2(int pair[2], int flags);
pid_t fuzz_wait4(pid_t pid, int *status, int options, struct rusage *usage);

#define FIRST_PID 100000
#define ROUNDS_AFTER_INPUT 3

static int host = -1;
static pid_t next_pid = FIRST_PID;
static pid_t next_exit = FIRST_PID;

// Every seventh child cannot be made.
pid_t fuzz_fork(void) {
  if (next_pid % 7 == 0) {
    next_pid++;
    next_exit++;
    errno = EAGAIN;
    return -1;
  }
  return next_pid++;
}

// Some pipes hold something, as if a child had written it.
int fuzz_pipe2(int pair[2], int flags) {
  static const char content[30000];
  static unsigned number;
  if (pipe2(pair, flags) < 0) return -1;
  if (number++ % 3 != 0) (void)!write(pair[1], content, 1 + number * 997 % sizeof content);
  return 0;
}

int fuzz_kill(pid_t pid, int number) {
  if (pid == 0 || pid == -1 || pid == 1) abort();  // would reach others
  if (number < 0 || number > 64) abort();
  errno = ESRCH;
  return pid % 2 == 0 ? 0 : -1;
}

int fuzz_connect(int fd, const struct sockaddr *address, socklen_t size) {
  int pair[2];
  (void)address;
  (void)size;
  if (socketpair(AF_UNIX, SOCK_STREAM | SOCK_NONBLOCK | SOCK_CLOEXEC, 0, pair) < 0) return -1;
  if (host >= 0) (void)close(host);
  host = pair[0];
  (void)dup3(pair[1], fd, O_CLOEXEC);
  (void)close(pair[1]);
  return 0;
}

static bool children_end;

// Children end in the order of their start, and only when the input says so.
pid_t fuzz_wait4(pid_t pid, int *status, int options, struct rusage *usage) {
  (void)pid;
  (void)options;
  if (!children_end || next_exit >= next_pid) return 0;
  memset(usage, 0, sizeof *usage);
  *status = next_exit % 2 == 0 ? 0 : SIGKILL;
  return next_exit++;
}

static int epoll_set = -1;

// ---- what init.c provides

void loop_add(int fd, uint32_t events, uint32_t stream, enum fd_role role) {
  struct epoll_event event = {.events = events, .data.u64 = (uint64_t)stream << 8 | role};
  (void)epoll_ctl(epoll_set, EPOLL_CTL_ADD, fd, &event);
}

void loop_change(int fd, uint32_t events, uint32_t stream, enum fd_role role) {
  struct epoll_event event = {.events = events, .data.u64 = (uint64_t)stream << 8 | role};
  (void)epoll_ctl(epoll_set, EPOLL_CTL_MOD, fd, &event);
}

int loop_close(int fd) {
  if (fd >= 0) {
    (void)epoll_ctl(epoll_set, EPOLL_CTL_DEL, fd, NULL);
    (void)close(fd);
  }
  return -1;
}

// Stands still, so that a lost connection is dialled again at once and never in between.
static int64_t now;
int64_t now_milliseconds(void) { return now; }

// Never reached: no child is ever made.
_Noreturn void worker_run(const struct task_request *request) {
  (void)request;
  abort();
}
_Noreturn void worker_fail(uint32_t code) {
  (void)code;
  abort();
}

static void run_round(bool reap) {
  children_end = reap;
  struct epoll_event events[64];
  int count = epoll_wait(epoll_set, events, 64, 0);
  for (int i = 0; i < count; i++) {
    uint32_t stream = (uint32_t)(events[i].data.u64 >> 8);
    enum fd_role role = (enum fd_role)(events[i].data.u64 & 0xFF);
    if (role == ROLE_HOST) {
      link_event(events[i].events);
    } else {
      streams_event(stream, role, events[i].events);
    }
  }
  if (reap) streams_reap();
  link_dial_when_due();
  link_receive();
  streams_pump();
  link_flush();
  link_settle();
}

static void drain_host(void) {
  static uint8_t sink[65536];
  while (host >= 0 && recv(host, sink, sizeof sink, MSG_DONTWAIT) > 0) {
  }
}

int LLVMFuzzerInitialize(int *argc, char ***argv) {
  (void)argc;
  (void)argv;
  (void)signal(SIGPIPE, SIG_IGN);
  epoll_set = epoll_create1(EPOLL_CLOEXEC);
  spawn_init();
  link_init("/unused");
  return 0;
}

static const uint8_t welcome[] = {0, 0, 0, 4, WELCOME, 0, 0, 0, 0, 0, 1, 0, 0};

// Ends the connection of the last input and every stream it has left behind.
static void start_over(void) {
  for (int i = 0; i < 2; i++) {
    if (host >= 0) {
      (void)close(host);
      host = -1;
    }
    for (int round = 0; round < 3; round++) {
      now += 1000;
      run_round(true);
    }
  }
  (void)!write(host, welcome, sizeof welcome);
  run_round(false);
  // Kept streams are closed as a host would, by what LIST tells.
  for (uint32_t id = streams_highest() > 64 ? streams_highest() - 64 : 1; id <= streams_highest();
       id++) {
    uint8_t frame[FRAME_HEADER];
    (void)write_u32(write_u8(write_u32(frame, 0), CLOSE), id);
    (void)!write(host, frame, sizeof frame);
    run_round(false);
    if (id == UINT32_MAX) break;
  }
  drain_host();
}

// Ids are used once in the life of a guest; inputs take theirs from where the last one ended.
static void shift_ids(uint8_t *data, size_t size, uint32_t base) {
  for (size_t at = 0; at + FRAME_HEADER <= size;) {
    struct reader reader = {data + at, data + size, false};
    uint32_t length = read_u32(&reader);
    (void)read_u8(&reader);
    uint32_t stream = read_u32(&reader);
    if (stream > 0 && stream < 64) (void)write_u32(data + at + 5, stream + base);
    if (length > size) break;
    at += FRAME_HEADER + length;
  }
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size) {
  if (size < 1) return 0;
  size_t piece = data[0] == 0 ? size : data[0];
  start_over();
  if (streams_highest() > UINT32_MAX - 1000) return 0;
  uint8_t *input = malloc(size);
  if (input == NULL) return 0;
  memcpy(input, data, size);
  shift_ids(input + 1, size - 1, streams_highest());
  for (size_t at = 1; at < size && host >= 0;) {
    size_t length = size - at < piece ? size - at : piece;
    ssize_t written = write(host, input + at, length);
    if (written > 0) at += (size_t)written;
    run_round(false);
    if (written <= 0 && !link_is_open()) break;
    if (data[0] % 3 != 0) drain_host();
    if (written < 0 && errno == EAGAIN) drain_host();
  }
  for (int i = 0; i < ROUNDS_AFTER_INPUT; i++) {
    run_round(i == 1);
    drain_host();
  }
  free(input);
  return 0;
}
