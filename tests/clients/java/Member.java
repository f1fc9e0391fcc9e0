import java.io.IOException;
import java.time.Duration;
import java.util.ArrayList;
import java.util.Collection;
import java.util.List;
import java.util.TreeSet;
import org.apache.kafka.clients.consumer.CommitFailedException;
import org.apache.kafka.clients.consumer.ConsumerRebalanceListener;
import org.apache.kafka.clients.consumer.ConsumerRecord;
import org.apache.kafka.clients.consumer.ConsumerRecords;
import org.apache.kafka.clients.consumer.KafkaConsumer;
import org.apache.kafka.common.TopicPartition;
import org.apache.kafka.common.errors.RebalanceInProgressException;

/** A member of a group, until standard input ends. */
final class Member implements ConsumerRebalanceListener {
    private final Scenario scenario;
    private final TreeSet<Integer> owned = new TreeSet<>();
    private volatile boolean leave;

    Member(Scenario scenario) {
        this.scenario = scenario;
    }

    void run(String group, String topic, int sessionMs) {
        Thread waiting = new Thread(this::waitForTheEnd);
        waiting.setDaemon(true);
        waiting.start();
        try (KafkaConsumer<String, String> consumer = consumer(group, sessionMs)) {
            consumer.subscribe(List.of(topic), this);
            while (!leave) {
                ConsumerRecords<String, String> records = consumer.poll(Duration.ofMillis(100));
                if (!records.isEmpty()) {
                    process(records);
                    commit(consumer, sessionMs);
                }
            }
        }
    }

    /** With defaults, where the session's time-out is 0, the consumer commits by itself. */
    private KafkaConsumer<String, String> consumer(String group, int sessionMs) {
        if (sessionMs == 0) {
            return scenario.consumer("group.id", group);
        }
        if (scenario.variant.equals("consumer")) {
            return scenario.consumer("group.id", group, "enable.auto.commit", "false");
        }
        return scenario.consumer("group.id", group, "enable.auto.commit", "false",
            "session.timeout.ms", sessionMs, "heartbeat.interval.ms", 300);
    }

    private void commit(KafkaConsumer<String, String> consumer, int sessionMs) {
        if (sessionMs == 0) {
            return;
        }
        try {
            consumer.commitSync();
        } catch (CommitFailedException | RebalanceInProgressException rebalance) {
            // whoever gets the partition reads these again
        }
    }

    private static void process(ConsumerRecords<String, String> records) {
        List<String> places = new ArrayList<>();
        for (ConsumerRecord<String, String> record : records) {
            places.add("[" + record.partition() + ", " + record.offset() + "]");
        }
        System.out.println("{\"read\": " + places + "}");
    }

    private void waitForTheEnd() {
        try {
            while (System.in.read() >= 0) {
                continue;
            }
        } catch (IOException closed) {
            // it has ended, too
        }
        leave = true;
    }

    @Override
    public void onPartitionsAssigned(Collection<TopicPartition> partitions) {
        partitions.forEach(place -> owned.add(place.partition()));
        System.out.println("{\"owns\": " + owned + "}");
    }

    @Override
    public void onPartitionsRevoked(Collection<TopicPartition> partitions) {
        partitions.forEach(place -> owned.remove(place.partition()));
        System.out.println("{\"owns\": " + owned + "}");
    }
}
