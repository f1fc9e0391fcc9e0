/* One load of a real client (librdkafka), measured: what Python would spend on a message would hide the broker.
 *
 *   load produce TOPIC COUNT SIZE [property=value ...]   as fast as it goes
 *   load consume TOPIC COUNT [property=value ...]        partition 0 from its beginning
 *   load latency TOPIC COUNT SIZE rate=N [property=...]  produce at a rate, and consume what comes
 *   load acks TOPIC COUNT SIZE rate=N [property=...]     produce at a rate, and note when each is acknowledged
 *   load transact TOPIC COUNT SIZE records=N [aborted=M] [property=...]   so many transactions of N messages each
 *
 * Properties are librdkafka's, but for these: rate=N; partitions=N: produce to the first N in turn, RUN messages each
 * as sticky partitioners do; aborted=M: each M-th transaction is aborted, and its messages do not count; start=SECONDS since 1970: the load begins then, when others have connected, too.
 * "p." and "c." before a property's name give it to the producer or the consumer alone.
 * Prints one line of JSON:
 *   {"messages", "bytes", "seconds", "cpu_s", "errors", "p50_ms", "p99_ms", "p999_ms", "max_ms", "gap_ms"}
 * with the percentiles of latency and acks only: from handing a message to the producer to having it from the consumer,
 * or to its acknowledgement. "gap_ms", of acks only: the longest time between two acknowledgements.
 */
#include <librdkafka/rdkafka.h>
#include <inttypes.h>
#include <malloc.h>
#include <pthread.h>
#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/resource.h>
#include <time.h>
#include <unistd.h>

#define CONSUME_BATCH 10000
#define PATIENCE_S 60
#define RUN 100
#define WARM_TRANSACTIONS 20
#define QUEUED_MESSAGES "50000" /* some requests; more fall out of the processor's cache */
#define FULL_MS 1               /* how long to wait for room in the queue: it has enough for longer */
#define VALUES_BYTES (4 << 20) /* more than a batch has: in none are two messages alike */
#define WORDS 2000
#define LEAST_LETTERS 3
#define MOST_LETTERS 12

static atomic_long failed;
static long count, size_bytes, rate, partitions = 1, records = 1, aborted;
static double begin_at_s;
static char *values;
static const char *topic;
static char **properties;
static int property_count;
static int noting; /* the mode "acks" */
static double *latencies, last_ack_s, gap_s;
static long received;
static atomic_int waiting;

static double now_s(void) {
    struct timespec t;
    clock_gettime(CLOCK_MONOTONIC, &t);
    return t.tv_sec + t.tv_nsec / 1e9;
}

static void die(const char *what, const char *why) {
    fprintf(stderr, "load: %s: %s\n", what, why);
    exit(1);
}

static void on_delivery(rd_kafka_t *client, const rd_kafka_message_t *message, void *opaque) {
    (void)client;
    (void)opaque;
    if (message->err) atomic_fetch_add(&failed, 1);
    else if (noting && message->_private) { /* the time of its sending; only note_acks() calls this then */
        double now = now_s();
        if (now - last_ack_s > gap_s) gap_s = now - last_ack_s;
        last_ack_s = now;
        latencies[received++] = (now - *(double *)message->_private) * 1e3;
    }
}

static void set(rd_kafka_conf_t *conf, const char *name, const char *value) {
    char why[512];
    if (rd_kafka_conf_set(conf, name, value, why, sizeof why) != RD_KAFKA_CONF_OK) die(name, why);
}

static rd_kafka_t *client(rd_kafka_type_t type) {
    char own = type == RD_KAFKA_PRODUCER ? 'p' : 'c', why[512];
    rd_kafka_conf_t *conf = rd_kafka_conf_new();
    if (type == RD_KAFKA_PRODUCER) {
        set(conf, "queue.buffering.max.messages", QUEUED_MESSAGES);
        set(conf, "queue.buffering.max.kbytes", "100000");
        set(conf, "delivery.report.only.error", noting ? "false" : "true"); /* flush tells that the others are */
        rd_kafka_conf_set_dr_msg_cb(conf, on_delivery);
    } else {
        set(conf, "group.id", "load");
        set(conf, "enable.auto.commit", "false");
        set(conf, "queued.min.messages", "10000000"); /* it pauses for 1 s once that many are queued */
        set(conf, "queued.max.messages.kbytes", "2097151");
    }
    for (int i = 0; i < property_count; i++) {
        char *name = strdup(properties[i]), *value = strchr(name, '=');
        if (!value) die(name, "not property=value");
        *value++ = 0;
        int marked = (name[0] == 'p' || name[0] == 'c') && name[1] == '.';
        if (!marked || name[0] == own) set(conf, marked ? name + 2 : name, value);
        free(name);
    }
    rd_kafka_t *made = rd_kafka_new(type, conf, why, sizeof why);
    if (!made) die("client", why);
    return made;
}

