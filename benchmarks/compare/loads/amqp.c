/* One load of RabbitMQ's own C client (librabbitmq), measured as load.c measures librdkafka.
 *
 *   amqp produce QUEUE COUNT SIZE port=N   as fast as it goes
 *   amqp consume QUEUE COUNT port=N        what is in the queue
 *
 * The queue is a durable classic one, made if it is not there. Messages are persistent, and sent one by one. Each is
 * confirmed by the broker, and nobody waits for it: up to WINDOW messages may be under way. A consumer has PREFETCH
 * messages under way (about 200 kB of 200 B each, as in the paper), and acknowledges ACK_EVERY of them at a time.
 * Prints one line of JSON: {"messages", "bytes", "seconds", "cpu_s", "errors"}
 */
#include <amqp.h>
#include <amqp_tcp_socket.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/resource.h>
#include <sys/time.h>
#include <time.h>

#define WINDOW 10000
#define PREFETCH 1000
#define ACK_EVERY 100
#define PATIENCE_S 60
#define CHANNEL 1

static amqp_connection_state_t connection;
static amqp_bytes_t queue;
static long count, size_bytes, port;
static uint64_t published, settled_up_to, delivered, failed; /* tags are given from 1 on, in order */
static char *settled;                                        /* by tag */

static double now_s(void) {
    struct timespec t;
    clock_gettime(CLOCK_MONOTONIC, &t);
    return t.tv_sec + t.tv_nsec / 1e9;
}

static void die(const char *what, const char *why) {
    fprintf(stderr, "amqp: %s: %s\n", what, why);
    exit(1);
}

static void check(const char *what, int status) {
    if (status < 0) die(what, amqp_error_string2(status));
}

/* What the broker says when it closes a channel or a connection. */
static void die_closed(const char *what, amqp_method_t method) {
    amqp_bytes_t why = amqp_cstring_bytes("an unexpected reply");
    char text[256];
    if (method.id == AMQP_CHANNEL_CLOSE_METHOD) why = ((amqp_channel_close_t *)method.decoded)->reply_text;
    if (method.id == AMQP_CONNECTION_CLOSE_METHOD) why = ((amqp_connection_close_t *)method.decoded)->reply_text;
    snprintf(text, sizeof text, "%.*s", (int)why.len, (char *)why.bytes);
    die(what, text);
}

static void check_reply(const char *what, amqp_rpc_reply_t reply) {
    if (reply.reply_type == AMQP_RESPONSE_LIBRARY_EXCEPTION) check(what, reply.library_error);
    if (reply.reply_type != AMQP_RESPONSE_NORMAL) die_closed(what, reply.reply);
}

static void open_queue(void) {
    connection = amqp_new_connection();
    amqp_socket_t *made = amqp_tcp_socket_new(connection);
    if (!made) die("socket", "no memory");
    check("connect", amqp_socket_open(made, "127.0.0.1", port));
    check_reply("login", amqp_login(connection, "/", 0, AMQP_DEFAULT_FRAME_SIZE, 0, AMQP_SASL_METHOD_PLAIN, "guest",
                                    "guest"));
    amqp_channel_open(connection, CHANNEL);
    check_reply("channel", amqp_get_rpc_reply(connection));
    amqp_queue_declare(connection, CHANNEL, queue, 0, 1, 0, 0, amqp_empty_table);
    check_reply("queue", amqp_get_rpc_reply(connection));
}

static void close_all(void) {
    check_reply("close", amqp_channel_close(connection, CHANNEL, AMQP_REPLY_SUCCESS));
    check_reply("close", amqp_connection_close(connection, AMQP_REPLY_SUCCESS));
    amqp_destroy_connection(connection);
}

static void settle(uint64_t tag, int multiple, uint64_t *as) {
    if (tag > published) die("confirm", "of a message that was not sent");
    for (uint64_t at = multiple ? settled_up_to + 1 : tag; at <= tag; at++)
        if (!settled[at]) {
            settled[at] = 1;
            ++*as;
        }
    if (multiple && tag > settled_up_to) settled_up_to = tag;
}

