// Streams: processes and workers, and the three channels between each and the host. All relay code
// is here, once for both kinds. Output is read from a pipe only when the host has given credit for
// it, and kept until the host says it is consumed; everything unread stays in the kernel.
#include <errno.h>
#include <signal.h>
#include <stdlib.h>
#include <string.h>
#include <sys/epoll.h>
#include <sys/ioctl.h>
#include <sys/mman.h>
#include <sys/resource.h>
#include <sys/wait.h>
#include <termios.h>
#include <unistd.h>

#include "init.h"

#define BUCKETS 1024u
#define LIST_FRAME 60000u
// Consumed input is reported in steps of this size, not byte by byte.
#define INPUT_STEP (MAX_WINDOW / 4)
#define SPARE_WINDOWS 2
// Read and dropped at a time of what nobody wants; the loop comes back for the rest.
#define DROPPED_AT_ONCE 16384u

enum kind { KIND_PROCESS = 1, KIND_WORKER = 2 };
enum channel_state { CHANNEL_NONE = 0, CHANNEL_OPEN = 1, CHANNEL_ENDED = 2 };
enum how { HOW_EXITED = 1, HOW_KILLED = 2 };

// Guest to host. consumed <= cursor <= tail, tail - consumed <= MAX_WINDOW; the bytes between
// consumed and tail are in the window. cursor < tail only while a resumed channel catches up.
struct output {
  int fd;
  enum channel_state state;
  bool readable, hung_up, end_sent, suspended;
  uint64_t consumed, cursor, tail, limit;
  uint8_t *window;
};

// Host to guest. written <= received <= written + MAX_WINDOW; the bytes between are in the window.
struct input {
  int fd;
  enum channel_state state;
  bool writable, end_received;
  bool discarding;  // nobody reads any more: what arrives is consumed at once
  uint64_t written, received, reported;
  uint8_t *window;
};

struct stream {
  uint32_t id;
  enum kind kind;
  uint32_t flags;
  pid_t pid;
  bool held, starting, reaped, suspended;
  bool killed;     // for want of a connection: hosts are told, however many come and go
  bool abandoned;  // unknown to every host from now on, see abandon()
  int status, go;
  uint8_t how;
  uint32_t value;
  uint64_t user_time, system_time, peak_memory;
  struct input input;
  struct output outputs[2];  // channels 1 and 2
  struct stream *bucket_next;
  struct stream *next, *previous;              // all streams
  struct stream *ready_next, *ready_previous;  // those with work; NULL when not in the list
  uint8_t tag_length;
  uint8_t tag[];
};

static struct stream *buckets[BUCKETS];
static struct stream *first;
static uint32_t count, highest;  // abandoned streams are not counted
static struct stream *ready_first, *ready_last;
static bool starved;

uint32_t streams_highest(void) { return highest; }
bool streams_have_work(void) { return ready_first != NULL; }
bool streams_starved(void) { return starved; }

// ---- the table and the list of those with work

static struct stream *find(uint32_t id) {
  struct stream *stream = buckets[id % BUCKETS];
  while (stream != NULL && stream->id != id) stream = stream->bucket_next;
  return stream;
}

static bool is_ready(const struct stream *stream) {
  return stream->ready_previous != NULL || ready_first == stream;
}

static void make_ready(struct stream *stream) {
  if (is_ready(stream)) return;
  stream->ready_next = NULL;
  stream->ready_previous = ready_last;
  if (ready_last != NULL) {
    ready_last->ready_next = stream;
  } else {
    ready_first = stream;
  }
  ready_last = stream;
}

static void make_unready(struct stream *stream) {
  if (!is_ready(stream)) return;
  if (stream->ready_previous != NULL) {
    stream->ready_previous->ready_next = stream->ready_next;
  } else {
    ready_first = stream->ready_next;
  }
  if (stream->ready_next != NULL) {
    stream->ready_next->ready_previous = stream->ready_previous;
  } else {
    ready_last = stream->ready_previous;
  }
  stream->ready_next = stream->ready_previous = NULL;
}

