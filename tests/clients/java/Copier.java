import java.io.IOException;
import java.time.Duration;
import java.util.HashMap;
import java.util.List;
import java.util.Map;
import java.util.UUID;
import org.apache.kafka.clients.consumer.ConsumerRecord;
import org.apache.kafka.clients.consumer.ConsumerRecords;
import org.apache.kafka.clients.consumer.KafkaConsumer;
import org.apache.kafka.clients.consumer.OffsetAndMetadata;
import org.apache.kafka.clients.producer.KafkaProducer;
import org.apache.kafka.clients.producer.ProducerRecord;
import org.apache.kafka.common.KafkaException;
import org.apache.kafka.common.TopicPartition;
import org.apache.kafka.common.errors.AuthorizationException;
import org.apache.kafka.common.errors.InvalidPidMappingException;
import org.apache.kafka.common.errors.InvalidProducerEpochException;
import org.apache.kafka.common.errors.OutOfOrderSequenceException;
import org.apache.kafka.common.errors.ProducerFencedException;
import org.apache.kafka.common.errors.TimeoutException;

/** A copier in transactions, as tests.copiers has it, until standard input ends. */
final class Copier {
    private static final int MOST = 20;
    private static final int TRANSACTION_MS = 30_000;

    private final Scenario scenario;
    private final String source;
    private final String target;
    private final int nth;
    private int begun;
    private volatile boolean leave;

    Copier(Scenario scenario, String source, String target, int nth) {
        this.scenario = scenario;
        this.source = source;
        this.target = target;
        this.nth = nth;
    }

    void run(String group, String transactionalId) {
        Thread waiting = new Thread(this::waitForTheEnd);
        waiting.setDaemon(true);
        waiting.start();
        try (KafkaProducer<String, String> producer = scenario.producer(
                "transactional.id", transactionalId, "transaction.timeout.ms", TRANSACTION_MS, "linger.ms", 1);
            KafkaConsumer<String, String> consumer = consumer(group)) {
            producer.initTransactions();
            consumer.subscribe(List.of(source));
            while (!leave) {
                ConsumerRecords<String, String> records = consumer.poll(Duration.ofMillis(200));
                if (!records.isEmpty()) {
                    copy(records, consumer, producer);
                }
            }
        }
    }

    private KafkaConsumer<String, String> consumer(String group) {
        Map<String, Object> settings = new HashMap<>(Map.of("group.id", group, "enable.auto.commit", "false",
            "isolation.level", "read_committed", "max.poll.records", MOST));
        if (!scenario.variant.equals("consumer")) {
            settings.put("session.timeout.ms", 6000);
            settings.put("heartbeat.interval.ms", 1000);
        }
        return scenario.consumer(settings.entrySet().stream()
            .flatMap(entry -> java.util.stream.Stream.of(entry.getKey(), entry.getValue())).toArray());
    }

    /** Copy some records; an abortable error aborts, and the records come again. */
    private void copy(
            ConsumerRecords<String, String> records,
            KafkaConsumer<String, String> consumer,
            KafkaProducer<String, String> producer) {
        try {
            String fate = send(records, consumer, producer);
            if (fate.equals("abort")) {
                producer.abortTransaction();
                rewind(records, consumer);
            } else {
                commit(producer);
            }
            Scenario.say(Map.of("ended", fate));
        } catch (ProducerFencedException | OutOfOrderSequenceException | AuthorizationException
            | InvalidProducerEpochException | InvalidPidMappingException fatal) {
            throw fatal;
        } catch (KafkaException error) {
            producer.abortTransaction();
            rewind(records, consumer);
            Scenario.say(Map.of("ended", "error", "why", error.toString()));
        }
    }

    private String send(
            ConsumerRecords<String, String> records,
            KafkaConsumer<String, String> consumer,
            KafkaProducer<String, String> producer) {
        String fate = ++begun % nth == 0 ? "abort" : "commit";
        String transaction = UUID.randomUUID().toString();
        Map<TopicPartition, OffsetAndMetadata> offsets = new HashMap<>();
        producer.beginTransaction();
        for (ConsumerRecord<String, String> record : records) {
            String number = record.value().substring(0, record.value().indexOf(' '));
            String value = number + " " + transaction + " " + records.count() + " " + fate + " ........";
            producer.send(new ProducerRecord<>(target, record.partition(), null, value));
            TopicPartition place = new TopicPartition(source, record.partition());
            offsets.put(place, new OffsetAndMetadata(record.offset() + 1));
        }
        producer.sendOffsetsToTransaction(offsets, consumer.groupMetadata());
        return fate;
    }

    /** A commit that has timed out may be asked for again, and must not be aborted. */
    private static void commit(KafkaProducer<String, String> producer) {
        while (true) {
            try {
                producer.commitTransaction();
                return;
            } catch (TimeoutException again) {
                continue;
            }
        }
    }

    private static void rewind(ConsumerRecords<String, String> records, KafkaConsumer<String, String> consumer) {
        for (TopicPartition place : records.partitions()) {
            if (consumer.assignment().contains(place)) {
                consumer.seek(place, records.records(place).get(0).offset());
            }
        }
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
}