static rd_kafka_topic_t *topic_of(rd_kafka_t *made) {
    rd_kafka_topic_t *handle = rd_kafka_topic_new(made, topic, NULL);
    if (!handle) die(topic, rd_kafka_err2str(rd_kafka_last_error()));
    return handle;
}

static void produce_one(rd_kafka_t *producer, rd_kafka_topic_t *handle, int partition, char *value) {
    while (rd_kafka_produce(handle, partition, RD_KAFKA_MSG_F_COPY, value, size_bytes, NULL, 0, NULL) == -1) {
        if (rd_kafka_last_error() != RD_KAFKA_RESP_ERR__QUEUE_FULL)
            die("produce", rd_kafka_err2str(rd_kafka_last_error()));
        rd_kafka_poll(producer, FULL_MS);
    }
}

static unsigned draw(unsigned below) {
    static unsigned state = 12345;
    state = state * 1103515245 + 12345;
    return (state >> 16) % below;
}

/* Words of a small language in no order, of which codecs make about a half: what is all the same would compress to
 * nothing, and what is all random not at all. */
static void fill(void) {
    char words[WORDS][MOST_LETTERS + 1];
    int letters[WORDS];
    for (int word = 0; word < WORDS; word++) {
        letters[word] = LEAST_LETTERS + draw(MOST_LETTERS - LEAST_LETTERS);
        for (int at = 0; at < letters[word]; at++) words[word][at] = 'a' + draw(26);
        words[word][letters[word]++] = ' ';
    }
    values = malloc(VALUES_BYTES + size_bytes + MOST_LETTERS);
    for (long at = 0; at < VALUES_BYTES + size_bytes;) {
        int word = draw(WORDS);
        memcpy(values + at, words[word], letters[word]);
        at += letters[word];
    }
}

/* The value of a message: another one for each, until the letters begin anew. */
static char *value_of(long number) {
    return values + number * size_bytes % VALUES_BYTES;
}

/* Hand over many messages in one call, which takes the client's locks once; those that find no room, again. Values are
 * not copied: they are there until all are sent. */
static void produce_many(rd_kafka_t *producer, rd_kafka_topic_t *handle, int partition, long number, int many) {
    static rd_kafka_message_t messages[RUN];
    for (int at = 0; at < many; at++)
        messages[at] = (rd_kafka_message_t){.payload = value_of(number + at), .len = size_bytes};
    for (int left = many; (left -= rd_kafka_produce_batch(handle, partition, 0, messages, left));) {
        for (int at = 0; at < left; at++) messages[at].err = 0;
        rd_kafka_poll(producer, FULL_MS);
    }
}

/* Sleep until it is the turn of a message of a load at a rate. */
static void pace(double start, long number, rd_kafka_t *producer) {
    double ahead = start + (double)number / rate - now_s();
    if (ahead > 0) usleep(ahead * 1e6);
    rd_kafka_poll(producer, 0);
}

/* When a load begins: now, or when all do. */
static double begin(void) {
    struct timespec t;
    clock_gettime(CLOCK_REALTIME, &t);
    double ahead = begin_at_s - (t.tv_sec + t.tv_nsec / 1e9);
    if (ahead > 0) usleep(ahead * 1e6);
    return begin_at_s && ahead < 0 ? now_s() + ahead : now_s();
}

static double produce(void) {
    rd_kafka_t *producer = client(RD_KAFKA_PRODUCER);
    rd_kafka_topic_t *handle = topic_of(producer);
    fill();
    produce_one(producer, handle, 0, values); /* connections and metadata are not what is measured */
    if (rd_kafka_flush(producer, PATIENCE_S * 1000)) die("flush", "the first message was not delivered");
    double start = begin();
    for (long number = 0; number < count; number += RUN) {
        int many = count - number < RUN ? count - number : RUN;
        produce_many(producer, handle, number / RUN % partitions, number, many);
        rd_kafka_poll(producer, 0);
    }
    rd_kafka_flush(producer, PATIENCE_S * 1000);
    double seconds = now_s() - start;
    atomic_fetch_add(&failed, rd_kafka_outq_len(producer));
    return seconds;
}

static void expect(rd_kafka_error_t *error, const char *what) {
    if (error) die(what, rd_kafka_error_string(error));
}