// A stream in full flow empties its window with each piece; without these the kernel would make and
// clear fresh pages for all of them. Given back when nothing has happened for a moment.
static uint8_t *spare_windows[SPARE_WINDOWS];
static unsigned spare_count;

bool streams_can_trim(void) { return spare_count > 0; }

void streams_trim(void) {
  while (spare_count > 0) (void)munmap(spare_windows[--spare_count], MAX_WINDOW);
}

static void *allocate_window(void) {
  if (spare_count > 0) return spare_windows[--spare_count];
  void *window = mmap(NULL, MAX_WINDOW, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
  return window == MAP_FAILED ? NULL : window;
}

static uint8_t *free_window(uint8_t *window) {
  if (window == NULL) return NULL;
  if (spare_count < SPARE_WINDOWS) {
    spare_windows[spare_count++] = window;
  } else {
    (void)munmap(window, MAX_WINDOW);
  }
  return NULL;
}

static struct stream *add(uint32_t id, enum kind kind, struct text tag) {
  struct stream *stream = calloc(1, sizeof *stream + tag.length);
  if (stream == NULL) return NULL;
  stream->id = id;
  stream->kind = kind;
  stream->status = stream->go = stream->input.fd = -1;
  stream->outputs[0].fd = stream->outputs[1].fd = -1;
  stream->tag_length = (uint8_t)tag.length;
  (void)write_bytes(stream->tag, tag.data, tag.length);
  stream->bucket_next = buckets[id % BUCKETS];
  buckets[id % BUCKETS] = stream;
  stream->next = first;
  if (first != NULL) first->previous = stream;
  first = stream;
  count++;
  return stream;
}

// Closes and forgets everything of a stream; its child is the caller's business.
static void drop(struct stream *stream) {
  make_unready(stream);
  struct stream **link = &buckets[stream->id % BUCKETS];
  while (*link != stream) link = &(*link)->bucket_next;
  *link = stream->bucket_next;
  if (stream->previous != NULL) {
    stream->previous->next = stream->next;
  } else {
    first = stream->next;
  }
  if (stream->next != NULL) stream->next->previous = stream->previous;
  if (!stream->abandoned) count--;
  (void)loop_close(stream->input.fd);
  (void)loop_close(stream->status);
  (void)loop_close(stream->go);
  stream->input.window = free_window(stream->input.window);
  for (int i = 0; i < 2; i++) {
    (void)loop_close(stream->outputs[i].fd);
    stream->outputs[i].window = free_window(stream->outputs[i].window);
  }
  free(stream);
}

static void signal_process(const struct stream *stream, int number, bool group) {
  if (stream->pid <= 0) return;
  if (!stream->reaped) {
    // The group does not exist before the child has made it, a moment after its fork.
    if (!group || kill(-stream->pid, number) < 0) (void)kill(stream->pid, number);
    return;
  }
  // The leader's number may belong to somebody else by now, unless others of the group live on;
  // an open output pipe says so.
  bool others = stream->outputs[0].state == CHANNEL_OPEN || stream->outputs[1].state == CHANNEL_OPEN;
  if (group && others) (void)kill(-stream->pid, number);
}

// A worker that writes a file removes its temporary one on SIGTERM; all others just end. Has to come
// before its pipes are closed, so that a closed pipe is not taken for the end of the content.
static void stop_worker(const struct stream *stream) {
  if (stream->reaped || stream->pid <= 0) return;
  (void)kill(stream->pid, SIGTERM);
  (void)kill(stream->pid, SIGCONT);
}

// ---- frames to the host

static bool can_announce(const struct stream *stream) {
  return link_is_open() && !stream->suspended;
}

static void send_empty(const struct stream *stream, enum frame_type type) {
  if (can_announce(stream)) link_send(type, stream->id, NULL, 0);
}

static void send_spawned(const struct stream *stream) {
  uint8_t payload[4];
  (void)write_u32(payload, (uint32_t)stream->pid);
  link_send(SPAWNED, stream->id, payload, sizeof payload);
}

static void send_failed(uint32_t id, int number, enum spawn_stage stage) {
  uint8_t payload[5];
  (void)write_u8(write_u32(payload, (uint32_t)number), (uint8_t)stage);
  link_send(FAILED, id, payload, sizeof payload);
}

static void send_exit(const struct stream *stream) {
  if (!can_announce(stream)) return;
  uint8_t payload[29];
  uint8_t *at = write_u32(write_u8(payload, stream->how), stream->value);
  at = write_u64(write_u64(at, stream->user_time), stream->system_time);
  (void)write_u64(at, stream->peak_memory);
  link_send(EXIT, stream->id, payload, sizeof payload);
}

static void send_input_credit(struct stream *stream) {
  struct input *input = &stream->input;
  if (!can_announce(stream) || input->state == CHANNEL_NONE) return;
  uint8_t payload[17];
  uint8_t *at = write_u64(write_u8(payload, 0), input->written);
  (void)write_u64(at, input->written + MAX_WINDOW);
  link_send(CREDIT, stream->id, payload, sizeof payload);
  input->reported = input->written;
}

static void send_end(const struct stream *stream, uint8_t channel, uint64_t length) {
  uint8_t payload[9];
  (void)write_u64(write_u8(payload, channel), length);
  link_send(END_OF_FILE, stream->id, payload, sizeof payload);
}

// ---- host to guest

static void end_input(struct stream *stream) {
  struct input *input = &stream->input;
  if ((stream->flags & SPAWN_PTY) && input->fd >= 0 && !input->discarding) {
    // A terminal has no end of its own; a reader of lines is told by the character for it.
    struct termios terminal;
    if (tcgetattr(input->fd, &terminal) == 0 && (terminal.c_lflag & ICANON)) {
      (void)!write(input->fd, &terminal.c_cc[VEOF], 1);
    }
  }
  input->fd = loop_close(input->fd);
  input->state = CHANNEL_ENDED;
}

static void discard_input(struct stream *stream) {
  struct input *input = &stream->input;
  input->discarding = true;
  input->written = input->received;
  input->window = free_window(input->window);
}

// Gives what the pipe took; less than asked for means that it is full or that nobody reads it.
static size_t write_input(struct stream *stream, const uint8_t *data, size_t length) {
  struct input *input = &stream->input;
  size_t done = 0;
  while (done < length && input->writable && !input->discarding) {
    ssize_t written = write(input->fd, data + done, length - done);
    if (written > 0) {
      done += (size_t)written;
      input->written += (uint64_t)written;
    } else if (written < 0 && errno == EAGAIN) {
      input->writable = false;
    } else if (written < 0 && errno == EINTR) {
      continue;
    } else {
      discard_input(stream);
      return length;
    }
  }
  return done;
}

static void push_input(struct stream *stream) {
  struct input *input = &stream->input;
  if (input->state != CHANNEL_OPEN) return;
  while (input->written < input->received && input->writable && !input->discarding) {
    size_t start = input->written % MAX_WINDOW;
    size_t length = input->received - input->written;
    if (length > MAX_WINDOW - start) length = MAX_WINDOW - start;
    (void)write_input(stream, input->window + start, length);
  }
  if (input->written == input->received) {
    input->window = free_window(input->window);
    if (input->end_received) {
      end_input(stream);
      return;
    }
  }
  if (input->written - input->reported >= INPUT_STEP) send_input_credit(stream);
}

static bool take_input(struct stream *stream, const uint8_t *data, size_t length) {
  struct input *input = &stream->input;
  size_t done = 0;
  uint64_t before = input->received;
  input->received += length;
  if (input->discarding) {
    input->written = input->received;
    return true;
  }
  if (input->written == before) done = write_input(stream, data, length);
  if (done == length) return true;
  if (input->window == NULL && (input->window = allocate_window()) == NULL) return false;
  for (size_t i = done; i < length;) {
    size_t start = (before + i) % MAX_WINDOW;
    size_t part = length - i < MAX_WINDOW - start ? length - i : MAX_WINDOW - start;
    memcpy(input->window + start, data + i, part);
    i += part;
  }
  return true;
}

// ---- guest to host

static void end_output(struct output *output) {
  output->fd = loop_close(output->fd);
  output->state = CHANNEL_ENDED;
}

// Whether a reader with credit would find the end. Without credit the pipe must not be read.
static bool is_drained(const struct stream *stream, const struct output *output) {
  int available = 0;
  // The program of a terminal may close and open it again for as long as it lives.
  if ((stream->flags & SPAWN_PTY) && !stream->reaped) return false;
  return output->hung_up && ioctl(output->fd, FIONREAD, &available) == 0 && available == 0;
}

static void send_window(const struct stream *stream, uint8_t channel, struct output *output,
                        size_t length) {
  link_send_data(stream->id, channel, output->cursor, output->window + output->cursor % MAX_WINDOW,
                 (uint32_t)length);
  output->cursor += length;
}

static size_t smallest(uint64_t a, uint64_t b, uint64_t c) {
  uint64_t least = a < b ? a : b;
  return (size_t)(least < c ? least : c);
}

// Reads once and sends what was read; true when it may be worth coming back.
static bool read_output(struct stream *stream, uint8_t channel, struct output *output,
                        uint64_t credit) {
  if (output->window == NULL && (output->window = allocate_window()) == NULL) {
    starved = true;
    return true;
  }
  size_t start = output->tail % MAX_WINDOW;
  // The credit never reaches beyond the window, see credit_output().
  ssize_t length = read(output->fd, output->window + start,
                        smallest(MAX_DATA, credit, MAX_WINDOW - start));
  if (length > 0) {
    output->tail += (uint64_t)length;
    send_window(stream, channel, output, (size_t)length);
    return true;
  }
  if (output->consumed == output->tail) output->window = free_window(output->window);
  if (length < 0 && errno == EINTR) return true;
  bool terminal = (stream->flags & SPAWN_PTY) != 0;
  if (length < 0 && (errno == EAGAIN || (terminal && errno == EIO))) {
    output->readable = false;
    // A terminal ends with its child, whoever still has it open.
    if (!terminal || !stream->reaped) return false;
  }
  end_output(output);
  return true;
}

// Moves at most one frame; true when there may be more to do.
static bool pump_output(struct stream *stream, uint8_t channel) {
  struct output *output = &stream->outputs[channel - 1];
  if (output->state == CHANNEL_NONE || output->suspended || output->end_sent) return false;
  uint64_t credit = output->limit > output->cursor ? output->limit - output->cursor : 0;
  if (output->cursor < output->tail) {
    if (credit == 0) return false;
    uint64_t contiguous = MAX_WINDOW - output->cursor % MAX_WINDOW;
    uint64_t left = output->tail - output->cursor;
    send_window(stream, channel, output,
                smallest(MAX_DATA, credit, left < contiguous ? left : contiguous));
    return true;
  }
  if (output->state == CHANNEL_OPEN) {
    if (!output->readable) return false;
    if (credit > 0) return read_output(stream, channel, output, credit);
    if (!is_drained(stream, output)) return false;
    end_output(output);
  }
  send_end(stream, channel, output->tail);
  output->end_sent = true;
  return false;
}

static bool pump(struct stream *stream) {
  if (stream->suspended || stream->starting) return false;
  bool more = pump_output(stream, 2);
  // A worker's record comes before its content.
  if (stream->kind == KIND_WORKER && !stream->outputs[1].end_sent) return more;
  return pump_output(stream, 1) || more;
}

void streams_pump(void) {
  starved = false;
  // The list grows at its end while it is walked; only those that are in it now get a turn.
  struct stream *last = ready_last;
  for (bool done = last == NULL; !done && link_has_room();) {
    struct stream *stream = ready_first;
    done = stream == last;
    make_unready(stream);
    if (pump(stream)) make_ready(stream);
  }
}

// ---- the life of a child

// Learns whether the child has become its program.
static void resolve_start(struct stream *stream) {
  struct spawn_failure failure;
  ssize_t length;
  do {
    length = read(stream->status, &failure, sizeof failure);
  } while (length < 0 && errno == EINTR);
  if (length < 0 && errno == EAGAIN) return;
  stream->status = loop_close(stream->status);
  stream->starting = false;
  bool killed_before = length == 0 && stream->held;  // without GO there is no exec
  if (length != (ssize_t)sizeof failure && !killed_before) {
    stream->held = false;
    send_empty(stream, STARTED);
    make_ready(stream);
    return;
  }
  if (!can_announce(stream)) return;  // listed as exited
  if (killed_before) {
    send_failed(stream->id, EINTR, STAGE_RESOURCES);
  } else {
    send_failed(stream->id, failure.number, (enum spawn_stage)failure.stage);
  }
  drop(stream);
}

static void reaped(struct stream *stream, int status, const struct rusage *usage) {
  stream->reaped = true;
  stream->how = WIFSIGNALED(status) ? HOW_KILLED : HOW_EXITED;
  stream->value = (uint32_t)(WIFSIGNALED(status) ? WTERMSIG(status) : WEXITSTATUS(status));
  stream->user_time = (uint64_t)usage->ru_utime.tv_sec * 1000000 + (uint64_t)usage->ru_utime.tv_usec;
  stream->system_time =
      (uint64_t)usage->ru_stime.tv_sec * 1000000 + (uint64_t)usage->ru_stime.tv_usec;
  stream->peak_memory = (uint64_t)usage->ru_maxrss;
  uint32_t id = stream->id;
  if (stream->starting) resolve_start(stream);
  if (find(id) == NULL) return;
  stream->go = loop_close(stream->go);
  send_exit(stream);
  if (stream->flags & SPAWN_PTY) stream->outputs[0].readable = true;
  make_ready(stream);
}

void streams_reap(void) {
  for (;;) {
    int status;
    struct rusage usage;
    pid_t pid = wait4(-1, &status, WNOHANG, &usage);
    if (pid < 0 && errno == EINTR) continue;
    if (pid <= 0) return;
    for (struct stream *stream = first; stream != NULL; stream = stream->next) {
      if (stream->pid == pid && !stream->reaped) {
        reaped(stream, status, &usage);
        break;
      }
    }
  }
}

// What background children write into the pipes of an abandoned stream goes nowhere, so that they
// neither block nor die of it. The stream goes with its last pipe.
static void drop_output(struct stream *stream, struct output *output) {
  uint8_t dropped[DROPPED_AT_ONCE];
  ssize_t length = read(output->fd, dropped, sizeof dropped);
  if (length > 0 || (length < 0 && (errno == EAGAIN || errno == EINTR))) return;
  end_output(output);
  if (stream->outputs[0].fd < 0 && stream->outputs[1].fd < 0) drop(stream);
}

void streams_event(uint32_t id, enum fd_role role, uint32_t events) {
  struct stream *stream = find(id);
  if (stream == NULL) return;
  if (stream->abandoned) {
    struct output *output = &stream->outputs[role == ROLE_OUTPUT ? 0 : 1];
    if ((role == ROLE_OUTPUT || role == ROLE_ERROR) && output->fd >= 0) drop_output(stream, output);
    return;
  }
  switch (role) {
    case ROLE_INPUT:
      stream->input.writable = true;
      push_input(stream);
      break;
    case ROLE_OUTPUT:
    case ROLE_ERROR: {
      struct output *output = &stream->outputs[role == ROLE_OUTPUT ? 0 : 1];
      output->readable = true;
      if (events & (EPOLLHUP | EPOLLERR)) output->hung_up = true;
      make_ready(stream);
      break;
    }
    case ROLE_STATUS:
      if (stream->starting) resolve_start(stream);
      break;
    case ROLE_HOST:
    case ROLE_SIGNALS:
      break;
  }
}

static void attach_output(struct stream *stream, struct output *output, int fd, enum fd_role role) {
  if (fd < 0) return;
  output->fd = fd;
  output->state = CHANNEL_OPEN;
  loop_add(fd, EPOLLIN | EPOLLET, stream->id, role);
}

static void attach(struct stream *stream, const struct child *child) {
  stream->pid = child->pid;
  stream->go = child->go;
  stream->held = child->go >= 0;
  stream->status = child->status;
  stream->starting = child->status >= 0;
  if (child->status >= 0) loop_add(child->status, EPOLLIN | EPOLLET, stream->id, ROLE_STATUS);
  if (child->input >= 0) {
    stream->input.fd = child->input;
    stream->input.state = CHANNEL_OPEN;
    stream->input.writable = true;
    loop_add(child->input, EPOLLOUT | EPOLLET, stream->id, ROLE_INPUT);
  }
  attach_output(stream, &stream->outputs[0], child->output, ROLE_OUTPUT);
  attach_output(stream, &stream->outputs[1], child->error, ROLE_ERROR);
}

static bool new_id(uint32_t id) {
  if (id <= highest || count >= MAX_STREAMS) return false;
  highest = id;
  return true;
}

static bool start_process(uint32_t id, struct reader *payload) {
  struct spawn_request request;
  if (!parse_spawn(payload, &request) || !new_id(id)) return false;
  if (request.has_nul) {
    send_failed(id, EINVAL, STAGE_EXEC);
    return true;
  }
  struct stream *stream = add(id, KIND_PROCESS, request.tag);
  enum spawn_stage stage = STAGE_RESOURCES;
  struct child child;
  int number = stream == NULL ? ENOMEM : spawn_process(&request, &child, &stage);
  if (number != 0) {
    send_failed(id, number, stage);
    if (stream != NULL) drop(stream);
    return true;
  }
  stream->flags = request.flags;
  attach(stream, &child);
  send_spawned(stream);
  send_input_credit(stream);
  return true;
}

// Makes a stream look like a worker that could do nothing but tell the error.
static bool answer_task(struct stream *stream, int number) {
  struct output *record = &stream->outputs[1];
  record->window = allocate_window();
  if (record->window == NULL) return false;
  uint8_t *at = write_u32(record->window, (uint32_t)number);
  at = write_u8(write_u32(at, 0), 0);
  record->tail = (uint64_t)(at - record->window);
  record->state = stream->outputs[0].state = CHANNEL_ENDED;
  stream->reaped = true;
  stream->how = HOW_EXITED;
  send_exit(stream);
  make_ready(stream);
  return true;
}

static bool start_worker(uint32_t id, struct reader *payload) {
  struct task_request request;
  if (!parse_task(payload, &request) || !new_id(id)) return false;
  struct stream *stream = add(id, KIND_WORKER, request.tag);
  if (stream == NULL) return false;
  struct child child;
  int number = request.has_nul ? EINVAL : spawn_worker(&request, &child);
  if (number == 0) {
    attach(stream, &child);
  } else {
    if (task_takes_input(request.operation)) {
      stream->input.state = CHANNEL_OPEN;
      stream->input.discarding = true;
    }
    if (!answer_task(stream, number)) return false;
  }
  send_input_credit(stream);
  return true;
}

// ---- frames from the host

static bool take_data(struct stream *stream, struct reader *payload) {
  uint8_t channel = read_u8(payload);
  uint64_t offset = read_u64(payload);
  size_t length = (size_t)(payload->end - payload->at);
  struct input *input = &stream->input;
  if (payload->bad || channel != 0 || length == 0 || length > MAX_DATA) return false;
  if (input->state != CHANNEL_OPEN || input->end_received || offset != input->received) return false;
  if (length > input->written + MAX_WINDOW - input->received) return false;
  if (!take_input(stream, payload->at, length)) return false;
  push_input(stream);
  return true;
}

static bool take_end(struct stream *stream, struct reader *payload) {
  uint8_t channel = read_u8(payload);
  uint64_t length = read_u64(payload);
  struct input *input = &stream->input;
  if (!reader_finished(payload) || channel != 0) return false;
  if (input->state != CHANNEL_OPEN || input->end_received || length != input->received) return false;
  input->end_received = true;
  push_input(stream);
  return true;
}

static bool credit_output(struct stream *stream, struct reader *payload) {
  uint8_t channel = read_u8(payload);
  uint64_t consumed = read_u64(payload);
  uint64_t limit = read_u64(payload);
  if (!reader_finished(payload) || channel < 1 || channel > 2) return false;
  struct output *output = &stream->outputs[channel - 1];
  if (output->state == CHANNEL_NONE || output->suspended) return true;
  if (consumed < output->consumed || consumed > output->cursor) return false;
  if (limit < output->limit || limit < consumed || limit - consumed > MAX_WINDOW) return false;
  output->consumed = consumed;
  output->limit = limit;
  if (consumed == output->tail) output->window = free_window(output->window);
  make_ready(stream);
  return true;
}

static bool resume_output(struct stream *stream, struct reader *payload) {
  uint8_t channel = read_u8(payload);
  uint64_t offset = read_u64(payload);
  if (!reader_finished(payload) || channel < 1 || channel > 2) return false;
  struct output *output = &stream->outputs[channel - 1];
  if (output->state == CHANNEL_NONE || !output->suspended) return false;
  if (offset < output->consumed || offset > output->tail) return false;
  output->suspended = false;
  output->cursor = offset;
  if (stream->suspended) {
    stream->suspended = false;
    if (stream->reaped) send_exit(stream);
    if (stream->input.state == CHANNEL_OPEN) send_input_credit(stream);
  }
  make_ready(stream);
  return true;
}

static bool release_held(struct stream *stream, struct reader *payload) {
  if (!reader_finished(payload)) return false;
  if (stream->go < 0) return (stream->flags & SPAWN_HOLD) != 0;  // may have crossed its end
  (void)!write(stream->go, "g", 1);
  stream->go = loop_close(stream->go);
  stream->held = false;
  return true;
}

static bool send_signal(struct stream *stream, struct reader *payload) {
  uint32_t number = read_u32(payload);
  uint8_t target = read_u8(payload);
  if (!reader_finished(payload) || number > 64 || target > 1) return false;
  if (stream->kind != KIND_PROCESS) return false;
  signal_process(stream, (int)number, target == 1);
  return true;
}

static bool resize(struct stream *stream, struct reader *payload) {
  struct winsize size = {0};
  size.ws_col = read_u16(payload);  // one by one: an initialiser has no order
  size.ws_row = read_u16(payload);
  if (!reader_finished(payload) || !(stream->flags & SPAWN_PTY)) return false;
  // Either end of the terminal may be closed already, the other one serves as well.
  int fd = stream->input.fd >= 0 ? stream->input.fd : stream->outputs[0].fd;
  if (fd >= 0) (void)ioctl(fd, TIOCSWINSZ, &size);
  return true;
}

static bool close_stream(struct stream *stream, struct reader *payload) {
  if (!reader_finished(payload)) return false;
  if (stream->kind == KIND_WORKER) stop_worker(stream);
  drop(stream);
  return true;
}

static uint8_t *list_stream(uint8_t *at, const struct stream *stream) {
  at = write_u8(write_u32(at, stream->id), (uint8_t)stream->kind);
  at = write_u32(at, (uint32_t)stream->pid);
  at = write_u8(at, stream->reaped ? 3 : stream->held ? 1 : 2);
  at = write_u32(write_u32(at, stream->flags), stream->tag_length);
  at = write_bytes(at, stream->tag, stream->tag_length);
  const struct input *input = &stream->input;
  at = write_u8(at, (uint8_t)input->state);
  at = write_u64(write_u64(at, input->written), input->received);
  for (int i = 0; i < 2; i++) {
    const struct output *output = &stream->outputs[i];
    at = write_u8(at, (uint8_t)output->state);
    at = write_u64(write_u64(at, output->consumed), output->tail);
  }
  return at;
}

static void send_list_part(uint8_t *frame, const uint8_t *end, uint32_t entries, bool more) {
  (void)write_u32(write_u8(frame, more), entries);
  link_send(STREAMS, 0, frame, (uint32_t)(end - frame));
}

static void send_list(void) {
  static uint8_t frame[LIST_FRAME + 512];  // an entry takes at most 4+1+4+1+4+4+255+3*17 = 324 bytes
  uint8_t *at = frame + 5;
  uint32_t entries = 0;
  for (const struct stream *stream = first; stream != NULL; stream = stream->next) {
    if (stream->abandoned) continue;
    if (at - frame > (ptrdiff_t)LIST_FRAME) {
      send_list_part(frame, at, entries, true);
      at = frame + 5;
      entries = 0;
    }
    at = list_stream(at, stream);
    entries++;
  }
  send_list_part(frame, at, entries, false);
}

static bool stream_frame(uint8_t type, struct stream *stream, struct reader *payload) {
  switch (type) {
    case DATA:
      return take_data(stream, payload);
    case END_OF_FILE:
      return take_end(stream, payload);
    case CREDIT:
      return credit_output(stream, payload);
    case GO:
      return release_held(stream, payload);
    case SIGNAL:
      return send_signal(stream, payload);
    case RESIZE:
      return resize(stream, payload);
    case CLOSE:
      return close_stream(stream, payload);
    case RESUME:
      return resume_output(stream, payload);
    default:
      return false;
  }
}

static bool is_stream_frame(uint8_t type) {
  return type == DATA || type == END_OF_FILE || type == CREDIT || type == GO || type == SIGNAL ||
         type == RESIZE || type == CLOSE || type == RESUME;
}

bool streams_frame(uint8_t type, uint32_t id, struct reader *payload) {
  if (type == LIST) {
    if (id != 0 || !reader_finished(payload)) return false;
    send_list();
    return true;
  }
  if (id == 0) return false;
  if (type == SPAWN) return start_process(id, payload);
  if (type == TASK) return start_worker(id, payload);
  if (!is_stream_frame(type)) return false;
  struct stream *stream = find(id);
  // A frame for a stream that has ended may have crossed the news of it.
  if (stream == NULL || stream->abandoned) return id <= highest;
  return stream_frame(type, stream, payload);
}

// ---- a lost connection

static void suspend(struct stream *stream) {
  stream->suspended = true;
  struct input *input = &stream->input;
  if (input->state == CHANNEL_OPEN) {
    // The next host sends again from `written`; the one that knew the rest may be dead.
    input->received = input->written;
    input->end_received = false;
    input->window = free_window(input->window);
  }
  for (int i = 0; i < 2; i++) {
    struct output *output = &stream->outputs[i];
    output->suspended = true;
    output->end_sent = false;
    output->cursor = output->tail;
    output->limit = output->consumed;
  }
}

// A command that has ended and was not to be kept is of no use to another host, but what it left in
// the background on purpose lives on. A terminal has ended with its child.
static void abandon(struct stream *stream) {
  make_unready(stream);
  stream->abandoned = true;
  count--;
  stream->status = loop_close(stream->status);
  stream->input.fd = loop_close(stream->input.fd);
  stream->input.window = free_window(stream->input.window);
  for (int i = 0; i < 2; i++) {
    struct output *output = &stream->outputs[i];
    output->window = free_window(output->window);
    if (stream->flags & SPAWN_PTY) output->fd = loop_close(output->fd);
    // Told again and again while there is something: no list keeps what is left.
    if (output->fd >= 0) loop_change(output->fd, EPOLLIN, stream->id, (enum fd_role)(ROLE_OUTPUT + i));
  }
  if (stream->outputs[0].fd < 0 && stream->outputs[1].fd < 0) drop(stream);
}

void streams_connection_lost(void) {
  // First, because a leader that has ended must not be taken for a running one.
  streams_reap();
  struct stream *next;
  for (struct stream *stream = first; stream != NULL; stream = next) {
    next = stream->next;
    if (stream->kind == KIND_WORKER) {
      stop_worker(stream);
      drop(stream);
      continue;
    }
    if (stream->abandoned) continue;
    if (!(stream->flags & SPAWN_KEEP) && !stream->killed) {
      if (stream->reaped) {
        abandon(stream);
        continue;
      }
      signal_process(stream, SIGKILL, true);
      stream->killed = true;
    }
    suspend(stream);
  }
}