/* Read confirms until no more than so many messages are under way. */
static void wait_for_confirms(uint64_t under_way) {
    while (published - delivered - failed > under_way) {
        amqp_frame_t frame;
        struct timeval patience = {PATIENCE_S, 0};
        check("confirm", amqp_simple_wait_frame_noblock(connection, &frame, &patience));
        if (frame.frame_type == AMQP_FRAME_METHOD) {
            amqp_method_t method = frame.payload.method;
            if (method.id == AMQP_BASIC_ACK_METHOD) {
                amqp_basic_ack_t *ack = method.decoded;
                settle(ack->delivery_tag, ack->multiple, &delivered);
            } else if (method.id == AMQP_BASIC_NACK_METHOD) {
                amqp_basic_nack_t *nack = method.decoded;
                settle(nack->delivery_tag, nack->multiple, &failed);
            } else {
                die_closed("produce", method);
            }
        }
        amqp_maybe_release_buffers(connection);
    }
}

static void produce_one(amqp_bytes_t value) {
    amqp_basic_properties_t properties = {._flags = AMQP_BASIC_DELIVERY_MODE_FLAG, .delivery_mode = 2};
    check("produce", amqp_basic_publish(connection, CHANNEL, amqp_empty_bytes, queue, 0, 0, &properties, value));
    published++;
}

static double produce(void) {
    amqp_bytes_t value = amqp_bytes_malloc(size_bytes);
    memset(value.bytes, 'a', size_bytes);
    settled = calloc(count + 2, 1);
    amqp_confirm_select(connection, CHANNEL);
    check_reply("confirms", amqp_get_rpc_reply(connection));
    produce_one(value); /* the first one is not what is measured */
    wait_for_confirms(0);
    if (failed) die("produce", "the first message was refused");
    double start = now_s();
    for (long number = 0; number < count; number++) {
        produce_one(value);
        if (published - delivered - failed >= WINDOW) wait_for_confirms(WINDOW / 2);
    }
    wait_for_confirms(0);
    return now_s() - start;
}

static double consume(long *messages, long *bytes) {
    double start = 0;
    amqp_basic_qos(connection, CHANNEL, 0, PREFETCH, 0);
    check_reply("qos", amqp_get_rpc_reply(connection));
    amqp_basic_consume(connection, CHANNEL, queue, amqp_empty_bytes, 0, 0, 0, amqp_empty_table);
    check_reply("consume", amqp_get_rpc_reply(connection));
    while (*messages < count) {
        amqp_envelope_t got;
        struct timeval patience = {PATIENCE_S, 0};
        amqp_maybe_release_buffers(connection);
        check_reply("consume", amqp_consume_message(connection, &got, &patience, 0));
        if (!start) start = now_s();
        ++*messages;
        *bytes += got.message.body.len;
        if (*messages % ACK_EVERY == 0 || *messages == count)
            check("acknowledge", amqp_basic_ack(connection, CHANNEL, got.delivery_tag, 1));
        amqp_destroy_envelope(&got);
    }
    return now_s() - start;
}

int main(int argc, char **argv) {
    if (argc < 5) die("usage", "amqp produce|consume QUEUE COUNT [SIZE] port=N");
    int consuming = !strcmp(argv[1], "consume");
    long messages = 0, bytes = 0;
    double seconds;
    if (!consuming && strcmp(argv[1], "produce")) die(argv[1], "produce or consume");
    if (strncmp(argv[argc - 1], "port=", 5) || argc != (consuming ? 5 : 6)) die("usage", "SIZE or port=N is missing");
    queue = amqp_cstring_bytes(argv[2]);
    count = atol(argv[3]);
    port = atol(argv[argc - 1] + 5);
    if (!consuming) size_bytes = atol(argv[4]);
    open_queue();
    seconds = consuming ? consume(&messages, &bytes) : produce();
    close_all();
    if (!consuming) {
        messages = delivered - 1; /* without the first one */
        bytes = messages * size_bytes;
    }
    struct rusage used;
    getrusage(RUSAGE_SELF, &used);
    double cpu_s = used.ru_utime.tv_sec + used.ru_stime.tv_sec + (used.ru_utime.tv_usec + used.ru_stime.tv_usec) / 1e6;
    printf("{\"messages\": %ld, \"bytes\": %ld, \"seconds\": %.6f, \"cpu_s\": %.3f, \"errors\": %ld}\n", messages, bytes,
           seconds, cpu_s, (long)failed);
    return 0;
}
