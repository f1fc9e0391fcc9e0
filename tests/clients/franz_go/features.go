package main

import (
	"context"
	"fmt"
	"strings"
	"time"

	"github.com/twmb/franz-go/pkg/kadm"
	"github.com/twmb/franz-go/pkg/kgo"
)

func (s scenario) produceKeyed(ctx context.Context) string {
	topic := s.newTopic(ctx, nil)
	s.produce(ctx, topic, "a", time.Now())
	check(s.readAll(ctx, topic), "a")
	return ""
}

func (s scenario) produceCompressed(ctx context.Context) string {
	names := []string{"gzip", "snappy", "lz4", "zstd"}
	codecs := []kgo.CompressionCodec{
		kgo.GzipCompression(), kgo.SnappyCompression(), kgo.Lz4Compression(), kgo.ZstdCompression(),
	}
	for _, codec := range codecs {
		topic := s.newTopic(ctx, nil)
		s.produce(ctx, topic, "a", time.Now(), kgo.ProducerBatchCompression(codec))
		check(s.readAll(ctx, topic), "a")
	}
	return strings.Join(names, ", ")
}

func (s scenario) consume(ctx context.Context) string {
	topic, admin := s.newTopic(ctx, nil), s.admin()
	defer admin.Close()
	s.produce(ctx, topic, "a", time.Now())
	next := map[int32]int64{}
	for _, record := range s.readAll(ctx, topic) {
		same(record.Offset, next[record.Partition], "offset")
		next[record.Partition]++
	}
	ends, err := admin.ListEndOffsets(ctx, topic)
	must(err)
	must(ends.Error())
	ends.Each(func(end kadm.ListedOffset) { same(next[end.Partition], end.Offset, "end") })
	return ""
}

func (s scenario) commit(ctx context.Context) string {
	topic, group, admin := s.newTopic(ctx, nil), newName("group"), s.admin()
	defer admin.Close()
	s.produce(ctx, topic, "a", time.Now())
	first := s.client(s.grouped(group, topic)...)
	found := read(ctx, first, 100)
	must(first.CommitRecords(ctx, found...))
	first.Close()
	told, err := admin.FetchOffsets(ctx, group)
	must(err)
	var total int64
	told.Each(func(offset kadm.OffsetResponse) { must(offset.Err); total += offset.At })
	same(total, int64(len(found)), "sum of the committed offsets")
	second := s.client(s.grouped(group, topic)...)
	check(append(found, read(ctx, second, count-len(found))...), "a")
	second.Close()
	var noted kadm.Offsets
	noted.Add(kadm.Offset{Topic: topic, Partition: 0, At: 3, LeaderEpoch: -1, Metadata: "at 3"})
	must(admin.CommitAllOffsets(ctx, group, noted))
	told, err = admin.FetchOffsets(ctx, group)
	must(err)
	offset, _ := told.Lookup(topic, 0)
	same([]any{offset.At, offset.Metadata}, []any{int64(3), "at 3"}, "offset and metadata")
	return ""
}

func (s scenario) seekByTime(ctx context.Context) string {
	topic, now := s.newTopic(ctx, nil), time.Now()
	s.produce(ctx, topic, "a", now.Add(-time.Minute))
	s.produce(ctx, topic, "b", now)
	client := s.from(topic, kgo.NewOffset().AfterMilli(now.Add(-time.Second).UnixMilli()))
	defer client.Close()
	check(read(ctx, client, count), "b")
	return ""
}

func (s scenario) transactions(ctx context.Context) string {
	topic := s.newTopic(ctx, nil)
	client := s.client(kgo.TransactionalID(newName("id")))
	for _, prefix := range []string{"a", "b"} {
		must(client.BeginTransaction())
		must(client.ProduceSync(ctx, records(topic, prefix, time.Now())...).FirstErr())
		must(client.EndTransaction(ctx, kgo.TransactionEndTry(prefix == "b")))
	}
	client.Close()
	check(s.readAll(ctx, topic, kgo.FetchIsolationLevel(kgo.ReadCommitted())), "b")
	s.offsetsInTransactions(ctx, topic)
	return ""
}

// offsetsInTransactions aborts a transaction that has consumed all records, and commits another one.
func (s scenario) offsetsInTransactions(ctx context.Context, topic string) {
	group, admin := newName("group"), s.admin()
	defer admin.Close()
	options := []kgo.Opt{kgo.TransactionalID(newName("id")), kgo.FetchIsolationLevel(kgo.ReadCommitted())}
	options = append(options, kgo.SeedBrokers(strings.Split(s.bootstrap, ",")...))
	session, err := kgo.NewGroupTransactSession(s.grouped(group, topic, options...)...)
	must(err)
	defer session.Close()
	for _, try := range []kgo.TransactionEndTry{kgo.TryAbort, kgo.TryCommit} {
		var found []*kgo.Record
		for len(found) < count {
			fetches := session.PollRecords(ctx, count-len(found))
			must(fetches.Err())
			found = append(found, fetches.Records()...)
		}
		must(session.Begin())
		committed, err := session.End(ctx, try)
		must(err)
		same(committed, bool(try), "committed")
	}
	told, err := admin.FetchOffsets(ctx, group)
	must(err)
	read := 0
	told.Each(func(offset kadm.OffsetResponse) {
		must(offset.Err)
		if offset.At > 0 {
			read++
		}
	})
	same(read > 1, true, "offsets in more than one partition")
}

