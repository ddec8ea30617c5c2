// Watching a directory, or a tree of them. inotify knows directories by number and names by their
// last component; the paths, the pairs of a rename and the content of new directories are made here.
#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/inotify.h>
#include <unistd.h>

#include "worker.h"

// Both halves of a rename come together or, across the border of the tree, never.
#define PAIR_MILLISECONDS 20
#define MAX_UNPAIRED 16
#define EVENTS_SIZE 65536
#define OUT_SIZE 65536
#define WATCH_MASK                                                                            \
  (IN_CREATE | IN_MODIFY | IN_ATTRIB | IN_DELETE | IN_MOVED_FROM | IN_MOVED_TO | IN_DELETE_SELF | \
   IN_MOVE_SELF | IN_EXCL_UNLINK | IN_ONLYDIR)

enum event_kind { CREATED = 1, MODIFIED = 2, DELETED = 3, RENAMED = 4, OVERFLOWED = 5 };

struct unpaired {
  uint32_t cookie;
  bool directory;
  char *path;  // NULL: free
  int64_t deadline;
};

struct strings {
  char **items;
  size_t length, capacity;
};

static struct target root;
static int events = -1;
static int root_number;
static bool recursive;
static char **paths;  // by the number of the watch; NULL where there is none
static size_t path_count;
static struct unpaired unpaired[MAX_UNPAIRED];
// What a look into a new directory has reported; its own event may be under way as well.
static struct strings looked_at;
static uint8_t out[OUT_SIZE];
static size_t out_length;

// Without memory a watch cannot tell the truth; its end says so.
static void *must_have(void *memory) {
  if (memory == NULL) _exit(ENOMEM);
  return memory;
}

static void push(struct strings *strings, char *string) {
  if (strings->length == strings->capacity) {
    strings->capacity = 2 * strings->capacity + 16;
    strings->items = must_have(realloc(strings->items, strings->capacity * sizeof(char *)));
  }
  strings->items[strings->length++] = string;
}

static void clear(struct strings *strings) {
  while (strings->length > 0) free(strings->items[--strings->length]);
}

static bool take_looked_at(const char *path) {
  for (size_t i = 0; i < looked_at.length; i++) {
    if (strcmp(looked_at.items[i], path) != 0) continue;
    free(looked_at.items[i]);
    looked_at.items[i] = looked_at.items[--looked_at.length];
    return true;
  }
  return false;
}

static char *join(const char *directory, const char *name) {
  size_t length = strlen(directory);
  if (length == 1) length = 0;  // "/"
  char *path = must_have(malloc(length + strlen(name) + 2));
  memcpy(path, directory, length);
  path[length] = '/';
  memcpy(path + length + 1, name, strlen(name) + 1);
  return path;
}

static bool starts_with(const char *name, const char *prefix) {
  return strncmp(name, prefix, strlen(prefix)) == 0;
}

static bool is_temporary(const char *name) {
  size_t prefix = strlen(TEMPORARY_NEW);
  return (starts_with(name, TEMPORARY_NEW) || starts_with(name, TEMPORARY_REPLACING)) &&
         strlen(name) == prefix + TEMPORARY_DIGITS &&
         strspn(name + prefix, "0123456789abcdef") == TEMPORARY_DIGITS;
}

static const char *last_component(const char *path) { return strrchr(path, '/') + 1; }

// ---- reporting

static void flush(void) {
  if (!write_all(1, out, out_length)) _exit(errno);
  out_length = 0;
}

static void report(enum event_kind kind, bool directory, const char *path, const char *old_path) {
  size_t length = strlen(path);
  size_t old_length = strlen(old_path);
  size_t needed = 2 + 4 + length + 4 + old_length;
  if (length >= RESOLVED_SIZE || old_length >= RESOLVED_SIZE) {
    // Renames can make paths that no record may hold.
    report(OVERFLOWED, true, root.path, "");
    return;
  }
  if (out_length + needed > sizeof out) flush();
  uint8_t *at = write_u8(write_u8(out + out_length, (uint8_t)kind), directory);
  at = write_bytes(write_u32(at, (uint32_t)length), path, length);
  (void)write_bytes(write_u32(at, (uint32_t)old_length), old_path, old_length);
  out_length += needed;
}

static void report_overflow(void) { report(OVERFLOWED, true, root.path, ""); }

// ---- the watched directories

static void set_path(int number, char *path) {
  size_t index = (size_t)number;
  if (index >= path_count) {
    size_t size = index + path_count + 64;
    paths = must_have(realloc(paths, size * sizeof *paths));
    memset(paths + path_count, 0, (size - path_count) * sizeof *paths);
    path_count = size;
  }
  free(paths[index]);
  paths[index] = path;
}

static const char *path_of_watch(int number) {
  return number > 0 && (size_t)number < path_count ? paths[number] : NULL;
}

