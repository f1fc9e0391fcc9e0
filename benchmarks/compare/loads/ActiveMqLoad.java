import java.lang.management.ManagementFactory;
import java.util.Locale;
import javax.jms.BytesMessage;
import javax.jms.DeliveryMode;
import javax.jms.JMSException;
import javax.jms.MessageConsumer;
import javax.jms.MessageProducer;
import javax.jms.Queue;
import javax.jms.Session;
import org.apache.activemq.ActiveMQConnection;
import org.apache.activemq.ActiveMQConnectionFactory;

/**
 * One load of ActiveMQ's own JMS client over OpenWire, measured as load.c measures librdkafka.
 *
 * <pre>
 *   ActiveMqLoad produce QUEUE COUNT SIZE port=N   as fast as it goes
 *   ActiveMqLoad consume QUEUE COUNT port=N        what is in the queue
 * </pre>
 *
 * Messages are persistent, and sent one by one and asynchronously: nobody waits for a reply. The last one asks for it,
 * and a broker does what a connection asks in order, so then all are there. A consumer prefetches PREFETCH messages
 * (about 200 kB of 200 B each) and acknowledges each by itself (AUTO_ACKNOWLEDGE), as in the paper.
 * Prints one line of JSON: {"messages", "bytes", "seconds", "cpu_s", "errors"}
 */
public final class ActiveMqLoad {
    private static final int PREFETCH = 1000;
    private static final int PATIENCE_MS = 60_000;

    private static long messages;
    private static long bytes;

    private static ActiveMQConnection connect(String port) throws JMSException {
        ActiveMQConnectionFactory factory = new ActiveMQConnectionFactory("tcp://127.0.0.1:" + port);
        factory.getPrefetchPolicy().setQueuePrefetch(PREFETCH);
        ActiveMQConnection connection = (ActiveMQConnection) factory.createConnection();
        connection.setExceptionListener(error -> die(error.toString())); // what went wrong with an asynchronous send
        connection.start();
        return connection;
    }

    private static void die(String why) {
        System.err.println("ActiveMqLoad: " + why);
        Runtime.getRuntime().halt(1);
    }

    private static double produce(ActiveMQConnection connection, String name, long count, int size)
            throws JMSException {
        Session session = connection.createSession(false, Session.AUTO_ACKNOWLEDGE);
        MessageProducer producer = session.createProducer(session.createQueue(name));
        producer.setDeliveryMode(DeliveryMode.PERSISTENT);
        byte[] value = new byte[size];
        produceOne(session, producer, value, connection, false); // the first one is not what is measured
        long start = System.nanoTime();
        for (long number = 1; number <= count; number++) {
            produceOne(session, producer, value, connection, number < count);
        }
        messages = count;
        bytes = count * size;
        return (System.nanoTime() - start) / 1e9;
    }

    private static void produceOne(
            Session session, MessageProducer producer, byte[] value, ActiveMQConnection connection, boolean async)
            throws JMSException {
        BytesMessage message = session.createBytesMessage();
        message.writeBytes(value);
        connection.setUseAsyncSend(async);
        producer.send(message);
    }

    private static double consume(ActiveMQConnection connection, String name, long count) throws JMSException {
        Session session = connection.createSession(false, Session.AUTO_ACKNOWLEDGE);
        Queue queue = session.createQueue(name);
        MessageConsumer consumer = session.createConsumer(queue);
        long start = 0;
        while (messages < count) {
            BytesMessage message = (BytesMessage) consumer.receive(PATIENCE_MS);
            if (message == null) {
                break;
            }
            if (start == 0) {
                start = System.nanoTime();
            }
            messages++;
            bytes += message.getBodyLength();
        }
        return (System.nanoTime() - start) / 1e9;
    }

    private static double cpuSeconds() {
        java.lang.management.OperatingSystemMXBean system = ManagementFactory.getOperatingSystemMXBean();
        return ((com.sun.management.OperatingSystemMXBean) system).getProcessCpuTime() / 1e9;
    }

    private static void run(String[] given, String port) throws JMSException {
        long count = Long.parseLong(given[2]);
        ActiveMQConnection connection = connect(port);
        double seconds =
                given[0].equals("consume")
                        ? consume(connection, given[1], count)
                        : produce(connection, given[1], count, Integer.parseInt(given[3]));
        connection.close();
        System.out.printf(
                Locale.ROOT,
                "{\"messages\": %d, \"bytes\": %d, \"seconds\": %.6f, \"cpu_s\": %.3f, \"errors\": %d}%n",
                messages,
                bytes,
                seconds,
                cpuSeconds(),
                count - messages);
    }

    public static void main(String[] given) {
        String mode = given.length > 0 ? given[0] : "";
        String last = given.length > 0 ? given[given.length - 1] : "";
        int many = mode.equals("consume") ? 4 : mode.equals("produce") ? 5 : 0;
        if (given.length != many || !last.startsWith("port=")) {
            die("usage: produce|consume QUEUE COUNT [SIZE] port=N");
        }
        try {
            run(given, last.substring("port=".length()));
        } catch (JMSException error) {
            die(error.toString());
        }
    }
}
