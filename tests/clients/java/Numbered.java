import org.apache.kafka.clients.producer.KafkaProducer;
import org.apache.kafka.clients.producer.ProducerRecord;
import org.apache.kafka.clients.producer.RecordMetadata;

/** Records 0, 1, 2 and so on at a steady pace, each partition in turn, and what becomes of them. */
final class Numbered {
    private final Scenario scenario;

    Numbered(Scenario scenario) {
        this.scenario = scenario;
    }

    void run(String topic, int count, double rate) throws InterruptedException {
        long begun = System.nanoTime();
        try (KafkaProducer<String, String> producer = scenario.producer("enable.idempotence", "true", "acks", "all")) {
            for (int n = 0; n < count; n++) {
                int number = n;
                long due = begun + (long) (n / rate * 1e9) - System.nanoTime();
                Thread.sleep(Math.max(due / 1_000_000, 0));
                String value = "client:" + n + "|" + "x".repeat(100);
                producer.send(
                    new ProducerRecord<>(topic, n % Scenario.PARTITIONS, null, value),
                    (told, error) -> settled(number, told, error));
            }
        }
    }

    private static void settled(int number, RecordMetadata told, Exception error) {
        System.out.println(error == null
            ? "{\"acknowledged\": [" + number + ", " + told.partition() + ", " + told.offset() + "]}"
            : "{\"failed\": [" + number + ", " + Scenario.quoted(error.toString()) + "]}");
    }
}
