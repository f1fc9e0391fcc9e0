// Transactions of Apache Kafka's own producer, one after the other: what librdkafka's are in load.c.
//
//   TransactionLoad PORT TOPIC SECONDS SIZE RECORDS PARTITIONS
//
// The first half of the time warms it up. Prints one line of JSON as load.c does, with the transactions as "messages".

import java.util.Properties;
import org.apache.kafka.clients.producer.KafkaProducer;
import org.apache.kafka.clients.producer.ProducerRecord;
import org.apache.kafka.common.serialization.ByteArraySerializer;

public class TransactionLoad {
    public static void main(String[] arguments) {
        String topic = arguments[1];
        double seconds = Double.parseDouble(arguments[2]);
        byte[] value = new byte[Integer.parseInt(arguments[3])];
        int records = Integer.parseInt(arguments[4]), partitions = Integer.parseInt(arguments[5]);
        Properties settings = new Properties();
        settings.put("bootstrap.servers", "127.0.0.1:" + arguments[0]);
        settings.put("transactional.id", topic);
        settings.put("linger.ms", "0");
        KafkaProducer<byte[], byte[]> producer =
            new KafkaProducer<>(settings, new ByteArraySerializer(), new ByteArraySerializer());
        producer.initTransactions();
        long half = (long) (seconds / 2 * 1e9), begin = System.nanoTime(), start = 0, now;
        long transactions = 0;
        while ((now = System.nanoTime()) - begin < 2 * half) {
            if (start == 0 && now - begin >= half) {
                start = now;
                transactions = 0;
            }
            producer.beginTransaction();
            for (int one = 0; one < records; one++)
                producer.send(new ProducerRecord<>(topic, one % partitions, null, value));
            producer.commitTransaction();
            transactions++;
        }
        double took = (now - start) / 1e9;
        producer.close();
        System.out.printf("{\"messages\": %d, \"bytes\": 0, \"seconds\": %.6f, \"cpu_s\": 0, \"errors\": 0}%n",
            transactions, took);
    }
}