/* Transactions one after the other, as a program makes them; messages go to the partitions in turn. */
static double transact(long *messages) {
    rd_kafka_t *producer = client(RD_KAFKA_PRODUCER);
    rd_kafka_topic_t *handle = topic_of(producer);
    fill();
    expect(rd_kafka_init_transactions(producer, PATIENCE_S * 1000), "init_transactions");
    double start = 0;
    for (long number = -WARM_TRANSACTIONS; number < count; number++) {
        if (!number) start = begin();
        expect(rd_kafka_begin_transaction(producer), "begin_transaction");
        for (long one = 0; one < records; one++)
            produce_one(producer, handle, one % partitions, value_of(one));
        int aborts = aborted && number >= 0 && number % aborted == aborted - 1;
        if (aborts) { /* all of its messages are in the log */
            rd_kafka_flush(producer, PATIENCE_S * 1000);
            expect(rd_kafka_abort_transaction(producer, PATIENCE_S * 1000), "abort_transaction");
        } else expect(rd_kafka_commit_transaction(producer, PATIENCE_S * 1000), "commit_transaction");
        if (!aborts) *messages += records;
    }
    return now_s() - start;
}

static double consume(long *messages, long *bytes) {
    rd_kafka_t *consumer = client(RD_KAFKA_CONSUMER);
    rd_kafka_topic_t *handle = topic_of(consumer);
    rd_kafka_message_t **got = malloc(CONSUME_BATCH * sizeof *got);
    double start = begin_at_s ? begin() : 0, last = now_s();
    if (rd_kafka_consume_start(handle, 0, RD_KAFKA_OFFSET_BEGINNING)) die(topic, "cannot be consumed");
    while (*messages < count && now_s() - last < PATIENCE_S) {
        ssize_t n = rd_kafka_consume_batch(handle, 0, 100, got, CONSUME_BATCH);
        if (n > 0 && !start) start = now_s();
        for (ssize_t i = 0; i < n; i++) {
            if (!got[i]->err) {
                ++*messages;
                *bytes += got[i]->len;
            }
            rd_kafka_message_destroy(got[i]);
        }
        if (n > 0) last = now_s();
    }
    double seconds = now_s() - start;
    if (*messages < count) atomic_fetch_add(&failed, count - *messages);
    rd_kafka_consume_stop(handle, 0);
    return seconds;
}

static void *receive(void *unused) {
    rd_kafka_t *consumer = client(RD_KAFKA_CONSUMER);
    rd_kafka_topic_t *handle = topic_of(consumer);
    double last = now_s();
    (void)unused;
    if (rd_kafka_consume_start(handle, 0, RD_KAFKA_OFFSET_END)) die(topic, "cannot be consumed");
    while (received < count && now_s() - last < PATIENCE_S) {
        rd_kafka_message_t *message = rd_kafka_consume(handle, 0, 1000);
        if (!message) continue;
        if (!message->err && message->len >= sizeof(double)) {
            double sent;
            memcpy(&sent, message->payload, sizeof sent);
            last = now_s();
            if (sent == 0) atomic_store(&waiting, 0); /* the consumer is at the end, and awake */
            else latencies[received++] = (last - sent) * 1e3;
        }
        rd_kafka_message_destroy(message);
    }
    rd_kafka_consume_stop(handle, 0);
    return NULL;
}

static double latency(void) {
    rd_kafka_t *producer = client(RD_KAFKA_PRODUCER);
    rd_kafka_topic_t *handle = topic_of(producer);
    char *value = calloc(1, size_bytes);
    double sent = 0;
    pthread_t receiver;
    if (size_bytes < (long)sizeof sent || !rate) die("latency", "give SIZE of at least 8, and rate=");
    latencies = calloc(count, sizeof *latencies);
    atomic_store(&waiting, 1);
    pthread_create(&receiver, NULL, receive, NULL);
    for (int tries = 0; atomic_load(&waiting); tries++) { /* until one comes through */
        if (tries > PATIENCE_S * 20) die("latency", "nothing comes through");
        produce_one(producer, handle, 0, value);
        rd_kafka_flush(producer, 1000);
        usleep(50000);
    }
    double start = now_s();
    for (long number = 0; number < count; number++) {
        pace(start, number, producer);
        sent = now_s();
        memcpy(value, &sent, sizeof sent);
        produce_one(producer, handle, 0, value);
    }
    rd_kafka_flush(producer, PATIENCE_S * 1000);
    pthread_join(receiver, NULL);
    double seconds = now_s() - start;
    atomic_fetch_add(&failed, count - received);
    return seconds;
}

/* Take acknowledgements as they come, not when the next message is due. */
static void *note_acks(void *producer) {
    while (atomic_load(&waiting)) rd_kafka_poll(producer, 100);
    return NULL;
}

