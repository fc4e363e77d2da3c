/* Counts calls that change the disk; at the one that was chosen it ends the process, or lets it and all later ones fail.
   Tells another time of day, too. Loaded with LD_PRELOAD by reliability/breaking/shim.py. */
#define _GNU_SOURCE
#include <dlfcn.h>
#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <stdarg.h>
#include <stdatomic.h>
#include <stddef.h>
#include <stdio.h>
#include <sys/stat.h>
#include <sys/time.h>
#include <sys/uio.h>
#include <time.h>
#include <unistd.h>

static _Atomic long count;
static long chosen = -1; /* the call at which it goes wrong; -1 for none */
static int error;        /* what it fails with; 0: the process is killed */
static long seconds;     /* added to the time of day */

void faults_arm(long at, int with) { count = 0; chosen = at; error = with; }
long faults_count(void) { return count; }
void faults_clock(long shift) { seconds = shift; }

/* grows: whether the call takes room on the disk; removing and renaming does not fail on a full one */
static int fails(int grows) {
    if (!grows && error == ENOSPC) return 0;
    long now = ++count;
    if (chosen < 0 || now < chosen) return 0;
    if (error == 0) { kill(getpid(), SIGKILL); pause(); }
    errno = error;
    return 1;
}

static int is_file(int handle) {
    struct stat about;
    return handle > 2 && fstat(handle, &about) == 0 && S_ISREG(about.st_mode);
}

#define NEXT(name, type, ...) \
    static type (*next)(__VA_ARGS__); \
    if (!next) next = (type (*)(__VA_ARGS__))dlsym(RTLD_NEXT, #name)
#define PLAIN(name, grows, parameters, arguments, ...) \
    int name parameters { NEXT(name, int, __VA_ARGS__); return fails(grows) ? -1 : next arguments; }
#define OPENS(name) \
    int name(const char *path, int flags, ...) { \
        NEXT(name, int, const char *, int, ...); \
        va_list more; va_start(more, flags); int mode = va_arg(more, int); va_end(more); \
        if ((flags & (O_CREAT | O_TRUNC)) && fails(1)) return -1; \
        return next(path, flags, mode); }
#define OPENS_AT(name) \
    int name(int folder, const char *path, int flags, ...) { \
        NEXT(name, int, int, const char *, int, ...); \
        va_list more; va_start(more, flags); int mode = va_arg(more, int); va_end(more); \
        if ((flags & (O_CREAT | O_TRUNC)) && fails(1)) return -1; \
        return next(folder, path, flags, mode); }
#define WRITES(name, kind, parameters, arguments, ...) \
    ssize_t name parameters { NEXT(name, ssize_t, __VA_ARGS__); return is_file(handle) && fails(1) ? -1 : next arguments; }

OPENS(open)
OPENS(open64)
OPENS_AT(openat)
OPENS_AT(openat64)
WRITES(write, , (int handle, const void *data, size_t size), (handle, data, size), int, const void *, size_t)
WRITES(writev, , (int handle, const struct iovec *parts, int number), (handle, parts, number), int, const struct iovec *, int)
WRITES(pwrite, , (int handle, const void *data, size_t size, off_t at), (handle, data, size, at), int, const void *, size_t, off_t)
WRITES(pwrite64, , (int handle, const void *data, size_t size, off64_t at), (handle, data, size, at), int, const void *, size_t, off64_t)
PLAIN(mkdir, 1, (const char *path, mode_t mode), (path, mode), const char *, mode_t)
PLAIN(mkdirat, 1, (int folder, const char *path, mode_t mode), (folder, path, mode), int, const char *, mode_t)
PLAIN(rmdir, 0, (const char *path), (path), const char *)
PLAIN(unlink, 0, (const char *path), (path), const char *)
PLAIN(unlinkat, 0, (int folder, const char *path, int flags), (folder, path, flags), int, const char *, int)
PLAIN(rename, 0, (const char *one, const char *other), (one, other), const char *, const char *)
PLAIN(renameat, 0, (int from, const char *one, int to, const char *other), (from, one, to, other), int, const char *, int, const char *)
PLAIN(renameat2, 0, (int from, const char *one, int to, const char *other, unsigned flags), (from, one, to, other, flags), int, const char *, int, const char *, unsigned)
PLAIN(ftruncate, 1, (int handle, off_t size), (handle, size), int, off_t)
PLAIN(ftruncate64, 1, (int handle, off64_t size), (handle, size), int, off64_t)
PLAIN(fsync, 1, (int handle), (handle), int)
PLAIN(fdatasync, 1, (int handle), (handle), int)
PLAIN(chmod, 0, (const char *path, mode_t mode), (path, mode), const char *, mode_t)
PLAIN(fchmod, 0, (int handle, mode_t mode), (handle, mode), int, mode_t)

int clock_gettime(clockid_t clock, struct timespec *now) {
    NEXT(clock_gettime, int, clockid_t, struct timespec *);
    int outcome = next(clock, now);
    if (clock == CLOCK_REALTIME) now->tv_sec += seconds;
    return outcome;
}
int gettimeofday(struct timeval *restrict now, void *restrict zone) {
    NEXT(gettimeofday, int, struct timeval *, void *);
    int outcome = next(now, zone);
    now->tv_sec += seconds;
    return outcome;
}
time_t time(time_t *now) {
    struct timespec here;
    clock_gettime(CLOCK_REALTIME, &here);
    if (now) *now = here.tv_sec;
    return here.tv_sec;
}
