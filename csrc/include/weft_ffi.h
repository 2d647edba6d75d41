typedef uint64_t weft_handle;
typedef uint64_t weft_owner;
typedef int32_t weft_status;
typedef struct weft_world weft_world;
typedef struct weft_routine weft_routine;
const char *weft_version(void);
const char *weft_status_name(weft_status status);
const char *weft_status_text(weft_status status);
