import java.io.FileReader;
import java.time.Duration;
import java.util.ArrayList;
import java.util.Collections;
import java.util.List;
import java.util.Map;
import java.util.Properties;
import java.util.TreeMap;
import java.util.concurrent.Future;
import java.util.concurrent.TimeUnit;
import org.apache.kafka.clients.consumer.ConsumerRecord;
import org.apache.kafka.clients.consumer.KafkaConsumer;
import org.apache.kafka.clients.producer.KafkaProducer;
import org.apache.kafka.clients.producer.ProducerRecord;
import org.apache.kafka.clients.producer.RecordMetadata;
import org.apache.kafka.common.serialization.StringDeserializer;
import org.apache.kafka.common.serialization.StringSerializer;
import org.apache.kafka.common.utils.AppInfoParser;

/** The Java client at a broker that it logs in at. The command line is that of tests.clients.security. */
public final class Secured {
    private static final String OAUTH = "org.apache.kafka.common.security.oauthbearer.";

    private final Properties settings = new Properties();

    public static void main(String[] arguments) throws Exception {
        Secured secured = new Secured(arguments[1] + ".properties");
        Scenario.say(Map.of("version", AppInfoParser.getVersion()));
        if (arguments[0].equals("produce")) {
            secured.produce(arguments[2], Double.parseDouble(arguments[3]), Double.parseDouble(arguments[4]));
        } else {
            secured.exchange(arguments[2], Integer.parseInt(arguments[3]));
        }
        System.exit(0);
    }

    Secured(String file) throws Exception {
        try (FileReader reader = new FileReader(file)) {
            settings.load(reader);
        }
        String url = settings.getProperty("sasl.oauthbearer.token.endpoint.url");
        if (url != null) {
            System.setProperty("org.apache.kafka.sasl.oauthbearer.allowed.urls", url);
            System.setProperty("org.apache.kafka.sasl.oauthbearer.allowed.files", url.substring("file://".length()));
            settings.put("sasl.login.callback.handler.class", handler());
        }
    }

    /** The handler of Apache Kafka 4, or the one that it had before. */
    private static String handler() {
        try {
            return Class.forName(OAUTH + "OAuthBearerLoginCallbackHandler").getName();
        } catch (ClassNotFoundException before) {
            return OAUTH + "secured.OAuthBearerLoginCallbackHandler";
        }
    }

    private Properties with(String... more) {
        Properties made = new Properties();
        made.putAll(settings);
        for (int n = 0; n < more.length; n += 2) {
            made.put(more[n], more[n + 1]);
        }
        return made;
    }

    private KafkaProducer<String, String> producer() {
        return new KafkaProducer<>(with("acks", "all"), new StringSerializer(), new StringSerializer());
    }

    private void exchange(String topic, int count) throws Exception {
        List<String> sent = new ArrayList<>();
        try (KafkaProducer<String, String> producer = producer()) {
            List<Future<RecordMetadata>> told = new ArrayList<>();
            for (int n = 0; n < count; n++) {
                sent.add("value-" + n);
                told.add(producer.send(new ProducerRecord<>(topic, "value-" + n)));
            }
            for (Future<RecordMetadata> one : told) {
                one.get(Scenario.WAIT_S, TimeUnit.SECONDS);
            }
        }
        Properties group = with("group.id", "group-" + topic, "auto.offset.reset", "earliest");
        List<String> found = new ArrayList<>();
        try (KafkaConsumer<String, String> consumer =
                new KafkaConsumer<>(group, new StringDeserializer(), new StringDeserializer())) {
            consumer.subscribe(List.of(topic));
            long end = System.nanoTime() + TimeUnit.SECONDS.toNanos(3 * Scenario.WAIT_S);
            while (found.size() < count && System.nanoTime() < end) {
                for (ConsumerRecord<String, String> record : consumer.poll(Duration.ofMillis(200))) {
                    found.add(record.value());
                }
            }
        }
        Collections.sort(sent);
        Collections.sort(found);
        Scenario.same(found, sent, "records");
        System.out.println("{\"read\": " + found.size() + "}");
    }

    private void produce(String topic, double seconds, double rate) throws Exception {
        int count = (int) (seconds * rate);
        List<String> errors = Collections.synchronizedList(new ArrayList<>());
        Map<Integer, Boolean> acknowledged = Collections.synchronizedMap(new TreeMap<>());
        long begun = System.nanoTime();
        try (KafkaProducer<String, String> producer = producer()) {
            for (int n = 0; n < count; n++) {
                int number = n;
                Thread.sleep(Math.max((begun + (long) (n / rate * 1e9) - System.nanoTime()) / 1_000_000, 0));
                producer.send(new ProducerRecord<>(topic, "" + n), (told, error) -> {
                    if (error == null) {
                        acknowledged.put(number, true);
                    } else {
                        errors.add(Scenario.quoted(error.toString()));
                    }
                });
            }
        }
        System.out.println("{\"sent\": " + count + ", \"acknowledged\": " + acknowledged.size() + ", \"errors\": "
            + errors.subList(0, Math.min(errors.size(), 20)) + "}");
    }
}
