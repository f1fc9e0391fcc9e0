import java.util.Collections;
import java.util.List;
import java.util.Properties;
import kafka.consumer.Consumer;
import kafka.consumer.ConsumerConfig;
import kafka.consumer.KafkaStream;
import kafka.consumer.Whitelist;
import kafka.javaapi.consumer.ConsumerConnector;
import kafka.message.MessageAndMetadata;

/** A member of a group of Apache Kafka 0.8's high-level consumer; SIGTERM makes it leave. */
public final class OldConsumer {
    private OldConsumer() {
    }

    /** Arguments: topic, number of streams, "filter" or "static", and NAME=VALUE for each setting. */
    public static void main(String[] arguments) {
        Properties settings = new Properties();
        for (int i = 3; i < arguments.length; i++) {
            String[] parts = arguments[i].split("=", 2);
            settings.put(parts[0], parts[1]);
        }
        ConsumerConnector connector = Consumer.createJavaConsumerConnector(new ConsumerConfig(settings));
        Runtime.getRuntime().addShutdownHook(new Thread(connector::shutdown));
        for (KafkaStream<byte[], byte[]> stream : streams(connector, arguments)) {
            new Thread(() -> read(stream)).start();
        }
    }

    private static List<KafkaStream<byte[], byte[]>> streams(ConsumerConnector connector, String[] arguments) {
        String topic = arguments[0];
        int count = Integer.parseInt(arguments[1]);
        if (arguments[2].equals("filter")) {
            return connector.createMessageStreamsByFilter(new Whitelist(topic), count);
        }
        return connector.createMessageStreams(Collections.singletonMap(topic, count)).get(topic);
    }

    private static void read(KafkaStream<byte[], byte[]> stream) {
        for (MessageAndMetadata<byte[], byte[]> record : stream) {
            long now = System.nanoTime();
            String said = String.format("{\"record\": [%d, %d, \"%s\", %d.%09d]}", record.partition(),
                record.offset(), new String(record.message()), now / 1_000_000_000L,
                now % 1_000_000_000L);
            synchronized (System.out) {
                System.out.println(said);
                System.out.flush();
            }
        }
    }
}
