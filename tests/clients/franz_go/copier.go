package main

import (
	"context"
	"crypto/rand"
	"encoding/hex"
	"fmt"
	"io"
	"os"
	"strconv"
	"strings"
	"time"

	"github.com/twmb/franz-go/pkg/kgo"
)

const most = 20

// copy copies records in transactions, as tests.copiers has it, until standard input ends.
func (s scenario) copy(source, target, group, transactionalID, every string) error {
	nth, err := strconv.Atoi(every)
	if err != nil {
		return err
	}
	options := s.grouped(group, source,
		kgo.SeedBrokers(strings.Split(s.bootstrap, ",")...),
		kgo.TransactionalID(transactionalID), kgo.TransactionTimeout(30*time.Second),
		kgo.FetchIsolationLevel(kgo.ReadCommitted()), kgo.RequireStableFetchOffsets(),
		kgo.RecordPartitioner(kgo.ManualPartitioner()), kgo.ProducerLinger(time.Millisecond),
		kgo.SessionTimeout(6*time.Second), kgo.HeartbeatInterval(time.Second),
		kgo.MetadataMinAge(500*time.Millisecond),
	)
	session, err := kgo.NewGroupTransactSession(options...)
	if err != nil {
		return err
	}
	defer session.Close()
	ctx, cancel := context.WithCancel(context.Background())
	go func() {
		_, _ = io.Copy(io.Discard, os.Stdin)
		cancel()
	}()
	for begun := 1; ctx.Err() == nil; {
		taken := session.PollRecords(ctx, most).Records()
		if len(taken) == 0 {
			continue
		}
		if err := transaction(session, taken, target, begun%nth == 0); err != nil {
			return err
		}
		begun++
	}
	return nil
}

// transaction copies records, and commits, or aborts on purpose; the session aborts after a rebalance.
func transaction(session *kgo.GroupTransactSession, taken []*kgo.Record, target string, aborts bool) error {
	fate, id := "commit", make([]byte, 16)
	if aborts {
		fate = "abort"
	}
	if _, err := rand.Read(id); err != nil {
		return err
	}
	if err := session.Begin(); err != nil {
		return err
	}
	promise := kgo.AbortingFirstErrPromise(session.Client())
	for _, record := range taken {
		number, _, _ := strings.Cut(string(record.Value), " ")
		value := fmt.Sprintf("%s %s %d %s ........", number, hex.EncodeToString(id), len(taken), fate)
		copied := &kgo.Record{Topic: target, Partition: record.Partition, Value: []byte(value)}
		session.Produce(context.Background(), copied, promise.Promise())
	}
	sent := promise.Err()
	committed, err := session.End(context.Background(), kgo.TransactionEndTry(sent == nil && !aborts))
	switch {
	case err != nil:
		return err
	case committed || aborts:
		say(map[string]any{"ended": fate})
	default:
		say(map[string]any{"ended": "error", "why": fmt.Sprint(sent)})
	}
	return nil
}