// Opens a directory below the root by one name after the other: links made meanwhile in place of
// directories must not lead outside. Gives -1 with errno.
static int open_below(const char *path) {
  size_t root_length = strlen(root.path);
  const char *rest = path + (root_length == 1 ? 0 : root_length);
  char name[NAME_MAX + 1];
  if (strlen(path) >= PATH_MAX) {
    errno = ENAMETOOLONG;
    return -1;
  }
  // The root itself is not kept open: a directory that is open never sends its end.
  int directory =
      openat(root.directory, root.name, O_PATH | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC);
  for (rest += strspn(rest, "/"); directory >= 0 && rest[0] != 0; rest += strspn(rest, "/")) {
    size_t length = strcspn(rest, "/");  // at most NAME_MAX: a name that was read from a directory
    memcpy(name, rest, length);
    name[length] = 0;
    rest += length;
    int next = openat(directory, name, O_PATH | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC);
    (void)close(directory);
    directory = next;
  }
  return directory;
}

// Adds the sub-directories to `directories` and reports what is there when `tell`.
static void look_into(int directory, const char *path, bool tell, struct strings *directories) {
  int readable = openat(directory, ".", O_RDONLY | O_DIRECTORY | O_CLOEXEC);
  DIR *entries = readable < 0 ? NULL : fdopendir(readable);
  if (entries == NULL) return;
  const struct dirent *entry;
  while ((entry = readdir(entries)) != NULL) {
    struct stat status;
    const char *name = entry->d_name;
    if (strcmp(name, ".") == 0 || strcmp(name, "..") == 0 || is_temporary(name)) continue;
    if (fstatat(readable, name, &status, AT_SYMLINK_NOFOLLOW) < 0) continue;
    char *child = join(path, name);
    if (tell) {
      report(CREATED, S_ISDIR(status.st_mode), child, "");
      push(&looked_at, must_have(strdup(child)));
    }
    if (S_ISDIR(status.st_mode)) {
      push(directories, child);
    } else {
      free(child);
    }
  }
  (void)closedir(entries);
}

static int watch_directory(int directory) {
  char path[32];
  if (directory < 0) return -1;
  (void)snprintf(path, sizeof path, "/proc/self/fd/%d", directory);
  return inotify_add_watch(events, path, WATCH_MASK);
}

// Watches a directory and, when the watch is recursive, all below. Gives 0 or the errno of the first
// one; a directory below that vanished or may not be read is left out.
static int add_tree(const char *path, bool tell) {
  struct strings directories = {0};
  int result = 0;
  push(&directories, must_have(strdup(path)));
  for (bool top = true; directories.length > 0; top = false) {
    char *path_below = directories.items[--directories.length];
    int directory = open_below(path_below);
    int number = watch_directory(directory);
    if (number < 0) {
      if (top) {
        result = errno;
      } else if (errno == ENOSPC || errno == ENOMEM) {
        report_overflow();
      }
      free(path_below);
    } else {
      if (top && root_number == 0) root_number = number;
      if (recursive) look_into(directory, path_below, tell, &directories);
      set_path(number, path_below);
    }
    if (directory >= 0) (void)close(directory);
  }
  free(directories.items);
  return result;
}

static bool is_root_in_place(void) {
  int directory = open_below(root.path);
  int number = watch_directory(directory);
  if (directory >= 0) (void)close(directory);
  return number == root_number;
}

// The part of `path` behind `directory`, "" for itself, NULL when it is not below.
static const char *below(const char *path, const char *directory) {
  size_t length = strlen(directory);
  if (strncmp(path, directory, length) != 0) return NULL;
  return path[length] == 0 || path[length] == '/' ? path + length : NULL;
}

static void move_tree(const char *from, const char *to) {
  for (size_t i = 0; i < path_count; i++) {
    const char *rest = paths[i] == NULL ? NULL : below(paths[i], from);
    if (rest == NULL) continue;
    char *moved = rest[0] == 0 ? must_have(strdup(to)) : join(to, rest + 1);
    free(paths[i]);
    paths[i] = moved;
  }
}

static void forget_tree(const char *path) {
  for (size_t i = 0; i < path_count; i++) {
    if (paths[i] == NULL || below(paths[i], path) == NULL) continue;
    (void)inotify_rm_watch(events, (int)i);
    free(paths[i]);
    paths[i] = NULL;
  }
}

// ---- events

static void gone(struct unpaired *half) {
  if (!is_temporary(last_component(half->path))) {
    report(DELETED, half->directory, half->path, "");
    if (half->directory) forget_tree(half->path);
  }
  free(half->path);
  half->path = NULL;
}

static void moved_from(char *path, bool directory, uint32_t cookie) {
  struct unpaired *half = &unpaired[0];
  for (int i = 0; i < MAX_UNPAIRED; i++) {
    if (unpaired[i].path == NULL || unpaired[i].deadline < half->deadline) half = &unpaired[i];
    if (half->path == NULL) break;
  }
  if (half->path != NULL) gone(half);
  *half = (struct unpaired){cookie, directory, path, now_milliseconds() + PAIR_MILLISECONDS};
}

static struct unpaired *find_half(uint32_t cookie) {
  for (int i = 0; i < MAX_UNPAIRED; i++) {
    if (unpaired[i].path != NULL && unpaired[i].cookie == cookie) return &unpaired[i];
  }
  return NULL;
}

