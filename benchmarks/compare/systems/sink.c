/* A broker that keeps nothing and costs next to nothing: about what a client can do, whoever serves it.
 *
 *   sink PORT
 *
 * Any topic is there, with one partition, or with N if its name ends with ".N". What is produced is acknowledged and
 * thrown away in the kernel, but for a batch to serve: the one with most messages of those that the last topic has got
 * and that are no larger than KEPT_BYTES. A fetch gets it as often as max_bytes allows, with the offsets that follow
 * the one asked for; a topic has no end. Input is trusted.
 *
 * Versions (src: Apache Kafka's protocol guide): ApiVersions 0, Metadata 1, Produce 3 to 7 (of which librdkafka has to
 * read 0 to 7, or it compresses nothing), Fetch 4 to 10, ListOffsets 1, FindCoordinator 0 (which says that there is none).
 * A thread for each connection.
 */
#include <arpa/inet.h>
#include <endian.h>
#include <netinet/tcp.h>
#include <pthread.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <unistd.h>

#define CHUNK_BYTES (64 << 10)
#define KEPT_BYTES (32 << 10)
#define HEAD_BYTES 1024        /* of a request, what is looked at: all but the records */
#define FETCHED_BYTES (1 << 20) /* whatever a fetch asks for */
#define REPLIES_BYTES (4 * FETCHED_BYTES)
#define MOST_PARTITIONS 10000
#define ENDLESS (INT64_C(1) << 40)

enum { PRODUCE = 0, FETCH = 1, LIST_OFFSETS = 2, METADATA = 3, FIND_COORDINATOR = 10, API_VERSIONS = 18 };
enum { BATCH_LENGTH = 8, BATCH_LAST_DELTA = 23, BATCH_LEAST = 61 };
enum { UNSUPPORTED_VERSION = 35, COORDINATOR_NOT_AVAILABLE = 15 };

static const int16_t SERVED[][3] = {{PRODUCE, 0, 7},  {FETCH, 4, 10},           {LIST_OFFSETS, 1, 1},
                                    {METADATA, 1, 1}, {FIND_COORDINATOR, 0, 0}, {API_VERSIONS, 0, 0}};
enum { SERVED_MANY = sizeof SERVED / sizeof *SERVED };

static char kept[KEPT_BYTES], kept_topic[256];
static int kept_bytes, kept_messages, port;
static pthread_mutex_t keeping = PTHREAD_MUTEX_INITIALIZER;

/* A request that is read, or a reply that is written, from left to right. */
typedef struct {
    char *at;
} Wire;

static int64_t take(Wire *wire, int bytes) {
    int64_t number = (signed char)*wire->at++;
    while (--bytes) number = (int64_t)((uint64_t)number << 8 | (unsigned char)*wire->at++);
    return number;
}

static void put(Wire *wire, int64_t number, int bytes) {
    while (bytes) *wire->at++ = (char)(number >> 8 * --bytes);
}

static void put_bytes(Wire *wire, const char *from, int bytes) {
    memcpy(wire->at, from, bytes);
    wire->at += bytes;
}

static void put_string(Wire *wire, const char *text, int bytes) {
    put(wire, bytes, 2);
    put_bytes(wire, text, bytes);
}

/* The topic and the partition of a request that has one of each; what follows is the partition's. */
static char *take_partition(Wire *wire, int *bytes, int *partition) {
    take(wire, 4);
    *bytes = (int)take(wire, 2);
    char *topic = wire->at;
    wire->at += *bytes;
    take(wire, 4);
    *partition = (int)take(wire, 4);
    return topic;
}

static void put_partition(Wire *reply, const char *topic, int bytes, int partition) {
    put(reply, 1, 4);
    put_string(reply, topic, bytes);
    put(reply, 1, 4);
    put(reply, partition, 4);
}

/* Keep a batch to serve, if it is small, whole, and has more messages than the one before. */
static void keep(const char *topic, int topic_bytes, const char *batch, int bytes, int there) {
    if (bytes > KEPT_BYTES || bytes > there || bytes < BATCH_LEAST || topic_bytes >= (int)sizeof kept_topic) return;
    Wire delta = {(char *)batch + BATCH_LAST_DELTA};
    int messages = (int)take(&delta, 4) + 1;
    int is_new = kept_topic[topic_bytes] || memcmp(topic, kept_topic, topic_bytes);
    if (messages <= kept_messages && !is_new) return;
    pthread_mutex_lock(&keeping);
    memset(kept_topic, 0, sizeof kept_topic);
    memcpy(kept_topic, topic, topic_bytes);
    memcpy(kept, batch, bytes);
    kept_bytes = bytes;
    kept_messages = messages;
    pthread_mutex_unlock(&keeping);
}

