// Where paths end, and the record every worker answers with. The walk is done by hand, one open
// directory at a time, because openat2 is refused by seccomp rules and unknown to gVisor, and so
// that what was judged is what is worked on: operations take the open directory and a name in it.
#include "worker.h"

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#define REST_SIZE (2 * PATH_MAX)

static bool to_string(struct text text, char *string, size_t size) {
  if (text.length >= size) return false;
  *write_bytes((uint8_t *)string, text.data, text.length) = 0;
  return true;
}

// ---- walking

static bool path_of(int directory, char *path, size_t size) {
  char link[32];
  (void)snprintf(link, sizeof link, "/proc/self/fd/%d", directory);
  ssize_t length = readlink(link, path, size - 1);
  if (length < 0) return false;
  path[length] = 0;
  return true;
}

static bool append(char *path, size_t size, const char *name) {
  size_t length = strlen(path);
  if (length > 0 && path[length - 1] == '/') length--;
  return (size_t)snprintf(path + length, size - length, "/%s", name) < size - length;
}

// Cuts the next component off `rest` into `name`; false when there is none.
static bool next_component(char *rest, char *name, int *error) {
  size_t start = strspn(rest, "/");
  size_t length = strcspn(rest + start, "/");
  if (length == 0) return false;
  if (length > NAME_MAX) {
    *error = ENAMETOOLONG;
    return false;
  }
  memcpy(name, rest + start, length);
  name[length] = 0;
  memmove(rest, rest + start + length, strlen(rest + start + length) + 1);
  return true;
}

static bool is_last(const char *rest) { return rest[strspn(rest, "/")] == 0; }

static bool follow_link(struct target *target, char *rest) {
  char link[REST_SIZE];
  ssize_t length = readlinkat(target->directory, target->name, link, PATH_MAX);
  if (length < 0) return false;
  if (length == 0 || length >= PATH_MAX || (size_t)length + 1 + strlen(rest) >= REST_SIZE) {
    errno = length == 0 ? ENOENT : ENAMETOOLONG;
    return false;
  }
  link[length] = 0;
  (void)snprintf(link + length, sizeof link - (size_t)length, "/%s", rest);
  memcpy(rest, link, strlen(link) + 1);
  return true;
}

static bool enter(struct target *target, const char *name) {
  int flags = O_PATH | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC;
  int directory = name[0] == '/' ? open("/", flags) : openat(target->directory, name, flags);
  if (directory < 0) return false;
  if (target->directory >= 0) (void)close(target->directory);
  target->directory = directory;
  return true;
}

// Gives 0, with `exists` saying whether the path is there. On ENOENT and any other error the
// directory is the last one reached.
static int walk(const char *path, bool follow, struct target *target) {
  char rest[REST_SIZE];
  int links = 0;
  int error = 0;
  target->directory = -1;
  target->exists = false;
  target->missing[0] = 0;
  if (path[0] != '/') return EINVAL;
  (void)snprintf(rest, sizeof rest, "%s", path);
  if (!enter(target, "/")) return errno;
  while (next_component(rest, target->name, &error)) {
    if (strcmp(target->name, ".") == 0) continue;
    if (strcmp(target->name, "..") == 0) {
      if (!enter(target, "..")) return errno;
      continue;
    }
    if (fstatat(target->directory, target->name, &target->status, AT_SYMLINK_NOFOLLOW) < 0) {
      if (errno != ENOENT) return errno;
      size_t slashes = strspn(rest, "/");
      if (strlen(rest + slashes) >= sizeof target->missing) return ENAMETOOLONG;
      (void)snprintf(target->missing, sizeof target->missing, "%s", rest + slashes);
      return 0;
    }
    bool last = is_last(rest);
    if (S_ISLNK(target->status.st_mode) && (follow || !last)) {
      if (++links > MAX_LINKS) return ELOOP;
      if (!follow_link(target, rest)) return errno;
      if (rest[0] == '/' && !enter(target, "/")) return errno;
      continue;
    }
    if (last) {
      target->exists = true;
      return 0;
    }
    if (!enter(target, target->name)) return errno == ELOOP ? ENOTDIR : errno;
  }
  if (error != 0) return error;
  (void)memcpy(target->name, ".", 2);
  if (fstatat(target->directory, ".", &target->status, AT_SYMLINK_NOFOLLOW) < 0) return errno;
  target->exists = true;
  return 0;
}

// ---- judging

static bool is_below(const char *path, const char *root) {
  size_t length = strlen(root);
  if (length == 1) return true;  // "/"
  return strncmp(path, root, length) == 0 && (path[length] == 0 || path[length] == '/');
}

static bool name_target(struct target *target) {
  if (!path_of(target->directory, target->path, sizeof target->path)) return false;
  if (strcmp(target->name, ".") == 0) return true;
  if (!append(target->path, sizeof target->path, target->name)) return false;
  return target->missing[0] == 0 || append(target->path, sizeof target->path, target->missing);
}

// Calls for each root with the path it really is; a root that is missing counts as where it would be.
static bool any_root(const struct task_request *request, const char *path,
                     bool (*matches)(const char *path, const char *root)) {
  static struct target root;  // too big for a stack beside another one
  struct reader roots = request->roots;
  for (uint32_t i = 0; i < request->root_count; i++) {
    char string[PATH_MAX];
    if (!to_string(read_text(&roots), string, sizeof string)) continue;
    bool found = walk(string, true, &root) == 0 && name_target(&root) && matches(path, root.path);
    if (root.directory >= 0) (void)close(root.directory);
    if (found) return true;
  }
  return false;
}

