import java.time.Duration;
import java.util.ArrayList;
import java.util.Arrays;
import java.util.HashMap;
import java.util.HashSet;
import java.util.List;
import java.util.Map;
import java.util.Properties;
import java.util.Set;
import java.util.TreeMap;
import java.util.UUID;
import java.util.concurrent.Callable;
import java.util.concurrent.ExecutionException;
import java.util.concurrent.Future;
import java.util.concurrent.TimeUnit;
import java.util.stream.Collectors;
import java.util.stream.IntStream;
import org.apache.kafka.clients.admin.Admin;
import org.apache.kafka.clients.admin.NewTopic;
import org.apache.kafka.clients.admin.OffsetSpec;
import org.apache.kafka.clients.consumer.ConsumerRecord;
import org.apache.kafka.clients.consumer.KafkaConsumer;
import org.apache.kafka.clients.consumer.OffsetAndMetadata;
import org.apache.kafka.clients.consumer.OffsetAndTimestamp;
import org.apache.kafka.clients.producer.KafkaProducer;
import org.apache.kafka.clients.producer.ProducerRecord;
import org.apache.kafka.clients.producer.RecordMetadata;
import org.apache.kafka.common.TopicPartition;
import org.apache.kafka.common.errors.RetriableException;
import org.apache.kafka.common.serialization.StringDeserializer;
import org.apache.kafka.common.serialization.StringSerializer;
import org.apache.kafka.common.utils.AppInfoParser;

/** The scenario of the Java client. Variants: classic, consumer (KIP-848). The command line is tests.clients' own. */
public final class Scenario {
    static final int PARTITIONS = 6;
    static final int COUNT = 300;
    static final short COPIES = Short.parseShort(System.getenv().getOrDefault("KAFKATX_COPIES", "1"));
    static final long WAIT_S = 20;

    final String variant;
    final String bootstrap;

    Scenario(String variant, String bootstrap) {
        this.variant = variant;
        this.bootstrap = bootstrap;
    }

    public static void main(String[] arguments) throws Exception {
        Scenario scenario = new Scenario(arguments[0], arguments[2]);
        if (arguments[1].equals("member")) {
            new Member(scenario).run(arguments[3], arguments[4], Integer.parseInt(arguments[5]));
            return;
        }
        if (arguments[1].equals("copy")) {
            new Copier(scenario, arguments[3], arguments[4], Integer.parseInt(arguments[7]))
                .run(arguments[5], arguments[6]);
            System.exit(0);
        }
        say(Map.of("version", AppInfoParser.getVersion()));
        if (arguments[1].equals("produce")) {
            new Numbered(scenario).run(arguments[3], Integer.parseInt(arguments[4]), Double.parseDouble(arguments[5]));
            System.exit(0);
        }
        for (String feature : Arrays.asList(arguments).subList(3, arguments.length)) {
            scenario.tryFeature(feature);
        }
        System.exit(0);
    }

    void tryFeature(String feature) {
        Map<String, String> line = new TreeMap<>(Map.of("feature", feature, "result", "pass"));
        try {
            line.put("detail", features().get(feature).call());
        } catch (Throwable error) {
            line.put("result", "fail");
            line.put("detail", error + " at " + where(error));
        }
        say(line);
    }

    static String where(Throwable error) {
        for (StackTraceElement element : error.getStackTrace()) {
            if (element.getFileName() != null && element.getFileName().matches("(Scenario|Administration)\\.java")) {
                return element.getFileName() + ":" + element.getLineNumber();
            }
        }
        return "?";
    }

    Map<String, Callable<String>> features() {
        Administration admin = new Administration(this);
        Map<String, Callable<String>> all = new HashMap<>(admin.features());
        all.put("produce keyed", this::produceKeyed);
        all.put("produce compressed", this::produceCompressed);
        all.put("consume", this::consume);
        all.put("commit", this::commit);
        all.put("seek by time", this::seekByTime);
        all.put("transactions", this::transactions);
        return all;
    }

    /** Print a line of JSON whose values are strings. */
    static synchronized void say(Map<String, String> line) {
        System.out.println(line.entrySet().stream()
            .map(entry -> quoted(entry.getKey()) + ": " + quoted(entry.getValue()))
            .collect(Collectors.joining(", ", "{", "}")));
    }

    static String quoted(String text) {
        StringBuilder made = new StringBuilder("\"");
        for (char c : text.toCharArray()) {
            made.append(c == '"' || c == '\\' ? "\\" + c : c < ' ' ? " " : String.valueOf(c));
        }
        return made.append('"').toString();
    }

    static void same(Object found, Object expected, String what) {
        if (!found.equals(expected)) {
            throw new IllegalStateException(what + ": " + found + " instead of " + expected);
        }
    }