/* false: nobody waits for an answer. */
static int produce(Wire *request, Wire *reply, int version, const char *end) {
    int bytes, partition, id_bytes = (int)take(request, 2);
    if (id_bytes > 0) request->at += id_bytes;
    int acks = (int)take(request, 2);
    take(request, 4);
    char *topic = take_partition(request, &bytes, &partition);
    int records_bytes = (int)take(request, 4);
    keep(topic, bytes, request->at, records_bytes, (int)(end - request->at));
    if (!acks) return 0;
    put_partition(reply, topic, bytes, partition);
    put(reply, 0, 2);
    put(reply, 0, 8);
    put(reply, -1, 8);
    if (version >= 5) put(reply, 0, 8);
    put(reply, 0, 4);
    return 1;
}

static void fetch(Wire *request, Wire *reply, int version) {
    int bytes, partition;
    request->at += 4 + 4 + 4 + 4 + 1 + (version >= 7 ? 8 : 0);
    char *topic = take_partition(request, &bytes, &partition);
    if (version >= 9) take(request, 4);
    int64_t offset = take(request, 8);
    if (version >= 5) take(request, 8);
    int most = (int)take(request, 4);
    if (most > FETCHED_BYTES) most = FETCHED_BYTES;
    put(reply, 0, 4);
    if (version >= 7) put(reply, 0, 2), put(reply, 0, 4);
    put_partition(reply, topic, bytes, partition);
    put(reply, 0, 2);
    put(reply, ENDLESS, 8);
    put(reply, ENDLESS, 8);
    if (version >= 5) put(reply, 0, 8);
    put(reply, -1, 4);
    pthread_mutex_lock(&keeping);
    int batches = kept_bytes ? most / kept_bytes : 0;
    put(reply, (int64_t)batches * kept_bytes, 4);
    for (; batches; batches--, offset += kept_messages) {
        Wire base = *reply;
        put_bytes(reply, kept, kept_bytes);
        put(&base, offset, 8);
    }
    pthread_mutex_unlock(&keeping);
}

static void list_offsets(Wire *request, Wire *reply) {
    int bytes, partition;
    take(request, 4);
    char *topic = take_partition(request, &bytes, &partition);
    int is_earliest = take(request, 8) == -2;
    put_partition(reply, topic, bytes, partition);
    put(reply, 0, 2);
    put(reply, -1, 8);
    put(reply, is_earliest ? 0 : ENDLESS, 8);
}

/* How many partitions a topic of this name has. */
static int partitions_of(const char *topic, int bytes) {
    int number = 0, place = 1, at = bytes;
    while (at > 0 && topic[at - 1] >= '0' && topic[at - 1] <= '9' && place <= MOST_PARTITIONS) {
        number += (topic[--at] - '0') * place;
        place *= 10;
    }
    int is_told = at > 0 && topic[at - 1] == '.' && number > 0 && number <= MOST_PARTITIONS;
    return is_told ? number : 1;
}

static void metadata(Wire *request, Wire *reply) {
    int topics = (int)take(request, 4);
    if (topics < 0) topics = 0;
    put(reply, 1, 4);
    put(reply, 0, 4);
    put_string(reply, "127.0.0.1", 9);
    put(reply, port, 4);
    put(reply, -1, 2);
    put(reply, 0, 4);
    put(reply, topics, 4);
    while (topics--) {
        int bytes = (int)take(request, 2);
        put(reply, 0, 2);
        put_string(reply, request->at, bytes);
        int partitions = partitions_of(request->at, bytes);
        request->at += bytes;
        put(reply, 0, 1);
        put(reply, partitions, 4);
        for (int partition = 0; partition < partitions; partition++) {
            put(reply, 0, 2);
            put(reply, partition, 4);
            put(reply, 0, 4); /* its leader */
            for (int i = 0; i < 2; i++) put(reply, 1, 4), put(reply, 0, 4); /* replicas, those in sync */
        }
    }
}

