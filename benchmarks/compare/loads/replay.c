/* One load of requests that were made beforehand: a client that costs next to nothing, so that the broker is the bound.
 *
 *   replay produce PORT FILE COUNT seconds=N records=N bytes=N window=N error-at=N    send a produce request COUNT times
 *   replay send PORT FILE COUNT seconds=N records=N bytes=N                           with acks=0: nobody answers
 *   replay fetch PORT FILE COUNT bytes=N offset-at=N records-at=N                     from offset 0, COUNT messages
 *
 * FILE is a request as it is on the wire, with its size. After so many seconds no more is sent. Records and bytes are its messages and the bytes of their
 * values (of one message, for a fetch). window: so many requests are unanswered at most. error-at: where an answer has
 * its error code. offset-at: where the request has its offset; records-at: where the answer has the records' size.
 * Places are bytes, from the frame's size on.
 * Prints one line of JSON: {"messages", "bytes", "seconds", "cpu_s", "errors"}; the time is that until the last answer,
 * with acks=0 until a request behind them is answered.
 */
#include <arpa/inet.h>
#include <endian.h>
#include <errno.h>
#include <inttypes.h>
#include <netinet/tcp.h>
#include <poll.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/resource.h>
#include <sys/socket.h>
#include <time.h>
#include <unistd.h>

#define SEND_BYTES (1 << 20)
#define ROOM_BYTES (64 << 20)
#define PATIENCE_MS 60000

enum { BATCH_BASE = 0, BATCH_LENGTH = 8, BATCH_LAST_DELTA = 23, BATCH_LEAST = 61 }; /* of a record batch */

enum { FETCH_OFFSET_TO_MOST = 8 + 8 }; /* fetch_offset, log_start_offset, partition_max_bytes */

static const char API_VERSIONS[] = {0, 0, 0, 10, 0, 18, 0, 0, 0, 0, 0, 1, -1, -1}; /* version 0 */
static int server;
static char *request, *room;
static long request_bytes, count, seconds, records, bytes, window = 1, error_at, offset_at, records_at;
static long messages, errors;

static void die(const char *what) {
    fprintf(stderr, "replay: %s: %s\n", what, errno ? strerror(errno) : "not as expected");
    exit(1);
}

static double now_s(void) {
    struct timespec t;
    clock_gettime(CLOCK_MONOTONIC, &t);
    return t.tv_sec + t.tv_nsec / 1e9;
}

static int32_t number_at(const char *at) {
    uint32_t number;
    memcpy(&number, at, sizeof number);
    return ntohl(number);
}

static void dial(int port) {
    struct sockaddr_in to = {.sin_family = AF_INET, .sin_port = htons(port), .sin_addr.s_addr = htonl(INADDR_LOOPBACK)};
    int yes = 1;
    server = socket(AF_INET, SOCK_STREAM, 0);
    setsockopt(server, IPPROTO_TCP, TCP_NODELAY, &yes, sizeof yes);
    if (connect(server, (struct sockaddr *)&to, sizeof to)) die("connect");
}

static void load_request(const char *path) {
    FILE *file = fopen(path, "rb");
    if (!file) die(path);
    fseek(file, 0, SEEK_END);
    request_bytes = ftell(file);
    rewind(file);
    request = malloc(request_bytes);
    if (fread(request, 1, request_bytes, file) != (size_t)request_bytes) die(path);
    fclose(file);
}

static void wait_for(short events) {
    struct pollfd one = {.fd = server, .events = events};
    if (poll(&one, 1, PATIENCE_MS) <= 0) die("nothing comes or goes");
}

/* Send some of what may be sent; 0 if there is no room. */
static long send_some(const char *from, long many) {
    long sent = send(server, from, many, MSG_DONTWAIT | MSG_NOSIGNAL);
    if (sent < 0 && errno != EAGAIN) die("send");
    return sent < 0 ? 0 : sent;
}

/* Take what has come behind what is held; 0 if nothing has. */
static long take_some(long held) {
    long came = recv(server, room + held, ROOM_BYTES - held, MSG_DONTWAIT);
    if (came < 0 && errno != EAGAIN) die("recv");
    if (!came) errno = 0, die("closed by the broker");
    return came < 0 ? 0 : came;
}

/* Count the whole answers in the room, and keep what is left; gives how much that is. */
static long take_answers(long held, long *answered) {
    long at = 0;
    while (held - at >= 4 && held - at >= 4 + number_at(room + at)) {
        long size = 4 + number_at(room + at);
        if (error_at && (size < error_at + 2 || room[at + error_at] || room[at + error_at + 1])) errors += records;
        at += size;
        ++*answered;
    }
    memmove(room, room + at, held - at);
    return held - at;
}

