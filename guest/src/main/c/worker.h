// What the operations of a worker share. A worker may block as long as it likes; it has the identity
// of whom it works for, and the kernel judges its rights.
#ifndef HOPX_WORKER_H
#define HOPX_WORKER_H

#include <limits.h>
#include <sys/stat.h>

#include "init.h"

#define CODE_OUTSIDE 1001u
#define CODE_NOT_REGULAR 1002u
#define CODE_UNRESOLVED 1003u

#define MAX_LINKS 40
// What a resolved path can grow to when it does not exist: a real directory and what is missing.
#define RESOLVED_SIZE (2 * PATH_MAX)

// Names of WRITE's temporary files. The letter tells a watch whether the rename made a new file or
// replaced one, which inotify does not.
#define TEMPORARY_NEW ".hopx-n"
#define TEMPORARY_REPLACING ".hopx-r"
#define TEMPORARY_DIGITS 16

enum purpose {
  EXISTING,  // what is not there is ENOENT, inside and outside
  CREATING,  // what is not there may be made, if it would be inside
};

// Where a path ends: `name` in the open `directory` (or "." when it ends in the directory itself).
struct target {
  int directory;
  char name[NAME_MAX + 1];
  char path[RESOLVED_SIZE];
  bool exists;
  struct stat status;      // of `name`, not followed; only when it exists
  char missing[PATH_MAX];  // what follows `name`; only when that does not exist
};

// Gives 0, an errno or CODE_OUTSIDE. The last component is not followed unless `follow`.
uint32_t resolve(const struct task_request *request, struct text path, bool follow,
                 enum purpose purpose, struct target *target);
// Whether the target is one of the request's roots.
bool is_root(const struct task_request *request, const struct target *target);
// Makes the missing directories above the target and moves the target down to its last component.
uint32_t make_parents(struct target *target, mode_t mode);

// The record; answered once. The stat is read from the target when `with_stat`.
void answer(uint32_t code, const struct target *target, bool with_stat);
_Noreturn void finish(uint32_t code, const struct target *target, bool with_stat);

// A stat in the wire's form, at most STAT_SIZE bytes.
#define STAT_SIZE (1 + 4 + 4 + 4 + 8 + 8 + 4 + 8 + 4 + PATH_MAX)
uint8_t *write_stat(uint8_t *at, const struct stat *status, int directory, const char *name);

bool write_all(int fd, const void *data, size_t length);

uint32_t remove_tree(int parent, const char *name);

_Noreturn void run_stat(const struct task_request *request);
_Noreturn void run_list(const struct task_request *request);
_Noreturn void run_read(const struct task_request *request);
_Noreturn void run_write(const struct task_request *request);
_Noreturn void run_make_directory(const struct task_request *request);
_Noreturn void run_remove(const struct task_request *request);
_Noreturn void run_rename(const struct task_request *request);
_Noreturn void run_change_mode(const struct task_request *request);
_Noreturn void run_watch(const struct task_request *request);
_Noreturn void run_dial(const struct task_request *request);

#endif