    /** Ask again and again until something is so: what a broker has promised may take a moment to be seen. */
    static void until(String what, Callable<Boolean> done) throws Exception {
        long end = System.nanoTime() + TimeUnit.SECONDS.toNanos(WAIT_S);
        while (!done.call()) {
            if (System.nanoTime() > end) {
                throw new IllegalStateException("not within " + WAIT_S + " s: " + what);
            }
            Thread.sleep(20);
        }
    }

    static String newName(String kind) {
        return kind + "-" + UUID.randomUUID();
    }

    static <T> T get(Future<T> future) throws Exception {
        return future.get(WAIT_S, TimeUnit.SECONDS);
    }

    static List<String> values(String prefix) {
        return IntStream.range(0, COUNT).mapToObj(n -> (prefix + n + "|").repeat(10)).collect(Collectors.toList());
    }

    /** Settings from pairs of names and values. */
    Properties conf(Object... pairs) {
        Properties conf = new Properties();
        conf.put("bootstrap.servers", bootstrap);
        for (int i = 0; i < pairs.length; i += 2) {
            conf.put(pairs[i], pairs[i + 1]);
        }
        return conf;
    }

    KafkaProducer<String, String> producer(Object... pairs) {
        return new KafkaProducer<>(conf(pairs), new StringSerializer(), new StringSerializer());
    }

    KafkaConsumer<String, String> consumer(Object... pairs) {
        Properties conf = conf("auto.offset.reset", "earliest");
        conf.putAll(conf(pairs));
        if (variant.equals("consumer") && conf.containsKey("group.id")) {
            conf.put("group.protocol", "consumer");
        }
        return new KafkaConsumer<>(conf, new StringDeserializer(), new StringDeserializer());
    }

    String newTopic(Map<String, String> configs) throws Exception {
        String topic = newName("topic");
        try (Admin admin = Admin.create(conf())) {
            get(admin.createTopics(List.of(new NewTopic(topic, PARTITIONS, COPIES).configs(configs))).all());
            until("the leaders are ready: see topics.py", () -> led(admin, topic));
        }
        return topic;
    }

    /** Whether each partition tells its end, which only a leader does. */
    private static boolean led(Admin admin, String topic) throws Exception {
        try {
            get(admin.listOffsets(places(topic).stream()
                .collect(Collectors.toMap(place -> place, place -> OffsetSpec.latest()))).all());
            return true;
        } catch (ExecutionException error) {
            if (error.getCause() instanceof RetriableException) {
                return false;
            }
            throw error;
        }
    }

    void produce(KafkaProducer<String, String> producer, String topic, List<String> values, Long at) throws Exception {
        List<Future<RecordMetadata>> sent = new ArrayList<>();
        for (int n = 0; n < values.size(); n++) {
            sent.add(producer.send(new ProducerRecord<>(topic, null, at, "key-" + n % 17, values.get(n))));
        }
        producer.flush();
        for (Future<RecordMetadata> one : sent) {
            same(get(one).hasOffset(), true, "hasOffset");
        }
    }

    void produce(String topic, List<String> values, Long at, Object... pairs) throws Exception {
        try (KafkaProducer<String, String> producer = producer(pairs)) {
            produce(producer, topic, values, at);
        }
    }

    static List<TopicPartition> places(String topic) {
        return IntStream.range(0, PARTITIONS).mapToObj(p -> new TopicPartition(topic, p)).collect(Collectors.toList());
    }

    /** The next records; at most what one poll brings above count. */
    static List<ConsumerRecord<String, String>> read(KafkaConsumer<String, String> consumer, int count) {
        List<ConsumerRecord<String, String>> found = new ArrayList<>();
        long end = System.nanoTime() + TimeUnit.SECONDS.toNanos(WAIT_S);
        while (found.size() < count) {
            consumer.poll(Duration.ofMillis(200)).forEach(found::add);
            if (System.nanoTime() > end) {
                throw new IllegalStateException("only " + found.size() + " of " + count + " records came");
            }
        }
        return found;
    }

    List<ConsumerRecord<String, String>> readAll(String topic, Object... pairs) {
        try (KafkaConsumer<String, String> consumer = consumer(pairs)) {
            consumer.assign(places(topic));
            consumer.seekToBeginning(places(topic));
            return read(consumer, COUNT);
        }
    }

    /** Each key's records are in one partition and in the order sent; all are there. */
    static void check(List<ConsumerRecord<String, String>> found, List<String> values) {
        Map<String, List<String>> read = new TreeMap<>();
        Map<String, List<String>> sent = new TreeMap<>();
        Map<String, Set<Integer>> partitions = new HashMap<>();
        for (ConsumerRecord<String, String> record : found) {
            read.computeIfAbsent(record.key(), key -> new ArrayList<>()).add(record.value());
            partitions.computeIfAbsent(record.key(), key -> new HashSet<>()).add(record.partition());
        }
        for (int n = 0; n < values.size(); n++) {
            sent.computeIfAbsent("key-" + n % 17, key -> new ArrayList<>()).add(values.get(n));
        }
        same(read, sent, "records");
        partitions.forEach((key, numbers) -> same(numbers.size(), 1, "partitions of " + key));
    }