/* Send the request count times, or while there is time, and then what the end is told by, if anything. */
static void produce(int is_answered) {
    long fit = request_bytes < SEND_BYTES ? SEND_BYTES / request_bytes : 1, block = fit * request_bytes;
    long sent = 0, total = count * request_bytes, answered = 0, held = 0;
    char *many = malloc(block);
    for (long i = 0; i < fit; i++) memcpy(many + i * request_bytes, request, request_bytes);
    double end_s = now_s() + seconds;
    while (sent < total || (is_answered && answered < count)) {
        if (sent < total && now_s() > end_s) { /* no more but for the rest of the one that was begun */
            count = (sent + request_bytes - 1) / request_bytes;
            total = count * request_bytes;
        }
        long most = is_answered && answered + window < count ? (answered + window) * request_bytes : total;
        long part = block - sent % block < most - sent ? block - sent % block : most - sent;
        long gone = part > 0 ? send_some(many + sent % block, part) : 0, came = is_answered ? take_some(held) : 0;
        sent += gone;
        if (came) held = take_answers(held + came, &answered);
        if (!gone && !came) wait_for((part > 0 ? POLLOUT : 0) | (is_answered ? POLLIN : 0));
    }
    if (!is_answered) {
        if (send(server, API_VERSIONS, sizeof API_VERSIONS, MSG_NOSIGNAL) != sizeof API_VERSIONS) die("send");
        while (!answered) {
            wait_for(POLLIN);
            held = take_answers(held + take_some(held), &answered);
        }
    }
    messages = count * records - errors;
    bytes *= count;
}

/* As clients do when a batch is larger than what they fetch; most brokers give it all the same. */
static void ask_for_more(void) {
    char *at = request + offset_at + FETCH_OFFSET_TO_MOST;
    if (number_at(at) > ROOM_BYTES / 2) die("nothing can be fetched"); /* an error, or no messages */
    uint32_t wire = htonl(2 * number_at(at));
    memcpy(at, &wire, sizeof wire);
}

static void fetch(void) {
    for (int64_t offset = 0; messages < count;) {
        uint64_t wire = htobe64(offset);
        long held = 0, at = records_at + 4, end;
        memcpy(request + offset_at, &wire, sizeof wire);
        if (send(server, request, request_bytes, MSG_NOSIGNAL) != request_bytes) die("send");
        while (held < 4 || held < 4 + number_at(room)) {
            wait_for(POLLIN);
            held += take_some(held);
        }
        errno = 0;
        if (held < at || (end = at + number_at(room + records_at)) > held) die("answer");
        if (at + BATCH_LEAST > end || at + 12 + number_at(room + at + BATCH_LENGTH) > end) ask_for_more();
        for (; at + BATCH_LEAST <= end; at += 12 + number_at(room + at + BATCH_LENGTH)) {
            if (at + 12 + number_at(room + at + BATCH_LENGTH) > end) break; /* cut off: it comes again */
            memcpy(&wire, room + at + BATCH_BASE, sizeof wire);
            int64_t next = be64toh(wire) + number_at(room + at + BATCH_LAST_DELTA) + 1;
            messages += next - offset;
            offset = next;
        }
    }
    bytes *= messages;
}

static long property(char **given, int many, const char *name) {
    size_t length = strlen(name);
    for (int i = 0; i < many; i++)
        if (!strncmp(given[i], name, length) && given[i][length] == '=') return atol(given[i] + length + 1);
    return 0;
}

int main(int argc, char **argv) {
    if (argc < 5) die("usage: replay produce|send|fetch PORT FILE COUNT [name=number ...]");
    const char *mode = argv[1];
    char **given = argv + 5;
    int many = argc - 5;
    load_request(argv[3]);
    count = atol(argv[4]);
    seconds = property(given, many, "seconds");
    records = property(given, many, "records");
    bytes = property(given, many, "bytes");
    window = property(given, many, "window");
    error_at = property(given, many, "error-at");
    offset_at = property(given, many, "offset-at");
    records_at = property(given, many, "records-at");
    room = malloc(ROOM_BYTES);
    dial(atoi(argv[2]));
    double began_s = now_s();
    if (!strcmp(mode, "fetch")) fetch();
    else produce(!strcmp(mode, "produce"));
    double took_s = now_s() - began_s;
    struct rusage used;
    getrusage(RUSAGE_SELF, &used);
    double cpu_s = used.ru_utime.tv_sec + used.ru_stime.tv_sec + (used.ru_utime.tv_usec + used.ru_stime.tv_usec) / 1e6;
    printf("{\"messages\": %ld, \"bytes\": %ld, \"seconds\": %.6f, \"cpu_s\": %.3f, \"errors\": %ld}\n", messages, bytes,
           took_s, cpu_s, errors);
    return 0;
}
