import java.io.BufferedReader;
import java.io.InputStreamReader;
import java.nio.ByteBuffer;
import java.util.ArrayList;
import java.util.Arrays;
import java.util.HashMap;
import java.util.HashSet;
import java.util.List;
import java.util.Map;
import java.util.Optional;
import java.util.Set;
import java.util.TreeMap;
import org.apache.kafka.clients.consumer.ConsumerGroupMetadata;
import org.apache.kafka.clients.consumer.ConsumerPartitionAssignor;
import org.apache.kafka.clients.consumer.ConsumerPartitionAssignor.Assignment;
import org.apache.kafka.clients.consumer.ConsumerPartitionAssignor.GroupSubscription;
import org.apache.kafka.clients.consumer.ConsumerPartitionAssignor.Subscription;
import org.apache.kafka.clients.consumer.CooperativeStickyAssignor;
import org.apache.kafka.clients.consumer.RangeAssignor;
import org.apache.kafka.clients.consumer.RoundRobinAssignor;
import org.apache.kafka.clients.consumer.StickyAssignor;
import org.apache.kafka.common.Cluster;
import org.apache.kafka.common.Node;
import org.apache.kafka.common.PartitionInfo;
import org.apache.kafka.common.TopicPartition;

/**
 * Answers each line of standard input, a question to an assignor, as tests/clientcore/group/assignors/lines.py tells.
 */
public class Assignors {
    private static final Node NODE = new Node(0, "localhost", 9092);

    public static void main(String[] arguments) throws Exception {
        BufferedReader questions = new BufferedReader(new InputStreamReader(System.in));
        String line;
        while ((line = questions.readLine()) != null) {
            System.out.println(answer(line.split("\\|", -1)));
            System.out.flush();
        }
    }

    private static String answer(String[] fields) {
        Map<String, Subscription> members = new HashMap<>();
        TreeMap<String, String> userData = new TreeMap<>();
        for (String field : Arrays.copyOfRange(fields, 2, fields.length)) {
            String[] said = field.split(";", -1);
            Subscription subscription = member(fields[0], said);
            members.put(said[0], subscription);
            userData.put(said[0], hex(subscription.userData()));
        }
        Map<String, Assignment> given = make(fields[0])
            .assign(cluster(fields[1]), new GroupSubscription(members)).groupAssignment();
        List<String> answers = new ArrayList<>();
        for (String id : userData.keySet()) {
            List<String> partitions = new ArrayList<>();
            for (TopicPartition at : given.get(id).partitions()) {
                partitions.add(at.topic() + ":" + at.partition());
            }
            answers.add(id + ";" + String.join("+", partitions) + ";" + userData.get(id));
        }
        return String.join("|", answers);
    }

    private static Subscription member(String name, String[] said) {
        List<String> topics = said[2].isEmpty() ? List.of() : Arrays.asList(said[2].split("\\+"));
        int generation = Integer.parseInt(said[3]);
        List<TopicPartition> had = new ArrayList<>();
        for (String at : said[4].isEmpty() ? new String[0] : said[4].split("\\+")) {
            String[] parts = at.split(":");
            had.add(new TopicPartition(parts[0], Integer.parseInt(parts[1])));
        }
        ConsumerPartitionAssignor own = make(name);
        if (generation >= 0) {
            own.onAssignment(new Assignment(had), new ConsumerGroupMetadata("g", generation, said[0], Optional.empty()));
        }
        ByteBuffer userData = own.subscriptionUserData(new HashSet<>(topics));
        List<TopicPartition> owned = name.equals("cooperative-sticky") ? had : List.of();
        Subscription subscription = new Subscription(topics, userData, owned, generation, Optional.empty());
        if (!said[1].isEmpty()) {
            subscription.setGroupInstanceId(Optional.of(said[1]));
        }
        return subscription;
    }

    private static Cluster cluster(String topics) {
        List<PartitionInfo> partitions = new ArrayList<>();
        Node[] replicas = {NODE};
        for (String topic : topics.isEmpty() ? new String[0] : topics.split("\\+")) {
            String[] parts = topic.split(":");
            for (int number = 0; number < Integer.parseInt(parts[1]); number++) {
                partitions.add(new PartitionInfo(parts[0], number, NODE, replicas, replicas));
            }
        }
        return new Cluster("c", List.of(NODE), partitions, Set.of(), Set.of());
    }

    private static String hex(ByteBuffer data) {
        StringBuilder digits = new StringBuilder();
        for (byte one : data == null ? new byte[0] : data.array()) {
            digits.append(String.format("%02x", one));
        }
        return digits.toString();
    }

    private static ConsumerPartitionAssignor make(String name) {
        switch (name) {
            case "range": return new RangeAssignor();
            case "roundrobin": return new RoundRobinAssignor();
            case "sticky": return new StickyAssignor();
            default: return new CooperativeStickyAssignor();
        }
    }
}
