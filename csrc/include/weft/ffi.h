typedef uint64_t weft_handle;
typedef uint64_t weft_owner;
typedef uint64_t weft_timer;
typedef int32_t weft_status;
typedef struct weft_world weft_world;
typedef struct weft_routine weft_routine;
const char *weft_version(void);
const char *weft_status_name(weft_status status);
const char *weft_status_text(weft_status status);
typedef uint64_t weft_job;
typedef struct weft_pool weft_pool;
enum weft_value_kind {
  WEFT_VALUE_NIL,
  WEFT_VALUE_BOOLEAN,
  WEFT_VALUE_INTEGER,
  WEFT_VALUE_NUMBER,
  WEFT_VALUE_STRING,
  WEFT_VALUE_BUFFER
};
typedef struct weft_value {
  int32_t kind;
  int32_t element;
  size_t size;
  union {
    int64_t integer;
    double number;
    const char *string;
    void *data;
  } as;
} weft_value;
typedef void (*weft_kernel)(size_t first, size_t last, const weft_value *args, size_t nargs);
weft_status weft_parallel_for(weft_pool *pool, size_t count, size_t grain, weft_kernel kernel,
                              const weft_value *args, size_t nargs);
