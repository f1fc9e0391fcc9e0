import java.util.List;
import java.util.Map;
import java.util.Set;
import java.util.concurrent.Callable;
import java.util.stream.Collectors;
import org.apache.kafka.clients.admin.Admin;
import org.apache.kafka.clients.admin.AlterConfigOp;
import org.apache.kafka.clients.admin.Config;
import org.apache.kafka.clients.admin.ConfigEntry;
import org.apache.kafka.clients.admin.ConsumerGroupDescription;
import org.apache.kafka.clients.admin.ConsumerGroupListing;
import org.apache.kafka.clients.admin.NewPartitions;
import org.apache.kafka.clients.admin.OffsetSpec;
import org.apache.kafka.clients.admin.RecordsToDelete;
import org.apache.kafka.clients.admin.TopicDescription;
import org.apache.kafka.clients.consumer.KafkaConsumer;
import org.apache.kafka.clients.consumer.OffsetAndMetadata;
import org.apache.kafka.common.TopicPartition;
import org.apache.kafka.common.config.ConfigResource;

/** What the Java client's Admin is asked. */
final class Administration {
    private final Scenario scenario;

    Administration(Scenario scenario) {
        this.scenario = scenario;
    }

    Map<String, Callable<String>> features() {
        return Map.of(
            "create topics", this::createTopics,
            "configs", this::configs,
            "create partitions", this::createPartitions,
            "manage groups", this::manageGroups,
            "delete records", this::deleteRecords,
            "delete topics", this::deleteTopics);
    }

    private Admin admin() {
        return Admin.create(scenario.conf());
    }

    private static TopicDescription topic(Admin admin, String topic) throws Exception {
        return Scenario.get(admin.describeTopics(List.of(topic)).allTopicNames()).get(topic);
    }

    private static Config config(Admin admin, ConfigResource.Type type, String name) throws Exception {
        ConfigResource resource = new ConfigResource(type, name);
        return Scenario.get(admin.describeConfigs(List.of(resource)).all()).get(resource);
    }

    private String createTopics() throws Exception {
        String topic = scenario.newTopic(Map.of("retention.ms", "3600000"));
        try (Admin admin = admin()) {
            Scenario.until("the topic is listed", () -> Scenario.get(admin.listTopics().names()).contains(topic));
            Scenario.same(topic(admin, topic).partitions().size(), Scenario.PARTITIONS, "partitions");
            Config told = config(admin, ConfigResource.Type.TOPIC, topic);
            Scenario.same(told.get("retention.ms").value(), "3600000", "retention.ms");
        }
        return "";
    }

    private String configs() throws Exception {
        String topic = scenario.newTopic(Map.of("retention.ms", "3600000"));
        try (Admin admin = admin()) {
            ConfigResource resource = new ConfigResource(ConfigResource.Type.TOPIC, topic);
            AlterConfigOp set = new AlterConfigOp(
                new ConfigEntry("max.message.bytes", "54321"), AlterConfigOp.OpType.SET);
            Scenario.get(admin.incrementalAlterConfigs(Map.of(resource, List.of(set))).all());
            Scenario.until("the change", () -> config(admin, ConfigResource.Type.TOPIC, topic)
                .get("max.message.bytes").value().equals("54321"));
            Config told = config(admin, ConfigResource.Type.TOPIC, topic);
            Scenario.same(told.get("retention.ms").value(), "3600000", "retention.ms");
            Scenario.same(told.get("max.message.bytes").source(),
                ConfigEntry.ConfigSource.DYNAMIC_TOPIC_CONFIG, "source");
            String broker = Scenario.get(admin.describeCluster().nodes()).iterator().next().idString();
            Config settings = config(admin, ConfigResource.Type.BROKER, broker);
            Scenario.same(settings.get("log.dirs") == null, false, "no log.dirs");
        }
        return "";
    }

    private String createPartitions() throws Exception {
        String topic = scenario.newTopic(Map.of());
        try (Admin admin = admin()) {
            Scenario.get(admin.createPartitions(Map.of(topic, NewPartitions.increaseTo(8))).all());
            Scenario.until("8 partitions", () -> topic(admin, topic).partitions().size() == 8);
        }
        return "";
    }

    private String manageGroups() throws Exception {
        String topic = scenario.newTopic(Map.of());
        String group = Scenario.newName("group");
        try (Admin admin = admin()) {
            try (KafkaConsumer<String, String> consumer = scenario.consumer("group.id", group)) {
                consumer.subscribe(List.of(topic));
                Scenario.until("an assignment", () -> {
                    consumer.poll(java.time.Duration.ofMillis(100));
                    return consumer.assignment().size() == Scenario.PARTITIONS;
                });
                ConsumerGroupDescription described = describe(admin, group);
                Scenario.same(described.members().size(), 1, "members");
                Scenario.same(described.state().toString(), "Stable", "state");
                Scenario.same(described.members().iterator().next().assignment().topicPartitions().size(),
                    Scenario.PARTITIONS, "assignment");
            }
            Scenario.until("an empty group", () -> describe(admin, group).state().toString().equals("Empty"));
            TopicPartition place = new TopicPartition(topic, 0);
            Scenario.get(admin.alterConsumerGroupOffsets(group, Map.of(place, new OffsetAndMetadata(5))).all());
            Map<TopicPartition, OffsetAndMetadata> told = Scenario.get(
                admin.listConsumerGroupOffsets(group).partitionsToOffsetAndMetadata());
            Scenario.same(told.get(place).offset(), 5L, "offset");
            Scenario.same(groups(admin).contains(group), true, "listed");
            Scenario.get(admin.deleteConsumerGroupOffsets(group, Set.of(place)).all());
            Scenario.get(admin.deleteConsumerGroups(List.of(group)).all());
            Scenario.same(groups(admin).contains(group), false, "listed after deleting");
        }
        return "";
    }

    private static ConsumerGroupDescription describe(Admin admin, String group) throws Exception {
        return Scenario.get(admin.describeConsumerGroups(List.of(group)).all()).get(group);
    }

    private static Set<String> groups(Admin admin) throws Exception {
        return Scenario.get(admin.listConsumerGroups().all()).stream()
            .map(ConsumerGroupListing::groupId).collect(Collectors.toSet());
    }

    private String deleteRecords() throws Exception {
        String topic = scenario.newTopic(Map.of());
        scenario.produce(topic, Scenario.values("a"), null);
        TopicPartition place = new TopicPartition(topic, 0);
        try (Admin admin = admin()) {
            long low = Scenario.get(admin.deleteRecords(Map.of(place, RecordsToDelete.beforeOffset(5)))
                .lowWatermarks().get(place)).lowWatermark();
            Scenario.same(low, 5L, "low watermark");
            long earliest = Scenario.get(admin.listOffsets(Map.of(place, OffsetSpec.earliest())).all())
                .get(place).offset();
            Scenario.same(earliest, 5L, "earliest");
        }
        return "";
    }

    private String deleteTopics() throws Exception {
        String topic = scenario.newTopic(Map.of());
        try (Admin admin = admin()) {
            Scenario.get(admin.deleteTopics(List.of(topic)).all());
            Scenario.until("the topic is gone", () -> !Scenario.get(admin.listTopics().names()).contains(topic));
        }
        return "";
    }
}
