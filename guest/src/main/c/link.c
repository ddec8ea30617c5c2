// The connection: dialling, the handshake, frames in and out. The outgoing queue is bounded: bulk
// data is sent only while the queue is short, and no frame is read while it is long, so that a host
// that asks without reading stops itself.
#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <sys/epoll.h>
#include <sys/mman.h>
#include <sys/random.h>
#include <sys/socket.h>
#include <sys/uio.h>
#include <sys/un.h>
#include <unistd.h>

#include "init.h"

#define FIRST_DIAL_MILLISECONDS 5
#define LAST_DIAL_MILLISECONDS 200
// Above this no more bulk data is added to the outgoing queue.
#define QUEUE_ROOM 32768u
// Above this no frame is read.
#define QUEUE_FULL 262144u
#define QUEUE_FIRST 4096u
// Frames up to this size are collected into one write.
#define COLLECTED 4096u
#define RECEIVE_SIZE 131072u

static struct {
  struct sockaddr_un address;
  uint8_t boot_id[16];
  int fd;
  bool welcomed, readable, writable, broken;
  bool undispatched;  // complete frames are left, because the queue was full
  int64_t next_dial;
  int dial_delay;

  // Static, so that no frame can fail for want of memory; untouched pages cost nothing.
  uint8_t received[FRAME_HEADER + MAX_PAYLOAD_TO_GUEST + RECEIVE_SIZE];
  size_t received_length;

  uint8_t *queue;
  size_t queue_start, queue_length, queue_capacity;
} host;

static void schedule_dial(void) {
  host.next_dial = now_milliseconds() + host.dial_delay;
  host.dial_delay *= 2;
  if (host.dial_delay > LAST_DIAL_MILLISECONDS) host.dial_delay = LAST_DIAL_MILLISECONDS;
}

void link_init(const char *socket_path) {
  host.fd = -1;
  host.address.sun_family = AF_UNIX;
  (void)memcpy(host.address.sun_path, socket_path, strlen(socket_path) + 1);
  (void)!getrandom(host.boot_id, sizeof host.boot_id, 0);
  host.dial_delay = FIRST_DIAL_MILLISECONDS;
  host.next_dial = now_milliseconds();
}

bool link_is_open(void) { return host.fd >= 0 && host.welcomed; }

bool link_has_room(void) {
  return link_is_open() && !host.broken && host.writable && host.queue_length < QUEUE_ROOM;
}

bool link_can_receive(void) {
  return host.fd >= 0 && !host.broken && (host.readable || host.undispatched) &&
         host.queue_length < QUEUE_FULL;
}

void link_event(uint32_t events) {
  if (events & (EPOLLIN | EPOLLHUP | EPOLLERR | EPOLLRDHUP)) host.readable = true;
  if (events & (EPOLLOUT | EPOLLHUP | EPOLLERR)) host.writable = true;
}

// ---- sending

static bool reserve(size_t length) {
  if (host.queue_start + host.queue_length + length <= host.queue_capacity) return true;
  if (host.queue_start > 0) {
    memmove(host.queue, host.queue + host.queue_start, host.queue_length);
    host.queue_start = 0;
    if (host.queue_length + length <= host.queue_capacity) return true;
  }
  size_t capacity = host.queue_capacity > 0 ? host.queue_capacity : QUEUE_FIRST;
  while (capacity < host.queue_length + length) capacity *= 2;
  uint8_t *queue = realloc(host.queue, capacity);
  if (queue == NULL) {
    // The host dials in again and resumes; a frame left out would be a lie.
    host.broken = true;
    return false;
  }
  host.queue = queue;
  host.queue_capacity = capacity;
  return true;
}

static void enqueue(const void *data, size_t length) {
  if (length == 0 || !reserve(length)) return;
  memcpy(host.queue + host.queue_start + host.queue_length, data, length);
  host.queue_length += length;
}

