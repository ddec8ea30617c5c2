// Making children. The parent's part opens only what user code cannot tamper with: pipes, and
// terminals through a descriptor of /dev/pts that is older than any user code.
#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <grp.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/ioctl.h>
#include <sys/prctl.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <unistd.h>

#include "init.h"

#define DEFAULT_PATH "/usr/local/sbin:/usr/local/bin:/usr/sbin:/usr/bin:/sbin:/bin"
#define FAILED_CHILD_STATUS 127
#define LAST_SIGNAL 64
#define LAST_RESOURCE 15

static int null_device = -1;
static int terminals = -1;  // /dev/pts
static struct rlimit first_files;

void spawn_init(void) {
  null_device = open("/dev/null", O_RDWR | O_CLOEXEC);
  terminals = open("/dev/pts", O_PATH | O_DIRECTORY | O_CLOEXEC);
  // Thousands of streams need descriptors here; children get back what was set for this process.
  if (getrlimit(RLIMIT_NOFILE, &first_files) == 0) {
    struct rlimit all = {first_files.rlim_max, first_files.rlim_max};
    (void)setrlimit(RLIMIT_NOFILE, &all);
  }
}

// ---- requests

static void skip_texts(struct reader *reader, uint32_t count, bool *has_nul) {
  // Every text takes at least four bytes, so a huge count ends with the payload.
  for (uint32_t i = 0; i < count && !reader->bad; i++) {
    if (text_has_nul(read_text(reader))) *has_nul = true;
  }
}

bool parse_spawn(struct reader *payload, struct spawn_request *request) {
  *request = (struct spawn_request){0};
  request->flags = read_u32(payload);
  request->uid = read_u32(payload);
  request->gid = read_u32(payload);
  request->columns = read_u16(payload);
  request->rows = read_u16(payload);
  request->mask = read_u32(payload);
  request->tag = read_text(payload);
  request->directory = read_text(payload);
  request->has_nul = text_has_nul(request->directory);
  request->limit_count = read_u32(payload);
  request->limits = *payload;
  for (uint32_t i = 0; i < request->limit_count && !payload->bad; i++) {
    (void)read_u32(payload);
    (void)read_u64(payload);
    (void)read_u64(payload);
  }
  request->argument_count = read_u32(payload);
  request->arguments = *payload;
  skip_texts(payload, request->argument_count, &request->has_nul);
  request->variable_count = read_u32(payload);
  request->variables = *payload;
  skip_texts(payload, request->variable_count, &request->has_nul);
  return reader_finished(payload) && (request->flags & ~(uint32_t)SPAWN_ALL) == 0 &&
         request->tag.length <= MAX_TAG && request->argument_count >= 1;
}

bool task_takes_input(uint8_t operation) {
  return operation == TASK_WRITE || operation == TASK_DIAL;
}

static void parse_arguments(struct reader *payload, struct task_request *request) {
  request->path = read_text(payload);
  switch (request->operation) {
    case TASK_STAT:
    case TASK_REMOVE:
    case TASK_WATCH:
      request->flags = read_u8(payload);
      break;
    case TASK_READ:
      request->offset = read_u64(payload);
      request->length = read_u64(payload);
      break;
    case TASK_WRITE:
    case TASK_MKDIR:
      request->mode = read_u32(payload);
      request->flags = read_u8(payload);
      break;
    case TASK_RENAME:
      request->second_path = read_text(payload);
      request->flags = read_u8(payload);
      break;
    case TASK_CHMOD:
      request->mode = read_u32(payload);
      break;
    case TASK_DIAL:
      request->port = read_u16(payload);
      break;
    default:
      break;
  }
}

bool parse_task(struct reader *payload, struct task_request *request) {
  *request = (struct task_request){0};
  request->operation = read_u8(payload);
  request->uid = read_u32(payload);
  request->gid = read_u32(payload);
  request->tag = read_text(payload);
  if (request->operation < TASK_STAT || request->operation > TASK_DIAL) return false;
  if (request->operation != TASK_DIAL) {
    request->root_count = read_u32(payload);
    request->roots = *payload;
    skip_texts(payload, request->root_count, &request->has_nul);
  }
  parse_arguments(payload, request);
  request->has_nul = request->has_nul || text_has_nul(request->path) ||
                     (request->second_path.length > 0 && text_has_nul(request->second_path));
  return reader_finished(payload) && request->tag.length <= MAX_TAG;
}

