import java.time.Duration;
import java.util.Map;
import java.util.TreeSet;
import org.apache.kafka.clients.consumer.ConsumerRecord;
import org.apache.kafka.clients.consumer.KafkaConsumer;
import org.apache.kafka.clients.consumer.SubscriptionPattern;
import org.apache.kafka.common.serialization.StringDeserializer;

/** Prints what a consumer reads that subscribes to a pattern which the broker matches: BOOTSTRAP PATTERN COUNT. */
final class Patterns {
    private Patterns() {
    }

    public static void main(String[] arguments) {
        Map<String, Object> settings = Map.of("bootstrap.servers", arguments[0], "group.id", "patterns",
            "group.protocol", "consumer", "auto.offset.reset", "earliest");
        TreeSet<String> read = new TreeSet<>();
        long end = System.nanoTime() + Duration.ofSeconds(60).toNanos();
        try (KafkaConsumer<String, String> consumer =
                new KafkaConsumer<>(settings, new StringDeserializer(), new StringDeserializer())) {
            consumer.subscribe(new SubscriptionPattern(arguments[1]));
            while (read.size() < Integer.parseInt(arguments[2]) && System.nanoTime() < end) {
                for (ConsumerRecord<String, String> record : consumer.poll(Duration.ofMillis(200))) {
                    read.add(record.topic() + " " + record.value());
                }
            }
        }
        System.out.println(String.join("\n", read));
    }
}