static void drop_sent(size_t length) {
  host.queue_start += length;
  host.queue_length -= length;
  if (host.queue_length > 0) return;
  host.queue_start = 0;
  if (host.queue_capacity > QUEUE_ROOM) {
    free(host.queue);
    host.queue = NULL;
    host.queue_capacity = 0;
  }
}

// Gives the number of bytes taken by the socket.
static size_t send_now(const struct iovec *parts, int count) {
  struct msghdr message = {.msg_iov = (struct iovec *)parts, .msg_iovlen = count};
  ssize_t sent;
  do {
    sent = sendmsg(host.fd, &message, MSG_NOSIGNAL | MSG_DONTWAIT);
  } while (sent < 0 && errno == EINTR);
  if (sent >= 0) return (size_t)sent;
  if (errno == EAGAIN) {
    host.writable = false;
  } else if (errno != ENOBUFS && errno != ENOMEM) {
    host.broken = true;
  }
  return 0;
}

void link_flush(void) {
  while (host.fd >= 0 && host.writable && !host.broken && host.queue_length > 0) {
    struct iovec part = {host.queue + host.queue_start, host.queue_length};
    size_t sent = send_now(&part, 1);
    if (sent == 0) return;
    drop_sent(sent);
  }
}

static void send_frame(const uint8_t *header, size_t header_length, const uint8_t *data,
                       size_t length) {
  if (host.fd < 0 || host.broken) return;
  if (length <= COLLECTED || !host.writable) {
    enqueue(header, header_length);
    enqueue(data, length);
    return;
  }
  // Bulk goes from the window to the socket without a copy; only what is left over is copied.
  size_t queued = host.queue_length;
  struct iovec parts[3];
  int count = 0;
  if (queued > 0) parts[count++] = (struct iovec){host.queue + host.queue_start, queued};
  parts[count++] = (struct iovec){(void *)header, header_length};
  parts[count++] = (struct iovec){(void *)data, length};
  size_t sent = send_now(parts, count);
  size_t from_queue = sent < queued ? sent : queued;
  if (from_queue > 0) drop_sent(from_queue);
  sent -= from_queue;
  size_t from_header = sent < header_length ? sent : header_length;
  sent -= from_header;
  enqueue(header + from_header, header_length - from_header);
  enqueue(data + sent, length - sent);
}

void link_send(enum frame_type type, uint32_t stream, const uint8_t *payload, uint32_t length) {
  uint8_t header[FRAME_HEADER];
  (void)write_u32(write_u8(write_u32(header, length), type), stream);
  send_frame(header, sizeof header, payload, length);
}

void link_send_data(uint32_t stream, uint8_t channel, uint64_t offset, const uint8_t *data,
                    uint32_t length) {
  uint8_t header[FRAME_HEADER + DATA_HEADER];
  uint8_t *at = write_u32(write_u8(write_u32(header, DATA_HEADER + length), DATA), stream);
  (void)write_u64(write_u8(at, channel), offset);
  send_frame(header, sizeof header, data, length);
}

// ---- dialling

static void send_hello(void) {
  uint8_t payload[32];
  uint8_t *at = write_u32(payload, PROTOCOL_MAGIC);
  at = write_u16(at, PROTOCOL_VERSION);
  at = write_u16(at, PROTOCOL_VERSION);
  at = write_bytes(at, host.boot_id, sizeof host.boot_id);
  at = write_u32(at, 0);
  at = write_u32(at, streams_highest());
  link_send(HELLO, 0, payload, (uint32_t)(at - payload));
}

void link_dial_when_due(void) {
  if (host.fd >= 0 || now_milliseconds() < host.next_dial) return;
  int fd = socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC | SOCK_NONBLOCK, 0);
  if (fd < 0 || connect(fd, (const struct sockaddr *)&host.address, sizeof host.address) < 0) {
    if (fd >= 0) (void)close(fd);
    schedule_dial();
    return;
  }
  host.fd = fd;
  host.writable = true;
  host.readable = false;
  loop_add(fd, EPOLLIN | EPOLLOUT | EPOLLRDHUP | EPOLLET, 0, ROLE_HOST);
  send_hello();
}