// ---- the child's part

// gVisor and kernels before 5.9 do not know close_range.
static void close_listed(unsigned first, unsigned last) {
  DIR *descriptors = opendir("/proc/self/fd");
  if (descriptors == NULL) return;
  const struct dirent *entry;
  while ((entry = readdir(descriptors)) != NULL) {
    if (entry->d_name[0] == '.') continue;
    unsigned fd = (unsigned)strtoul(entry->d_name, NULL, 10);
    if (fd >= first && fd <= last && (int)fd != dirfd(descriptors)) (void)close((int)fd);
  }
  (void)closedir(descriptors);
}

static void close_range_or_each(unsigned first, unsigned last) {
  if (first > last || syscall(SYS_close_range, first, last, 0) == 0) return;
  close_listed(first, last);
}

// Keeps 0 to 2 and up to two more (-1: none). The child waits with what it holds, and a held end of
// somebody else's pipe would keep that from ending.
static void close_others(int one, int other) {
  int low = one < other ? one : other;
  int high = one < other ? other : one;
  unsigned next = 3;
  if (low >= 0) {
    close_range_or_each(next, (unsigned)low - 1);
    next = (unsigned)low + 1;
  }
  if (high >= 0) {
    close_range_or_each(next, (unsigned)high - 1);
    next = (unsigned)high + 1;
  }
  close_range_or_each(next, ~0u >> 1);
}

static void reset_signals(void) {
  // The kernel's own call and form, because musl keeps back the signals 32 to 34.
  struct {
    void *handler;
    unsigned long flags;
    void *restorer;
    uint64_t mask;
  } defaults = {0};
  for (int number = 1; number <= LAST_SIGNAL; number++) {
    (void)syscall(SYS_rt_sigaction, number, &defaults, NULL, sizeof defaults.mask);
  }
  sigset_t none;
  (void)sigemptyset(&none);
  (void)sigprocmask(SIG_SETMASK, &none, NULL);
}

static bool take_identity(uint32_t uid, uint32_t gid) {
  return setgroups(0, NULL) == 0 && setresgid(gid, gid, gid) == 0 && setresuid(uid, uid, uid) == 0;
}

static _Noreturn void give_up(int status, int number, enum spawn_stage stage) {
  struct spawn_failure failure = {number, (int32_t)stage};
  (void)!write(status, &failure, sizeof failure);
  _exit(FAILED_CHILD_STATUS);
}

// NULL when memory is missing. The child's memory goes with its exec, so nothing is freed.
static char *terminated(struct text text) {
  char *copy = malloc((size_t)text.length + 1);
  if (copy != NULL) *write_bytes((uint8_t *)copy, text.data, text.length) = 0;
  return copy;
}

static char **terminated_list(struct reader texts, uint32_t count) {
  char **list = calloc((size_t)count + 1, sizeof *list);
  if (list == NULL) return NULL;
  for (uint32_t i = 0; i < count; i++) {
    list[i] = terminated(read_text(&texts));
    if (list[i] == NULL) return NULL;
  }
  return list;
}

static int apply_limits(struct reader limits, uint32_t count) {
  (void)setrlimit(RLIMIT_NOFILE, &first_files);
  for (uint32_t i = 0; i < count; i++) {
    uint32_t resource = read_u32(&limits);
    struct rlimit limit = {.rlim_cur = read_u64(&limits)};
    limit.rlim_max = read_u64(&limits);
    if (resource > LAST_RESOURCE) return EINVAL;
    if (setrlimit((int)resource, &limit) < 0) return errno;
  }
  return 0;
}

static const char *search_path(char **variables) {
  for (; *variables != NULL; variables++) {
    if (strncmp(*variables, "PATH=", 5) == 0) return *variables + 5;
  }
  return DEFAULT_PATH;
}

