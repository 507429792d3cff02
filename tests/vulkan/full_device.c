/* A GPU that is full: llvmpipe's large allocations fail once they come to LLVMPIPE_MEGABYTES. For LD_PRELOAD. */
#define _GNU_SOURCE
#include <dlfcn.h>
#include <errno.h>
#include <stdlib.h>
#include <string.h>

static const size_t LARGE = 1 << 20;
static size_t used;

static int is_refused(size_t size, void *caller)
{
    Dl_info info;
    if (size < LARGE || !dladdr(caller, &info) || !info.dli_fname || !strstr(info.dli_fname, "vulkan_lvp"))
        return 0;
    used += size;
    return used > (size_t)atol(getenv("LLVMPIPE_MEGABYTES")) << 20;
}

int posix_memalign(void **memory, size_t alignment, size_t size)
{
    int (*original)(void **, size_t, size_t) = dlsym(RTLD_NEXT, "posix_memalign");
    return is_refused(size, __builtin_return_address(0)) ? ENOMEM : original(memory, alignment, size);
}

void *aligned_alloc(size_t alignment, size_t size)
{
    void *(*original)(size_t, size_t) = dlsym(RTLD_NEXT, "aligned_alloc");
    return is_refused(size, __builtin_return_address(0)) ? NULL : original(alignment, size);
}