static void created(const char *path, bool directory) {
  if (take_looked_at(path)) return;
  report(CREATED, directory, path, "");
  if (directory && recursive) (void)add_tree(path, true);
}

static void moved_to(const char *path, bool directory, uint32_t cookie) {
  struct unpaired *half = find_half(cookie);
  if (half == NULL) {
    created(path, directory);
    return;
  }
  const char *old_name = last_component(half->path);
  if (is_temporary(old_name)) {
    report(starts_with(old_name, TEMPORARY_NEW) ? CREATED : MODIFIED, directory, path, "");
  } else {
    report(RENAMED, directory, path, half->path);
    if (directory) move_tree(half->path, path);
  }
  free(half->path);
  half->path = NULL;
}

static _Noreturn void root_gone(void) {
  report(DELETED, true, root.path, "");
  flush();
  _exit(0);
}

static void handle(const struct inotify_event *event) {
  bool directory = (event->mask & IN_ISDIR) != 0;
  if (event->mask & IN_Q_OVERFLOW) {
    report_overflow();
    // Directories whose creation was lost have to be found again.
    if (!is_root_in_place() || add_tree(root.path, false) != 0) root_gone();
    return;
  }
  if (event->mask & IN_IGNORED) {
    if (event->wd == root_number) root_gone();
    if (path_of_watch(event->wd) != NULL) set_path(event->wd, NULL);
    return;
  }
  if (event->mask & (IN_DELETE_SELF | IN_MOVE_SELF)) {
    if (event->wd == root_number) root_gone();
    return;
  }
  const char *parent = path_of_watch(event->wd);
  if (parent == NULL || event->len == 0) return;
  char *path = join(parent, event->name);
  if (event->mask & IN_MOVED_FROM) {
    moved_from(path, directory, event->cookie);
    return;
  }
  if (is_temporary(event->name)) {
    // Its rename is reported, under the final name.
  } else if (event->mask & IN_MOVED_TO) {
    moved_to(path, directory, event->cookie);
  } else if (event->mask & IN_CREATE) {
    created(path, directory);
  } else if (event->mask & IN_DELETE) {
    report(DELETED, directory, path, "");
  } else if (!directory) {
    report(MODIFIED, false, path, "");
  }
  free(path);
}

static void read_events(void) {
  static union {
    struct inotify_event event;
    char bytes[EVENTS_SIZE];
  } batch;
  ssize_t length = read(events, &batch, sizeof batch);
  if (length <= 0) return;
  for (char *at = batch.bytes; at < batch.bytes + length;) {
    const struct inotify_event *event = (const struct inotify_event *)(const void *)at;
    handle(event);
    at += sizeof *event + event->len;
  }
}

// Gives the milliseconds until the next rename can be given up; -1 when there is none.
static int give_up_pairs(void) {
  int64_t now = now_milliseconds();
  int64_t next = -1;
  for (int i = 0; i < MAX_UNPAIRED; i++) {
    if (unpaired[i].path == NULL) continue;
    int64_t left = unpaired[i].deadline - now;
    if (left <= 0) {
      gone(&unpaired[i]);
    } else if (next < 0 || left < next) {
      next = left;
    }
  }
  return (int)next;
}

// A path that ends in "." or ".." has left the root itself open.
static void hold_parent_only(void) {
  if (strcmp(root.name, ".") != 0 || strcmp(root.path, "/") == 0) return;
  int parent = openat(root.directory, "..", O_PATH | O_DIRECTORY | O_CLOEXEC);
  if (parent < 0) finish((uint32_t)errno, &root, false);
  (void)close(root.directory);
  root.directory = parent;
  (void)snprintf(root.name, sizeof root.name, "%s", last_component(root.path));
}

_Noreturn void run_watch(const struct task_request *request) {
  uint32_t code = resolve(request, request->path, true, EXISTING, &root);
  if (code != 0) finish(code, &root, false);
  if (!S_ISDIR(root.status.st_mode)) finish(ENOTDIR, &root, false);
  recursive = request->flags != 0;
  hold_parent_only();
  events = inotify_init1(IN_NONBLOCK | IN_CLOEXEC);
  if (events < 0) finish((uint32_t)errno, &root, false);
  int error = add_tree(root.path, false);
  if (error != 0) finish((uint32_t)error, &root, false);
  answer(0, &root, true);
  for (;;) {
    int wait = give_up_pairs();
    flush();
    struct pollfd ready[] = {{.fd = events, .events = POLLIN}, {.fd = 1, .events = 0}};
    int count = poll(ready, 2, wait);
    if (count > 0 && ready[1].revents != 0) _exit(0);  // nobody reads any more
    if (count > 0) {
      read_events();
    } else if (count == 0) {
      continue;
    }
    // Once the queue is empty no event about what was looked at can be left.
    struct pollfd empty = {.fd = events, .events = POLLIN};
    if (poll(&empty, 1, 0) == 0) clear(&looked_at);
  }
}