static bool is_same(const char *path, const char *root) { return strcmp(path, root) == 0; }

bool is_root(const struct task_request *request, const struct target *target) {
  return any_root(request, target->path, is_same);
}

static bool is_inside(const struct task_request *request, const char *path) {
  return request->root_count == 0 || any_root(request, path, is_below);
}

static bool has_parent_component(const char *path) {
  for (const char *at = path; (at = strstr(at, "..")) != NULL; at += 2) {
    if ((at == path || at[-1] == '/') && (at[2] == 0 || at[2] == '/')) return true;
  }
  return false;
}

uint32_t resolve(const struct task_request *request, struct text path, bool follow,
                 enum purpose purpose, struct target *target) {
  char string[PATH_MAX];
  target->path[0] = 0;
  target->directory = -1;
  if (!to_string(path, string, sizeof string)) return ENAMETOOLONG;
  int error = walk(string, follow, target);
  if (error != 0) {
    // What cannot be walked is told apart only for those who may look there.
    if (target->directory < 0 || request->root_count == 0) return (uint32_t)error;
    if (path_of(target->directory, target->path, sizeof target->path) &&
        is_inside(request, target->path)) {
      return (uint32_t)error;
    }
    return error == ENOTDIR ? ENOENT : CODE_OUTSIDE;
  }
  if (!name_target(target)) return ENAMETOOLONG;
  if (!target->exists) {
    if (purpose == EXISTING || has_parent_component(target->missing)) return ENOENT;
  }
  return is_inside(request, target->path) ? 0 : CODE_OUTSIDE;
}

uint32_t make_parents(struct target *target, mode_t mode) {
  int error = 0;
  while (!target->exists && !is_last(target->missing)) {
    if (mkdirat(target->directory, target->name, mode) < 0 && errno != EEXIST) return (uint32_t)errno;
    if (!enter(target, target->name)) return (uint32_t)(errno == ELOOP ? ENOTDIR : errno);
    do {
      if (!next_component(target->missing, target->name, &error)) return (uint32_t)error;
    } while (strcmp(target->name, ".") == 0 && !is_last(target->missing));
  }
  return name_target(target) ? 0 : ENAMETOOLONG;
}

// ---- answering

static uint8_t kind_of(mode_t mode) {
  if (S_ISREG(mode)) return 1;
  if (S_ISDIR(mode)) return 2;
  if (S_ISLNK(mode)) return 3;
  return 4;
}

uint8_t *write_stat(uint8_t *at, const struct stat *status, int directory, const char *name) {
  char link[PATH_MAX];
  ssize_t length = 0;
  if (S_ISLNK(status->st_mode)) length = readlinkat(directory, name, link, sizeof link);
  if (length < 0) length = 0;
  at = write_u8(at, kind_of(status->st_mode));
  at = write_u32(at, status->st_mode & 07777);
  at = write_u32(write_u32(at, status->st_uid), status->st_gid);
  at = write_u64(at, (uint64_t)status->st_size);
  at = write_u64(at, (uint64_t)status->st_mtim.tv_sec);
  at = write_u32(at, (uint32_t)status->st_mtim.tv_nsec);
  at = write_u64(at, status->st_ino);
  return write_bytes(write_u32(at, (uint32_t)length), link, (size_t)length);
}

bool write_all(int fd, const void *data, size_t length) {
  const uint8_t *at = data;
  while (length > 0) {
    ssize_t written = write(fd, at, length);
    if (written < 0 && errno == EINTR) continue;
    if (written < 0) return false;
    at += written;
    length -= (size_t)written;
  }
  return true;
}

void answer(uint32_t code, const struct target *target, bool with_stat) {
  static uint8_t record[4 + 4 + RESOLVED_SIZE + 1 + STAT_SIZE];
  struct stat status;
  const char *path = target == NULL ? "" : target->path;
  bool has_stat = with_stat && target != NULL &&
                  fstatat(target->directory, target->name, &status, AT_SYMLINK_NOFOLLOW) == 0;
  uint8_t *at = write_u32(write_u32(record, code), (uint32_t)strlen(path));
  at = write_bytes(at, path, strlen(path));
  at = write_u8(at, has_stat);
  if (has_stat) at = write_stat(at, &status, target->directory, target->name);
  (void)write_all(2, record, (size_t)(at - record));
  // The end of channel 2 tells process 1 that the content of channel 1 may follow.
  (void)close(2);
}

_Noreturn void finish(uint32_t code, const struct target *target, bool with_stat) {
  answer(code, target, with_stat);
  _exit(0);
}

_Noreturn void worker_fail(uint32_t code) { finish(code, NULL, false); }

_Noreturn void worker_run(const struct task_request *request) {
  switch (request->operation) {
    case TASK_STAT:
      run_stat(request);
    case TASK_LIST:
      run_list(request);
    case TASK_READ:
      run_read(request);
    case TASK_WRITE:
      run_write(request);
    case TASK_MKDIR:
      run_make_directory(request);
    case TASK_REMOVE:
      run_remove(request);
    case TASK_RENAME:
      run_rename(request);
    case TASK_CHMOD:
      run_change_mode(request);
    case TASK_WATCH:
      run_watch(request);
    case TASK_DIAL:
      run_dial(request);
    default:
      worker_fail(EINVAL);
  }
}