    String produceKeyed() throws Exception {
        String topic = newTopic(Map.of());
        produce(topic, values("a"), null);
        check(readAll(topic), values("a"));
        return "";
    }

    String produceCompressed() throws Exception {
        List<String> codecs = List.of("gzip", "snappy", "lz4", "zstd");
        for (String codec : codecs) {
            String topic = newTopic(Map.of());
            produce(topic, values("a"), null, "compression.type", codec);
            check(readAll(topic), values("a"));
        }
        return String.join(", ", codecs);
    }

    String consume() throws Exception {
        String topic = newTopic(Map.of());
        produce(topic, values("a"), null);
        List<ConsumerRecord<String, String>> found = readAll(topic);
        try (KafkaConsumer<String, String> consumer = consumer()) {
            consumer.endOffsets(places(topic)).forEach((place, end) -> same(
                found.stream().filter(r -> r.partition() == place.partition()).map(ConsumerRecord::offset).toList(),
                IntStream.range(0, end.intValue()).mapToObj(Long::valueOf).toList(),
                "offsets"));
        }
        return "";
    }

    static String at(ConsumerRecord<String, String> record) {
        return record.partition() + "@" + record.offset();
    }

    String commit() throws Exception {
        String topic = newTopic(Map.of());
        String group = newName("group");
        produce(topic, values("a"), null);
        Map<TopicPartition, OffsetAndMetadata> ends = new HashMap<>();
        Set<String> seen = new HashSet<>();
        Object[] manual = {"group.id", group, "enable.auto.commit", "false", "max.poll.records", "100"};
        try (KafkaConsumer<String, String> first = consumer(manual)) {
            first.subscribe(List.of(topic));
            for (ConsumerRecord<String, String> record : read(first, 100)) {
                seen.add(at(record));
                long next = record.offset() + 1;
                ends.put(new TopicPartition(topic, record.partition()), new OffsetAndMetadata(next, "at " + next));
            }
            first.commitSync(ends);
        }
        try (KafkaConsumer<String, String> second = consumer(manual)) {
            second.committed(ends.keySet()).forEach((place, told) -> {
                same(told.offset(), ends.get(place).offset(), "committed");
                same(told.metadata(), ends.get(place).metadata(), "metadata");
            });
            second.subscribe(List.of(topic));
            int left = COUNT - seen.size();
            List<String> rest = read(second, left).stream().map(Scenario::at).collect(Collectors.toList());
            same(rest.size(), left, "the rest");
            seen.addAll(rest);
            same(seen.size(), COUNT, "all");
        }
        return "";
    }

    String seekByTime() throws Exception {
        String topic = newTopic(Map.of());
        long now = System.currentTimeMillis();
        produce(topic, values("a"), now - 60_000);
        produce(topic, values("b"), now);
        try (KafkaConsumer<String, String> consumer = consumer()) {
            consumer.assign(places(topic));
            Map<TopicPartition, Long> asked = new HashMap<>();
            places(topic).forEach(place -> asked.put(place, now - 1000));
            Map<TopicPartition, OffsetAndTimestamp> starts = consumer.offsetsForTimes(asked);
            for (TopicPartition place : places(topic)) {
                if (starts.get(place) == null) {
                    consumer.seekToEnd(List.of(place));
                } else {
                    consumer.seek(place, starts.get(place).offset());
                }
            }
            check(read(consumer, COUNT), values("b"));
        }
        return "";
    }

    String transactions() throws Exception {
        String topic = newTopic(Map.of());
        String group = newName("group");
        Object[] manual = {"group.id", group, "isolation.level", "read_committed"};
        try (KafkaProducer<String, String> producer = producer("transactional.id", newName("id"));
             KafkaConsumer<String, String> consumer = consumer(manual)) {
            producer.initTransactions();
            producer.beginTransaction();
            produce(producer, topic, values("a"), null);
            producer.abortTransaction();
            producer.beginTransaction();
            produce(producer, topic, values("b"), null);
            TopicPartition place = new TopicPartition(topic, 0);
            producer.sendOffsetsToTransaction(Map.of(place, new OffsetAndMetadata(7)), consumer.groupMetadata());
            producer.commitTransaction();
            same(consumer.committed(Set.of(place)).get(place).offset(), 7L, "committed");
        }
        check(readAll(topic, "isolation.level", "read_committed"), values("b"));
        return "";
    }
}
