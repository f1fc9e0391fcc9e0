import java.time.Duration;
import java.util.Map;
import java.util.TreeMap;
import org.apache.kafka.clients.consumer.OffsetAndMetadata;
import org.apache.kafka.common.TopicPartition;
import org.apache.kafka.connect.mirror.RemoteClusterUtils;

/**
 * Prints what MirrorMaker 2's RemoteClusterUtils makes of a mirror's target: BOOTSTRAP ALIAS GROUP.
 */
public class Mirrors {
    public static void main(String[] arguments) throws Exception {
        Map<String, Object> target = Map.of("bootstrap.servers", arguments[0]);
        Map<TopicPartition, OffsetAndMetadata> offsets = RemoteClusterUtils.translateOffsets(
            target, arguments[1], arguments[2], Duration.ofSeconds(30));
        Map<String, Long> ordered = new TreeMap<>();
        offsets.forEach((place, at) -> ordered.put(place.topic() + " " + place.partition(), at.offset()));
        ordered.forEach((place, offset) -> System.out.println("offset " + place + " " + offset));
        System.out.println("upstream " + RemoteClusterUtils.upstreamClusters(target));
        System.out.println("hops " + RemoteClusterUtils.replicationHops(target, arguments[1]));
        System.out.println("checkpoints " + RemoteClusterUtils.checkpointTopics(target));
        System.out.println("heartbeats " + RemoteClusterUtils.heartbeatTopics(target));
    }
}
