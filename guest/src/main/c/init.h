// hopx-init, process 1 of a sandbox. The wire is described in guest/PROTOCOL.md; every constant of
// that page has its one home here.
#ifndef HOPX_INIT_H
#define HOPX_INIT_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <sys/types.h>

#define PROTOCOL_MAGIC 0x484F5058u
#define PROTOCOL_VERSION 1

#define FRAME_HEADER 9u
#define MAX_PAYLOAD_TO_GUEST 262144u
#define MAX_PAYLOAD_TO_HOST 65568u
#define MAX_DATA 65536u
#define MAX_WINDOW 262144u
#define MAX_STREAMS 4096u
#define MAX_TAG 255u
#define MAX_PATH 4095u
#define DATA_HEADER 9u  // channel, offset

enum frame_type {
  HELLO = 0x01,
  WELCOME = 0x02,
  REFUSE = 0x03,
  PING = 0x04,
  PONG = 0x05,
  DATA = 0x10,
  END_OF_FILE = 0x11,
  CREDIT = 0x12,
  SPAWN = 0x20,
  SPAWNED = 0x21,
  GO = 0x22,
  STARTED = 0x23,
  FAILED = 0x24,
  EXIT = 0x25,
  SIGNAL = 0x26,
  RESIZE = 0x27,
  CLOSE = 0x28,
  TASK = 0x30,
  LIST = 0x40,
  STREAMS = 0x41,
  RESUME = 0x42,
};

enum spawn_flag {
  SPAWN_STDIN = 1,
  SPAWN_PTY = 2,
  SPAWN_HOLD = 4,
  SPAWN_KEEP = 8,
  SPAWN_MERGE = 16,
  SPAWN_ALL = 31,
};

enum spawn_stage {
  STAGE_RESOURCES = 1,
  STAGE_DIRECTORY = 2,
  STAGE_IDENTITY = 3,
  STAGE_EXEC = 4,
  STAGE_TERMINAL = 5,
  STAGE_LIMITS = 6,
};

enum task_operation {
  TASK_STAT = 1,
  TASK_LIST = 2,
  TASK_READ = 3,
  TASK_WRITE = 4,
  TASK_MKDIR = 5,
  TASK_REMOVE = 6,
  TASK_RENAME = 7,
  TASK_CHMOD = 8,
  TASK_WATCH = 9,
  TASK_DIAL = 10,
};

// ---- bytes.c: reading and writing the wire's integers and strings

// A string of a frame: points into the frame, is not terminated, holds no NUL once checked.
struct text {
  const uint8_t *data;
  uint32_t length;
};

// Reads a payload from its start. A read past the end sets `bad` and gives zeros, so that a caller
// checks once, at the end.
struct reader {
  const uint8_t *at;
  const uint8_t *end;
  bool bad;
};

uint8_t read_u8(struct reader *reader);
uint16_t read_u16(struct reader *reader);
uint32_t read_u32(struct reader *reader);
uint64_t read_u64(struct reader *reader);
struct text read_text(struct reader *reader);
bool reader_finished(const struct reader *reader);
bool text_has_nul(struct text text);

// Each writes at `at` and returns the byte behind; the caller has made sure of the space.
uint8_t *write_u8(uint8_t *at, uint8_t value);
uint8_t *write_u16(uint8_t *at, uint16_t value);
uint8_t *write_u32(uint8_t *at, uint32_t value);
uint8_t *write_u64(uint8_t *at, uint64_t value);
uint8_t *write_bytes(uint8_t *at, const void *data, size_t length);

// ---- init.c: the loop

// The fds of the loop are known to epoll by the stream they belong to and one of these.
enum fd_role {
  ROLE_INPUT = 0,
  ROLE_OUTPUT = 1,
  ROLE_ERROR = 2,
  ROLE_STATUS = 3,
  ROLE_HOST = 4,
  ROLE_SIGNALS = 5,
};

void loop_add(int fd, uint32_t events, uint32_t stream, enum fd_role role);
// Changes what an added fd is told about.
void loop_change(int fd, uint32_t events, uint32_t stream, enum fd_role role);
// Takes the fd out of epoll and closes it; -1 is nothing. Always returns -1.
int loop_close(int fd);
int64_t now_milliseconds(void);

// ---- link.c: the connection to the host

void link_init(const char *socket_path);
void link_event(uint32_t events);
// Dials when it is time to.
void link_dial_when_due(void);
// Milliseconds until link_dial_when_due() has to be called; -1 when connected.
int link_dial_delay(void);
bool link_is_open(void);
// Whether bulk data may be sent: the connection is open and takes what it is given.
bool link_has_room(void);
bool link_can_receive(void);
// Reads once and dispatches the complete frames.
void link_receive(void);
void link_flush(void);
// Cuts the connection when something in this round called for it.
void link_settle(void);
// Control frames always fit; the payload has to be below MAX_PAYLOAD_TO_HOST.
void link_send(enum frame_type type, uint32_t stream, const uint8_t *payload, uint32_t length);
void link_send_data(uint32_t stream, uint8_t channel, uint64_t offset, const uint8_t *data,
                    uint32_t length);

// ---- streams.c: processes and workers, and what flows between them and the host

void streams_event(uint32_t stream, enum fd_role role, uint32_t events);
// A frame other than those of the handshake; false when it breaks the protocol.
bool streams_frame(uint8_t type, uint32_t stream, struct reader *payload);
uint32_t streams_highest(void);
bool streams_have_work(void);
// Lets each stream that has something to do move at most MAX_DATA bytes per channel.
void streams_pump(void);
// Whether memory for a window was missing, so that the pump has to be tried again later.
bool streams_starved(void);
// Gives back memory that is kept for streams in flow; to be called when there is a lull.
bool streams_can_trim(void);
void streams_trim(void);
void streams_reap(void);
void streams_connection_lost(void);

// ---- spawn.c: making children

struct spawn_request {
  uint32_t flags, uid, gid;
  uint16_t columns, rows;
  uint32_t mask;
  struct text tag, directory;
  uint32_t limit_count;
  struct reader limits;
  uint32_t argument_count;
  struct reader arguments;
  uint32_t variable_count;
  struct reader variables;
  bool has_nul;
};

struct task_request {
  uint8_t operation;
  uint32_t uid, gid;
  struct text tag;
  uint32_t root_count;
  struct reader roots;
  struct text path, second_path;  // DIAL: the path is the host
  uint64_t offset, length;
  uint32_t mode;
  uint8_t flags;
  uint16_t port;
  bool has_nul;
};

// The parent's ends of a child; -1 where there is none. All are close-on-exec, and non-blocking but
// for `go`.
struct child {
  pid_t pid;
  int input, output, error, status, go;
};

// What the child writes into its status pipe when it cannot become the program.
struct spawn_failure {
  int32_t number;
  int32_t stage;
};

bool parse_spawn(struct reader *payload, struct spawn_request *request);
bool parse_task(struct reader *payload, struct task_request *request);
bool task_takes_input(uint8_t operation);

void spawn_init(void);
// Both give 0, or an errno after which nothing is left behind.
int spawn_process(const struct spawn_request *request, struct child *child,
                  enum spawn_stage *stage);
int spawn_worker(const struct task_request *request, struct child *child);

// ---- worker.c

// Runs in the worker, which has fds 0 to 2 only, and the identity of the request.
_Noreturn void worker_run(const struct task_request *request);
// Ends the worker with a record that holds nothing but the error number.
_Noreturn void worker_fail(uint32_t code);

#endif