int link_dial_delay(void) {
  if (host.fd >= 0) return -1;
  int64_t delay = host.next_dial - now_milliseconds();
  return delay > 0 ? (int)delay : 0;
}

void link_settle(void) {
  if (!host.broken) return;
  bool was_open = link_is_open();
  host.fd = loop_close(host.fd);
  host.broken = host.welcomed = host.readable = host.writable = host.undispatched = false;
  host.received_length = 0;
  if (host.queue_length > 0) drop_sent(host.queue_length);
  if (was_open) streams_connection_lost();
  schedule_dial();
}

// ---- receiving

static bool greet(uint8_t type, uint32_t stream, struct reader *payload) {
  if (type != WELCOME || stream != 0) return false;  // REFUSE as well: dial again later
  uint16_t version = read_u16(payload);
  uint16_t zero = read_u16(payload);
  if (!reader_finished(payload) || version != PROTOCOL_VERSION || zero != 0) return false;
  host.welcomed = true;
  host.dial_delay = FIRST_DIAL_MILLISECONDS;
  return true;
}

static bool dispatch(uint8_t type, uint32_t stream, struct reader *payload) {
  if (!host.welcomed) return greet(type, stream, payload);
  if (type == PING || type == PONG) {
    if (stream != 0 || payload->end - payload->at != 8) return false;
    if (type == PING) link_send(PONG, 0, payload->at, 8);
    return true;
  }
  return streams_frame(type, stream, payload);
}

// Dispatches the complete frames and gives the number of bytes they took.
static size_t dispatch_received(void) {
  size_t done = 0;
  host.undispatched = false;
  while (!host.broken && host.received_length - done >= FRAME_HEADER) {
    const uint8_t *frame = host.received + done;
    struct reader header = {frame, frame + FRAME_HEADER, false};
    uint32_t length = read_u32(&header);
    uint8_t type = read_u8(&header);
    uint32_t stream = read_u32(&header);
    if (length > MAX_PAYLOAD_TO_GUEST) {
      host.broken = true;
      break;
    }
    if (host.received_length - done - FRAME_HEADER < length) break;
    if (host.queue_length >= QUEUE_FULL) {
      host.undispatched = true;
      break;
    }
    struct reader payload = {frame + FRAME_HEADER, frame + FRAME_HEADER + length, false};
    if (!dispatch(type, stream, &payload)) host.broken = true;
    done += FRAME_HEADER + length;
  }
  return done;
}

static void receive(void) {
  // At most one incomplete frame is left over from before, so RECEIVE_SIZE bytes are always free.
  ssize_t length = recv(host.fd, host.received + host.received_length, RECEIVE_SIZE, MSG_DONTWAIT);
  if (length > 0) {
    host.received_length += (size_t)length;
  } else if (length < 0 && errno == EAGAIN) {
    host.readable = false;
  } else if (length == 0 || errno != EINTR) {
    host.broken = true;
  }
}

void link_receive(void) {
  if (!link_can_receive()) return;
  if (!host.undispatched) receive();
  size_t high = host.received_length;
  size_t done = dispatch_received();
  host.received_length -= done;
  if (done > 0) memmove(host.received, host.received + done, host.received_length);
  if (high > 2 * RECEIVE_SIZE && host.received_length == 0) {
    // A rare huge frame must not stay resident for ever. Whole pages inside the buffer only.
    uintptr_t page = ((uintptr_t)host.received + 4095) & ~(uintptr_t)4095;
    uintptr_t end = (uintptr_t)(host.received + sizeof host.received) & ~(uintptr_t)4095;
    (void)madvise((void *)page, end - page, MADV_DONTNEED);
  }
}
