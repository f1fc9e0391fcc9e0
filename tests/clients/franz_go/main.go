// The scenario of franz-go. Variants: classic, consumer (KIP-848). The command line is tests.clients' own.
package main

import (
	"context"
	"encoding/json"
	"fmt"
	"os"
	"reflect"
	"runtime/debug"
	"strconv"
	"strings"
	"time"

	"github.com/twmb/franz-go/pkg/kadm"
	"github.com/twmb/franz-go/pkg/kgo"
)

const (
	partitions = 6
	count      = 300
	wait       = 20 * time.Second
)

type scenario struct {
	variant, bootstrap string
}

func main() {
	if os.Args[1] == "secured" {
		must(runSecured(os.Args[2:]))
		return
	}
	s := scenario{os.Args[1], os.Args[3]}
	if os.Args[2] == "member" {
		must(s.member(os.Args[4], os.Args[5], os.Args[6]))
		return
	}
	if os.Args[2] == "copy" {
		must(s.copy(os.Args[4], os.Args[5], os.Args[6], os.Args[7], os.Args[8]))
		return
	}
	say(map[string]any{"version": version()})
	if os.Args[2] == "produce" {
		must(s.produceNumbered(os.Args[4], os.Args[5], os.Args[6]))
		return
	}
	for _, feature := range os.Args[4:] {
		s.try(feature)
	}
}

// version is that of the module, as go.mod has it.
func version() string {
	info, _ := debug.ReadBuildInfo()
	for _, module := range info.Deps {
		if module.Path == "github.com/twmb/franz-go" {
			return module.Version
		}
	}
	return "?"
}

// failure is what must and same panic with: where it was is in the message.
type failure struct{ error }

func (s scenario) try(feature string) {
	line := map[string]any{"feature": feature, "result": "pass", "detail": ""}
	defer func() {
		if why := recover(); why != nil {
			failed, known := why.(failure)
			if !known {
				panic(why)
			}
			line["result"], line["detail"] = "fail", failed.Error()
		}
		say(line)
	}()
	ctx, cancel := context.WithTimeout(context.Background(), 2*wait)
	defer cancel()
	features := map[string]func(context.Context) string{
		"create topics":      s.createTopics,
		"produce keyed":      s.produceKeyed,
		"produce compressed": s.produceCompressed,
		"consume":            s.consume,
		"commit":             s.commit,
		"seek by time":       s.seekByTime,
		"configs":            s.configs,
		"create partitions":  s.createPartitions,
		"manage groups":      s.manageGroups,
		"delete records":     s.deleteRecords,
		"delete topics":      s.deleteTopics,
		"transactions":       s.transactions,
	}
	line["detail"] = features[feature](ctx)
}

func say(line map[string]any) {
	text, err := json.Marshal(line)
	must(err)
	fmt.Println(string(text))
}

func must(err error) {
	if err != nil {
		panic(failure{fmt.Errorf("%T: %w", err, err)})
	}
}

func same(found, expected any, what string) {
	if !reflect.DeepEqual(found, expected) {
		panic(failure{fmt.Errorf("%s: %.300v instead of %.300v", what, found, expected)})
	}
}

// until asks again and again: what a broker has promised may take a moment to be seen.
func until(what string, done func() bool) {
	for end := time.Now().Add(wait); !done(); time.Sleep(20 * time.Millisecond) {
		if time.Now().After(end) {
			panic(failure{fmt.Errorf("not within %v: %s", wait, what)})
		}
	}
}

func newName(kind string) string {
	return kind + "-" + fmt.Sprintf("%d-%d", time.Now().UnixNano(), os.Getpid())
}

func (s scenario) client(options ...kgo.Opt) *kgo.Client {
	options = append([]kgo.Opt{kgo.SeedBrokers(strings.Split(s.bootstrap, ",")...)}, options...)
	client, err := kgo.NewClient(options...)
	must(err)
	return client
}

// grouped are the options of a member of a group.
func (s scenario) grouped(group, topic string, options ...kgo.Opt) []kgo.Opt {
	options = append(options, kgo.ConsumerGroup(group), kgo.ConsumeTopics(topic), kgo.DisableAutoCommit())
	options = append(options, kgo.ConsumeResetOffset(kgo.NewOffset().AtStart()))
	if s.variant == "consumer" {
		options = append(options, kgo.ServerSideBalancer(), kgo.Balancers(kgo.RangeBalancer()))
	}
	return options
}

func (s scenario) admin() *kadm.Client { return kadm.NewClient(s.client()) }

func (s scenario) newTopic(ctx context.Context, configs map[string]*string) string {
	topic, admin := newName("topic"), s.admin()
	defer admin.Close()
	_, err := admin.CreateTopic(ctx, partitions, copies(), configs, topic)
	must(err)
	until("the leaders are ready: see topics.py", func() bool {
		ends, err := admin.ListEndOffsets(ctx, topic)
		return err == nil && ends.Error() == nil && len(ends[topic]) == partitions
	})
	return topic
}

// copies is the replication factor of topics, which the runner gives.
func copies() int16 {
	number, err := strconv.Atoi(os.Getenv("KAFKATX_COPIES"))
	if err != nil {
		return 1
	}
	return int16(number)
}

func value(prefix string, n int) string { return fmt.Sprintf("%s%0200d", prefix, n) }

func records(topic, prefix string, at time.Time) []*kgo.Record {
	made := make([]*kgo.Record, count)
	for n := range made {
		key := fmt.Sprintf("key-%d", n%17)
		made[n] = &kgo.Record{Topic: topic, Key: []byte(key), Value: []byte(value(prefix, n)), Timestamp: at}
	}
	return made
}

func (s scenario) produce(ctx context.Context, topic, prefix string, at time.Time, options ...kgo.Opt) {
	client := s.client(options...)
	defer client.Close()
	must(client.ProduceSync(ctx, records(topic, prefix, at)...).FirstErr())
}

// read gives the next records; at most what one poll brings above number.
func read(ctx context.Context, client *kgo.Client, number int) []*kgo.Record {
	var found []*kgo.Record
	for len(found) < number {
		fetches := client.PollRecords(ctx, number-len(found))
		must(fetches.Err())
		found = append(found, fetches.Records()...)
	}
	return found
}

// from makes a client that reads all partitions of a topic from an offset on.
func (s scenario) from(topic string, offset kgo.Offset, options ...kgo.Opt) *kgo.Client {
	places := map[int32]kgo.Offset{}
	for p := int32(0); p < partitions; p++ {
		places[p] = offset
	}
	return s.client(append(options, kgo.ConsumePartitions(map[string]map[int32]kgo.Offset{topic: places}))...)
}

func (s scenario) readAll(ctx context.Context, topic string, options ...kgo.Opt) []*kgo.Record {
	client := s.from(topic, kgo.NewOffset().AtStart(), options...)
	defer client.Close()
	return read(ctx, client, count)
}

// check panics unless each key's records are in one partition and in the order sent, and all are there.
func check(found []*kgo.Record, prefix string) {
	values, sent := map[string][]string{}, map[string][]string{}
	places := map[string]map[int32]bool{}
	for _, record := range found {
		key := string(record.Key)
		values[key] = append(values[key], string(record.Value))
		if places[key] == nil {
			places[key] = map[int32]bool{}
		}
		places[key][record.Partition] = true
	}
	for n := 0; n < count; n++ {
		key := fmt.Sprintf("key-%d", n%17)
		sent[key] = append(sent[key], value(prefix, n))
	}
	same(values, sent, "records")
	for key, of := range places {
		same(len(of), 1, "partitions of "+key)
	}
}