static void api_versions(Wire *reply, int version) {
    put(reply, version ? UNSUPPORTED_VERSION : 0, 2);
    put(reply, SERVED_MANY, 4);
    for (int i = 0; i < SERVED_MANY; i++)
        for (int j = 0; j < 3; j++) put(reply, SERVED[i][j], 2);
}

/* Answer a request of which the bytes up to *end* are there, from its API key on. */
static void answer(char *from, const char *end, Wire *reply) {
    Wire request = {from};
    Wire size = *reply, begun;
    int key = (int)take(&request, 2), version = (int)take(&request, 2), correlation = (int)take(&request, 4);
    int client_bytes = (int)take(&request, 2), is_answered = 1;
    if (client_bytes > 0) request.at += client_bytes;
    put(reply, 0, 4);
    begun = *reply;
    put(reply, correlation, 4);
    if (key == PRODUCE) is_answered = produce(&request, reply, version, end);
    else if (key == FETCH) fetch(&request, reply, version);
    else if (key == LIST_OFFSETS) list_offsets(&request, reply);
    else if (key == METADATA) metadata(&request, reply);
    else if (key == API_VERSIONS) api_versions(reply, version);
    else put(reply, COORDINATOR_NOT_AVAILABLE, 2), put(reply, -1, 4), put_string(reply, "", 0), put(reply, -1, 4);
    if (!is_answered) *reply = size;
    else put(&size, reply->at - begun.at, 4);
}

/* Send what has been written; false: the peer is gone. */
static int flush(int peer, char *replies, Wire *reply) {
    char *at = replies;
    while (at < reply->at) {
        ssize_t gone = send(peer, at, reply->at - at, MSG_NOSIGNAL);
        if (gone <= 0) return 0;
        at += gone;
    }
    reply->at = replies;
    return 1;
}

/* Requests are answered when they are there, or as much of them as is looked at; the rest is thrown away as it comes. */
static void *serve(void *given) {
    int peer = (int)(intptr_t)given, yes = 1;
    char *chunk = malloc(CHUNK_BYTES), *replies = malloc(REPLIES_BYTES);
    Wire reply = {replies};
    long held = 0;
    setsockopt(peer, IPPROTO_TCP, TCP_NODELAY, &yes, sizeof yes);
    for (;;) {
        ssize_t came = recv(peer, chunk + held, CHUNK_BYTES - held, 0);
        if (came <= 0) break;
        held += came;
        long at = 0, left = 0;
        while (held - at >= 4) {
            Wire size = {chunk + at};
            long bytes = 4 + take(&size, 4), there = held - at;
            if (there < bytes && there < HEAD_BYTES + KEPT_BYTES) break;
            answer(size.at, chunk + at + (there < bytes ? there : bytes), &reply);
            at += there < bytes ? there : bytes;
            left = bytes > there ? bytes - there : 0;
            if (reply.at - replies > REPLIES_BYTES / 2 && !flush(peer, replies, &reply)) goto gone;
        }
        while (left > 0) {
            came = recv(peer, NULL, left, MSG_TRUNC); /* thrown away, not copied (man 7 tcp) */
            if (came <= 0) goto gone;
            left -= came;
        }
        if (!flush(peer, replies, &reply)) break;
        memmove(chunk, chunk + at, held - at);
        held -= at;
    }
gone:
    close(peer);
    free(chunk);
    free(replies);
    return NULL;
}

int main(int argc, char **argv) {
    if (argc != 2) return fprintf(stderr, "usage: sink PORT\n"), 2;
    port = atoi(argv[1]);
    struct sockaddr_in here = {
        .sin_family = AF_INET, .sin_port = htons(port), .sin_addr.s_addr = htonl(INADDR_LOOPBACK)};
    int listening = socket(AF_INET, SOCK_STREAM, 0), yes = 1;
    setsockopt(listening, SOL_SOCKET, SO_REUSEADDR, &yes, sizeof yes);
    if (bind(listening, (struct sockaddr *)&here, sizeof here) || listen(listening, 128)) return perror("sink"), 1;
    for (;;) {
        int peer = accept(listening, NULL, NULL);
        pthread_t thread;
        if (peer >= 0 && !pthread_create(&thread, NULL, serve, (void *)(intptr_t)peer)) pthread_detach(thread);
    }
}