// Returns the errno of the most telling failure.
static int execute(char **arguments, char **variables) {
  const char *name = arguments[0];
  if (name[0] == 0) return ENOENT;
  if (strchr(name, '/') != NULL) {
    (void)execve(name, arguments, variables);
    return errno;
  }
  int result = ENOENT;
  const char *path = search_path(variables);
  for (;;) {
    size_t length = strcspn(path, ":");
    char candidate[MAX_PATH + 1];
    // An empty entry is the working directory.
    int needed = snprintf(candidate, sizeof candidate, "%.*s%s%s", (int)length, path,
                          length > 0 ? "/" : "", name);
    if (needed > 0 && (size_t)needed < sizeof candidate && length <= MAX_PATH) {
      (void)execve(candidate, arguments, variables);
      if (errno == EACCES) {
        result = EACCES;
      } else if (errno != ENOENT && errno != ENOTDIR) {
        return errno;
      }
    }
    if (path[length] == 0) return result;
    path += length + 1;
  }
}

static _Noreturn void become_program(const struct spawn_request *request, int status, int go,
                                     bool terminal) {
  reset_signals();
  if (go >= 0) {
    char released;
    ssize_t length;
    do {
      length = read(go, &released, 1);
    } while (length < 0 && errno == EINTR);
    if (length != 1) _exit(FAILED_CHILD_STATUS);
    (void)close(go);
  }
  // The owner may open its terminal by name; the number of its group stays.
  if (terminal && fchown(0, request->uid, (gid_t)-1) < 0) give_up(status, errno, STAGE_TERMINAL);
  int number = apply_limits(request->limits, request->limit_count);
  if (number != 0) give_up(status, number, STAGE_LIMITS);
  (void)umask(request->mask & 0777);
  char **arguments = terminated_list(request->arguments, request->argument_count);
  char **variables = terminated_list(request->variables, request->variable_count);
  char *directory = terminated(request->directory);
  if (arguments == NULL || variables == NULL || directory == NULL) {
    give_up(status, ENOMEM, STAGE_RESOURCES);
  }
  if (!take_identity(request->uid, request->gid)) give_up(status, errno, STAGE_IDENTITY);
  if (chdir(directory) < 0) give_up(status, errno, STAGE_DIRECTORY);
  give_up(status, execute(arguments, variables), STAGE_EXEC);
}

// ---- the parent's part

// Both ends of the pipes of one child; -1 where there is none. Our ends have the lower index for
// output and the higher one for input, as pipe2() gives them.
struct pipes {
  int input[2], output[2], error[2], status[2], go[2];
  int terminal;
};

static void close_pair(int pair[2]) {
  if (pair[0] >= 0) (void)close(pair[0]);
  if (pair[1] >= 0) (void)close(pair[1]);
}

static void close_pipes(struct pipes *pipes) {
  close_pair(pipes->input);
  close_pair(pipes->output);
  close_pair(pipes->error);
  close_pair(pipes->status);
  close_pair(pipes->go);
  if (pipes->terminal >= 0) (void)close(pipes->terminal);
}

static bool open_pipe(int pair[2], int our_end) {
  return pipe2(pair, O_CLOEXEC) == 0 && fcntl(pair[our_end], F_SETFL, O_NONBLOCK) == 0;
}

static bool open_terminal(const struct spawn_request *request, struct pipes *pipes) {
  int master = openat(terminals, "ptmx", O_RDWR | O_NOCTTY | O_NONBLOCK | O_CLOEXEC);
  if (master < 0) return false;
  pipes->input[1] = master;
  int locked = 0;
  unsigned number;
  char name[16];
  if (ioctl(master, TIOCSPTLCK, &locked) < 0 || ioctl(master, TIOCGPTN, &number) < 0) return false;
  (void)snprintf(name, sizeof name, "%u", number);
  pipes->terminal = openat(terminals, name, O_RDWR | O_NOCTTY | O_CLOEXEC);
  if (pipes->terminal < 0) return false;
  // A descriptor of its own, because each has its own place in the epoll set.
  pipes->output[0] = fcntl(master, F_DUPFD_CLOEXEC, 3);
  if (pipes->output[0] < 0) return false;
  struct winsize size = {.ws_col = request->columns, .ws_row = request->rows};
  return ioctl(master, TIOCSWINSZ, &size) == 0;
}