func (s scenario) createTopics(ctx context.Context) string {
	topic, admin := s.newTopic(ctx, map[string]*string{"retention.ms": kadm.StringPtr("3600000")}), s.admin()
	defer admin.Close()
	until("the topic is listed", func() bool {
		listed, err := admin.ListTopics(ctx, topic)
		must(err)
		return listed.Has(topic) && len(listed[topic].Partitions) == partitions
	})
	same(topicConfig(ctx, admin, topic, "retention.ms"), "3600000", "retention.ms")
	return ""
}

func topicConfig(ctx context.Context, admin *kadm.Client, topic, name string) string {
	told, err := admin.DescribeTopicConfigs(ctx, topic)
	must(err)
	return setting(told, topic, name)
}

func setting(told kadm.ResourceConfigs, resource, name string) string {
	one, err := told.On(resource, nil)
	must(err)
	must(one.Err)
	for _, config := range one.Configs {
		if config.Key == name {
			return config.MaybeValue()
		}
	}
	return "not told"
}

func (s scenario) configs(ctx context.Context) string {
	topic, admin := s.newTopic(ctx, map[string]*string{"retention.ms": kadm.StringPtr("3600000")}), s.admin()
	defer admin.Close()
	change := kadm.AlterConfig{Op: kadm.SetConfig, Name: "max.message.bytes", Value: kadm.StringPtr("54321")}
	altered, err := admin.AlterTopicConfigs(ctx, []kadm.AlterConfig{change}, topic)
	must(err)
	for _, one := range altered {
		must(one.Err)
	}
	until("the change", func() bool { return topicConfig(ctx, admin, topic, "max.message.bytes") == "54321" })
	same(topicConfig(ctx, admin, topic, "retention.ms"), "3600000", "retention.ms")
	brokers, err := admin.ListBrokers(ctx)
	must(err)
	told, err := admin.DescribeBrokerConfigs(ctx, brokers[0].NodeID)
	must(err)
	same(setting(told, fmt.Sprint(brokers[0].NodeID), "log.dirs") == "not told", false, "no log.dirs")
	return ""
}

func (s scenario) createPartitions(ctx context.Context) string {
	topic, admin := s.newTopic(ctx, nil), s.admin()
	defer admin.Close()
	told, err := admin.UpdatePartitions(ctx, 8, topic)
	must(err)
	must(told.Error())
	until("8 partitions", func() bool {
		listed, err := admin.ListTopics(ctx, topic)
		must(err)
		return len(listed[topic].Partitions) == 8
	})
	return ""
}

func (s scenario) manageGroups(ctx context.Context) string {
	topic, group, admin := s.newTopic(ctx, nil), newName("group"), s.admin()
	defer admin.Close()
	s.produce(ctx, topic, "a", time.Now())
	client := s.client(s.grouped(group, topic)...)
	must(client.CommitRecords(ctx, read(ctx, client, count)...))
	same(s.describe(ctx, admin, group), "Stable, 1 members", "described")
	client.Close()
	until("an empty group", func() bool { return s.describe(ctx, admin, group) == "Empty, 0 members" })
	same(listed(ctx, admin, group), true, "listed")
	_, err := admin.DeleteGroup(ctx, group)
	must(err)
	same(listed(ctx, admin, group), false, "listed after deleting")
	return ""
}

// describe tells of a group by the request of its protocol.
func (s scenario) describe(ctx context.Context, admin *kadm.Client, group string) string {
	if s.variant == "consumer" {
		told, err := admin.DescribeConsumerGroups(ctx, group)
		must(err)
		must(told[group].Err)
		return fmt.Sprintf("%s, %d members", told[group].State, len(told[group].Members))
	}
	told, err := admin.DescribeGroups(ctx, group)
	must(err)
	must(told[group].Err)
	return fmt.Sprintf("%s, %d members", told[group].State, len(told[group].Members))
}

func listed(ctx context.Context, admin *kadm.Client, group string) bool {
	told, err := admin.ListGroups(ctx)
	must(err)
	_, found := told[group]
	return found
}

func (s scenario) deleteRecords(ctx context.Context) string {
	topic, admin := s.newTopic(ctx, nil), s.admin()
	defer admin.Close()
	s.produce(ctx, topic, "a", time.Now())
	var before kadm.Offsets
	before.AddOffset(topic, 0, 5, -1)
	told, err := admin.DeleteRecords(ctx, before)
	must(err)
	deleted, err := told.On(topic, 0, nil)
	must(err)
	same(deleted.LowWatermark, int64(5), "low watermark")
	starts, err := admin.ListStartOffsets(ctx, topic)
	must(err)
	start, _ := starts.Lookup(topic, 0)
	same(start.Offset, int64(5), "earliest")
	return ""
}

func (s scenario) deleteTopics(ctx context.Context) string {
	topic, admin := s.newTopic(ctx, nil), s.admin()
	defer admin.Close()
	_, err := admin.DeleteTopic(ctx, topic)
	must(err)
	until("the topic is gone", func() bool {
		all, err := admin.ListTopics(ctx)
		must(err)
		return !all.Has(topic)
	})
	return ""
}