static double acks(void) {
    rd_kafka_t *producer = client(RD_KAFKA_PRODUCER);
    rd_kafka_topic_t *handle = topic_of(producer);
    pthread_t noter;
    if (!rate) die("acks", "give rate=");
    fill();
    produce_one(producer, handle, 0, values); /* connections and metadata are not what is measured */
    if (rd_kafka_flush(producer, PATIENCE_S * 1000)) die("flush", "the first message was not delivered");
    latencies = calloc(count, sizeof *latencies);
    double *sent = calloc(count, sizeof *sent), start = begin();
    last_ack_s = start;
    atomic_store(&waiting, 1);
    pthread_create(&noter, NULL, note_acks, producer);
    for (long number = 0; number < count; number++) {
        double ahead = start + (double)number / rate - now_s();
        if (ahead > 0) usleep(ahead * 1e6);
        sent[number] = now_s();
        while (rd_kafka_produce(handle, 0, 0, value_of(number), size_bytes, NULL, 0, &sent[number]) == -1) {
            if (rd_kafka_last_error() != RD_KAFKA_RESP_ERR__QUEUE_FULL)
                die("produce", rd_kafka_err2str(rd_kafka_last_error()));
            usleep(FULL_MS * 1000);
        }
    }
    for (double end = now_s() + PATIENCE_S; rd_kafka_outq_len(producer) && now_s() < end;) usleep(1000);
    double seconds = now_s() - start;
    atomic_store(&waiting, 0);
    pthread_join(noter, NULL);
    atomic_fetch_add(&failed, rd_kafka_outq_len(producer));
    return seconds;
}

static int ascending(const void *a, const void *b) {
    double difference = *(const double *)a - *(const double *)b;
    return (difference > 0) - (difference < 0);
}

static double percentile(double share) {
    long at = (long)(share * received);
    return received ? latencies[at < received ? at : received - 1] : 0;
}

/* Take from the properties what is not librdkafka's. */
static void take_own(char **given, int many) {
    properties = malloc(many * sizeof *properties);
    for (int i = 0; i < many; i++) {
        if (!strncmp(given[i], "rate=", 5)) rate = atol(given[i] + 5);
        else if (!strncmp(given[i], "records=", 8)) records = atol(given[i] + 8);
        else if (!strncmp(given[i], "aborted=", 8)) aborted = atol(given[i] + 8);
        else if (!strncmp(given[i], "partitions=", 11)) partitions = atol(given[i] + 11);
        else if (!strncmp(given[i], "start=", 6)) begin_at_s = atof(given[i] + 6);
        else properties[property_count++] = given[i];
    }
}

/* Keep what is freed: a request's buffer would be mapped and faulted in anew each time. */
static void keep_memory(void) {
    mallopt(M_ARENA_MAX, 1);
    mallopt(M_MMAP_THRESHOLD, 32 << 20);
    mallopt(M_TRIM_THRESHOLD, 1 << 30);
}

int main(int argc, char **argv) {
    keep_memory();
    if (argc < 4) die("usage", "load produce|consume|latency|acks|transact TOPIC COUNT [SIZE] [property=value ...]");
    const char *mode = argv[1];
    int consuming = !strcmp(mode, "consume");
    noting = !strcmp(mode, "acks");
    long messages = 0, bytes = 0;
    double seconds;
    topic = argv[2];
    count = atol(argv[3]);
    if (!consuming) {
        if (argc < 5) die("usage", "SIZE is missing");
        size_bytes = atol(argv[4]);
    }
    take_own(argv + (consuming ? 4 : 5), argc - (consuming ? 4 : 5));
    if (!strcmp(mode, "produce")) seconds = produce();
    else if (consuming) seconds = consume(&messages, &bytes);
    else if (!strcmp(mode, "latency")) seconds = latency();
    else if (noting) seconds = acks();
    else if (!strcmp(mode, "transact")) seconds = transact(&messages);
    else die(mode, "produce, consume, latency, acks or transact"), seconds = 0;
    if (messages && !consuming) bytes = messages * size_bytes;
    else if (!consuming) {
        messages = count - atomic_load(&failed);
        bytes = messages * size_bytes;
    }
    struct rusage used;
    getrusage(RUSAGE_SELF, &used);
    double cpu_s = used.ru_utime.tv_sec + used.ru_stime.tv_sec + (used.ru_utime.tv_usec + used.ru_stime.tv_usec) / 1e6;
    if (received) qsort(latencies, received, sizeof *latencies, ascending);
    printf("{\"messages\": %ld, \"bytes\": %ld, \"seconds\": %.6f, \"cpu_s\": %.3f, \"errors\": %ld", messages, bytes,
           seconds, cpu_s, atomic_load(&failed));
    if (received)
        printf(", \"p50_ms\": %.4f, \"p99_ms\": %.4f, \"p999_ms\": %.4f, \"max_ms\": %.4f", percentile(.5),
               percentile(.99), percentile(.999), latencies[received - 1]);
    if (noting) printf(", \"gap_ms\": %.4f", gap_s * 1e3);
    puts("}");
    return 0;
}