static void hand_over(struct pipes *pipes, struct child *child) {
  int theirs[] = {pipes->input[0], pipes->output[1], pipes->error[1], pipes->status[1],
                  pipes->go[0],    pipes->terminal};
  for (size_t i = 0; i < sizeof theirs / sizeof theirs[0]; i++) {
    if (theirs[i] >= 0) (void)close(theirs[i]);
  }
  child->input = pipes->input[1];
  child->output = pipes->output[0];
  child->error = pipes->error[0];
  child->status = pipes->status[0];
  child->go = pipes->go[1];
}

static const struct pipes no_pipes = {{-1, -1}, {-1, -1}, {-1, -1}, {-1, -1}, {-1, -1}, -1};

int spawn_process(const struct spawn_request *request, struct child *child,
                  enum spawn_stage *stage) {
  struct pipes pipes = no_pipes;
  bool terminal = (request->flags & SPAWN_PTY) != 0;
  *stage = STAGE_RESOURCES;
  bool opened = open_pipe(pipes.status, 0);
  if (opened && (request->flags & SPAWN_HOLD)) opened = pipe2(pipes.go, O_CLOEXEC) == 0;
  if (opened && terminal) {
    *stage = STAGE_TERMINAL;
    opened = open_terminal(request, &pipes);
  } else if (opened) {
    if (request->flags & SPAWN_STDIN) opened = open_pipe(pipes.input, 1);
    opened = opened && open_pipe(pipes.output, 0);
    if (opened && !(request->flags & SPAWN_MERGE)) opened = open_pipe(pipes.error, 0);
  }
  if (!opened) {
    int number = errno;
    close_pipes(&pipes);
    return number;
  }
  child->pid = fork();
  if (child->pid < 0) {
    int number = errno;
    close_pipes(&pipes);
    *stage = STAGE_RESOURCES;
    return number;
  }
  if (child->pid == 0) {
    (void)setsid();
    int status = pipes.status[1];
    int input = terminal ? pipes.terminal : pipes.input[0] >= 0 ? pipes.input[0] : null_device;
    int output = terminal ? pipes.terminal : pipes.output[1];
    int error = terminal ? pipes.terminal : pipes.error[1] >= 0 ? pipes.error[1] : pipes.output[1];
    if (terminal && ioctl(pipes.terminal, TIOCSCTTY, 0) < 0) give_up(status, errno, STAGE_TERMINAL);
    if (dup2(input, 0) < 0 || dup2(output, 1) < 0 || dup2(error, 2) < 0) {
      give_up(status, errno, STAGE_RESOURCES);
    }
    close_others(status, pipes.go[0]);
    become_program(request, status, pipes.go[0], terminal);
  }
  hand_over(&pipes, child);
  return 0;
}

int spawn_worker(const struct task_request *request, struct child *child) {
  struct pipes pipes = no_pipes;
  bool opened = !task_takes_input(request->operation) || open_pipe(pipes.input, 1);
  opened = opened && open_pipe(pipes.output, 0) && open_pipe(pipes.error, 0);
  child->pid = opened ? fork() : -1;
  if (child->pid < 0) {
    int number = errno;
    close_pipes(&pipes);
    return number;
  }
  if (child->pid == 0) {
    (void)setsid();
    int input = pipes.input[0] >= 0 ? pipes.input[0] : null_device;
    if (dup2(input, 0) < 0 || dup2(pipes.output[1], 1) < 0 || dup2(pipes.error[1], 2) < 0) _exit(1);
    close_others(-1, -1);
    reset_signals();
    (void)umask(0);
    if (!take_identity(request->uid, request->gid)) worker_fail((uint32_t)errno);
    // Behind the change of identity, which clears it. Matters only where we are not process 1.
    (void)prctl(PR_SET_PDEATHSIG, SIGKILL, 0, 0, 0);
    worker_run(request);
  }
  hand_over(&pipes, child);
  return 0;
}
